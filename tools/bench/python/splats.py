"""Gaussian splats: PLY to SPZ, compressed PLY and back, beside splat-transform.

    python tools/bench/python/splats.py POLYHAUL [--splats N] [--degree D] [--rounds N] [--peer COMMAND] [--folder DIR]

The values are random, which compresses worse than real scenes do. Every job is a process of its own; the peer gets
`-q -w` and the names of both files.
"""

from __future__ import annotations

import argparse
import os
import shlex
import tempfile
from pathlib import Path

import numpy as np
from commands import apart, rounds

MORE = (0, 3, 8, 15)
THREADS = sorted({1, 2, os.cpu_count() or 1})


def main() -> None:
    options = parser()
    options.add_argument("--degree", type=int, default=3, choices=range(4))
    given = options.parse_args()
    polyhaul = os.path.abspath(given.polyhaul)
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        names = ("a.ply", "a.spz", "a.4.spz", "a.compressed.ply", "b.ply")
        ply, spz, fourth, packed, back = (folder / name for name in names)
        apart(write_ply, ply, given.splats, given.degree)
        print(f"PLY, {given.splats:,} splats, {ply.stat().st_size / 1e6:,.0f} MB")
        pairs = ((ply, spz), (spz, back), (ply, fourth), (fourth, back), (ply, packed), (packed, back))
        for source, target in pairs:
            print(f"{kind(source)} to {kind(target)}")
            version = {spz: ["--spz-version", "3"], fourth: ["--spz-version", "4"]}.get(target, [])
            jobs = {
                f"polyhaul, {threads} threads": [polyhaul, "convert", "-q", f"-j{threads}", *version, source, target]
                for threads in THREADS
            }
            if given.peer:
                output = folder / f"peer{''.join(target.suffixes)}"
                jobs["splat-transform"] = [*shlex.split(given.peer), "-q", "-w", *version, source, output]
            rounds(jobs, given.rounds)
            print(f"  {target.stat().st_size / 1e6:,.1f} MB")
            if given.peer:
                print(f"  {output.stat().st_size / 1e6:,.1f} MB by the peer")


def parser() -> argparse.ArgumentParser:
    """The options of benchmarks of splats."""
    parser = argparse.ArgumentParser()
    parser.add_argument("polyhaul")
    parser.add_argument("--splats", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peer", help="the command of splat-transform")
    parser.add_argument("--folder", default="/dev/shm")
    return parser


def kind(path: Path) -> str:
    return "".join(path.suffixes).removeprefix(".")


def write_ply(path: Path, count: int, degree: int) -> None:
    """Splats with the columns of training software."""
    random = np.random.default_rng(7)
    spread = {"x": (0, 3), "y": (0, 3), "z": (0, 3), "nx": (0, 0), "ny": (0, 0), "nz": (0, 0)}
    spread |= {f"f_dc_{number}": (0.2, 0.8) for number in range(3)}
    spread |= {f"f_rest_{number}": (0, 0.08) for number in range(3 * MORE[degree])}
    spread |= {"opacity": (1, 3)} | {f"scale_{number}": (-4.5, 1.2) for number in range(3)}
    spread |= {f"rot_{number}": (0, 1) for number in range(4)}
    rows = np.empty((count, len(spread)), np.float32)
    for column, (mean, deviation) in enumerate(spread.values()):
        rows[:, column] = random.standard_normal(count, np.float32) * deviation + mean
    lines = ["ply", "format binary_little_endian 1.0", f"element vertex {count}"]
    lines += [f"property float {name}" for name in spread] + ["end_header", ""]
    with path.open("wb") as file:
        file.write("\n".join(lines).encode())
        rows.tofile(file)


if __name__ == "__main__":
    main()
