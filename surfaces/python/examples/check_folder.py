"""Check all mesh files of a folder before they are printed or simulated, and write a table of the results.

    python check_folder.py parts parts.csv

Each row has the number of open and non-manifold edges, the area and the volume; files that cannot be read are listed
with their error.
"""

from __future__ import annotations

import sys
from pathlib import Path

import polyhaul

ENDINGS = {".obj", ".ply", ".stl", ".off", ".glb"}


def check(folder: str, target: str) -> list[str]:
    """Check the files of a folder; return the errors of those that cannot be read."""
    columns: dict[str, list[float]] = {"file": [], "open": [], "non_manifold": [], "area": [], "volume": []}
    errors = []
    paths = sorted(path for path in Path(folder).rglob("*") if path.suffix.lower() in ENDINGS)
    for number, path in enumerate(paths):
        try:
            meshes = polyhaul.read(path).meshes
        except polyhaul.Error as error:
            errors.append(str(error))
            continue
        for mesh in meshes:
            result = mesh.check()
            columns["file"].append(number)
            columns["open"].append(len(result.open_edges))
            columns["non_manifold"].append(len(result.non_manifold_edges))
            columns["area"].append(result.area)
            columns["volume"].append(result.volume)
    polyhaul.write_table(columns, target)
    return errors


if __name__ == "__main__":
    for message in check(*sys.argv[1:3]):
        print(message, file=sys.stderr)
