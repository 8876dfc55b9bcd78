"""What VTK makes of a PLY file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import polyhaul
import pyvista
from polyhaul._fallback import FallbackError, check_faults

from polyhaul_pyvista._vtk import named, surface

#: The types of the properties of an element by name; ``"list"`` for lists.
Kinds = dict[str, str]

_COLORS = ("red", "green", "blue")

_BYTES = ("uchar", "uint8")


def ply_data(path: str) -> pyvista.PolyData:
    """Points, polygons, and the properties that VTK knows."""
    header = _header(path)
    kinds = _declared(header)
    if list(kinds)[: 1 + ("face" in kinds)] != ["vertex", "face"][: 1 + ("face" in kinds)]:
        raise FallbackError("elements in another order")
    if re.search(rb"(?m)^format ascii", header) is not None and _has_plus_signs(Path(path).read_bytes()):
        raise FallbackError("numbers with a plus sign")
    vertex, face = kinds.get("vertex", {}), kinds.get("face", {})
    _check(vertex, face)
    # Positions of another type than doubles are as they are.
    precision: Any = "single" if {vertex.get(axis) for axis in "xyz"} & {"double", "float64"} else "auto"
    scene = polyhaul.read(path, format="ply", writable=True, precision=precision)
    check_faults(scene)
    mesh = scene.meshes[0]
    made = surface(mesh.positions, mesh.face_offsets, mesh.corner_positions)
    points, cells = made.GetPointData(), made.GetCellData()
    if "intensity" in face:
        cells.SetScalars(named("intensity", mesh.face_columns["intensity"]))
    if all(name in face for name in _COLORS):
        names = (*_COLORS, "alpha") if "alpha" in face else _COLORS
        colors = np.column_stack([np.asarray(mesh.face_columns[name]) for name in names])
        cells.SetScalars(named("RGBA" if "alpha" in face else "RGB", colors))
    if all(name in vertex for name in _COLORS):
        name, width = ("RGBA", 4) if "alpha" in vertex else ("RGB", 3)
        colors = np.rint(_rows(mesh.colors, 4)[:, :width] * 255)
        points.SetScalars(named(name, colors.astype(np.uint8)))
    if all(name in vertex for name in ("nx", "ny", "nz")):
        points.SetNormals(named("Normals", _rows(mesh.normals, 3)))
    if any(all(name in vertex for name in names) for names in _UVS):
        points.SetTCoords(named("TCoords", _rows(mesh.uvs, 2)))
    return made


#: The names of uvs.
_UVS = (("u", "v"), ("texture_u", "texture_v"), ("s", "t"))


def _rows(values: Any, width: int) -> Any:
    """Values per point; none for a file without points."""
    return np.empty((0, width), np.float32) if values is None else values


def _header(path: str) -> bytes:
    with open(path, "rb") as file:
        header = file.read(1 << 13)
        end = header.find(b"end_header")
        if end < 0:
            header += file.read()
            end = header.find(b"end_header")
    return header[:end]


def _has_plus_signs(data: bytes) -> bool:
    return b"+" in data and re.search(rb"\s\+", data) is not None


def _declared(header: bytes) -> dict[str, Kinds]:
    """The elements of a header with the types of their properties."""
    elements: dict[str, Kinds] = {}
    kinds: Kinds = {}
    for words in (line.split() for line in header.decode("latin1").splitlines()):
        if words[:1] == ["element"] and len(words) == 3:
            kinds = elements.setdefault(words[1], {})
        elif words[:1] == ["property"] and len(words) > 2:
            kinds[words[-1]] = words[1]
    return elements


def _check(vertex: Kinds, face: Kinds) -> None:
    """Whether VTK understands the properties in the same way."""
    colors = [vertex[name] for name in (*_COLORS, "alpha") if name in vertex]
    cell_values = [face[name] for name in (*_COLORS, "alpha", "intensity") if name in face]
    if any(kind not in _BYTES for kind in (*colors, *cell_values)):
        raise FallbackError("colors that are not bytes")
    if "texcoord" in face:
        raise FallbackError("UVs per corner, for which VTK repeats points")
    if unknown := [name for name in vertex if name in _OTHERWISE]:
        raise FallbackError(f"the property {unknown[0]}")
    if face and face.get("vertex_indices") != "list":
        raise FallbackError("faces without vertex_indices")


#: Properties of vertices that VTK has other meanings for.
_OTHERWISE = ("diffuse_red",)
