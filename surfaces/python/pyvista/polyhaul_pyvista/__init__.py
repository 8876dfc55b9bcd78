"""Readers for ``pyvista.read``: OBJ, PLY and STL by polyhaul, with the points, cells and arrays of PyVista's own readers.

PyVista finds them by the entry points of this package. What they cannot give exactly, and what polyhaul rejects, goes to
PyVista's own reader.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polyhaul
import pyvista

__all__ = ["read_obj", "read_ply", "read_stl"]


class _NotOurs(Exception):
    """The file has what only PyVista's own reader gives."""


def read_obj(path: str, **options: Any) -> pyvista.PolyData:
    """The mesh of an OBJ file: ``Normals``, ``TCoords`` and ``RGB`` per point, ``GroupIds`` per cell."""
    return _read(path, "obj", _obj, options)


def read_ply(path: str, **options: Any) -> pyvista.PolyData:
    """The mesh of a PLY file: ``Normals``, ``TCoords``, ``RGB`` or ``RGBA`` per point."""
    return _read(path, "ply", _ply, options)


def read_stl(path: str, **options: Any) -> pyvista.PolyData:
    """The triangles of an STL file; corners with equal coordinates are one point."""
    return _read(path, "stl", _stl, options)


def _read(path: str, format: Any, convert: Any, options: dict[str, Any]) -> pyvista.PolyData:
    if not options:
        try:
            # VTK may write to its arrays, and has the coordinates of OBJ files in double precision.
            precision: Any = "double" if format == "obj" else "auto"
            scene = polyhaul.read(path, format=format, load_materials=False, weld=True, writable=True, precision=precision)
            return convert(scene, path)
        except (_NotOurs, polyhaul.Error, OSError):
            # PyVista's own reader has its own message.
            pass
    reader = {"obj": pyvista.OBJReader, "ply": pyvista.PLYReader, "stl": pyvista.STLReader}[format](path)
    return reader.read(**options)


def _obj(scene: polyhaul.Scene, _: str) -> pyvista.PolyData:
    if len(scene.meshes) != 1 or scene.materials or scene.material_libraries:
        raise _NotOurs
    mesh = scene.meshes[0]
    if not mesh.face_count or mesh.curves or mesh.uv_depths is not None or len(mesh.line_positions) or len(mesh.points):
        raise _NotOurs
    corners = mesh.corner_positions
    streams = [stream for stream in (mesh.corner_uvs, mesh.corner_normals) if stream is not None]
    if any(stream.size and int(stream.max()) == polyhaul.NONE for stream in streams):
        raise _NotOurs
    if all(np.array_equal(stream, corners) for stream in streams):
        data = _surface(mesh.positions, mesh.face_offsets, corners)
        uvs, normals, colors = _padded(mesh.uvs, mesh), _padded(mesh.normals, mesh), mesh.colors
    else:
        # A point for each corner, since some corner has indices that differ.
        points = mesh.positions[corners]
        data = _surface(points, mesh.face_offsets, np.arange(len(corners)))
        uvs, normals = mesh.per_corner("uvs"), mesh.per_corner("normals")
        colors = None if mesh.colors is None else mesh.colors[corners]
    if uvs is not None:
        data.point_data["TCoords"] = uvs
        data.point_data.active_texture_coordinates_name = "TCoords"
    if normals is not None:
        data.point_data["Normals"] = normals
        data.point_data.active_normals_name = "Normals"
    if colors is not None:
        _set_colors(data, colors[:, :3])
    data.cell_data["GroupIds"] = _groups(mesh)
    data.cell_data.active_scalars_name = None
    return data


def _ply(scene: polyhaul.Scene, path: str) -> pyvista.PolyData:
    if len(scene.meshes) != 1 or scene.tables:
        raise _NotOurs
    mesh = scene.meshes[0]
    if not mesh.face_count or mesh.face_columns or len(mesh.line_positions) or mesh.uv_domain not in (None, "vertex"):
        raise _NotOurs
    if any(name in mesh.vertex_columns for name in _KNOWN_OTHERWISE) or mesh.normal_domain not in (None, "vertex"):
        raise _NotOurs
    data = _surface(mesh.positions, mesh.face_offsets, mesh.corner_positions)
    if mesh.uvs is not None:
        data.point_data["TCoords"] = mesh.uvs
        data.point_data.active_texture_coordinates_name = "TCoords"
    if mesh.normals is not None:
        data.point_data["Normals"] = mesh.normals
        data.point_data.active_normals_name = "Normals"
    if mesh.colors is not None:
        _set_colors(data, mesh.colors if _has_alpha(path) else mesh.colors[:, :3])
    return data


#: Columns that PyVista's own reader has other names or meanings for.
_KNOWN_OTHERWISE = ("diffuse_red", "texture_u", "intensity", "nx")


def _has_alpha(path: str) -> bool:
    """Whether the header has colors with alpha."""
    with open(path, "rb") as file:
        return b" alpha" in file.read(1 << 16).split(b"end_header")[0]


def _stl(scene: polyhaul.Scene, _: str) -> pyvista.PolyData:
    mesh = scene.meshes[0] if len(scene.meshes) == 1 else None
    if mesh is None or not mesh.face_count or mesh.face_columns:
        raise _NotOurs
    return _surface(mesh.positions, mesh.face_offsets, mesh.corner_positions)


def _surface(points: Any, offsets: Any, corners: Any) -> pyvista.PolyData:
    """The polygons of a mesh."""
    data = pyvista.PolyData()
    data.points = points
    data.SetPolys(pyvista.CellArray.from_arrays(offsets.astype(np.int64), corners.astype(np.int64)))
    return data


def _padded(values: Any, mesh: polyhaul.Mesh) -> Any:
    """Values with the indices of positions: as many as there are positions, -1 for those without one."""
    if values is None or len(values) == mesh.position_count:
        return values
    padded = np.full((mesh.position_count, values.shape[1]), -1, np.float32)
    padded[: min(len(values), len(padded))] = values[: len(padded)]
    return padded


def _groups(mesh: polyhaul.Mesh) -> Any:
    """(f,) float32: the number of the group statement before each face, the first one with a face being 0."""
    runs = mesh._data["group_runs"]
    if runs is None:
        return np.zeros(mesh.face_count, np.float32)
    starts = np.unique(runs[:, 3].astype(np.int64))
    numbers = np.searchsorted(starts, np.arange(mesh.face_count), side="right")
    return (numbers - numbers[0]).astype(np.float32)


def _set_colors(data: pyvista.PolyData, colors: Any) -> None:
    name = "RGBA" if colors.shape[1] == 4 else "RGB"
    data.point_data[name] = np.clip(np.rint(np.nan_to_num(colors, nan=1.0) * 255), 0, 255).astype(np.uint8)
    data.point_data.active_scalars_name = name
