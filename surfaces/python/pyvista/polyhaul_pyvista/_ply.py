"""What VTK makes of a PLY file."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polyhaul
import pyvista
from polyhaul._handed_on import HandedOnError, check_faults

from polyhaul_pyvista._vtk import named, surface

#: The types of the properties of an element by name; ``"list"`` for lists.
Kinds = dict[str, str]

_COLORS = ("red", "green", "blue")

_BYTES = ("uchar", "uint8")


def ply_data(data: bytes) -> pyvista.PolyData:
    """Points, polygons, and the properties that VTK knows."""
    kinds = _declared(data)
    if list(kinds)[: 1 + ("face" in kinds)] != ["vertex", "face"][: 1 + ("face" in kinds)]:
        raise HandedOnError("elements in another order")
    if b"\nformat ascii" in data[:100] and b"+" in data and re.search(rb"\s\+", data) is not None:
        raise HandedOnError("numbers with a plus sign")
    vertex, face = kinds.get("vertex", {}), kinds.get("face", {})
    _check(vertex, face)
    scene = polyhaul.read(data, format="ply", writable=True, precision="single")
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


def _declared(data: bytes) -> dict[str, Kinds]:
    """The elements of a header with the types of their properties."""
    header = data[: data.find(b"end_header")].decode("latin1")
    elements: dict[str, Kinds] = {}
    kinds: Kinds = {}
    for words in (line.split() for line in header.splitlines()):
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
        raise HandedOnError("colors that are not bytes")
    if "texcoord" in face:
        raise HandedOnError("uvs per corner, for which VTK repeats points")
    if unknown := [name for name in vertex if name in _OTHERWISE]:
        raise HandedOnError(f"the property {unknown[0]}")
    if face and face.get("vertex_indices") != "list":
        raise HandedOnError("faces without vertex_indices")


#: Properties of vertices that VTK has other meanings for.
_OTHERWISE = ("diffuse_red",)
