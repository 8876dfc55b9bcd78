"""What the scheduler costs with many threads, counted on any machine: `ordered.py POLYHAUL FOLDER` (Linux, with valgrind and strace).

POLYHAUL is the command. Makes files of some megabytes in FOLDER, and prints rows of a table in Markdown: the share of instructions
that run in order, one chunk at a time, of all that chunks take (callgrind, one thread); and the waits and wake-ups of threads
(calls of futex) for each of the input's 256 KiB, with 16 threads.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import curves

#: Positions along a side of the grid.
SIDE = 700
CHUNK_BYTES = 256 << 10
#: Inclusive instructions of a step of a chunk, as callgrind_annotate prints them.
STEP = re.compile(r"^\s*([\d,]+) .* as polyhaul_pipeline::run::Numbered>::(take|work|commit) ")


def instructions(folder: Path, *command: str) -> dict[str, int]:
    """Instructions of all steps of each kind."""
    out = folder / "callgrind.out"
    subprocess.run(["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}", *command], check=True, capture_output=True)
    annotate = ["callgrind_annotate", "--inclusive=yes", "--threshold=100", out]
    text = subprocess.run(annotate, check=True, capture_output=True, text=True).stdout
    counts = {"take": 0, "work": 0, "commit": 0}
    for count, step in filter(None, (match and match.groups() for match in map(STEP.match, text.splitlines()))):
        counts[step] += int(count.replace(",", ""))
    return counts


def waits(*command: str) -> int:
    """How often threads wait for others, or wake them."""
    ran = subprocess.run(["strace", "-f", "-c", "-e", "trace=futex", *command], check=True, capture_output=True, text=True)
    rows = [line.split() for line in ran.stderr.splitlines() if line.endswith(" futex")]
    return sum(int(row[3]) for row in rows)


def main(polyhaul: str, folder: str) -> None:
    place = Path(folder)
    obj = place / "a.obj"
    curves.SIDE = SIDE
    curves.grid(obj, 1)
    others = [place / name for name in ("a.ply", "text.ply", "a.stl", "a.csv", "a.obj.gz")]
    for path in others:
        options = ["--ascii"] if path.name == "text.ply" else []
        curves.run(polyhaul, "convert", str(obj), str(path), *options)
    jobs = {f"read {path.name}": (path, ("info", str(path))) for path in (obj, *others)}
    jobs["OBJ to OBJ"] = (obj, ("convert", str(obj), str(place / "out.obj")))
    jobs["OBJ to PLY"] = (obj, ("convert", str(obj), str(place / "out.ply")))
    print("| job | MB | in order | waits and wake-ups per 256 KiB |\n| --- | ---: | ---: | ---: |")
    for name, (path, job) in jobs.items():
        steps = instructions(place, polyhaul, *job, "--threads", "1")
        count = waits(polyhaul, *job, "--threads", "16") / (path.stat().st_size / CHUNK_BYTES)
        share = steps["commit"] / max(sum(steps.values()), 1)
        print(f"| {name} | {path.stat().st_size / 1e6:.0f} | {100 * share:.2f} % | {count:.1f} |", flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
