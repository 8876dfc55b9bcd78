"""Arrays that native code takes as they are: every border of that gives what converting gives."""

from __future__ import annotations

import array
import copy
import ctypes
import gc
import io
import mmap
import weakref
from typing import Any

import numpy as np
import polyhaul
import pytest
from polyhaul._polyhaul import NativeMesh
from test_mesh import CORNERS, OFFSETS, POSITIONS

#: What a mesh is made of, all of it fitting.
FITTING: dict[str, Any] = {
    "positions": POSITIONS,
    "corner_positions": CORNERS,
    "face_offsets": OFFSETS,
    "normals": np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3),
    "normal_domain": "face",
    "corner_normals": None,
    "uvs": np.linspace(0, 1, 6, dtype=np.float32).reshape(3, 2),
    "uv_domain": None,
    "corner_uvs": np.array([0, 1, 2, -1, 0, 1, 2], np.int32),
    "colors": np.linspace(0, 1, 20, dtype=np.float32).reshape(5, 4),
    "material_slots": np.array([0, -1], np.int32),
    "smooth": np.array([True, False]),
    "sharp_edges": np.array([[0, 1], [3, 4]], np.uint32),
    "vertex_groups": None,
    "line_positions": np.array([0, 4, 2], np.int32),
    "line_offsets": np.array([0, 3], np.int32),
    "points": np.array([4], np.uint32),
    "position_weights": np.ones(5, np.float32),
    "curves": (),
    "vertex_columns": None,
    "face_columns": None,
}

ATTRIBUTES = tuple(name for name in FITTING if name != "vertex_groups" and name != "curves")


def fits(**more: Any) -> bool:
    return NativeMesh.fitting(FITTING | more) is not None


def converted(given: dict[str, Any]) -> polyhaul.Mesh:
    """What the way of all other arrays makes of these."""
    mesh = polyhaul.Mesh([])
    mesh._native, mesh._plain = None, None
    mesh._convert(**given)
    return mesh


def outcome(make: Any) -> Any:
    """All that a mesh says, or the exception."""
    try:
        mesh = make()
    except Exception as error:
        return type(error), str(error)
    results = {}
    for name in ATTRIBUTES:
        value = getattr(mesh, name)
        is_array = isinstance(value, np.ndarray)
        results[name] = (value.dtype.str, value.shape, value.flags.writeable, value.tobytes()) if is_array else value
    target = io.BytesIO()
    polyhaul.write(mesh, target, format="obj", threads=1, smoothing="groups")
    return results, mesh._counts, repr(mesh), target.getvalue()


def test_fitting_arrays_give_what_converted_ones_give() -> None:
    assert fits()
    assert outcome(lambda: polyhaul.Mesh(**FITTING)) == outcome(lambda: converted(FITTING))


#: What still fits, in place of an argument.
TAKEN: list[dict[str, Any]] = [
    {"positions": POSITIONS.reshape(-1)},
    {"positions": POSITIONS.reshape(5, 1, 3)},
    {"positions": POSITIONS.data},
    {"positions": array.array("f", POSITIONS.reshape(-1))},
    {"positions": np.frombuffer(POSITIONS.tobytes(), np.float32)},
    {"positions": POSITIONS.view(np.ma.MaskedArray)},
    {"corner_positions": CORNERS.astype(np.int32)},
    {"corner_positions": CORNERS.astype("<u4")},
    {"corner_positions": CORNERS[:6].reshape(2, 3), "face_offsets": None, "corner_uvs": np.zeros(6, np.uint32)},
    {"corner_positions": CORNERS[1:], "face_offsets": np.array([0, 6], np.int32), "corner_uvs": CORNERS[:6] % 3}
    | {"normals": POSITIONS[:1], "material_slots": np.zeros(1, np.int32), "smooth": np.ones(1, np.bool_)},
    {"corner_positions": None, "face_offsets": None, "uvs": None, "corner_uvs": None}
    | {"normals": POSITIONS, "normal_domain": "point", "material_slots": None, "smooth": None},
    {"normals": POSITIONS[:5], "normal_domain": "vertex"},
    {"normals": np.ones((7, 3), np.float32), "normal_domain": None},
    {"normals": None, "normal_domain": None},
    {"corner_uvs": np.array([0, 1, 2, polyhaul.NONE, 0, 1, 2], np.uint32)},
    {"corner_uvs": np.zeros((7, 1), np.uint32), "uv_domain": "indexed"},
    {"colors": FITTING["colors"].reshape(-1)},
    {"smooth": np.array([1, 0], np.uint8)},
    {"smooth": True},
    {"smooth": False},
    {"line_positions": np.array([[0, 4], [1, 2]], np.uint32), "line_offsets": None},
    {"points": np.array([[4, 0]], np.uint32)},
    {"material_slots": np.array([2**31 - 1, -(2**31)], np.int32)},
]


@pytest.mark.parametrize("more", TAKEN)
def test_what_fits_is_taken_as_it_is(more: dict[str, Any]) -> None:
    given = FITTING | more
    assert fits(**more)
    assert outcome(lambda: polyhaul.Mesh(**given)) == outcome(lambda: converted(given))


def unaligned(values: Any) -> Any:
    return np.frombuffer(b"\0" + values.tobytes(), np.uint8)[1:].view(values.dtype).reshape(values.shape)


#: What does not fit, and is converted or refused.
OTHERS: list[dict[str, Any]] = [
    {"positions": POSITIONS.tolist()},
    {"positions": POSITIONS.astype(np.float64)},
    {"positions": POSITIONS.astype(np.float16)},
    {"positions": POSITIONS.astype(">f4")},
    {"positions": np.asfortranarray(POSITIONS)},
    {"positions": np.repeat(POSITIONS, 2, axis=0)[::2]},
    {"positions": np.pad(POSITIONS, ((0, 0), (1, 1)))[:, 1:4]},
    {"positions": POSITIONS[::-1]},
    {"positions": unaligned(POSITIONS)},
    {"positions": np.broadcast_to(np.float32(1), (5, 3))},
    {"positions": POSITIONS.astype(object)},
    {"positions": POSITIONS.astype(complex)},
    {"positions": POSITIONS.view(np.int32)},
    {"positions": POSITIONS.tobytes()},
    {"positions": bytearray(POSITIONS.tobytes())},
    {"positions": (ctypes.c_float * 15)(*POSITIONS.reshape(-1).tolist())},
    {"positions": np.zeros((0, 3), np.float32)},
    {"positions": np.zeros(0, np.float32)},
    {"positions": np.zeros((4, 2), np.float32)},
    {"positions": np.zeros(16, np.float32)},
    {"positions": np.zeros((3, 5), np.float32)},
    {"positions": np.float32(1)},
    {"positions": np.array(1, np.float32)},
    {"positions": "abc"},
    {"positions": None},
    {"positions": object()},
    {"positions": np.array([b"", b""])},
    {"positions": np.zeros(5, [("x", "f4"), ("y", "f4"), ("z", "f4")])},
    {"corner_positions": CORNERS.astype(np.int64)},
    {"corner_positions": CORNERS.astype(np.uint64)},
    {"corner_positions": CORNERS.astype(np.uint8)},
    {"corner_positions": CORNERS.astype(">i4")},
    {"corner_positions": CORNERS.astype(np.float32)},
    {"corner_positions": CORNERS.tolist()},
    {"corner_positions": np.repeat(CORNERS, 2)[::2]},
    {"corner_positions": CORNERS + np.uint32(1)},
    {"corner_positions": CORNERS.astype(np.int32) - np.int32(1)},
    {"corner_positions": CORNERS.reshape(1, 7)},
    {"corner_positions": np.array([0, 1, 2, 3, 0, 2, polyhaul.NONE], np.uint32)},
    {"corner_positions": np.zeros(0, np.uint32)},
    {"corner_positions": np.zeros(0, np.uint32), "face_offsets": np.zeros(1, np.uint32)},
    {"corner_positions": None},
    {"corner_positions": np.array([[0, 1], [2, 3]], np.uint32), "face_offsets": None},
    {"corner_positions": np.zeros((3, 0), np.uint32), "face_offsets": None},
    {"corner_positions": CORNERS[:6].reshape(2, 3, 1), "face_offsets": None},
    {"face_offsets": None},
    {"face_offsets": OFFSETS.astype(np.int64)},
    {"face_offsets": np.array([0, 4], np.uint32)},
    {"face_offsets": np.array([1, 7], np.uint32)},
    {"face_offsets": np.array([0, 5, 7], np.uint32)},
    {"face_offsets": np.array([0, 2, 7], np.uint32)},
    {"face_offsets": np.array([0, 5, 4, 7], np.uint32)},
    {"face_offsets": np.array([0, 2**32 - 1, 7], np.uint32)},
    {"face_offsets": np.array([0, -4, 7], np.int32)},
    {"face_offsets": np.array([0, 9, 7], np.uint32)},
    {"face_offsets": OFFSETS.reshape(3, 1)},
    {"face_offsets": np.zeros(0, np.uint32)},
    {"normals": FITTING["normals"][:1]},
    {"normals": FITTING["normals"].astype(np.float64)},
    {"normals": np.zeros((0, 3), np.float32)},
    {"normals": np.zeros((2, 4), np.float32)},
    {"normals": None},
    {"normal_domain": "edge"},
    {"normal_domain": "indexed"},
    {"normal_domain": 7},
    {"normal_domain": "corner"},
    {"corner_normals": CORNERS},
    {"uv_domain": "corner"},
    {"corner_uvs": np.array([0, 1, 2, -2, 0, 1, 2], np.int32)},
    {"corner_uvs": np.array([0, 1, 3, -1, 0, 1, 2], np.int32)},
    {"corner_uvs": np.array([0, 1, 2, -1, 0, 1], np.int32)},
    {"corner_uvs": np.array([0, 1, 2, -1, 0, 1, 2])},
    {"uvs": None},
    {"colors": np.full((5, 3), 0.5, np.float32)},
    {"colors": np.full((4, 4), 0.5, np.float32)},
    {"colors": np.zeros((0, 4), np.float32)},
    {"material_slots": np.array([0, 1])},
    {"material_slots": np.array([0, 1], np.uint32)},
    {"material_slots": np.array([0], np.int32)},
    {"material_slots": np.array([[0, 1]], np.int32)},
    {"smooth": np.bool_(True)},
    {"smooth": 1},
    {"smooth": [1, 0]},
    {"smooth": np.array([2, 0], np.uint8)},
    {"smooth": np.array([1, 0], np.int8)},
    {"smooth": np.array([True])},
    {"smooth": b"\x01\x00"},
    {"smooth": memoryview(b"\x01\x00").cast("c")},
    {"smooth": np.array([2, 0], np.uint8).view(np.bool_)},
    {"sharp_edges": np.array([[0, 5]], np.uint32)},
    {"sharp_edges": np.array([[0, 1, 2]], np.uint32)},
    {"sharp_edges": np.array([0, 1], np.uint32)},
    {"sharp_edges": np.zeros((0, 2), np.uint32)},
    {"line_positions": np.array([0, 5, 2], np.int32)},
    {"line_positions": None},
    {"line_offsets": None},
    {"line_offsets": np.array([0, 1, 3], np.int32)},
    {"points": np.array([5], np.uint32)},
    {"points": np.zeros(0, np.uint32)},
    {"position_weights": np.ones(4, np.float32)},
    {"position_weights": np.ones((5, 1), np.float32)},
    {"vertex_groups": {"a": np.ones(5, np.float32)}},
    {"curves": []},
    {"curves": [7]},
]


@pytest.mark.parametrize("more", OTHERS)
def test_what_does_not_fit_goes_the_way_of_all_others(more: dict[str, Any]) -> None:
    given = FITTING | more
    assert not fits(**more)
    assert outcome(lambda: polyhaul.Mesh(**given)) == outcome(lambda: converted(given))


def test_read_only_memory_is_taken() -> None:
    data = POSITIONS.tobytes()
    positions = np.frombuffer(data, np.float32).reshape(-1, 3)
    corners = CORNERS.copy()
    corners.flags.writeable = False
    assert fits(positions=positions, corner_positions=corners)
    mesh = polyhaul.Mesh(**FITTING | {"positions": positions, "corner_positions": corners})
    assert np.shares_memory(mesh.positions, positions) and np.shares_memory(mesh.corner_positions, corners)


def test_a_mesh_keeps_the_memory_that_it_was_made_of() -> None:
    expected = io.BytesIO()
    polyhaul.write(polyhaul.Mesh(**FITTING), expected, format="obj")
    given = copy.deepcopy(FITTING)
    alive = weakref.ref(given["positions"])
    mesh = polyhaul.Mesh(**given)
    del given
    gc.collect()
    assert alive() is not None
    target = io.BytesIO()
    polyhaul.write(mesh, target, format="obj")
    assert target.getvalue() == expected.getvalue()
    view = mesh.positions
    del mesh
    gc.collect()
    np.testing.assert_array_equal(view, POSITIONS)
    del view
    gc.collect()
    assert alive() is None


def test_memory_cannot_be_taken_away() -> None:
    data = bytearray(POSITIONS.tobytes())
    mesh = polyhaul.Mesh(memoryview(data).cast("f"))
    assert np.shares_memory(mesh.positions, np.frombuffer(data, np.uint8))
    with pytest.raises(BufferError):
        data.clear()
    with mmap.mmap(-1, POSITIONS.nbytes) as mapped:
        mapped[:] = POSITIONS.tobytes()
        other = polyhaul.Mesh(memoryview(mapped).cast("f"))
        np.testing.assert_array_equal(other.positions, POSITIONS)
        with pytest.raises(BufferError):
            mapped.close()
        del other
        gc.collect()


def test_a_change_of_the_array_is_a_change_of_the_mesh() -> None:
    positions = POSITIONS.copy()
    mesh = polyhaul.Mesh(**FITTING | {"positions": positions})
    positions[0] = 7
    target = io.BytesIO()
    polyhaul.write(mesh, target, format="obj")
    assert mesh.positions[0, 0] == 7 and b"\nv 7.000000 7.000000 7.000000" in target.getvalue()


def test_an_index_that_turned_wrong_is_found_when_it_is_written() -> None:
    corners = CORNERS.copy()
    mesh = polyhaul.Mesh(**FITTING | {"corner_positions": corners})
    corners[3] = 5
    with pytest.raises(polyhaul.UsageError, match="a face has an index out of range: there are 5 positions"):
        polyhaul.write(mesh, io.BytesIO(), format="obj")


def test_a_mesh_that_is_changed_is_written_as_changed() -> None:
    mesh = polyhaul.Mesh(**FITTING)
    scene = polyhaul.Scene("NEGATIVE_Z", "Y")
    scene.add(mesh, name="Mesh")
    before = io.BytesIO()
    polyhaul.write(scene, before, format="obj")
    mesh.positions = POSITIONS + 1
    mesh.smooth = False
    mesh.uvs = None
    expected, actual = io.BytesIO(), io.BytesIO()
    changed = {"positions": POSITIONS + 1, "smooth": False, "uvs": None, "corner_uvs": None}
    polyhaul.write(polyhaul.Mesh(**FITTING | changed), expected, format="obj")
    polyhaul.write(scene, actual, format="obj")
    assert actual.getvalue() == expected.getvalue() != before.getvalue()


def test_a_shallow_copy_changes_by_itself() -> None:
    mesh = polyhaul.Mesh(**FITTING)
    other = copy.copy(mesh)
    assert np.shares_memory(other.positions, mesh.positions)
    expected = outcome(lambda: mesh)
    other.positions = POSITIONS + 1
    assert outcome(lambda: mesh) == expected != outcome(lambda: other)


def test_a_mesh_that_was_read_and_changed_is_added_as_changed() -> None:
    mesh = polyhaul.read(b"o a\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n").meshes[0]
    scene = polyhaul.Scene()
    before = scene.add(mesh).mesh
    assert scene.add(mesh).mesh is before
    mesh.positions = mesh.positions + 1
    after = scene.add(mesh).mesh
    assert before.positions[0, 0] == 0 and after.positions[0, 0] == 1


def test_a_mesh_that_was_read_is_written_as_changed() -> None:
    scene = polyhaul.read(b"o a\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    scene.meshes[0].positions = scene.meshes[0].positions + 1
    target = io.BytesIO()
    polyhaul.write(scene, target, format="obj")
    assert b"v 1.000000 1.000000 1.000000\nv 2.000000" in target.getvalue()
