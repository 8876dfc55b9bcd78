"""Operations on meshes: values per corner, one index per corner, triangles, matrices, sections of files."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import polyhaul
import pytest
from conftest import CUBE

TEXT = (
    b"o a\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 7 7 7\nvt 0 0\nvt 1 1\nvn 0 0 1\nusemtl r\ns 1\nf 1/1/1 2/2/1 3//1\n"
    b"o b\nv 5 0 0\nv 6 0 0\nv 5 5 0\nvt .5 .5\nusemtl z\ns off\nf 5/3 6/3 2/1\nl 5 6\n"
)


def quads() -> polyhaul.Mesh:
    rng = np.random.default_rng(3)
    corners = [0, 1, 2, 3, 1, 4, 5, 2]
    return polyhaul.Mesh(
        rng.random((6, 3)), corners, [0, 4, 8], uvs=rng.random((8, 2)), normals=rng.random((2, 3)), normal_domain="face",
        vertex_columns={"heat": np.arange(6.0)}, face_columns={"region": np.array([7, 9])},
    )


def test_values_per_corner_of_every_domain() -> None:
    mesh = quads()
    uvs, normals = mesh.per_corner("uvs"), mesh.per_corner("normals")
    assert uvs is not None and normals is not None
    np.testing.assert_array_equal(uvs, mesh.uvs)
    assert mesh.normals is not None
    np.testing.assert_array_equal(normals, np.repeat(mesh.normals, 4, axis=0))
    np.testing.assert_array_equal(mesh.per_corner("heat"), mesh.corner_positions)
    np.testing.assert_array_equal(mesh.per_corner("region"), [7] * 4 + [9] * 4)
    triangle = polyhaul.Mesh(np.eye(3), [[0, 1, 2]], face_columns={"pair": [[7, 9]]})
    np.testing.assert_array_equal(triangle.per_corner("pair"), [[7, 9]] * 3)
    assert mesh.per_corner("colors") is None
    uvs[:] = 0  # it is the caller's
    with pytest.raises(KeyError):
        mesh.per_corner("nothing")


def test_what_corners_do_not_have_is_missing() -> None:
    mesh = polyhaul.read(TEXT).meshes[0]
    uvs = mesh.per_corner("uvs")
    assert uvs is not None and np.isnan(uvs[2]).all() and not np.isnan(uvs[[0, 1, 3]]).any()
    filled = mesh.per_corner("uvs", missing=0.0)
    assert filled is not None and not np.isnan(filled).any()


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_large_meshes_are_the_same_for_any_number_of_threads(threads: int) -> None:
    count = 50_000
    rng = np.random.default_rng(1)
    faces = rng.integers(0, count, (2 * count, 3))
    mesh = polyhaul.Mesh(rng.random((count, 3)), faces, uvs=rng.random((count, 2)), uv_domain="vertex")
    uvs = mesh.per_corner("uvs", threads=threads)
    assert uvs is not None and mesh.uvs is not None
    np.testing.assert_array_equal(uvs, mesh.uvs[faces.reshape(-1)])
    matrix = [[0, -2, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3]]
    moved = mesh.transform(matrix, threads=threads)
    expected = mesh.positions @ np.array(matrix)[:, :3].T + np.array(matrix)[:, 3]
    np.testing.assert_allclose(moved.positions, expected, rtol=1e-6)
    assert mesh.has_clean_faces(threads=threads) == all(len(set(face)) == 3 for face in faces.tolist())


def test_welding_gives_one_index_per_corner() -> None:
    mesh = quads()
    welded = mesh.weld()
    assert welded.uv_domain == welded.normal_domain == "vertex"
    for name in ("uvs", "normals", "heat"):
        np.testing.assert_array_equal(welded.per_corner(name), mesh.per_corner(name))
    np.testing.assert_array_equal(welded.positions[welded.corner_positions], mesh.positions[mesh.corner_positions])
    uvs, normals = mesh.per_corner("uvs"), mesh.per_corner("normals")
    assert uvs is not None and normals is not None
    pairs = {tuple(row) for row in np.column_stack([mesh.corner_positions, uvs, normals])}
    assert welded.position_count == len(pairs)


@pytest.mark.parametrize("triangles", [False, True])
@pytest.mark.parametrize("extension", ["glb", "gltf", "ply"])
def test_corners_with_equal_values_are_one_vertex_of_a_file(extension: str, triangles: bool, tmp_path: Path) -> None:
    size = 20
    column, row = np.meshgrid(np.arange(size), np.arange(size))
    first = (row * (size + 1) + column).ravel()
    faces = np.stack([first, first + 1, first + size + 2, first + size + 1], axis=1)
    if triangles:
        faces = faces[:, [0, 1, 2, 0, 2, 3]].reshape(-1, 3)
    x, y = np.meshgrid(np.arange(size + 1.0), np.arange(size + 1.0))
    positions = np.stack([x.ravel(), y.ravel(), 0 * x.ravel()], axis=1)
    uvs = positions[faces.ravel(), :2] / size
    path = tmp_path / f"a.{extension}"
    for seams in (0, size + 1):
        # The positions of a column have two uvs each.
        uvs[np.repeat(np.arange(len(faces)) % (len(faces) // size) < len(faces) // size // 2, faces.shape[1]), 0] += seams
        mesh = polyhaul.Mesh(positions, faces, uvs=uvs, uv_domain="corner")
        assert mesh.weld().position_count == mesh.triangulate().weld().position_count == (size + 1) ** 2 + seams
        polyhaul.write(mesh, path, triangulate=True)
        assert polyhaul.read(path).meshes[0].position_count == (size + 1) ** 2 + seams
    normals = np.zeros((len(faces), 3)) + [0, 0, 1]
    flat = polyhaul.Mesh(positions, faces, normals=normals, normal_domain="face")
    assert flat.weld().position_count == (size + 1) ** 2


def test_two_quads_that_share_uvs_have_six_vertices(tmp_path: Path) -> None:
    positions = [[0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 0], [1, 1, 0], [2, 1, 0]]
    faces = [[0, 1, 4, 3], [1, 2, 5, 4]]
    uvs = np.array(positions, dtype=np.float32)[np.ravel(faces), :2]
    polyhaul.write(polyhaul.Mesh(positions, faces, uvs=uvs, uv_domain="corner"), tmp_path / "a.glb")
    assert polyhaul.read(tmp_path / "a.glb").meshes[0].position_count == 6


def test_welding_keeps_what_no_face_uses() -> None:
    mesh = polyhaul.Mesh(np.eye(4, 3), [[0, 1, 2]], uvs=[[0, 0], [1, 0], [1, 1]], line_positions=[[3, 0]], points=[3])
    welded = mesh.weld()
    assert welded.position_count == 4
    np.testing.assert_array_equal(welded.positions[welded.line_positions], mesh.positions[[3, 0]])
    np.testing.assert_array_equal(welded.positions[welded.points], mesh.positions[[3]])


def test_triangles_keep_what_belongs_to_them() -> None:
    triangles = quads().triangulate()
    assert triangles.face_count == 4 and set(np.diff(triangles.face_offsets)) == {3}
    region = triangles.face_columns["region"]
    assert isinstance(region, np.ndarray) and region.tolist() == [7, 7, 9, 9]


def test_a_mirror_turns_faces_around() -> None:
    mesh = quads()
    mirrored = mesh.transform(np.diag([1, 1, -1]))
    assert mirrored.corner_positions.tolist() == [0, 3, 2, 1, 1, 2, 5, 4]
    uvs, before = mirrored.per_corner("uvs"), mesh.per_corner("uvs")
    assert uvs is not None and before is not None
    np.testing.assert_array_equal(uvs[[0, 3, 2, 1]], before[:4])
    normals = mirrored.per_corner("normals")
    assert normals is not None
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1, rtol=1e-6)


@pytest.mark.parametrize("matrix", [np.eye(2), np.full((4, 4), np.nan), [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]]])
def test_matrices_that_are_none_are_refused(matrix: object) -> None:
    with pytest.raises((ValueError, polyhaul.UsageError)):
        quads().transform(np.asarray(matrix))


def test_objects_become_meshes_of_their_own() -> None:
    scene = polyhaul.read(TEXT)
    first, second = (placed.to_mesh() for placed in scene.objects)
    assert first.position_count == 4 and first.corner_positions.tolist() == [0, 1, 2]
    assert second.positions.tolist() == [[5, 0, 0], [6, 0, 0], [5, 5, 0], [1, 0, 0]]
    assert second.corner_positions.tolist() == [0, 1, 3] and second.line_positions.tolist() == [0, 1]
    assert second.material_slots is not None and second.material_slots.tolist() == [1]
    assert second.smooth is not None and second.smooth.tolist() == [False]
    uvs = second.per_corner("uvs")
    assert uvs is not None and uvs.tolist() == [[0.5, 0.5], [0.5, 0.5], [0, 0]]


def test_objects_can_leave_out_what_they_do_not_use() -> None:
    scene = polyhaul.read(TEXT)
    first, second = (placed.to_mesh(used_only=True) for placed in scene.objects)
    assert first.positions.tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    assert second.positions.tolist() == [[1, 0, 0], [5, 0, 0], [6, 0, 0]]
    assert second.corner_positions.tolist() == [1, 2, 0] and second.line_positions.tolist() == [1, 2]


def test_objects_of_a_new_scene_keep_their_slots() -> None:
    scene = polyhaul.Scene()
    mesh = polyhaul.Mesh(np.eye(5, 3), [[0, 1, 2], [1, 2, 4]], material_slots=[1, 0], smooth=[True, False])
    part = scene.add(mesh, materials=["a", "b"]).to_mesh(used_only=True)
    assert part.position_count == 4 and part.corner_positions.tolist() == [0, 1, 2, 1, 2, 3]
    assert part.material_slots is not None and part.material_slots.tolist() == [1, 0]


def test_sections_add_up_to_the_whole(tmp_path: Path) -> None:
    scene = polyhaul.read(CUBE, load_materials=False)
    corners = [placed.mesh.positions[placed.mesh.corner_positions] for placed in scene.objects[:1]]
    parts = [part.positions[part.corner_positions] for part in (placed.to_mesh() for placed in scene.objects)]
    np.testing.assert_array_equal(np.concatenate(parts), corners[0])


def test_reading_turns_and_scales() -> None:
    scene = polyhaul.read(TEXT, forward_axis="Y", up_axis="Z", scale=2)
    assert scene.forward_axis == "Y" and scene.up_axis == "Z"
    assert scene.meshes[0].positions[5].tolist() == [12, 0, 0]
    assert scene.meshes[0].positions[2].tolist() == [0, 0, 2]
    scaled = polyhaul.read(TEXT, scale=0.5)
    assert scaled.meshes[0].positions[4].tolist() == [2.5, 0, 0] and scaled.up_axis == "Y"
    for wrong in ({"up_axis": "Z"}, {"scale": 0}, {"scale": float("nan")}, {"forward_axis": "Y", "up_axis": "Y"}):
        with pytest.raises(ValueError):
            polyhaul.read(TEXT, **wrong)


def test_arrays_can_be_writable() -> None:
    scene = polyhaul.read(TEXT, writable=True)
    mesh = scene.meshes[0]
    mesh.positions[0] = (9, 9, 9)
    target = io.BytesIO()
    polyhaul.write(scene, target, format="obj")
    assert b"v 9.000000 9.000000 9.000000" in target.getvalue()
    with pytest.raises(ValueError):
        polyhaul.read(TEXT).meshes[0].positions[0] = 1


def test_positions_and_faces_are_enough() -> None:
    target = io.BytesIO()
    polyhaul.write((np.eye(3), [[0, 1, 2]]), target, format="obj")
    assert target.getvalue().count(b"\nv ") == 3 and b"f 1 2 3" in target.getvalue()


def test_the_command_comes_with_the_package(tmp_path: Path) -> None:
    (tmp_path / "a.obj").write_bytes(TEXT)
    program = [sys.executable, "-c", "from polyhaul._command import main; main()"]
    ran = subprocess.run([*program, "convert", tmp_path / "a.obj", tmp_path / "a.ply"], capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert polyhaul.read(tmp_path / "a.ply").meshes[0].face_count == 2
    failed = subprocess.run([*program, "info", tmp_path / "missing.obj"], capture_output=True, check=False)
    assert failed.returncode == 1 and b"missing.obj" in failed.stderr


def test_without_other_libraries_nothing_is_accelerated() -> None:
    code = "import sys; sys.modules.update(dict.fromkeys(('trimesh', 'meshio', 'pyvista')))\nimport polyhaul\nprint(polyhaul.accelerate())"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert ran.stdout.strip() == "()"
