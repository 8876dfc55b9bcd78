"""What VTK makes of an OBJ file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polyhaul
import pyvista
from polyhaul._fallback import FallbackError, check_faults
from polyhaul._statements import Statements, check_comments, text_of
from vtkmodules.vtkIOCore import vtkMemoryResourceStream
from vtkmodules.vtkIOGeometry import vtkOBJReader

from polyhaul_pyvista._vtk import lines, named, surface, texts

#: The column of a run with the number of faces before it, and with its value.
_FACE, _VALUE = 3, 7

#: The material of faces before the first one, and of the first faces, by VTK's name.
_NO_MATERIAL = "NO_MATERIAL"


def obj_data(path: str) -> pyvista.PolyData:
    """Points, polygons, and what belongs to them. If the indices of corners differ, each corner has a point of its own."""
    text = text_of(Path(path).read_bytes())
    if b"\\" in text:
        raise FallbackError("continued lines")
    check_comments(text)
    scene = polyhaul.read(text, format="obj", load_materials=False, writable=True, precision="double")
    check_faults(scene, allowed=("empty-index", "unknown-statement", "extra-value"))
    if "empty-index" in scene.report.warnings.counts and re.search(rb"/\d*/\s", text) is not None:
        raise FallbackError("a slash without a normal")
    mesh = scene.meshes[0]
    if (b"+" in text and re.search(rb"\s\+", text) is not None) or not _is_finite(mesh):
        raise FallbackError("numbers with a plus sign, or that are not finite")
    has_lines = len(mesh.line_positions) > 0
    if mesh.curves or len(mesh.points) or (has_lines and mesh.face_count):
        raise FallbackError("points or curves, or lines beside faces")
    if not mesh.face_count and (mesh.groups or scene.materials or mesh.uvs is not None):
        raise FallbackError("groups, materials or UVs without faces")
    if mesh.uvs is not None and not mesh.uvs[:, 1].any() and Statements(text).fewest_numbers(b"vt") < 2:
        raise FallbackError("UVs of one number")
    positions = mesh.positions.astype(np.float64, copy=False)
    corners = mesh.corner_positions
    is_repeated = not all(_agrees(stream, corners) for stream in (mesh.corner_uvs, mesh.corner_normals))
    points = positions[corners] if is_repeated else positions
    if has_lines:
        return lines(points, mesh.line_offsets, mesh.line_positions)
    made = surface(points, mesh.face_offsets, np.arange(len(corners)) if is_repeated else corners)
    _set_normals(made, mesh, is_repeated)
    _set_colors(made, mesh, text, len(points))
    if mesh.face_count:
        made.GetCellData().AddArray(named("GroupIds", _groups(mesh)))
        _set_materials(made, scene, mesh, text, is_repeated)
    return made


def _is_finite(mesh: Any) -> bool:
    return all(values is None or bool(np.isfinite(values).all()) for values in (mesh.positions, mesh.uvs, mesh.normals))


def _agrees(stream: Any, corners: Any) -> bool:
    """Whether corners have the same indices as their positions, where they have any."""
    return stream is None or np.array_equal(stream, corners) or bool((stream == corners)[stream != polyhaul.NONE].all())


def _set_normals(made: Any, mesh: Any, is_repeated: bool) -> None:
    normals = mesh.normals
    if normals is None:
        return
    stream = mesh.corner_normals
    if is_repeated:
        if stream is None or bool((stream == polyhaul.NONE).any()):
            raise FallbackError("corners without normals")
        normals = normals[stream]
    elif len(normals) != mesh.position_count:
        raise FallbackError("more or fewer normals than positions")
    made.GetPointData().SetNormals(named("Normals", normals))


def _set_colors(made: Any, mesh: Any, text: bytes, point_count: int) -> None:
    if mesh.colors is None:
        return
    values = Statements(text).numbers(b"v")
    if values is None or len(values) != point_count:
        if values is not None and values.shape[1] not in (6, 7):
            raise FallbackError("colors in an unexpected form")
        return
    colors = np.clip(np.nan_to_num(values[:, 3:]), 0, 1) * 255
    name = "RGBA" if colors.shape[1] == 4 else "RGB"
    made.GetPointData().AddArray(named(name, colors.astype(np.uint8)))
    made.GetPointData().SetActiveScalars(name)


def _groups(mesh: Any) -> Any:
    """(f,) float32: how many group statements are before each face, where the first one counts only if a face is before it."""
    runs = mesh._data["group_runs"]
    if runs is None:
        return np.zeros(mesh.face_count, np.float32)
    starts = runs[:, _FACE].astype(np.int64)
    numbers = np.searchsorted(starts, np.arange(mesh.face_count), side="right")
    return (numbers - int(starts[0] == 0)).astype(np.float32)


class _Materials(NamedTuple):
    """The materials as VTK counts them."""

    #: Their names, as they first occur.
    names: list[str]
    #: (f,): the number of each face.
    of_faces: Any
    #: (f,): for each face the number of the name that its uvs belong to, among ``uv_names``.
    uvs_of_faces: Any
    #: The names of arrays of uvs, as they first occur.
    uv_names: list[str]


def _set_materials(made: Any, scene: Any, mesh: Any, text: bytes, is_repeated: bool) -> None:
    materials = _materials(scene, mesh)
    fields = made.GetFieldData()
    for name in _uv_order(materials.uv_names):
        number = materials.uv_names.index(name)
        made.GetPointData().AddArray(named(name, _uvs(mesh, materials.uvs_of_faces == number, is_repeated)))
    if materials.uv_names:
        made.GetPointData().SetActiveTCoords(_uv_order(materials.uv_names)[0])
    if materials.names != [_NO_MATERIAL]:
        made.GetCellData().AddArray(named("MaterialIds", materials.of_faces.astype(np.int32)))
        fields.AddArray(texts("MaterialNames", materials.names))
        if libraries := re.findall(rb"(?m)^[ \t]*mtllib[ \t]+(\S+)", text):
            fields.AddArray(texts("MaterialLibraries", [name.decode() for name in libraries]))


def _materials(scene: Any, mesh: Any) -> _Materials:
    runs = mesh._data["material_runs"]
    statements = [] if runs is None else [(int(run[_FACE]), scene.materials[int(run[_VALUE])].name.split()) for run in runs]
    if any(not words for _, words in statements):
        raise FallbackError("a material without a name")
    has_uvs = mesh.corner_uvs is not None and bool((mesh.corner_uvs != polyhaul.NONE).any())
    # The first face has no material, whatever was said before.
    events = [(face, words[0], True) for face, words in statements]
    first = next((at for at, (face, *_) in enumerate(events) if face > 0), len(events))
    events.insert(first, (0, _NO_MATERIAL, False))
    names, uv_names = list(dict.fromkeys(name for _, name, _ in events)), []
    of_faces, uvs_of_faces = np.zeros(mesh.face_count, np.int64), np.zeros(mesh.face_count, np.int64)
    if has_uvs and not any(is_named for face, _, is_named in events if face == 0):
        uv_names = ["TCoords"]
        if not _has_uvs_before(mesh, events):
            raise FallbackError("UVs that start after the first faces")
    for face, name, is_named in events:
        of_faces[face:] = names.index(name)
        if is_named:
            uv_names = list(dict.fromkeys([*uv_names, name]))
            uvs_of_faces[face:] = uv_names.index(name)
    return _Materials(names, of_faces, uvs_of_faces, uv_names)


def _has_uvs_before(mesh: Any, events: list[tuple[int, str, bool]]) -> bool:
    """Whether a face before the first material has uvs."""
    end = next((face for face, _, is_named in events if is_named), mesh.face_count)
    return bool((mesh.corner_uvs[: int(mesh.face_offsets[end])] != polyhaul.NONE).any())


def _uvs(mesh: Any, is_own: Any, is_repeated: bool) -> Any:
    """(n, 2) float32: the uvs that faces of a material use, and -1 elsewhere."""
    count = mesh.corner_count if is_repeated else mesh.position_count
    values = np.full((count, 2), -1, np.float32)
    stream = mesh.corner_uvs
    if stream is None:
        return values
    has_uv = stream != polyhaul.NONE
    sizes = np.diff(mesh.face_offsets)
    if not np.array_equal(np.add.reduceat(has_uv, mesh.face_offsets[:-1].astype(np.int64), dtype=np.int64) % sizes, 0 * sizes):
        raise FallbackError("faces with some uvs")
    is_used = np.zeros(len(mesh.uvs), np.bool_)
    is_used[stream[has_uv & np.repeat(is_own, sizes)]] = True
    at = np.flatnonzero(has_uv)
    at = at[is_used[stream[at]]]
    values[at if is_repeated else mesh.corner_positions[at]] = mesh.uvs[stream[at]]
    return values


def _uv_order(names: list[str]) -> list[str]:
    """The order in which VTK has the arrays of several materials: that of its hash table, found by its own reader."""
    if len(names) < 2:
        return names
    uses = "\n".join(f"usemtl {name}" for name in names)
    text = f"v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 0 0\nvt 0 0\n{uses}\nf 1/1 2/2 3/3\n".encode()
    stream, reader = vtkMemoryResourceStream(), vtkOBJReader()
    stream.SetBuffer(text, len(text), True)
    reader.SetStream(stream)
    reader.Update()
    points = reader.GetOutput().GetPointData()
    order = [points.GetAbstractArray(number).GetName() for number in range(points.GetNumberOfArrays())]
    if sorted(order) != sorted(names):
        raise FallbackError("several materials")
    return order
