"""Reading a file that is not in the page cache: `cold.py POLYHAUL FOLDER [MB] [ROUNDS]` (Linux, as root).

POLYHAUL is the command. Makes an OBJ of about MB megabytes (800) in FOLDER, which should be on a disk, and prints seconds of `dd`, which
only reads it, and of `polyhaul info` with two threads, in turn: minimum / median of ROUNDS (7). Before each, the system drops its cache.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from curves import SIDE_MB, grid, run


def cold(*command: str) -> float:
    os.sync()
    Path("/proc/sys/vm/drop_caches").write_text("3\n")
    return run(*command)


def main(polyhaul: str, folder: str, megabytes: str = "800", rounds: str = "7") -> None:
    file = Path(folder) / "cold.obj"
    grid(file, max(int(megabytes) // SIDE_MB, 1))
    jobs = {"dd": ("dd", f"if={file}", "of=/dev/null", "bs=1M"), "polyhaul, 2 threads": (polyhaul, "info", str(file), "--threads", "2")}
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(int(rounds)):
        for name, job in jobs.items():
            times[name].append(cold(*job))
    for name, found in times.items():
        found.sort()
        print(f"| {name}, {file.stat().st_size / 1e6:.0f} MB | {found[0]:.3f} / {found[len(found) // 2]:.3f} |")
    file.unlink()


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
