"""Additional data of vertices: attributes, and weights of vertex groups.

Colors, uvs and normals are in ``gathering``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import arrays

#: The attribute types: the field of an element, its dtype, and the suffixes of component names.
TYPES: dict[str, tuple[str, Any, str]] = {
    "FLOAT": ("value", np.float32, ""),
    "INT": ("value", np.int32, ""),
    "INT8": ("value", np.int32, ""),
    "BOOLEAN": ("value", np.bool_, ""),
    "FLOAT2": ("vector", np.float32, "xy"),
    "FLOAT_VECTOR": ("vector", np.float32, "xyz"),
    "INT16_2D": ("value", np.int16, "xy"),
    "INT32_2D": ("value", np.int32, "xy"),
    "QUATERNION": ("value", np.float32, "xyzw"),
    "FLOAT_COLOR": ("color", np.float32, "rgba"),
    "BYTE_COLOR": ("color", np.float32, "rgba"),
}


def columns(data: Any, source: Any) -> dict[str, np.ndarray]:
    """Return the data of vertices besides positions and colors, as in Blender's PLY files.

    The columns are (n,) float32, by name.
    """
    columns: dict[str, np.ndarray] = {}
    if not len(data.vertices):
        return columns
    names, weights = vertex_groups(data, source) or ([], np.empty((0, 0)))
    for name, column in zip(names, np.nan_to_num(weights).T, strict=True):
        add(columns, name, column)
    active = data.color_attributes.active_color
    for name, attribute in data.attributes.items():
        if name == "position" or name.startswith(".") or attribute.domain != "POINT":
            continue
        if attribute == active or attribute.data_type not in TYPES:
            continue
        field, dtype, parts = TYPES[attribute.data_type]
        is_stored = attribute.data_type not in ("INT8", "BYTE_COLOR")
        values = arrays.read(attribute.data, field, dtype, max(len(parts), 1), is_stored=is_stored)
        values = values.astype(np.float32).reshape(len(data.vertices), -1)
        if attribute.data_type == "QUATERNION":
            # Blender stores w first.
            values = np.roll(values, -1, axis=1)
        for number, part in enumerate(parts or [""]):
            add(columns, f"{name}_{part}" if part else name, values[:, number])
    return columns


def add(columns: dict[str, np.ndarray], name: str, column: np.ndarray) -> None:
    """Add a column, with a numeric suffix if the name is already taken.

    Names that only differ in spaces and underscores are the same, because PLY names do not contain spaces.
    """
    taken = {taken_name.replace(" ", "_") for taken_name in columns}
    number = 1
    free = name
    while free.replace(" ", "_") in taken:
        free = f"{name}_{number}"
        number += 1
    columns[free] = column


def vertex_groups(data: Any, source: Any) -> tuple[list[str], np.ndarray] | None:
    """Return the names of the groups and (n, g) float32 weights, NaN for vertices that are not members.

    ``None`` if there are no groups. Blender does not provide bulk access to the weights.
    """
    names = [group.name for group in source.vertex_groups]
    if not names:
        return None
    weights = np.full((len(data.vertices), len(names)), np.nan, np.float32)
    for row, vertex in zip(weights, data.vertices, strict=True):
        for member in vertex.groups:
            # Removed groups may still have members.
            if member.group < len(row):
                row[member.group] = member.weight
    return names, weights
