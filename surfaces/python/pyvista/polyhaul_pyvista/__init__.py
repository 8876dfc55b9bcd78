"""Readers for ``pyvista.read``: OBJ, PLY and STL by polyhaul, with the points, cells and arrays of PyVista's own readers.

PyVista finds them by the entry points of this package. What they cannot give exactly, and what polyhaul rejects, goes to
PyVista's own reader; the logger ``polyhaul.accelerate`` has the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polyhaul
import pyvista
from polyhaul._fallback import FallbackError, log_fallback, log_read

from polyhaul_pyvista._obj import obj_data
from polyhaul_pyvista._ply import ply_data
from polyhaul_pyvista._stl import stl_data

__all__ = ["read_obj", "read_ply", "read_stl"]


def read_obj(path: str, **options: Any) -> pyvista.PolyData:
    """The mesh of an OBJ file: ``Normals``, ``RGB`` and texture coordinates per point, named after materials if there are
    any, ``GroupIds`` and ``MaterialIds`` per cell, and the names of materials as field data."""
    return _read(path, "obj", obj_data, pyvista.OBJReader, options)


def read_ply(path: str, **options: Any) -> pyvista.PolyData:
    """The mesh of a PLY file: ``RGB`` or ``RGBA``, ``Normals`` and ``TCoords`` per point, ``intensity`` and colors per cell."""
    return _read(path, "ply", ply_data, pyvista.PLYReader, options)


def read_stl(path: str, **options: Any) -> pyvista.PolyData:
    """The triangles of an STL file; corners with equal coordinates are one point."""
    return _read(path, "stl", stl_data, pyvista.STLReader, options)


def _read(path: str, format: str, convert: Callable[[str], pyvista.PolyData], reader: Any, options: dict[str, Any]) -> Any:
    if not options:
        try:
            data = convert(str(path))
        except (FallbackError, polyhaul.Error, OSError) as reason:
            # PyVista's own reader has its own message.
            log_fallback("PyVista", format, reason)
        else:
            log_read("PyVista", format)
            return data
    return reader(path).read(**options)
