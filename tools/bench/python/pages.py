"""Huge pages that reading takes: `pages.py POLYHAUL FILE...`, on Linux, as root, with perf.

Prints rows of a table in Markdown: how many huge pages the kernel allocated while `polyhaul info` read each file, as the least and
the most of five runs, by the number of threads. More than with one thread are cleared for nothing: threads that touch a page at the same time
get one each, and all but the first are dropped. Less are taken while the machine's host is slow to give them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

THREADS = (1, 2, 4, 16)
ROUNDS = 5
#: Blocks of 2 MiB, of pages of 4 KiB.
EVENT = ("-e", "kmem:mm_page_alloc", "--filter", "order==9")


def allocated(polyhaul: str, file: str, threads: int) -> int:
    command = ["perf", "stat", "-x,", *EVENT, polyhaul, "info", file, "--threads", str(threads)]
    ran = subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    counts = [line.split(",")[0] for line in ran.stderr.splitlines() if EVENT[1] in line]
    return int(counts[-1])


def main(polyhaul: str, *files: str) -> None:
    print("| file | " + " | ".join("1 thread" if count == 1 else f"{count} threads" for count in THREADS) + " |\n| --- |" + " ---: |" * len(THREADS))
    for file in files:
        rows = [[allocated(polyhaul, file, count) for _ in range(ROUNDS)] for count in THREADS]
        cells = [f"{min(row)} to {max(row)}" for row in rows]
        print(f"| {Path(file).name}, {os.path.getsize(file) / 1e6:.0f} MB | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
