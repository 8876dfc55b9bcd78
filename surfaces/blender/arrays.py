"""Bulk access to Blender's arrays as numpy arrays.

This module does not loop over vertices. Large arrays are not copied if their elements are contiguous in memory, which
their addresses show. Such views are valid until Blender evaluates the scene again; callers must not keep them longer
than the current call.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

#: The minimum number of elements for views; checking whether the elements are contiguous also takes time.
LEAST = 4096


def read(data: Any, field: str, dtype: Any, width: int = 1, *, is_stored: bool = True) -> np.ndarray:
    """Return a field of all elements of a collection: (n,) or (n, width), read-only if it is a view.

    ``is_stored`` states whether Blender stores the field or computes it, as for conversions to other color spaces.
    """
    count = len(data)
    shape = (count,) if width == 1 else (count, width)
    if is_stored and count >= LEAST:
        array = _view(data, field, np.dtype(dtype), width)
        if array is not None:
            return array.reshape(shape)
    values = np.empty(count * width, dtype)
    data.foreach_get(field, values)
    return values.reshape(shape)


def attribute(mesh: Any, name: str, field: str, dtype: Any, width: int = 1) -> np.ndarray | None:
    """Return an attribute of a mesh, like :func:`read`; ``None`` if the mesh does not have it."""
    layer = mesh.attributes.get(name)
    return None if layer is None else read(layer.data, field, dtype, width)


def face_offsets(mesh: Any) -> np.ndarray:
    """Return (f + 1,) int32: the first corner of each face, followed by the number of corners."""
    faces, corners = mesh.polygons, len(mesh.loops)
    if len(faces) > 1:
        # Blender does not provide fast access to the offsets. Each face is an entry of the offset array, whose last
        # entry is the number of corners.
        start = _address(faces, 4)
        if start is not None:
            offsets = _array(start, len(faces) + 1, np.dtype(np.int32))
            if offsets[0] == 0 and offsets[-1] == corners and offsets[-2] == faces[-1].loop_start:
                return offsets
    offsets = np.empty(len(faces) + 1, np.int32)
    faces.foreach_get("loop_start", offsets[:-1])
    offsets[-1] = corners
    return offsets


def write(data: Any, field: str, values: np.ndarray) -> None:
    """Set a field of all elements."""
    data.foreach_set(field, np.ascontiguousarray(values).reshape(-1))


def _view(data: Any, field: str, dtype: np.dtype, width: int) -> np.ndarray | None:
    """Return a view of the elements; ``None`` if they are not contiguous or do not have the expected values."""
    start = _address(data, dtype.itemsize * width)
    if start is None:
        return None
    values = _array(start, len(data) * width, dtype)
    for at in (0, len(data) // 2, len(data) - 1):
        shown = getattr(data[at], field)
        shown = [shown] if width == 1 else list(shown)
        items = values[at * width : (at + 1) * width].tolist()
        if any(a != b and (a == a or b == b) for a, b in zip(shown, items, strict=True)):
            return None
    return values


def _address(data: Any, size: int) -> int | None:
    """Return the address of the first of several elements if each has ``size`` bytes; otherwise ``None``."""
    start, last = data[0].as_pointer(), data[-1].as_pointer()
    return start if start and last - start == (len(data) - 1) * size else None


def _array(start: int, count: int, dtype: np.dtype) -> np.ndarray:
    memory = (ctypes.c_char * (count * dtype.itemsize)).from_address(start)
    array = np.frombuffer(memory, dtype)
    array.flags.writeable = False
    return array
