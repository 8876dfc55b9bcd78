"""Times whole commands in turn.

The peak memory of a command is at least that of this process before it: what takes memory runs :func:`apart`.
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
import subprocess
import time
from collections.abc import Callable


def apart(work: Callable[..., None], *arguments: object) -> None:
    """Runs `work` in a process of its own."""
    process = multiprocessing.get_context("fork").Process(target=work, args=arguments)
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(process.exitcode)


def rounds(jobs: dict[str, list[object]], count: int) -> None:
    """Times commands in turn, and prints their times and peak memory."""
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    peaks: dict[str, int] = {}
    ends: dict[str, int] = {}
    for _ in range(count):
        for name, words in jobs.items():
            start = time.perf_counter()
            child = subprocess.Popen(list(map(str, words)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            _, status, usage = os.wait4(child.pid, 0)
            seconds[name].append(time.perf_counter() - start)
            child.returncode = ends[name] = os.waitstatus_to_exitcode(status)
            peaks[name] = usage.ru_maxrss
    for name, times in seconds.items():
        failed = f", exit code {ends[name]}" if ends[name] else ""
        print(f"  {name:28} {min(times):.3f} / {statistics.median(times):.3f} s, {peaks[name] / 1e3:,.0f} MB{failed}")
