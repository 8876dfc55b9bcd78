"""The arrays of a scene as an exporter sees them, kept in a folder: .npy files and a table.

The objects stand one after another in each array, in the order of Blender's file. Of each object
`objects.json` has the name, the name of its mesh, the material slots, the domain of its normals, and
how many rows of each array are its own; `transforms.npy` has its matrix.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

TABLE = "objects.json"
TRANSFORMS = "transforms"

# What an array holds: type and columns.
COLUMNS: dict[str, tuple[type[np.generic], int]] = {
    "positions": (np.float32, 3),  # in the object's own space
    "corner_positions": (np.int32, 1),  # indices into the object's positions
    "face_offsets": (np.int32, 1),  # one more than faces: begins with 0, ends with the number of corners
    "normals": (np.float32, 3),  # per face, position or corner, as `normal_domain` says
    "uvs": (np.float32, 2),  # per corner
    "material_slots": (np.int32, 1),  # per face
    "smooth": (np.bool_, 1),  # per face
}


@dataclass(frozen=True)
class ObjectArrays:
    """One object with its evaluated mesh."""

    name: str
    mesh_name: str
    materials: list[str]
    normal_domain: str
    transform: np.ndarray
    arrays: dict[str, np.ndarray]


@dataclass(frozen=True)
class Row:
    """An object's row of the table."""

    name: str
    mesh_name: str
    materials: list[str]
    normal_domain: str
    rows: dict[str, int]


def save(folder: Path, objects: list[ObjectArrays]) -> None:
    """Writes the folder; the table comes last, so that a folder with one is whole."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in COLUMNS:
        np.save(folder / f"{name}.npy", np.concatenate([item.arrays[name] for item in objects]))
    np.save(folder / f"{TRANSFORMS}.npy", np.stack([item.transform for item in objects]))
    table = [
        asdict(Row(item.name, item.mesh_name, item.materials, item.normal_domain, _rows(item.arrays)))
        for item in objects
    ]
    (folder / TABLE).write_text(json.dumps(table, indent=1, ensure_ascii=False), encoding="utf-8")


def load(folder: Path) -> list[ObjectArrays]:
    """All objects, each with arrays that are parts of the large ones."""
    table = json.loads((folder / TABLE).read_text(encoding="utf-8"))
    whole = {name: np.load(folder / f"{name}.npy") for name in COLUMNS}
    transforms = np.load(folder / f"{TRANSFORMS}.npy")
    starts = dict.fromkeys(COLUMNS, 0)
    objects = []
    for row, transform in zip((Row(**fields) for fields in table), transforms, strict=True):
        arrays = {}
        for name, count in row.rows.items():
            arrays[name] = whole[name][starts[name] : starts[name] + count]
            starts[name] += count
        objects.append(ObjectArrays(row.name, row.mesh_name, row.materials, row.normal_domain, transform, arrays))
    return objects


def _rows(arrays: dict[str, np.ndarray]) -> dict[str, int]:
    return {name: len(arrays[name]) for name in COLUMNS}
