"""What VTK makes of an STL file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import polyhaul
import pyvista
from polyhaul._facets import as_solid, is_binary_stl, joined_facets
from polyhaul._fallback import FallbackError, check_faults
from polyhaul._statements import text_of

from polyhaul_pyvista._vtk import surface


def stl_data(path: str) -> pyvista.PolyData:
    """The triangles with three different points."""
    data = Path(path).read_bytes()
    if not is_binary_stl(data):
        if b" ." in data or b"-." in data or (b"+" in data and re.search(rb"\s\+", data) is not None):
            raise FallbackError("numbers with a plus sign, or without a digit before the point")
        data = as_solid(joined_facets(text_of(data)))
    scene = polyhaul.read(data, format="stl", weld=True, writable=True, precision="single")
    check_faults(scene)
    mesh = scene.meshes[0]
    if not bool(np.isfinite(mesh.positions).all()):
        raise FallbackError("positions that are not finite")
    corners: Any = mesh.corner_positions
    triangles = corners.reshape(-1, 3)
    a, b, c = triangles.T
    is_kept = (a != b) & (b != c) & (a != c)
    if mesh.face_count and not is_kept.any():
        raise FallbackError("no triangles with three different points")
    if not is_kept.all():
        corners = triangles[is_kept].reshape(-1)
    return surface(mesh.positions, np.arange(0, len(corners) + 1, 3), corners)
