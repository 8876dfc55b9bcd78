"""Chosen rows of splats: PLY to PLY, csv and SPZ with a filter, beside numpy, polars and splat-transform.

    python tools/bench/python/scan.py POLYHAUL [--splats N] [--rounds N] [--peer COMMAND] [--folder DIR]

Every job is a process of its own. numpy maps the file, makes a mask and writes the rows that it selects, as a user would in a
few lines. The peer gets `-q -w`, the names of both files and its own filter. Half of the splats pass.
"""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from pathlib import Path

from commands import apart, rounds
from splats import THREADS, parser, write_ply

FILTER = "opacity > 1 and is_finite(x)"
NUMPY = """
import sys, numpy as np
source, target, text = sys.argv[1:]
names, size = [], 0
with open(source, "rb") as file:
    while (line := file.readline().strip()) != b"end_header":
        if line.startswith(b"property"):
            names.append(line.split()[2].decode())
    offset = file.tell()
rows = np.memmap(source, [(name, "<f4") for name in names], "r", offset)
kept = rows[(rows["opacity"] > 1) & np.isfinite(rows["x"])]
if text == "csv":
    import polars
    polars.DataFrame({name: kept[name] for name in names}).write_csv(target)
else:
    head = ["ply", "format binary_little_endian 1.0", f"element vertex {len(kept)}"]
    with open(target, "wb") as file:
        file.write("\\n".join([*head, *(f"property float {name}" for name in names), "end_header", ""]).encode())
        kept.tofile(file)
"""


def main() -> None:
    given = parser().parse_args()
    polyhaul = os.path.abspath(given.polyhaul)
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        source = folder / "a.ply"
        apart(write_ply, source, given.splats, 3)
        print(f"PLY, {given.splats:,} splats, {source.stat().st_size / 1e6:,.0f} MB, {FILTER}")
        for kind in ("ply", "csv", "spz"):
            target = folder / f"ours.{kind}"
            print(f"to {kind}")
            convert = [polyhaul, "convert", "-q", "--filter", FILTER, source, target]
            jobs = {f"polyhaul, {threads} threads": [*convert, f"-j{threads}"] for threads in THREADS}
            jobs[f"the same in 192 MiB, {THREADS[-1]} threads"] = [*convert, "--memory-limit", "192MiB"]
            if kind != "spz":
                with_polars = " and polars" if kind == "csv" else ""
                jobs[f"numpy{with_polars}"] = [sys.executable, "-c", NUMPY, source, folder / f"numpy.{kind}", kind]
            if given.peer and kind != "csv":
                output = folder / f"peer.{kind}"
                version = ["--spz-version", "3"] if kind == "spz" else []
                jobs["splat-transform"] = [
                    *shlex.split(given.peer), "-q", "-w", *version, source, "--filter-value", "opacity,gt,0.731058578630005", output
                ]
            rounds(jobs, given.rounds)
            print(f"  {target.stat().st_size / 1e6:,.1f} MB")


if __name__ == "__main__":
    main()
