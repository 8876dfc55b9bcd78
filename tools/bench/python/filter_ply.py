"""Filters splats: `filter_ply.py NAME FILE OUTPUT [THREADS]`, where NAME is polyhaul, plyfile or copy.

FILE is read, the rows whose opacity is above 0 are kept, and OUTPUT is written; copy writes FILE as it is. What is written
is compared with what numpy makes of the bytes, and removed. Of two runs in a row the second counts: a virtual machine
hands memory that nobody uses to its host, and gets it back slowly. Prints a line for `cargo xtask bench`.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import measure

# Reads, filters and writes; gives what is alive at the end.
Filter = Callable[[], Any]


def polyhaul(file: str, output: str, threads: int) -> Filter:
    import polyhaul

    def work() -> tuple[polyhaul.Table, polyhaul.Table]:
        table = polyhaul.read_table(file, threads=threads)
        rows_left = table.take(table["opacity"] > 0, threads=threads)
        polyhaul.write_table(rows_left, output, threads=threads)
        return table, rows_left

    return work


def plyfile(file: str, output: str, threads: int) -> Filter:
    import plyfile

    def work() -> None:
        rows = plyfile.PlyData.read(file)["vertex"].data
        rows_left = plyfile.PlyElement.describe(rows[rows["opacity"] > 0], "vertex")
        plyfile.PlyData([rows_left]).write(output)

    return work


def copy(file: str, output: str, threads: int) -> Filter:
    return lambda: shutil.copyfile(file, output)


FILTERS: dict[str, Callable[[str, str, int], Filter]] = {"polyhaul": polyhaul, "plyfile": plyfile, "copy": copy}


def rows(file: Path) -> np.ndarray:
    """The rows of a file of floats, as they are in it."""
    names = []
    with file.open("rb") as opened:
        while (line := opened.readline().split()) != [b"end_header"]:
            if line[0] == b"property":
                names.append(line[2].decode())
        start = opened.tell()
    return np.memmap(file, dtype=[(name, "<f4") for name in names], mode="r", offset=start)


def is_filtered(file: Path, output: Path) -> bool:
    """Whether the output has the rows that numpy keeps."""
    given, rows_left, place = rows(file), rows(output), 0
    for start in range(0, len(given), 1 << 16):
        block = given[start : start + (1 << 16)]
        block = block[block["opacity"] > 0]
        if rows_left[place : place + len(block)].tobytes() != block.tobytes():
            return False
        place += len(block)
    return place == len(rows_left)


def main(name: str, file: str, output: str, threads: str = "1") -> None:
    work, target = FILTERS[name](file, output, int(threads)), Path(output)
    target.unlink(missing_ok=True)
    work()
    target.unlink()
    timing = measure.timed(work)
    fields = {"bytes": target.stat().st_size}
    if name == "polyhaul":
        tables = sum(column.nbytes for table in timing.result for column in table.columns)
        fields["base_bytes"] = (timing.before_bytes or 0) + tables
    if name != "copy":
        fields["identical"] = int(is_filtered(Path(file), target))
    measure.tell(timing, **fields)
    target.unlink()
    # Taking the tables apart is not measured.
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
