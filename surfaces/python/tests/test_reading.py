"""What reading gives: arrays, objects, materials, reports."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Any

import numpy as np
import polyhaul
import pytest
from conftest import CUBE, rows


def test_arrays_have_the_documented_shapes_and_types(cube: Path) -> None:
    mesh = polyhaul.read(cube).meshes[0]
    expected = {
        "positions": ((7, 3), np.float32),
        "corner_positions": ((9,), np.uint32),
        "face_offsets": ((4,), np.uint32),
        "uvs": ((3, 2), np.float32),
        "corner_uvs": ((9,), np.uint32),
        "normals": ((1, 3), np.float32),
        "corner_normals": ((9,), np.uint32),
        "line_positions": ((3,), np.uint32),
        "line_offsets": ((2,), np.uint32),
        "points": ((1,), np.uint32),
        "material_slots": ((3,), np.int32),
        "face_groups": ((3,), np.int32),
        "smooth": ((3,), np.bool_),
    }
    for name, (shape, dtype) in expected.items():
        array = getattr(mesh, name)
        assert (array.shape, array.dtype) == (shape, dtype), name
        assert array.flags.c_contiguous and array.flags.aligned, name
    np.testing.assert_array_equal(mesh.positions[4], [5, 5, 5])
    np.testing.assert_array_equal(mesh.corner_positions, [0, 1, 2, 0, 2, 3, 4, 5, 6])
    np.testing.assert_array_equal(mesh.corner_uvs, [0, 1, 2, 0, 2, 1] + [polyhaul.NONE] * 3)
    np.testing.assert_array_equal(mesh.face_offsets, [0, 3, 6, 9])
    assert (mesh.uv_domain, mesh.normal_domain) == ("indexed", "indexed")
    assert (mesh.position_count, mesh.face_count, mesh.corner_count) == (7, 3, 9)


def test_statements_become_values_of_faces(cube: Path) -> None:
    scene = polyhaul.read(cube)
    mesh = scene.meshes[0]
    assert mesh.material_slots is not None and mesh.face_groups is not None
    names = [scene.materials[slot].name for slot in mesh.material_slots]
    assert names == ["red", "blue", "blue"]
    np.testing.assert_array_equal(mesh.smooth, [True, False, False])
    assert mesh.groups == ("left right",)
    np.testing.assert_array_equal(mesh.face_groups[:2], [-1, 0])


def test_curves_have_groups() -> None:
    curve = "cstype bspline\ndeg 1\ncurv 0 1 1 2\nparm u 0 0 1 1\nend\n"
    mesh = polyhaul.read(f"v 0 0 0\nv 1 0 0\n{curve}g a\ng b\n{curve}{curve}".encode(), format="obj").meshes[0]
    assert mesh.curve_groups is not None
    assert [mesh.groups[group] if group >= 0 else "" for group in mesh.curve_groups.tolist()] == ["", "b", "b"]


def test_what_is_not_there_is_none() -> None:
    mesh = polyhaul.read(b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n").meshes[0]
    absent = ("uvs", "corner_uvs", "uv_domain", "normals", "corner_normals", "normal_domain", "colors", "smooth")
    assert {name: getattr(mesh, name) for name in absent} == dict.fromkeys(absent)
    assert mesh.material_slots is None and mesh.face_groups is None and mesh.curves == ()


def test_content_that_says_nothing_is_refused() -> None:
    for content in (b"", b"# a comment\n", b"hello world\n"):
        with pytest.raises(polyhaul.UsageError, match="cannot infer the format"):
            polyhaul.read(content)


def test_an_empty_source_of_a_named_format_is_an_empty_scene() -> None:
    scene = polyhaul.read(b"", format="obj")
    for mesh in scene.meshes:
        assert mesh.positions.shape == (0, 3)
        np.testing.assert_array_equal(mesh.face_offsets, [0])
    assert len(scene.materials) == 0


def test_objects_are_sections_and_found_by_name(cube: Path) -> None:
    scene = polyhaul.read(cube)
    first, second = scene.objects
    assert (first.name, second.name) == ("first", "second")
    assert scene.objects["second"] is second
    assert "second" in scene.objects and "third" not in scene.objects  # type: ignore[comparison-overlap]
    assert (first.faces, second.faces, second.positions) == (range(2), range(2, 3), range(4, 7))
    assert first.mesh is second.mesh is scene.meshes[0] and first.mesh in scene.meshes
    with pytest.raises(KeyError, match="third"):
        scene.objects["third"]


def test_materials_have_the_numbers_that_stand_in_the_file(cube: Path) -> None:
    red, blue = polyhaul.read(cube).materials
    assert (red.name, red.diffuse, red.shininess, red.missing) == ("red", (0.8, 0.1, 0.0), 10.0, False)
    assert blue.diffuse == polyhaul.Xyz(0.0, 0.0, 1.0)
    texture = red.maps[0]
    assert (texture.kind, texture.file, texture.offset) == ("diffuse", "red.png", (0.5, 0.0, 0.0))
    assert "roughness" not in repr(red) and repr(texture).startswith("TextureMap(kind='diffuse'")


def test_libraries_can_be_left_alone(cube: Path) -> None:
    materials = polyhaul.read(cube, load_materials=False).materials
    assert [material.missing for material in materials] == [True, True]


def test_axes_are_those_of_obj_files(cube: Path) -> None:
    scene = polyhaul.read(cube)
    assert (scene.forward_axis, scene.up_axis) == ("NEGATIVE_Z", "Y")


def test_colors_weights_and_curves() -> None:
    text = b"v 0 0 0 1 0.5 0\nv 1 0 0 0 0 1\nv 1 1 0 0 0 0\nv 2 1 0 1 1 1\n"
    curve = b"cstype bspline\ndeg 3\ncurv 0 1 1 2 3 4\nparm u 0 0 0 0 1 1 1 1\nend\n"
    mesh = polyhaul.read(text + curve).meshes[0]
    assert mesh.colors is not None
    np.testing.assert_array_equal(mesh.colors[0], [1, 0.5, 0, 1])
    (read_curve,) = mesh.curves
    assert (read_curve.degree, read_curve.rational, read_curve.range) == (3, False, (0.0, 1.0))
    np.testing.assert_array_equal(read_curve.control_points, [0, 1, 2, 3])
    np.testing.assert_array_equal(read_curve.knots, [0, 0, 0, 0, 1, 1, 1, 1])


def test_arrays_are_views_that_nobody_can_write(cube: Path) -> None:
    mesh = polyhaul.read(cube).meshes[0]
    assert np.shares_memory(mesh.positions, mesh.positions)
    assert not mesh.positions.flags.owndata
    arrays: list[Any] = [mesh.positions, mesh.corner_positions, mesh.uvs, mesh.face_offsets]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True


def test_arrays_outlive_their_scene() -> None:
    scene = polyhaul.read(rows(50_000))
    positions, corners = scene.meshes[0].positions, scene.meshes[0].corner_positions
    del scene
    gc.collect()
    filler = [np.full(150_000, 7, np.float32) for _ in range(8)]
    assert positions[49_999, 1] == 49_999.5 and corners[-1] == 2
    assert len(filler) == 8


@pytest.mark.parametrize("threads", [1, 2, 7, 64])
def test_threads_make_no_difference(threads: int) -> None:
    text = rows(20_000)
    mesh = polyhaul.read(text, threads=threads, memory_limit="8MB").meshes[0]
    single = polyhaul.read(text, threads=1).meshes[0]
    np.testing.assert_array_equal(mesh.positions, single.positions)
    np.testing.assert_array_equal(mesh.corner_positions, single.corner_positions)


def test_the_report_says_what_was_done(cube: Path) -> None:
    report = polyhaul.read(cube, threads=2).report
    assert report is not None
    assert report.bytes_in == cube.stat().st_size + (cube.parent / "cube.mtl").stat().st_size
    assert (report.plain_bytes_in, report.codec) == (report.bytes_in, None)
    assert report.seconds > 0 and "read" in report.phases and report.threads >= 1
    assert not report.warnings and report.warnings.total == 0


def test_every_kind_of_source_gives_the_same(cube: Path) -> None:
    expected = polyhaul.read(cube).meshes[0].positions
    data = cube.read_bytes()
    sources: list[Any] = [str(cube), data, bytearray(data), memoryview(data), np.frombuffer(data, np.uint8)]
    for source in [*sources, os.fspath(cube)]:
        np.testing.assert_array_equal(polyhaul.read(source).meshes[0].positions, expected)
    with cube.open("rb") as file:
        np.testing.assert_array_equal(polyhaul.read(file).meshes[0].positions, expected)
    with cube.open("rb", buffering=0) as file:
        np.testing.assert_array_equal(polyhaul.read(file).meshes[0].positions, expected)


def test_reprs_tell_what_is_inside(cube: Path) -> None:
    scene = polyhaul.read(cube)
    assert repr(scene) == "<polyhaul.Scene: 2 objects, 1 meshes, 2 materials>"
    assert repr(scene.objects) == (
        "[<polyhaul.Object 'first': 4 positions, 2 faces>, <polyhaul.Object 'second': 3 positions, 1 faces>]"
    )
    assert repr(scene.meshes[0]) == (
        "<polyhaul.Mesh: 7 positions, 3 faces, 9 corners, uvs by index, normals by index, 1 lines, 1 points>"
    )


def test_warnings_are_kept_with_their_places() -> None:
    report = polyhaul.read(CUBE).report
    assert report is not None
    assert report.warnings.counts == {"missing-library": 1} and report.warnings.total == 1
    (warning,) = report.warnings
    assert (warning.code, warning.path, warning.line, warning.column) == ("missing-library", "memory", 2, 8)
    assert str(warning).startswith("memory:2:8: cannot read the material library `cube.mtl`")
    assert str(report.warnings) == "1 warning (missing-library: 1)"


def test_on_error_warn_leaves_out_and_warns_once() -> None:
    text = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 x\nf 1 2 3\nf 9 9 9\n"
    with pytest.warns(polyhaul.PolyhaulWarning, match="malformed: 1") as record:
        scene = polyhaul.read(text, on_error="warn")
    assert len(record) == 1 and record[0].filename == __file__
    assert scene.meshes[0].face_count == 1
    assert scene.report is not None and {4, 6} <= {warning.line for warning in scene.report.warnings}
