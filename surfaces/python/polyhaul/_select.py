"""Meshes derived from other meshes: a selection of the faces, or some replaced arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from polyhaul import _arrays
from polyhaul._arrays import NONE, Indices, Slots
from polyhaul._mesh import Mesh
from polyhaul._table import Lists, picked_lists, row_numbers

#: Row numbers of arrays.
Rows = npt.NDArray[np.int64]

#: The constructor arguments with one value per face.
_PER_FACE = ("material_slots", "smooth")

#: The constructor arguments that specify how each attribute is stored.
_STORED = {"uvs": ("uv_domain", "corner_uvs"), "normals": ("normal_domain", "corner_normals")}


def arguments_of(mesh: Mesh) -> dict[str, Any]:
    """Return the constructor arguments for a mesh, except groups of a file and third texture coordinates."""
    return {
        "positions": mesh.positions,
        "corner_positions": mesh.corner_positions if mesh.face_count else None,
        "face_offsets": mesh.face_offsets if mesh.face_count else None,
        "normals": mesh.normals,
        "normal_domain": mesh.normal_domain,
        "corner_normals": mesh.corner_normals,
        "uvs": mesh.uvs,
        "uv_domain": mesh.uv_domain,
        "corner_uvs": mesh.corner_uvs,
        "colors": mesh.colors,
        "material_slots": mesh.material_slots,
        "smooth": mesh.smooth,
        "sharp_edges": mesh.sharp_edges,
        "vertex_groups": mesh.vertex_groups or None,
        "line_positions": mesh.line_positions if len(mesh.line_positions) else None,
        "line_offsets": mesh.line_offsets if len(mesh.line_positions) else None,
        "points": mesh.points if len(mesh.points) else None,
        "position_weights": mesh.position_weights,
        "curves": mesh.curves,
        "vertex_columns": dict(mesh.vertex_columns) or None,
        "face_columns": dict(mesh.face_columns) or None,
        "materials": mesh._without_statements().materials,
    }


def replaced(mesh: Mesh, changes: Mapping[str, Any]) -> Mesh:
    """Return a copy of a mesh with some constructor arguments replaced."""
    given = arguments_of(mesh)
    if unknown := [name for name in changes if name not in given]:
        raise TypeError(f"replace() got an unknown argument {unknown[0]!r}; expected one of {', '.join(given)}")
    changes = {name: () if value is None and name in ("curves", "materials") else value for name, value in changes.items()}
    if np.ndim(changes.get("corner_positions", ())) == 2 or changes.get("corner_positions", ()) is None:
        given["face_offsets"] = None
    if np.ndim(changes.get("line_positions", ())) == 2 or changes.get("line_positions", ()) is None:
        given["line_offsets"] = None
    for name, stored in _STORED.items():
        domain, stream = stored
        if changes.get(name, ()) is None or changes.get(domain, "indexed") != "indexed":
            given |= dict.fromkeys(stored)
        elif stream in changes:
            given[domain] = None
    made = Mesh(**given | changes)
    data = mesh._data
    if made.face_count == mesh.face_count and (groups := mesh.face_groups) is not None:
        set_groups(made, mesh.groups, groups)
    if data["uv_depths"] is not None and made.uvs is not None and len(made.uvs) == len(data["uv_depths"]):
        made._set(uv_depths=data["uv_depths"])
    if mesh.line_uvs is not None and not changes.keys() & {"uvs", "line_positions", "line_offsets"}:
        made._set(lines=data["lines"])
    return made


def select_faces(mesh: Mesh, faces: npt.ArrayLike | slice, used_only: bool) -> Mesh:
    """Return a mesh with a selection of the faces."""
    if isinstance(faces, slice):
        faces = np.arange(mesh.face_count)[faces]
    picked = row_numbers(faces, mesh.face_count, "faces")
    offsets = mesh.face_offsets.astype(np.int64)
    starts, sizes = offsets[:-1][picked], np.diff(offsets)[picked]
    ends = np.concatenate([[0], np.cumsum(sizes)])
    _arrays.check_count("the corners", int(ends[-1]))
    corners = np.repeat(starts - ends[:-1], sizes) + np.arange(ends[-1])
    corner_positions = mesh.corner_positions[corners]
    vertices, number = _kept(corner_positions, mesh.position_count, used_only)
    groups = mesh.face_groups
    whole = mesh._without_statements()
    given: dict[str, Any] = {
        "positions": whole.positions[vertices],
        "corner_positions": number[corner_positions] if len(picked) else None,
        "face_offsets": ends if len(picked) else None,
        "vertex_groups": {name: weights[vertices] for name, weights in whole.vertex_groups.items()} or None,
        "vertex_columns": {name: _rows(column, vertices) for name, column in whole.vertex_columns.items()},
        "face_columns": {name: _rows(column, picked) for name, column in whole.face_columns.items()},
        "materials": whole.materials,
    }
    for name in ("colors", "position_weights"):
        given[name] = _rows(getattr(whole, name), vertices)
    for name in _PER_FACE:
        given[name] = _rows(getattr(whole, name), picked)
    if (edges := whole.sharp_edges) is not None:
        edges = number[edges]
        given["sharp_edges"] = edges[(edges != NONE).all(axis=1)]
    rows_of = {"corner": corners, "vertex": vertices, "face": picked}
    depths = None
    for name, (domain_name, stream) in _STORED.items():
        domain = getattr(whole, domain_name)
        if domain is None:
            continue
        if domain in rows_of:
            used = rows_of[domain]
            given |= {name: _rows(getattr(whole, name), used), domain_name: domain}
        else:
            indices = getattr(whole, stream)[corners]
            used, at = _kept(indices, len(getattr(whole, name)), True)
            given |= {name: getattr(whole, name)[used], stream: np.append(at, np.uint32(NONE))[np.minimum(indices, len(at))]}
        depths = _rows(whole.uv_depths, used) if name == "uvs" else depths
    made = Mesh(**given)
    if depths is not None and len(depths):
        made._set(uv_depths=depths)
    if groups is not None:
        set_groups(made, mesh.groups, groups[picked])
    return made


def set_groups(mesh: Mesh, names: tuple[str, ...], face_groups: Slots) -> None:
    """Set the group of each face, -1 for none."""
    starts = np.flatnonzero(np.diff(face_groups, prepend=np.int32(-2))).astype(np.uint32)
    runs = np.zeros((len(starts), 8), np.uint32)
    runs[:, 3], runs[:, 7] = starts, face_groups[starts].view(np.uint32)
    mesh._set(group_runs=runs if len(runs) else None, groups=names)


def _kept(indices: Indices, count: int, used_only: bool) -> tuple[Rows, Indices]:
    """Return the rows that indices refer to, or all rows, and the new number of each old row."""
    if not used_only:
        return np.arange(count), np.arange(count, dtype=np.uint32)
    is_used = np.zeros(count, np.bool_)
    is_used[indices[indices != NONE]] = True
    used = np.flatnonzero(is_used)
    number = np.full(count, NONE, np.uint32)
    number[used] = np.arange(len(used), dtype=np.uint32)
    return used, number


def _rows(column: Any, rows: Rows) -> Any:
    """Return the selected rows of an array or a column; ``None`` if it is ``None``."""
    if isinstance(column, Lists):
        values, offsets = picked_lists(column.values, column.offsets, rows, None)
        return Lists(offsets, values)
    return None if column is None else column[rows]
