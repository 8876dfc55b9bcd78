"""Reading a file that is not in the page cache: `cold.py POLYHAUL FOLDER [MB] [ROUNDS] [BEFORE]` (Linux).

POLYHAUL is the command, and BEFORE an older one to compare it with. Makes an OBJ of about MB megabytes (800) in FOLDER, which should be
on a disk. Prints, for `dd`, which only reads it, and for `polyhaul info` with two threads: seconds, minimum / median of ROUNDS (15),
`dd`'s seconds divided by them, and seconds of the processors (median). Before each run, the system forgets the file. The last row is
`polyhaul info` from the page cache.

Runs take turns. A run counts if the file came from the disk, and other programs took less than 60 ms of the processors meanwhile.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from typing import NamedTuple

from curves import SIDE_MB, grid, run

#: Seconds of the processors that other programs may take during a run.
NOISE = 0.06


class Timed(NamedTuple):
    """Seconds of a command, and seconds of the processors."""

    wall: float
    processors: float


def forget(file: Path) -> None:
    """Removes a file from the page cache."""
    number = os.open(file, os.O_RDONLY)
    try:
        os.fsync(number)
        os.posix_fadvise(number, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(number)


def busy() -> float:
    """Seconds that the processors have worked so far, for all programs."""
    user, nice, system, _, _, *interrupts = map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9])
    return (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK")


def await_calm() -> None:
    """Waits up to two seconds for a moment in which other programs hardly work."""
    for _ in range(20):
        before = busy()
        time.sleep(0.1)
        if busy() - before < 0.02:
            return


def timed(file: Path, command: tuple[str, ...], *, is_cold: bool) -> Timed | None:
    """Runs a command, which has to get the file from the disk if `is_cold`; None if it was disturbed."""
    await_calm()
    if is_cold:
        forget(file)
    before, all_before = getrusage(RUSAGE_CHILDREN), busy()
    wall = run(*command)
    after, all_after = getrusage(RUSAGE_CHILDREN), busy()
    if is_cold and 512 * (after.ru_inblock - before.ru_inblock) < 0.95 * file.stat().st_size:
        sys.exit(f"{command[0]} did not have the file from the disk: use a folder on a disk")
    processors = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return Timed(wall, processors) if all_after - all_before - processors < NOISE else None


def main(polyhaul: str, folder: str, megabytes: str = "800", rounds: str = "15", old: str | None = None) -> None:
    file = Path(folder) / "cold.obj"
    grid(file, max(int(megabytes) // SIDE_MB, 1))
    info = ("info", str(file), "--threads", "2")
    jobs = {"dd": ("dd", f"if={file}", "of=/dev/null", "bs=1M")}
    if old:
        jobs["polyhaul before"] = (old, *info)
    jobs["polyhaul"] = jobs["polyhaul, from the page cache"] = (polyhaul, *info)
    times: dict[str, list[Timed]] = {name: [] for name in jobs}
    for _ in range(4 * int(rounds)):
        for name, command in jobs.items():
            run = timed(file, command, is_cold="cache" not in name)
            if run and len(times[name]) < int(rounds):
                times[name].append(run)
        if all(len(runs) == int(rounds) for runs in times.values()):
            break
    file.unlink()
    if not times["dd"]:
        sys.exit("other programs disturbed all runs of dd")
    walls = {name: [run.wall for run in all_found] for name, all_found in times.items() if all_found}
    for name, seconds in walls.items():
        ratios = [kind(walls["dd"]) / kind(seconds) for kind in (min, median)]
        processors = median(run.processors for run in times[name])
        cells = (f"{name}, {len(seconds)} runs", f"{min(seconds):.3f} / {median(seconds):.3f}", f"{ratios[0]:.2f} / {ratios[1]:.2f}", f"{processors:.2f}")
        print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
