"""Coordinates that float32 cannot hold: read, made, changed and written."""

from __future__ import annotations

import copy
import io
import pickle
from pathlib import Path

import numpy as np
import polyhaul
import pytest

LINES = ["454123.125 5411234.456 100.5", "454124.5 5411235.789 0.001", "454125.25 5411234.000123456789 99"]
OBJ = "".join(f"v {line}\n" for line in LINES) + "f 1 2 3\n"
EXPECTED = np.array([line.split() for line in LINES], np.float64)


def read(text: str, name: str = "obj", **options: object) -> polyhaul.Mesh:
    scene = polyhaul.read(text.encode(), format=name, **options)  # type: ignore[arg-type]
    return scene.meshes[0]


def test_positions_are_numpys_parse_of_the_text() -> None:
    mesh = read(OBJ)
    assert mesh.positions.dtype == np.float64
    np.testing.assert_array_equal(mesh.positions, EXPECTED)
    assert not mesh.positions.flags.writeable


def test_ordinary_files_stay_single() -> None:
    assert read("v 0.1 0.2 0.3\nv 1 2 3\nv 4 5 6\nf 1 2 3\n").positions.dtype == np.float32


def test_the_caller_may_choose() -> None:
    scene = polyhaul.read(OBJ.encode(), format="obj", precision="single")
    assert scene.report is not None
    mesh, warnings = scene.meshes[0], scene.report.warnings
    assert mesh.positions.dtype == np.float32 and warnings.severities == {"note": 0, "loss": warnings.total, "fault": 0}
    assert "rounded to 32-bit floats, by up to 0." in warnings[0].message
    np.testing.assert_array_equal(mesh.positions, EXPECTED.astype(np.float32))
    with pytest.raises(polyhaul.Error, match="rounded"):
        read(OBJ, precision="single", strict=True)
    plain = read("v 0.1 0.2 0.3\nv 1 2 3\nv 4 5 6\nf 1 2 3\n", precision="double")
    assert plain.positions.tolist() == [[0.1, 0.2, 0.3], [1, 2, 3], [4, 5, 6]]


def test_doubles_are_kept(tmp_path: Path) -> None:
    mesh = polyhaul.Mesh(EXPECTED, [[0, 1, 2]])
    np.testing.assert_array_equal(mesh.positions, EXPECTED)
    for other in (copy.copy(mesh), copy.deepcopy(mesh), pickle.loads(pickle.dumps(mesh))):
        np.testing.assert_array_equal(other.positions, EXPECTED)
    scene = polyhaul.Scene()
    scene.add(mesh, name="survey")
    turned = EXPECTED[:, [0, 2, 1]] * [1, 1, -1]
    for name, expected in (("a.obj", turned), ("a.ply", EXPECTED), ("a.off", EXPECTED)):
        polyhaul.write(scene, tmp_path / name)
        np.testing.assert_array_equal(polyhaul.read(tmp_path / name).meshes[0].positions, expected, name)


def test_doubles_that_are_floats_become_floats() -> None:
    singles = EXPECTED.astype(np.float32)
    assert polyhaul.Mesh(singles.astype(np.float64)).positions.dtype == np.float32
    assert polyhaul.Mesh(np.array([[1, 2, 3]])).positions.dtype == np.float32
    assert polyhaul.Mesh(np.array([[2**24 + 1, 2, 3]])).positions.tolist() == [[2**24 + 1, 2, 3]]
    assert polyhaul.Mesh([[np.nan, np.inf, 0.5]]).positions.dtype == np.float32


def test_positions_are_set_in_either_precision() -> None:
    mesh = polyhaul.Mesh(EXPECTED, [[0, 1, 2]])
    mesh.positions = np.zeros((3, 3), np.float32)
    assert mesh.positions.dtype == np.float32
    mesh.positions = EXPECTED + 0.25
    np.testing.assert_array_equal(mesh.positions, EXPECTED + 0.25)


def test_an_array_of_doubles_may_change_later() -> None:
    given = EXPECTED.copy()
    mesh = polyhaul.Mesh(given, [[0, 1, 2]])
    assert np.shares_memory(mesh.positions, given)
    assert np.shares_memory(mesh.replace(smooth=True).positions, given)
    faces = mesh.triangulate()  # shares the positions
    given -= EXPECTED[0]
    expected = EXPECTED - EXPECTED[0]
    for each in (mesh, faces, mesh.replace(smooth=True), copy.copy(mesh), mesh.weld()):
        np.testing.assert_array_equal(each.positions, expected)
        np.testing.assert_array_equal(stored_floats(each), expected.astype(np.float32))


def test_sections_follow_doubles_that_are_changed_in_place() -> None:
    text = f"o a\n{OBJ}o b\nf 1 2 3\no c\nv 7 8 9\nf 1 2 4\n"
    scene = polyhaul.read(text.encode(), format="obj", writable=True)
    positions = scene.meshes[0].positions
    assert positions.dtype == np.float64
    positions -= EXPECTED[0]
    for item, rows in zip(scene.objects, ([0, 1, 2], [0, 1, 2], [0, 1, 3]), strict=True):
        section = item.to_mesh(used_only=True)
        np.testing.assert_array_equal(section.positions, positions[rows])
        np.testing.assert_array_equal(stored_floats(section), positions[rows].astype(np.float32))


def test_a_section_of_everything_follows_doubles() -> None:
    scene = polyhaul.read(OBJ.encode(), format="obj", writable=True)
    (item,) = scene.objects
    whole = item.to_mesh()
    scene.meshes[0].positions[:] -= EXPECTED[0]
    for mesh in (whole, scene.meshes[0]):
        np.testing.assert_array_equal(stored_floats(mesh), mesh.positions.astype(np.float32))


def stored_floats(mesh: polyhaul.Mesh) -> object:
    """The positions of a mesh in a format that stores floats."""
    file = io.BytesIO()
    polyhaul.write(mesh, file, format="stl")
    return polyhaul.read(file.getvalue(), format="stl").meshes[0].positions


@pytest.mark.parametrize("has_colors", [False, True])
def test_doubles_that_are_changed_in_place_are_written(has_colors: bool) -> None:
    scene = polyhaul.read(OBJ.encode(), format="obj", writable=True)
    mesh = scene.meshes[0]
    if has_colors:
        mesh.colors = np.ones((3, 3))  # after a change, the native mesh is made of Python's arrays
    positions = mesh.positions
    assert positions.dtype == np.float64
    positions -= EXPECTED[0]
    file = io.BytesIO()
    polyhaul.write(scene, file, format="stl")  # which stores floats
    written = polyhaul.read(file.getvalue(), format="stl").meshes[0].positions
    np.testing.assert_array_equal(written, (EXPECTED - EXPECTED[0]).astype(np.float32))


def test_operations_keep_doubles() -> None:
    mesh = polyhaul.Mesh(EXPECTED, [[0, 1, 2]])
    moved = mesh.transform([[1, 0, 0, -454123], [0, 1, 0, -5411234], [0, 0, 1, 0], [0, 0, 0, 1]])
    np.testing.assert_allclose(moved.positions, EXPECTED - [454123, 5411234, 0], rtol=0, atol=1e-9)
    np.testing.assert_array_equal(mesh.weld().positions, EXPECTED)
    np.testing.assert_array_equal(mesh.triangulate().positions, EXPECTED)


def test_points_of_a_scene_for_a_renderer() -> None:
    text = "WorldBegin\nShape \"trianglemesh\" \"point3 P\" [%s] \"point2 uv\" [0 0 1 0 0.123456789 1]\n"
    for numbers, dtype in ((" ".join(LINES), np.float64), ("0 0 0 .1 0 0 0 .1 0", np.float32)):
        data = (text % numbers).encode()
        assert polyhaul.read(data, format="pbrt").meshes[0].positions.dtype == dtype
        render = polyhaul.read(data, format="pbrt", flatten=False).render
        assert render is not None
        parameters = render.shapes[0].parameters
        assert parameters["P"].values.dtype == dtype
        assert parameters["uv"].values.dtype == np.float32
        np.testing.assert_array_equal(parameters["P"].values.ravel(), np.array(numbers.split(), dtype))


def test_losses_have_names(tmp_path: Path) -> None:
    mesh = polyhaul.Mesh(np.eye(3), [[0, 1, 2]], face_columns={"part": [1]})
    report = polyhaul.write(mesh, tmp_path / "a.glb")
    assert [(warning.code, warning.names) for warning in report.warnings] == [("left-out-columns", ("part",))]


def test_transforms_are_doubles(tmp_path: Path) -> None:
    scene = polyhaul.Scene()
    matrix = np.eye(4)
    matrix[:3, 3] = EXPECTED[0]
    scene.add(polyhaul.Mesh(np.eye(3, dtype=np.float32), [[0, 1, 2]]), name="far", transform=matrix)
    assert scene.objects[0].transform is not None
    np.testing.assert_array_equal(scene.objects[0].transform, matrix)
    polyhaul.write(scene, tmp_path / "a.ply")
    np.testing.assert_allclose(polyhaul.read(tmp_path / "a.ply").meshes[0].positions, np.eye(3) + EXPECTED[0], rtol=0, atol=1e-9)


def test_an_origin_moves_what_floats_cannot_hold(tmp_path: Path) -> None:
    scene = polyhaul.Scene()
    scene.add(polyhaul.Mesh(EXPECTED, [[0, 1, 2]]), name="survey")
    report = polyhaul.write(scene, tmp_path / "a.stl", origin=(454123, 5411234, 0))
    assert report.warnings.severities["loss"] == 0 and report.warnings.counts["rounded"] > 0
    near = polyhaul.read(tmp_path / "a.stl").meshes[0].positions
    np.testing.assert_allclose(near, EXPECTED - [454123, 5411234, 0], rtol=0, atol=4e-6)
