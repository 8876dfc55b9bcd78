"""Meshes from arrays: what is taken as it is, what is converted, and what is refused."""

from __future__ import annotations

import copy
import io
import pickle
import re
from typing import Any

import numpy as np
import polyhaul
import pytest

POSITIONS = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [2, 2, 2]], np.float32)
CORNERS = np.array([0, 1, 2, 3, 0, 2, 4], np.uint32)
OFFSETS = np.array([0, 4, 7], np.uint32)


def mesh(**more: Any) -> polyhaul.Mesh:
    return polyhaul.Mesh(POSITIONS, CORNERS, OFFSETS, **more)


def pointer(array: Any) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def test_arrays_of_the_right_type_are_not_copied() -> None:
    given: dict[str, Any] = {
        "normals": np.ones((7, 3), np.float32),
        "uvs": np.ones((7, 2), np.float32),
        "colors": np.ones((5, 4), np.float32),
        "material_slots": np.zeros(2, np.int32),
        "smooth": np.ones(2, np.bool_),
        "sharp_edges": np.array([[0, 1]], np.uint32),
        "points": np.array([4], np.uint32),
    }
    made = polyhaul.Mesh(POSITIONS, CORNERS, OFFSETS, **given)
    for name, array in (given | {"positions": POSITIONS, "corner_positions": CORNERS, "face_offsets": OFFSETS}).items():
        stored = getattr(made, name)
        assert np.shares_memory(stored, array), name
        assert pointer(stored) == pointer(array), name
        assert array.flags.writeable and not stored.flags.writeable, name


@pytest.mark.parametrize("dtype", [np.int32, np.uint32])
def test_both_kinds_of_32_bit_indices_are_not_copied(dtype: Any) -> None:
    corners, offsets = CORNERS.astype(dtype), OFFSETS.astype(dtype)
    made = polyhaul.Mesh(POSITIONS, corners, offsets, uvs=np.ones((1, 2)), corner_uvs=(zeros := np.zeros(7, dtype)))
    assert np.shares_memory(made.corner_positions, corners) and made.corner_positions.dtype == np.uint32
    assert np.shares_memory(made.face_offsets, offsets)
    assert np.shares_memory(made.corner_uvs, zeros)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int64, np.uint64, ">i4", ">u4", "<u4"])
def test_other_integers_are_converted(dtype: Any) -> None:
    made = polyhaul.Mesh(POSITIONS, CORNERS.astype(dtype), OFFSETS.astype(dtype))
    np.testing.assert_array_equal(made.corner_positions, CORNERS)
    np.testing.assert_array_equal(made.face_offsets, OFFSETS)


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int64, ">f4"])
def test_other_numbers_become_float32(dtype: Any) -> None:
    made = polyhaul.Mesh(POSITIONS.astype(dtype))
    assert made.positions.dtype == np.float32
    np.testing.assert_array_equal(made.positions, POSITIONS)


def test_other_layouts_are_copied_right() -> None:
    wide = np.zeros((5, 8), np.float32)
    wide[:, 2:5] = POSITIONS
    unaligned = np.frombuffer(b"\0" + POSITIONS.tobytes(), np.uint8)[1:].view(np.float32).reshape(-1, 3)
    for layout in (np.asfortranarray(POSITIONS), wide[:, 2:5], POSITIONS[::-1][::-1], unaligned, POSITIONS.tolist()):
        np.testing.assert_array_equal(polyhaul.Mesh(layout).positions, POSITIONS)


def test_flat_arrays_are_rows() -> None:
    flat = POSITIONS.reshape(-1)
    made = polyhaul.Mesh(flat, CORNERS, OFFSETS, uvs=np.zeros(14, np.float32))
    assert made.positions.shape == (5, 3) and np.shares_memory(made.positions, flat)
    assert made.uvs is not None and made.uvs.shape == (7, 2)


def test_faces_of_equal_size_need_no_offsets() -> None:
    made = polyhaul.Mesh(POSITIONS, [[0, 1, 2], [0, 2, 3]], uvs=np.zeros((2, 3, 2)))
    np.testing.assert_array_equal(made.face_offsets, [0, 3, 6])
    np.testing.assert_array_equal(made.corner_positions, [0, 1, 2, 0, 2, 3])
    assert made.uvs is not None and made.uvs.shape == (6, 2)


def test_a_mesh_may_be_empty_or_have_points_and_lines_alone() -> None:
    nothing: list[Any] = [[], np.empty((0, 3)), np.empty(0)]
    for empty in nothing:
        made = polyhaul.Mesh(empty)
        assert (made.position_count, made.face_count, made.corner_count) == (0, 0, 0)
        np.testing.assert_array_equal(made.face_offsets, [0])
    made = polyhaul.Mesh(POSITIONS, [], points=[0, 4], line_positions=[[0, 1], [1, 2]])
    np.testing.assert_array_equal(made.line_offsets, [0, 2, 4])
    np.testing.assert_array_equal(made.points, [0, 4])
    made = polyhaul.Mesh(POSITIONS, line_positions=[0, 1, 2, 3, 4], line_offsets=[0, 3, 5])
    np.testing.assert_array_equal(made.line_offsets, [0, 3, 5])


def test_attributes_of_every_domain() -> None:
    for domain, count in (("corner", 7), ("vertex", 5), ("point", 5), ("face", 2)):
        made = mesh(normals=np.ones((count, 3)), normal_domain=domain, uvs=np.ones((count, 2)), uv_domain=domain)
        expected = "vertex" if domain == "point" else domain
        assert (made.normal_domain, made.uv_domain) == (expected, expected)
        assert made.corner_uvs is None and made.corner_normals is None
    made = mesh(uvs=[[0, 0], [1, 1]], corner_uvs=[0, 1, 0, 1, -1, 0, 1])
    assert made.uv_domain == "indexed"
    np.testing.assert_array_equal(made.corner_uvs, [0, 1, 0, 1, polyhaul.NONE, 0, 1])


def test_colors_may_lack_alpha() -> None:
    made = mesh(colors=np.full((5, 3), 0.5))
    np.testing.assert_array_equal(made.colors, [[0.5, 0.5, 0.5, 1]] * 5)


def test_smooth_may_be_one_for_all() -> None:
    np.testing.assert_array_equal(mesh(smooth=True).smooth, [True, True])
    np.testing.assert_array_equal(mesh(smooth=[1, 0]).smooth, [True, False])
    np.testing.assert_array_equal(mesh(smooth=np.array([1, 0], np.uint8)).smooth, [True, False])


def test_curves_are_written_and_read_again() -> None:
    positions = [[0, 0, 0], [1, 2, 0], [2, 0, 0], [3, 1, 0]]
    first = polyhaul.Curve(2, (0, 1), control_points=[0, 1, 2], knots=[0, 0, 0, 1, 1, 1])
    second = polyhaul.Curve(1, (0, 1), control_points=[3, 0], knots=[0, 0, 1, 1], rational=True)
    target = io.BytesIO()
    polyhaul.write(polyhaul.Mesh(positions, curves=[first, second], position_weights=[1, 2, 3, 4]), target, format="obj")
    mesh = polyhaul.read(target.getvalue()).meshes[0]
    assert [(curve.degree, curve.rational, curve.range) for curve in mesh.curves] == [
        (2, False, (0.0, 1.0)),
        (1, True, (0.0, 1.0)),
    ]
    assert [curve.control_points.tolist() for curve in mesh.curves] == [[0, 1, 2], [3, 0]]
    assert mesh.curves[0].knots.tolist() == [0, 0, 0, 1, 1, 1]
    assert mesh.position_weights is not None and mesh.position_weights.tolist() == [1, 2, 3, 4]


def test_curves_that_make_no_sense() -> None:
    curve = polyhaul.Curve(1, (0, 1), control_points=[0, 9], knots=[0, 1])
    with pytest.raises(ValueError, match=r"curves\[0\].control_points\[1\] is 9; expected an index from 0 to 1"):
        polyhaul.Mesh([[0, 0, 0], [1, 0, 0]], curves=[curve])
    with pytest.raises(TypeError, match=r"curves\[0\] is of type int"):
        polyhaul.Mesh([[0, 0, 0]], curves=[7])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="degree is 0"):
        polyhaul.Curve(0, (0, 1), control_points=[0], knots=[0])


def test_vertex_groups_as_a_dict_or_as_columns() -> None:
    weights = np.linspace(0, 1, 10, dtype=np.float32).reshape(5, 2)
    made = mesh(vertex_groups={"a": weights[:, 0], "b": weights[:, 1]})
    other = mesh(vertex_groups=(["a", "b"], weights))
    for groups in (made.vertex_groups, other.vertex_groups):
        assert list(groups) == ["a", "b"]
        np.testing.assert_array_equal(groups["b"], weights[:, 1])


@pytest.mark.parametrize(
    ("more", "error", "message"),
    [
        ({"positions": np.zeros((4, 2))}, ValueError, "positions has shape (4, 2); expected (n, 3)"),
        ({"positions": np.zeros(4)}, ValueError, "positions has shape (4,); expected (n, 3), or flat (n * 3,)"),
        ({"positions": None}, TypeError, "positions is None; expected an array"),
        ({"positions": [["a", "b", "c"]]}, TypeError, "positions has dtype <U1; expected numbers"),
        ({"positions": np.zeros((4, 3), complex)}, TypeError, "positions has dtype complex128"),
        ({"positions": [[0, 0, 0], [1, 2]]}, ValueError, "positions is not an array"),
        ({"corner_positions": [0.0, 1.0, 2.0]}, TypeError, "corner_positions has dtype float64; expected integers"),
        ({"corner_positions": [0, 1, 2, 3, 0, 2, 5]}, ValueError, "corner_positions[6] is 5; expected an index from 0"),
        ({"corner_positions": [0, 1, 2, 3, 0, 2, -1]}, ValueError, "corner_positions[6] is -1; expected an index"),
        ({"corner_positions": np.array([0, 1, 2, 3, 0, 2, -1], np.int32)}, ValueError, "corner_positions[6] is -1"),
        ({"corner_positions": [[0, 1, 9]], "face_offsets": None}, ValueError, "corner_positions[0, 2] is 9"),
        ({"corner_positions": [[0, 1]], "face_offsets": None}, ValueError, "shape (1, 2); expected (faces, corners of"),
        ({"face_offsets": None}, ValueError, "corner_positions has shape (7,); expected (faces, corners of each)"),
        ({"face_offsets": [0, 4]}, ValueError, "face_offsets ranges from 0 to 4; expected from 0 to 7"),
        ({"face_offsets": [1, 7]}, ValueError, "face_offsets ranges from 1 to 7; expected from 0 to 7"),
        ({"face_offsets": [0, 5, 4, 7]}, ValueError, "face_offsets[1:3] is 5, 4; a face has at least 3 corners"),
        ({"face_offsets": [0, 2, 7]}, ValueError, "face_offsets[0:2] is 0, 2; a face has at least 3 corners"),
        ({"face_offsets": []}, ValueError, "face_offsets has shape (0,); expected (number of faces + 1,)"),
        ({"corner_positions": None}, ValueError, "face_offsets needs corner_positions"),
        ({"normals": np.zeros((5, 3))}, ValueError, "normals has shape (5, 3); expected 7 rows, one per corner"),
        ({"normals": np.zeros((5, 3)), "normal_domain": "face"}, ValueError, "expected 2 rows, one per face"),
        ({"normals": np.zeros((5, 3)), "normal_domain": "edge"}, ValueError, "normal_domain is 'edge'"),
        ({"normals": np.zeros((5, 3)), "normal_domain": "indexed"}, ValueError, "needs corner_normals"),
        ({"uvs": np.zeros((5, 2)), "corner_uvs": [0] * 6}, ValueError, "corner_uvs has 6 values; expected 7"),
        ({"uvs": np.zeros((5, 2)), "corner_uvs": [5] * 7}, ValueError, "corner_uvs[0] is 5; expected an index"),
        ({"uvs": np.zeros((5, 2)), "corner_uvs": [-2] * 7}, ValueError, "corner_uvs[0] is -2"),
        ({"corner_uvs": [0] * 7}, ValueError, "corner_uvs need uvs"),
        ({"colors": np.zeros((4, 4))}, ValueError, "colors has shape (4, 4); expected 5 rows"),
        ({"material_slots": [0]}, ValueError, "material_slots has shape (1,); expected (2,), one per face"),
        ({"material_slots": [0, 2**31]}, ValueError, "material_slots has values that do not fit into int32"),
        ({"material_slots": [0.5, 1]}, TypeError, "material_slots has dtype float64"),
        ({"smooth": [True]}, ValueError, "smooth has shape (1,); expected (2,), one per face"),
        ({"smooth": "yes"}, TypeError, "smooth has dtype"),
        ({"sharp_edges": [[0, 1, 2]]}, ValueError, "sharp_edges has shape (1, 3); expected (k, 2)"),
        ({"sharp_edges": [[0, 9]]}, ValueError, "sharp_edges[0, 1] is 9"),
        ({"points": [5]}, ValueError, "points[0] is 5"),
        ({"vertex_groups": {"a": [0]}}, ValueError, "vertex_groups['a'] has shape (1,); expected (5,)"),
        ({"vertex_groups": (["a"], np.zeros((5, 2)))}, ValueError, "shape (5, 2); expected (5, 1)"),
        ({"line_positions": [0, 1]}, ValueError, "line_positions has shape (2,); expected (lines, corners of each)"),
    ],
)
def test_what_does_not_fit_is_named(more: Any, error: type[Exception], message: str) -> None:
    arguments = {"positions": POSITIONS, "corner_positions": CORNERS, "face_offsets": OFFSETS} | more
    with pytest.raises(error, match=re.escape(message)):
        polyhaul.Mesh(**arguments)


def test_attributes_can_be_set_with_the_same_checks() -> None:
    made = mesh(normals=np.ones((7, 3)))
    moved = POSITIONS + 1
    made.positions = moved
    assert np.shares_memory(made.positions, moved)
    with pytest.raises(ValueError, match="expected 5 rows"):
        made.positions = moved[:4]
    made.normals = np.zeros((7, 3))
    assert made.normals is not None and made.normals.max() == 0
    made.normals = None
    assert made.normals is None and made.normal_domain is None
    made.set_uvs(np.zeros((5, 2)), "vertex")
    assert made.uv_domain == "vertex"
    made.material_slots = [0, 1]
    made.smooth = False
    np.testing.assert_array_equal(made.smooth, [False, False])
    with pytest.raises(ValueError, match=r"no normals; use set_normals\(\)"):
        made.normals = np.zeros((7, 3))
    with pytest.raises(AttributeError):
        made.corner_positions = CORNERS  # type: ignore[misc]
    with pytest.raises(AttributeError):
        made.position = POSITIONS  # type: ignore[attr-defined]


def test_positions_of_a_mesh_that_was_read_can_be_set() -> None:
    scene = polyhaul.read(b"v 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl red\nf 1 2 3\n")
    mesh = scene.meshes[0]
    mesh.positions = mesh.positions * 2
    assert mesh.positions[1, 0] == 2
    with pytest.raises(ValueError, match="computed from the file"):
        mesh.material_slots = [1]


def test_meshes_can_be_pickled_and_copied() -> None:
    made = mesh(normals=np.ones((7, 3)), smooth=True, vertex_groups={"a": np.ones(5)})
    for other in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
        assert repr(other) == repr(made)
        np.testing.assert_array_equal(other.positions, made.positions)
        assert not np.shares_memory(other.positions, made.positions)
    scene = polyhaul.read(b"o a\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl red\nf 1 2 3\n")
    other = pickle.loads(pickle.dumps(scene))
    assert repr(other) == repr(scene) and other.objects[0].mesh is other.meshes[0]


def test_reprs_tell_what_is_inside() -> None:
    made = mesh(normals=np.ones((2, 3)), normal_domain="face", uvs=np.zeros((7, 2)), points=[0])
    assert repr(made) == "<polyhaul.Mesh: 5 positions, 2 faces, 7 corners, uvs per corner, normals per face, 1 points>"
