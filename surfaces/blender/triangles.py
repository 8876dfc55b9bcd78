"""Blender's own triangles, for formats that need them: polyhaul triangulates along other diagonals."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import bmesh
import bpy
import numpy as np

from . import arrays

#: The maximum number of corners in a PLY list that Blender reads.
MAX_CORNERS = 255
#: The number of faces per block.
BLOCK = 1 << 16


def largest_face(data: Any) -> int:
    """Return the number of corners of the largest face."""
    offsets = arrays.face_offsets(data)
    blocks = (np.diff(offsets[start : start + BLOCK + 1]) for start in range(0, len(offsets) - 1, BLOCK))
    return max((int(block.max()) for block in blocks), default=0)


def shown(data: Any) -> np.ndarray:
    """Return (t, 3) int32: the positions of the triangles that Blender shows, in the order of faces."""
    data.calc_loop_triangles()
    return arrays.read(data.loop_triangles, "vertices", np.int32, 3, is_stored=False)


@contextmanager
def without_long_faces(data: Any) -> Iterator[Any]:
    """Create a temporary copy of a mesh in which faces with more than ``MAX_CORNERS`` corners are triangulated."""
    copy = data.copy()
    edited = bmesh.new()
    try:
        # Triangulating faces whose corners have matrices crashes Blender 5.0.1.
        for name in [attribute.name for attribute in copy.attributes if attribute.data_type == "FLOAT4X4"]:
            copy.attributes.remove(copy.attributes[name])
        edited.from_mesh(copy)
        long_faces = [face for face in edited.faces if len(face.verts) > MAX_CORNERS]
        bmesh.ops.triangulate(edited, faces=long_faces, quad_method="BEAUTY", ngon_method="EAR_CLIP")
        edited.to_mesh(copy)
        yield copy
    finally:
        edited.free()
        bpy.data.meshes.remove(copy)
