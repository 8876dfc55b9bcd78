"""Asset libraries: the rate of `polyhaul batch` beside `polyhaul convert`, and libraries of a million assets.

    python tools/bench/python/batch.py POLYHAUL [--assets N] [--rows N] [--rounds N] [--workers N,...] [--folder DIR]

POLYHAUL is the command to measure. The library has assets of three formats from 16 to 65,536 vertices, 2 % of them broken in
ten ways. Both commands use as many workers; batch also hashes what it writes, logs each asset and writes a manifest. The
million assets are empty files with a log that says they are done, and outputs to match.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

SIDES = [4, 4, 8, 8, 16, 16, 32, 32, 64, 128]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("polyhaul")
    parser.add_argument("--assets", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", default="/dev/shm")
    parser.add_argument("--workers", default="2", help="numbers of workers, comma-separated")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        if given.assets:
            total = make_library(folder / "library", given.assets)
            for workers in given.workers.split(","):
                rates(os.path.abspath(given.polyhaul), folder, (given.assets, total), given.rounds, workers)
        if given.rows:
            million(os.path.abspath(given.polyhaul), folder, given.rows)


def rates(polyhaul: str, folder: Path, size: tuple[int, int], rounds: int, workers: str) -> None:
    """Times both commands in turn."""
    count, total = size
    seconds: dict[str, list[float]] = {"batch": [], "convert": []}
    faults: dict[str, int] = {}
    for _ in range(rounds):
        for name, out in [("batch", "out"), ("convert", "plain")]:
            shutil.rmtree(folder / out, ignore_errors=True)
            words = [polyhaul, name, "library", *(["-o", out, "--full-names"] if name == "batch" else [out])]
            start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
            subprocess.run([*words, "--to", "ply", "--recursive", f"-j{workers}", "-q"], cwd=folder, stderr=subprocess.DEVNULL)
            seconds[name].append(time.perf_counter() - start)
            faults[name] = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt - before
    status = json.loads(run(polyhaul, "batch", "status", folder / "out", "--json")[0])
    print(f"{count:,} assets, {total / 1e6:,.0f} MB, {workers} workers; done {status['done']:,}, failed {status['failed']:,}")
    for name, times in seconds.items():
        low, middle = min(times), statistics.median(times)
        rate = f"{count / low:,.0f} assets/s, {total / low / 1e6:,.0f} MB/s"
        print(f"  {name:8} {low:.2f} / {middle:.2f} s, {rate}, {faults[name]:,} page faults")
    library = [folder / "library", "-o", folder / "out", "--to", "ply", "--recursive", "--full-names"]
    for name, words in [("planning", [*library, "--dry-run"]), ("manifest", ["merge", folder / "out"])]:
        start = time.perf_counter()
        run(polyhaul, "batch", *words)
        print(f"  of batch's time, {name}: {time.perf_counter() - start:.3f} s")
    shares = [c / b for b, c in zip(seconds["batch"], seconds["convert"], strict=True)]
    low = min(seconds["convert"]) / min(seconds["batch"])
    print(f"  batch reaches {low:.0%} of convert's rate by minima, {statistics.median(shares):.0%} by the median of pairs")


def million(polyhaul: str, folder: Path, count: int) -> None:
    """Times what a run does before and after its work, with a library that is done."""
    source, out = folder / "million", folder / "done"
    log = out / ".polyhaul" / "log"
    log.mkdir(parents=True)
    checksum = checksums(polyhaul)
    for number in range(count):
        if number % 1000 == 0:
            (source / f"{number // 1000:04}").mkdir(parents=True)
            (out / f"{number // 1000:04}").mkdir()
        name = f"{number // 1000:04}/asset{number:07}"
        for path in (source / f"{name}.obj", out / f"{name}.ply"):
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
    options = job_hash(polyhaul, folder)
    with (log / "00000000000000000001-1.log").open("wb") as file:
        for number in range(count):
            file.write(checksum(row(source, number, options)))
    del checksum
    words = ["batch", source, "-o", out, "--to", "ply", "--recursive"]
    for name, more in [
        ("listing, resuming", [*words, "--dry-run"]),
        ("and the manifest", words),
        ("status", ["batch", "status", out]),
        ("merge", ["batch", "merge", out]),
    ]:
        start = time.perf_counter()
        printed, peak = run(polyhaul, *more)
        last_line = printed.strip().splitlines()[-1] if name == "and the manifest" else ""
        print(f"  {name:18} {time.perf_counter() - start:6.2f} s, {peak / 1e6:,.0f} MB  {last_line}")


def row(source: Path, number: int, options: str) -> bytes:
    name = f"{number // 1000:04}/asset{number:07}"
    changed = (source / f"{name}.obj").stat().st_mtime_ns
    return json.dumps({
        "id": number, "asset": f"{name}.obj", "attempt": 1, "source": f"{source}/{name}.obj", "source_version": str(changed),
        "source_bytes": 0, "options": options, "outputs": [{"path": f"{name}.ply", "bytes": 0, "hash": f"{number:032x}"}],
        "started": 1.7e9 + number, "seconds": 0.01, "phases": {"read": 0.004, "write": 0.005}, "verdict": None,
        "peak_bytes": 20_000_000, "warnings": {}, "error": None, "worker": "host:1",
    }, separators=(",", ":")).encode()


def job_hash(polyhaul: str, folder: Path) -> str:
    """What the log calls these options: read from that of one asset."""
    folder_of_one, out = folder / "one", folder / "one-out"
    folder_of_one.mkdir()
    (folder_of_one / "a.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    run(polyhaul, "batch", folder_of_one, "-o", out, "--to", "ply", "--recursive")
    return str(json.loads(run(polyhaul, "batch", "rows", out)[0])["options"])


def checksums(_: str):
    """Lines of the log: XXH3 before the JSON."""
    import xxhash

    return lambda line: b"%s %s\n" % (xxhash.xxh3_64_hexdigest(line).encode(), line)


def run(*words: object) -> tuple[str, int]:
    """What a command prints, and its peak memory in bytes."""
    with tempfile.NamedTemporaryFile("r") as usage:
        timed = ["/usr/bin/time", "-o", usage.name, "-f", "%M", *map(str, words)]
        ran = subprocess.run(timed, capture_output=True, text=True)
        return ran.stdout + ran.stderr, int(usage.read().split()[-1]) * 1024


def make_library(folder: Path, count: int) -> int:
    """Makes the library; returns its size in bytes."""
    total = 0
    for number in range(count):
        side = SIDES[number % 10] if number % 100 else 256
        points, faces = grid(side, number)
        suffix, make = [("obj", obj), ("ply", ply), ("stl", stl)][number % 3]
        data = make(points, faces)
        if number % 50 == 7:
            suffix, data = broken(number // 50, data)
        path = folder / f"{number % 37:02}" / f"asset{number:05}.{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        total += len(data)
    return total


def grid(side: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.meshgrid(np.arange(side, dtype=np.float32), np.arange(side, dtype=np.float32))
    points = np.stack([x, y, np.random.default_rng(seed).random((side, side), np.float32)], -1).reshape(-1, 3)
    corner = np.arange(side * side).reshape(side, side)
    quads = [corner[:-1, :-1], corner[:-1, 1:], corner[1:, 1:], corner[1:, :-1]]
    return points, np.stack([part.ravel() for part in quads], -1)


def obj(points: np.ndarray, faces: np.ndarray) -> bytes:
    text = "".join("v %.6f %.6f %.6f\n" % tuple(point) for point in points)
    return (text + "".join("f %d %d %d %d\n" % tuple(face + 1) for face in faces)).encode()


def ply(points: np.ndarray, faces: np.ndarray) -> bytes:
    head = f"ply\nformat binary_little_endian 1.0\nelement vertex {len(points)}\nproperty float x\nproperty float y\n"
    head += f"property float z\nelement face {len(faces)}\nproperty list uchar int vertex_indices\nend_header\n"
    lists = np.zeros(len(faces), dtype=[("count", "u1"), ("vertices", "<i4", 4)])
    lists["count"], lists["vertices"] = 4, faces
    return head.encode() + points.astype("<f4").tobytes() + lists.tobytes()


def stl(points: np.ndarray, faces: np.ndarray) -> bytes:
    triangles = np.concatenate([faces[:, [0, 1, 2]], faces[:, [0, 2, 3]]])
    records = np.zeros(len(triangles), dtype=[("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("unused", "<u2")])
    records["corners"] = points[triangles]
    return bytes(80) + struct.pack("<I", len(triangles)) + records.tobytes()


def broken(number: int, data: bytes) -> tuple[str, bytes]:
    ways = [
        ("obj", b"v 1 2\n"),
        ("obj", b"v 0 0 0\nf 1 2 9\n"),
        ("ply", b"ply\nformat binary_little_endian 1.0\nelement vertex 9\nproperty float x\nend_header\n"),
        ("ply", b"ply\nformat nonsense 1.0\nend_header\n"),
        ("stl", bytes(80) + struct.pack("<I", 1000) + bytes(60)),
        ("stl", b"solid x\nfacet normal 0 0 1\nouter loop\nvertex 0 0 oops\n"),
        ("obj", b"v 1e999x 0 0\n"),
        ("obj.gz", gzip.compress(data)[:-20]),
        ("ply", b""),
        ("off", b"OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 7\n"),
    ]
    return ways[number % len(ways)]


if __name__ == "__main__":
    sys.exit(main())
