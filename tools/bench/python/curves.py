"""Reading and converting with more and more threads: `curves.py POLYHAUL FOLDER [MB] [ROUNDS]`.

POLYHAUL is the command. Makes an OBJ of about MB megabytes (1600) in FOLDER, which should be in memory, and other formats of it
(one.obj.gz is a single member, as gzip writes it), and prints rows of a table in Markdown: seconds of whole processes as
minimum / median, and how many times less the minimum is than that of one thread. Threads are powers of two up to the cores
that there are. The last column is what the machine gives to work that shares nothing: so many processes of one thread each do
the job at the same time, and together it is so many times what one does. The last row writes as many bytes as `to OBJ` from
memory to one file, and does nothing else.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

#: Positions along a side of the grid that is written, and about how many MB its text has.
SIDE, SIDE_MB = 1500, 268

QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def grid(path: Path, copies: int) -> None:
    """Writes a bumpy grid of quads with normals; copies use the same positions again."""
    made = random.Random(1)
    numbers = range(SIDE * SIDE)
    rows = [f"v {at % SIDE / SIDE + made.random() * 1e-3:.6f} {at // SIDE / SIDE:.6f} {made.random():.6f}\n" for at in numbers]
    rows += [f"vn {made.random():.4f} {made.random():.4f} 0.5000\n" for _ in numbers]
    for at in (y * SIDE + x + 1 for y in range(SIDE - 1) for x in range(SIDE - 1)):
        corners = (at, at + 1, at + SIDE + 1, at + SIDE)
        rows.append("f " + " ".join(f"{corner}//{corner}" for corner in corners) + "\n")
    text = "".join(rows).encode()
    with path.open("wb") as file:
        for _ in range(copies):
            file.write(text)


def run(*command: str) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, **QUIET)
    return time.perf_counter() - start


def together(count: int, command: str, kind: str, source: str, *output: str) -> float:
    """Seconds of so many processes of one thread, each with an output of its own."""
    outputs = [[f"{path}.{number}.obj" for path in output] for number in range(count)]
    start = time.perf_counter()
    jobs = [subprocess.Popen([command, kind, source, *paths, "--threads", "1"], **QUIET) for paths in outputs]
    has_failed = [job.wait() != 0 for job in jobs]
    seconds = time.perf_counter() - start
    for path in (path for paths in outputs for path in paths):
        os.remove(path)
    if any(has_failed):
        sys.exit(f"{kind} {source} failed")
    return seconds


def write(path: str, size: int) -> float:
    """Seconds of writing so many bytes to one file."""
    block = bytes(range(256)) * 4096
    start = time.perf_counter()
    with open(path, "wb", buffering=0) as file:
        for _ in range(size // len(block)):
            file.write(block)
    return time.perf_counter() - start


def main(polyhaul: str, folder: str, megabytes: str = "1600", rounds: str = "5") -> None:
    place = Path(folder)
    names = ("a.obj", "a.ply", "text.ply", "a.stl", "a.obj.zst", "a.obj.gz", "one.obj.gz")
    obj, ply, text, stl, zst, gz, single = (str(place / name) for name in names)
    grid(Path(obj), max(int(megabytes) // SIDE_MB, 1))
    for target, *options in ((ply,), (text, "--ascii"), (stl,), (zst,), (gz,)):
        run(polyhaul, "convert", obj, target, *options)
    with open(single, "wb") as file:
        subprocess.run(["gzip", "-c", obj], check=True, stdout=file)
    jobs = {f"read {Path(path).name}, {os.path.getsize(path) / 1e6:.0f} MB": ("info", path) for path in (obj, ply, text, stl, zst, gz, single)}
    jobs |= {f"{Path(path).name} to OBJ": ("convert", path, str(place / "out.obj")) for path in (obj, stl)}
    counts = [1 << power for power in range((os.cpu_count() or 1).bit_length())]
    max_count = counts[-1]
    print("| threads | " + " | ".join(f"{count}" for count in counts) + f" | {max_count} processes |")
    print("| --- |" + " ---: |" * (len(counts) + 1))
    for name, job in jobs.items():
        cells, first = [], 0.0
        for count in counts:
            times = sorted(run(polyhaul, *job, "--threads", str(count)) for _ in range(int(rounds)))
            first = first or times[0]
            cells.append(f"{times[0]:.3f} / {times[len(times) // 2]:.3f} ({first / times[0]:.1f}×)")
        apart = min(together(max_count, polyhaul, *job) for _ in range(int(rounds)))
        print(f"| {name} | " + " | ".join(cells) + f" | {max_count * first / apart:.1f}× |", flush=True)
    plain = sorted(write(str(place / "plain"), os.path.getsize(obj)) for _ in range(int(rounds)))
    print(f"| write {os.path.getsize(obj) / 1e6:.0f} MB | {plain[0]:.3f} / {plain[len(plain) // 2]:.3f} |" + " |" * max_count.bit_length())


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
