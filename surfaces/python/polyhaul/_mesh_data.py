"""The fields of a mesh, by the field names of the library: from native code, and for new meshes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from polyhaul import _arrays
from polyhaul._arrays import Indices
from polyhaul._curve import curve_from_plain
from polyhaul._given import Streams
from polyhaul._polyhaul import NativeMesh
from polyhaul._table import columns_from_plain


def plain_of(native: NativeMesh) -> dict[str, Any]:
    """Return all fields of a native mesh.

    The arrays are views of its memory, and writable if the mesh was read with ``writable=True``.
    """
    view = _arrays.view
    data = native.arrays()
    positions = view(data["positions"], np.float32, 3)
    for name, (dtype, columns) in TYPES.items():
        data[name] = or_none(view(data[name], dtype, columns))
    data["positions"] = positions  # always an array, even if it is empty
    for name in ("faces", "lines"):
        data[name] = tuple(or_none(view(stream, np.uint32)) for stream in data[name])
    data["vertex_groups"] = [(name, view(weights, np.float32)) for name, weights in data["vertex_groups"]]
    data["curves"] = [curve_from_plain(curve) for curve in data["curves"]]
    for name in ("vertex_columns", "face_columns"):
        data[name] = columns_from_plain(data[name])
    return data


TYPES: dict[str, tuple[Any, int]] = {
    "positions": (np.float32, 3),
    "exact_positions": (np.float64, 3),
    "position_weights": (np.float32, 0),
    "colors": (np.float32, 4),
    "uvs": (np.float32, 2),
    "uv_depths": (np.float32, 0),
    "normals": (np.float32, 3),
    "points": (np.uint32, 0),
    "material_runs": (np.uint32, 8),
    "group_runs": (np.uint32, 8),
    "smoothing_runs": (np.uint32, 8),
    "face_materials": (np.int32, 0),
    "face_smooth": (np.uint8, 0),
    "sharp_edges": (np.uint32, 2),
}


#: An empty mesh, as native code expects it. ``None`` represents an empty array.
NOTHING: dict[str, Any] = dict.fromkeys(TYPES) | {
    "faces": (None,) * 4,
    "lines": (None,) * 4,
    "uv_domain": "indexed",
    "normal_domain": "indexed",
    "curves": (),
    "groups": (),
    "vertex_groups": (),
    "vertex_columns": (),
    "face_columns": (),
}


def or_none(array: Any) -> Any:
    return array if array.size else None


def or_empty(indices: Indices | None) -> Indices:
    return np.empty(0, np.uint32) if indices is None else indices


def or_zero(offsets: Indices | None) -> Indices:
    return np.zeros(1, np.uint32) if offsets is None else offsets


def size_of(array: npt.NDArray[Any] | None) -> int:
    return 0 if array is None else len(array)


def element_count(streams: Streams) -> int:
    return max(size_of(streams[0]) - 1, 0)
