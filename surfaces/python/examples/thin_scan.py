"""Thin out a scan that is larger than memory: keep the points of a box, one in every N, in bounded memory.

    python thin_scan.py scan.ply part.ply 0,0,0,10,10,3 8
"""

from __future__ import annotations

import sys

import polyhaul


def thin(source: str, target: str, box: list[float], every: int) -> polyhaul.Report:
    """Write every `every`-th point in a box of minimum and maximum x, y and z."""
    return polyhaul.convert(source, target, box=[box[:3], box[3:]], every=every, memory_limit="256MB")


if __name__ == "__main__":
    print(thin(sys.argv[1], sys.argv[2], [float(part) for part in sys.argv[3].split(",")], int(sys.argv[4])))
