"""Readers of PyVista, trimesh and meshio with polyhaul in their place: equal results, or a fallback for a reason."""

from __future__ import annotations

import logging
from collections import Counter
from pathlib import Path

import compare_readers
import generated_files
import numpy as np
import polyhaul
import pytest
import pyvista
import trimesh
from polyhaul._fallback import FallbackError
from polyhaul._ply_for_meshio import read_ply

PAIRS = [(library, kind) for library, kinds in compare_readers.FORMATS.items() for kind in kinds]

#: The least share of generated files that polyhaul reads, of those that the library reads; a third of them has something rare.
SHARES = {"trimesh": 0.75, "meshio": 0.75, "pyvista": 0.2}

QUADS = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0.1234567890123 1 0\nv 0 0 1\n"
UVS = "vt 0.1 0\nvt 1 0.7\nvt 1 1\nvt 0 1\nvt 0.3333333333 0.5\n"
PLY = "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
ROWS = "0 0 0{0}\n1 0 0{0}\n1 1.1 0{0}\n0 1 0{0}\n"
FACES = "element face {}\nproperty list uchar int vertex_indices\n{}end_header\n"
SOLID = (
    "solid {0}\nfacet normal 0 0.1 1\nouter loop\nvertex 0 0 0\nvertex 1.1 0 0\nvertex 1 1 0\nendloop\nendfacet\n"
    "facet normal 0 0 1\nouter loop\nvertex 1.1 0 0\nvertex 1 1 0\nvertex 0 0 -0.0\nendloop\nendfacet\nendsolid {0}\n"
)

#: Files of every kind that polyhaul reads for all libraries that read the kind.
READ = {
    "positions.obj": QUADS + "f 1 2 3\nf 1 3 4\n",
    "mixed.obj": QUADS + "f 1 2 3 4\nf 1 2 5\nf 2 3 5\n",
    "uvs.obj": QUADS + UVS + "f 1/2 2/2 3/3\nf 1/1 3/3 4/5\n",
    "same indices.obj": QUADS + "vt 0 0\nvt 0 1\nvt 0.3 1\nvt 0 0.1\nvt 1 1\n" + "vn 0 0.1 1\n" * 5 + "f 1/1/1 2/2/2 3/3/3\nf 3/3/3 4/4/4 5/5/5\n",
    "colors.obj": "v 0 0 0 1 0 0.3\nv 1 0 0 0 0.7 0\nv 1 1 0 0.1 0 1\nf 1 2 3\n",
    "groups.obj": QUADS + "g a\ng b\nf 1 2 3\ng b c\nf 1 2 4\ng a\nf 2 3 4\no z\nf 1 3 4\ns 1\ng\nf 4 3 2\n",
    "materials.obj": "mtllib a.mtl\no one\n" + QUADS + "usemtl red\nf 1 2 3\nusemtl blue\nf 1 3 4\nusemtl red\nf 1 2 5\n",
    "points.obj": QUADS,
    "long numbers.obj": "v 454123.125 5411234.456 100.5\nv 0.1 0.2 0.3\nv 1 2 3.3333333333333\nf 1 2 3\n",
    "windows.obj": ("# made\n" + QUADS + "f 1 2 3\n").replace("\n", "\r\n"),
    "positions.ply": PLY + FACES.format(2, "") + ROWS.format("") + "3 0 1 2\n3 0 2 3\n",
    "mixed.ply": PLY + FACES.format(2, "") + ROWS.format("") + "3 0 1 2\n4 0 1 2 3\n",
    "everything.ply": PLY
    + "".join(f"property float {name}\n" for name in ("nx", "ny", "nz", "s", "t", "quality"))
    + "".join(f"property uchar {name}\n" for name in ("red", "green", "blue", "alpha"))
    + FACES.format(1, "")
    + ROWS.format(" 0 0.1 1 0.5 1 7.25 255 10 20 7")
    + "3 0 1 2\n",
    "points.ply": PLY + "property int label\nend_header\n" + ROWS.format(" 3"),
    "one.stl": SOLID.format("part"),
    "several.stl": SOLID.format("part A") + SOLID.format("b") + SOLID.format("b"),
    "triangles.off": "OFF\n4 2 0\n0 0 0\n1 0 0.1\n1 1 0\n0 1 0\n3 0 1 2\n3 0 2 3\n",
}

#: Files for which polyhaul falls back, and why.
FALLBACKS = {
    "relative.obj": (QUADS + "f -5 -4 -3\n", "trimesh", "relative indices"),
    "comment.obj": (QUADS + "f 1 2 3 # c\n", "pyvista", "a comment after other text"),
    "lines.obj": (QUADS + "f 1 2 3\nl 1 2\n", "pyvista", "lines beside faces"),
    "corner uvs.ply": (
        PLY + FACES.format(1, "property list uchar float texcoord\n") + ROWS.format("") + "3 0 1 2 6 0 0 1 0 1 1\n",
        "pyvista",
        "UVs per corner",
    ),
    "plus.stl": (SOLID.format("a").replace(" 1 1 0", " +1 1 0"), "pyvista", "plus sign"),
    "uneven.off": ("OFF\n4 2 0\n0 0 0\n1 0 00 1 0 2\n1 1 0\n0 1 0\n3 0 1 0 2\n", "trimesh", "rows that are not lines"),
    "short.obj": (QUADS + "f 1 2 3\nf 1 2\n", "meshio", "face with 2 corners"),
}


@pytest.mark.parametrize(("library", "kind"), PAIRS)
def test_generated_files_are_equal_or_fall_back(tmp_path: Path, library: str, kind: str) -> None:
    (tmp_path / "a.mtl").write_text(generated_files.MTL)
    paths = [tmp_path / f"{seed}.{kind}" for seed in range(120)]
    for seed, path in enumerate(paths):
        path.write_bytes(generated_files.make(kind, seed))
    outcomes = list(compare_readers.compare_all(paths, library))
    different = {path.name: outcome.reason for path, outcome in zip(paths, outcomes, strict=True) if outcome.status == "different"}
    assert not different
    counts = Counter(outcome.status for outcome in outcomes)
    assert counts["equal"] > SHARES[library] * (counts["equal"] + counts["fallback"]), counts
    assert all(outcome.reason for outcome in outcomes if outcome.status == "fallback")


@pytest.mark.parametrize("library", compare_readers.FORMATS)
@pytest.mark.parametrize("name", READ)
def test_these_files_are_read_by_polyhaul(tmp_path: Path, library: str, name: str) -> None:
    path = tmp_path / name
    if path.suffix[1:] not in compare_readers.FORMATS[library]:
        pytest.skip("no such format")
    (tmp_path / "a.mtl").write_text(generated_files.MTL)
    path.write_text(READ[name], newline="")
    assert compare_readers.compare(path, library) == compare_readers.Outcome("equal")


@pytest.mark.parametrize("name", FALLBACKS)
def test_fallbacks_have_a_reason(tmp_path: Path, name: str) -> None:
    text, library, reason = FALLBACKS[name]
    (tmp_path / name).write_text(text)
    outcome = compare_readers.compare(tmp_path / name, library)
    assert outcome.status == "fallback" and reason in outcome.reason


def test_a_header_without_lines_falls_back() -> None:
    with pytest.raises(FallbackError, match="another order"):
        read_ply(b"ply\nend_header\n")


def test_a_wrong_result_is_found(tmp_path: Path) -> None:
    expected = compare_readers.plain({"a": np.array([1.0, 2]), "b": ["x"]})
    for other in ({"a": np.array([1.0, 3]), "b": ["x"]}, {"a": np.array([1, 2]), "b": ["x"]}, {"b": ["x"], "a": np.array([1.0, 2])}):
        assert compare_readers.difference(expected, compare_readers.plain(other), "") is not None


def test_keywords_of_trimesh_are_obeyed(tmp_path: Path) -> None:
    path = tmp_path / "a.obj"
    path.write_text("v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 0 0\nf 1 2 3\nf 4 3 2\n")
    polyhaul.accelerate()
    try:
        assert len(trimesh.load_mesh(path, process=False).vertices) == 4
        assert len(trimesh.load_mesh(path).vertices) == 3
        with path.open("rb") as file:
            assert len(trimesh.load_mesh(file, file_type="obj", process=False).vertices) == 4
    finally:
        polyhaul.accelerate(False)


def test_the_log_has_a_record_for_each_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "a.obj"
    path.write_text(QUADS + "f 1 2 3\n")
    polyhaul.accelerate()
    try:
        with caplog.at_level(logging.DEBUG, "polyhaul.accelerate"):
            trimesh.load_scene(path)
            path.write_text(QUADS + "f -5 -4 -3\n")
            trimesh.load_scene(path)
    finally:
        polyhaul.accelerate(False)
    assert [record.getMessage() for record in caplog.records] == [
        "trimesh, obj: read by polyhaul",
        "trimesh, obj: fallback: relative indices",
    ]


SURFACES = {
    "sphere": lambda: pyvista.Sphere(theta_resolution=9, phi_resolution=8),
    "quads": pyvista.Plane,
    "cone": lambda: pyvista.Cone(resolution=7),
    "doubles": lambda: pyvista.PolyData(np.array([[1 / 3, 2, 3], [1, 1e-3, 3], [4, 5, 6.5]]), [3, 0, 1, 2]),
    "colors": lambda: named_colors(),
    "cube": pyvista.Cube,
    "line": pyvista.Line,
    "strips": lambda: pyvista.Plane().triangulate().strip(),
}


def named_colors() -> pyvista.PolyData:
    data = pyvista.Plane(i_resolution=1, j_resolution=1)
    data.point_data["RGB"] = np.full((4, 3), 7, np.uint8)
    data.point_data["other uvs"] = data.active_texture_coordinates * 2
    data.point_data.active_texture_coordinates_name = "other uvs"
    return data


@pytest.mark.parametrize("name", SURFACES)
def test_pyvista_writes_the_statements_of_vtk(tmp_path: Path, name: str) -> None:
    def statements(path: Path) -> list[str]:
        SURFACES[name]().save(path)
        return [line for line in path.read_text().splitlines() if not line.startswith("#")]

    expected = statements(tmp_path / "theirs.obj")
    polyhaul.accelerate()
    try:
        found = statements(tmp_path / "ours.obj")
    finally:
        polyhaul.accelerate(False)
    assert found == expected
