"""Objects in a store: reading over a link of limited rate, and from bucket to bucket, beside downloading first.

    python tools/bench/python/cloud.py POLYHAUL FILE.obj [--rate MB_PER_S] [--rounds N] [--threads N]

POLYHAUL is a command built with the feature `cloud`. The store is that of the tests, on the loopback, in a process of its own:
its bodies leave at the given rate, which stands for the link. Downloading first is one plain GET into a file on tmpfs, and then
the same command.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from multiprocessing import Pipe, Process
from pathlib import Path
from typing import Any
from urllib.request import urlopen

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "surfaces" / "python" / "tests"))
from object_server import object_server  # noqa: E402


def serve(pipe: Any, path: str) -> None:
    """Serves the file as two buckets' content; a message sets the rate."""
    with object_server() as server:
        server.put("in/scene.obj", Path(path).read_bytes())
        pipe.send((server.url, server.environment()))
        while (rate := pipe.recv()) is not None:
            server.faults.rate = rate
            pipe.send(None)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("polyhaul")
    parser.add_argument("file")
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", default="2")
    given = parser.parse_args()
    receiver, other = Pipe()
    server = Process(target=serve, args=(other, given.file), daemon=True)
    server.start()
    url, environment = receiver.recv()
    size, local = os.path.getsize(given.file), Path("/dev/shm/polyhaul-bench-cloud.obj")
    words = [given.polyhaul, "info", "-j", given.threads]

    def timed(*command: str) -> float:
        start = time.perf_counter()
        subprocess.run(command, env=os.environ | environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return time.perf_counter() - start

    def download() -> float:
        start = time.perf_counter()
        with urlopen(f"{url}/in/scene.obj") as body, local.open("wb") as file:
            while block := body.read(1 << 20):
                file.write(block)
        return time.perf_counter() - start + timed(*words, str(local))

    jobs = {
        "info, s3://": lambda: timed(*words, "s3://in/scene.obj"),
        "info, http://": lambda: timed(*words, f"{url}/in/scene.obj"),
        "download, then info": download,
        "convert s3:// to s3:// (PLY)": lambda: timed(
            given.polyhaul, "convert", "-q", "-j", given.threads, "s3://in/scene.obj", "s3://out/scene.ply"
        ),
    }
    for rate in [given.rate * 1e6, 0]:
        receiver.send(rate)
        receiver.recv()
        seconds: dict[str, list[float]] = {name: [] for name in jobs}
        for _ in range(given.rounds):
            for name, job in jobs.items():
                seconds[name].append(job())
        transfer = f", transfer {size / rate:.3f} s" if rate else ""
        print(f"{size / 1e6:,.0f} MB, link {f'{rate / 1e6:,.0f} MB/s' if rate else 'unlimited'}{transfer}, {given.threads} threads")
        for name, times in seconds.items():
            low = min(times)
            share = f", {low * rate / size:.2f} of the transfer" if rate else f", {size / low / 1e6:,.0f} MB/s"
            print(f"  {name:30} {low:.3f} / {statistics.median(times):.3f} s{share}")
    local.unlink(missing_ok=True)
    receiver.send(None)
    server.join()


if __name__ == "__main__":
    main()
