"""Meshes of other libraries, and the readers that these use: the same before and after."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import meshio
import numpy as np
import polyhaul
import polyhaul_pyvista
import pytest
import pyvista
import trimesh

QUADS = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\n"

OBJ = {
    "georeferenced": "v 454123.125 5411234.456 100.5\nv 0.1 0.2 0.3\nv 1 2 3.3333333333333\nf 1 2 3\n",
    "triangles": QUADS + "f 1 2 3\nf 1 3 4\n",
    "mixed": QUADS + "f 1 2 3 4\nf 1 2 5\nf 2 3 5\n",
    "uvs and normals": QUADS + "vt 0 0\nvt 1 0\nvt 1 1\nvn 0 0 1\nf 1/1/1 2/2/1 3/3/1\nf 1/2/1 2/1/1 3/3/1\n",
    "uvs that follow positions": QUADS + "vt 0 0\nvt 1 0\nvt 1 1\nf 1/1 2/2 3/3\n",
    "a normal": QUADS + "vn 0 0 1\nf 1//1 2//1 3//1\n",
    "colors": "v 0 0 0 1 0 0\nv 1 0 0 0 1 0\nv 1 1 0 0 0 1\nf 1 2 3\n",
    "groups": QUADS + "g a\nf 1 2 3\ng b c\nf 1 2 4\ng a\nf 2 3 4\no z\nf 1 3 4\ns 1\ng\nf 4 3 2\n",
    "materials": "mtllib a.mtl\n" + QUADS + "vt 0 0\nusemtl red\nf 1/1 2/1 3/1\nusemtl blue\nf 1/1 3/1 4/1\n",
    "lines": QUADS + "f 1 2 3\nl 1 2\n",
}

PLY = {
    "positions": ([], [], []),
    "normals": (["float nx", "float ny", "float nz"], [0, 0, 1], []),
    "uvs": (["float s", "float t"], [0.5, 1], []),
    "bytes": (["uchar red", "uchar green", "uchar blue"], [255, 10, 20], []),
    "alpha": (["uchar red", "uchar green", "uchar blue", "uchar alpha"], [255, 10, 20, 7], []),
    "opaque": (["uchar red", "uchar green", "uchar blue", "uchar alpha"], [255, 10, 20, 255], []),
    "columns": (["float quality", "int label"], [0.5, 3], []),
    "face colors": ([], [], ["uchar red", "uchar green", "uchar blue"]),
}


def mesh() -> polyhaul.Mesh:
    rng = np.random.default_rng(7)
    faces = [0, 1, 2, 3, 0, 2, 4]
    return polyhaul.Mesh(rng.random((5, 3)), faces, [0, 4, 7], uvs=rng.random((7, 2)), colors=rng.random((5, 3)))


def ply(name: str) -> str:
    properties, values, of_face = PLY[name]
    vertex = "".join(f"property {declaration}\n" for declaration in ["float x", "float y", "float z", *properties])
    face = "".join(f"property {declaration}\n" for declaration in ["list uchar int vertex_indices", *of_face])
    rows = "".join(f"{x} {y} 0 {' '.join(map(str, values))}\n" for x, y in ((0, 0), (1, 0), (1, 1), (0, 1)))
    end = "".join(" 9" for _ in of_face)
    return f"ply\nformat ascii 1.0\nelement vertex 4\n{vertex}element face 1\n{face}end_header\n{rows}3 0 1 2{end}\n"


def same(ours: pyvista.PolyData, theirs: pyvista.PolyData) -> None:
    np.testing.assert_allclose(ours.points, theirs.points, rtol=1e-6)
    for name in ("faces", "lines", "verts"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name), err_msg=name)
    for name in ("point_data", "cell_data", "field_data"):
        a, b = getattr(ours, name), getattr(theirs, name)
        assert sorted(a.keys()) == sorted(b.keys())
        for key in b:
            assert a[key].dtype == b[key].dtype and a[key].shape == b[key].shape, key
            if a[key].dtype.kind in "fiu":
                np.testing.assert_allclose(a[key], b[key], rtol=1e-6, err_msg=key)
            else:
                assert list(a[key]) == list(b[key])


@pytest.mark.parametrize("name", OBJ)
def test_pyvista_reads_obj_as_before(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.obj"
    path.write_text(OBJ[name])
    ours = pyvista.read(path)
    theirs = pyvista.OBJReader(path).read()
    same(ours, theirs)
    assert ours.points.dtype == theirs.points.dtype
    np.testing.assert_array_equal(ours.points, theirs.points)


@pytest.mark.parametrize("name", PLY)
def test_pyvista_reads_ply_as_before(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.ply"
    path.write_text(ply(name))
    same(pyvista.read(path), pyvista.PLYReader(path).read())


@pytest.mark.parametrize("ending", [".obj", ".ply", ".stl"])
def test_pyvista_reads_what_it_wrote(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"sphere{ending}"
    pyvista.Sphere(theta_resolution=40, phi_resolution=30).save(path)
    reader = pyvista.get_reader(path) if ending == ".vtk" else None
    assert reader is None
    readers = {".obj": pyvista.OBJReader, ".ply": pyvista.PLYReader, ".stl": pyvista.STLReader}
    same(pyvista.read(path), readers[ending](path).read())


def test_pyvista_finds_the_readers() -> None:
    from pyvista.core.utilities import reader_registry

    for ending, reader in ((".obj", "read_obj"), (".ply", "read_ply"), (".stl", "read_stl")):
        assert reader_registry._get_ext_handler(ending) is getattr(polyhaul_pyvista, reader)


def test_pyvista_takes_meshes_and_gives_them_back() -> None:
    data = polyhaul.to_pyvista(mesh())
    assert data.n_faces == 2 and data.active_texture_coordinates is not None
    again = polyhaul.from_pyvista(data)
    assert again.face_offsets.tolist() == [0, 4, 7] and again.uv_domain == "vertex" and again.colors is not None
    np.testing.assert_allclose(again.per_corner("uvs"), mesh().per_corner("uvs"))
    lines = polyhaul.Mesh([[0, 0, 0], [1, 0, 0], [2, 0, 0]], line_positions=[[0, 1, 2]])
    assert polyhaul.from_pyvista(polyhaul.to_pyvista(lines)).line_positions.tolist() == [0, 1, 2]


def test_trimesh_takes_meshes_and_gives_them_back() -> None:
    with pytest.warns(polyhaul.PolyhaulWarning, match="colors of meshes with uvs"):
        made = polyhaul.to_trimesh(mesh())
    assert isinstance(made, trimesh.Trimesh) and made.faces.shape == (3, 3)
    again = polyhaul.from_trimesh(made)
    assert again.face_count == 3 and again.uv_domain == "vertex"


def test_meshio_takes_meshes_and_gives_them_back() -> None:
    with pytest.warns(polyhaul.PolyhaulWarning, match="uvs that are not per vertex"):
        made = polyhaul.to_meshio(mesh())
    assert [block.type for block in made.cells] == ["quad", "triangle"]
    again = polyhaul.from_meshio(made)
    np.testing.assert_array_equal(again.corner_positions, mesh().corner_positions)
    np.testing.assert_allclose(again.colors, mesh().colors)


def test_vtk_cannot_change_a_mesh() -> None:
    original = mesh()
    before = original.positions.copy()
    polyhaul.to_pyvista(original).points[0, 0] = 9
    np.testing.assert_array_equal(original.positions, before)


def test_strips_and_colors_that_are_missing() -> None:
    strips = pyvista.Plane().triangulate().strip()
    assert polyhaul.from_pyvista(strips).face_count == 200
    colored = polyhaul.read(b"v 0 0 0 1 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n").meshes[0]
    assert polyhaul.to_pyvista(colored).point_data["RGB"].tolist() == [[255, 0, 0], [255, 255, 255], [255, 255, 255]]


@pytest.mark.parametrize("name", OBJ)
def test_accelerated_libraries_return_what_they_returned(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.obj"
    path.write_text(OBJ[name])
    assert {"trimesh", "meshio", "pyvista"} <= set(polyhaul.accelerate())
    try:
        fast = read_both(path)
    finally:
        assert polyhaul.accelerate(False) == ()
    for ours, theirs in zip(fast, read_both(path), strict=True):
        assert ours == theirs


def read_both(path: Path) -> list[Any]:
    """What trimesh and meshio read, as plain things; the name of the error if they do not."""
    contents: list[Any] = []
    try:
        scene = trimesh.load_scene(path)
        contents.append({name: (part.vertices.tolist(), part.faces.tolist()) for name, part in scene.geometry.items()})
    except Exception as error:
        contents.append(type(error))
    try:
        read = meshio.read(path)
        data = {key: np.asarray(values).tolist() for key, values in read.point_data.items()}
        cells = [(block.type, block.data.tolist()) for block in read.cells]
        contents.append((read.points.tolist(), cells, data, {k: [list(block) for block in v] for k, v in read.cell_data.items()}))
    except (Exception, SystemExit) as error:
        contents.append(type(error))
    return contents


def test_accelerated_stl_of_meshio(tmp_path: Path) -> None:
    path = tmp_path / "a.stl"
    polyhaul.write(polyhaul.from_pyvista(pyvista.Sphere(theta_resolution=9, phi_resolution=8)), path)
    before = meshio.read(path)
    polyhaul.accelerate()
    try:
        after = meshio.read(path)
    finally:
        polyhaul.accelerate(False)
    np.testing.assert_array_equal(after.points, before.points)
    np.testing.assert_array_equal(after.cells[0].data, before.cells[0].data)


def test_accelerated_pyvista_writes_what_it_can_read(tmp_path: Path) -> None:
    sphere = pyvista.Sphere(theta_resolution=9, phi_resolution=8)
    polyhaul.accelerate()
    try:
        sphere.save(tmp_path / "a.obj")
    finally:
        polyhaul.accelerate(False)
    assert (tmp_path / "a.obj").read_bytes().startswith(b"# polyhaul")
    assert pyvista.OBJReader(tmp_path / "a.obj").read().n_cells == sphere.n_cells
