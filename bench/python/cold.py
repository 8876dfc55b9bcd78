"""Reading a file that is not in the page cache: `cold.py POLYHAUL FOLDER [MB] [ROUNDS]` (Linux).

POLYHAUL is the command. Makes an OBJ of about MB megabytes (800) in FOLDER, which should be on a disk, and prints seconds of `dd`, which
only reads it, and of `polyhaul info` with two threads, in turn: minimum / median of ROUNDS (7), and dd's minimum divided by polyhaul's.
Before each, the system forgets the file; a run that had less than 95 % of it from the disk is an error. The last row is `polyhaul info`
from the page cache. The last column is the least processor time.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import NamedTuple

from curves import SIDE_MB, grid, run


def forget(file: Path) -> None:
    """Removes a file from the page cache."""
    number = os.open(file, os.O_RDONLY)
    try:
        os.fsync(number)
        os.posix_fadvise(number, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(number)


class Timed(NamedTuple):
    """Seconds of a command, those of the processors, and the bytes that it had from disks."""

    wall: float
    processors: float
    fetched: int


def timed(*command: str) -> Timed:
    before = getrusage(RUSAGE_CHILDREN)
    wall = run(*command)
    after = getrusage(RUSAGE_CHILDREN)
    processors = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return Timed(wall, processors, 512 * (after.ru_inblock - before.ru_inblock))


def cold(file: Path, *command: str) -> Timed:
    """A command that has to get the file from the disk."""
    forget(file)
    found = timed(*command)
    if found.fetched < 0.95 * file.stat().st_size:
        sys.exit(f"{command[0]} had only {found.fetched / 1e6:.0f} MB from the disk: use a folder on a disk")
    return found


def main(polyhaul: str, folder: str, megabytes: str = "800", rounds: str = "7") -> None:
    file = Path(folder) / "cold.obj"
    grid(file, max(int(megabytes) // SIDE_MB, 1))
    info = (polyhaul, "info", str(file), "--threads", "2")
    times: dict[str, list[Timed]] = {"dd": [], "polyhaul, 2 threads": [], "the same, from the page cache": []}
    for _ in range(int(rounds)):
        once = (cold(file, "dd", f"if={file}", "of=/dev/null", "bs=1M"), cold(file, *info), timed(*info))
        for found, seconds in zip(times.values(), once, strict=True):
            found.append(seconds)
    fastest = min(times["dd"]).wall
    for name, found in times.items():
        found.sort()
        least, median = found[0].wall, found[len(found) // 2].wall
        processors = min(seconds.processors for seconds in found)
        print(f"| {name}, {file.stat().st_size / 1e6:.0f} MB | {least:.3f} / {median:.3f} | {fastest / least:.2f} | {processors:.3f} |")
    file.unlink()


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
