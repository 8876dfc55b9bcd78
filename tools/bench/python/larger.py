"""Files larger than memory: conversions within a limit, beside reading and writing alone.

    python tools/bench/python/larger.py POLYHAUL [--gigabytes N] [--limit SIZE] [--threads N] [--folder DIR] [--peer NAME=COMMAND]
        [--source splats|mesh|text ...] [--target NAME ...]

Makes a mesh and splats as PLY and the mesh as OBJ, each about as large as asked for, and converts them one after another; no
output stays. Reading alone is the time to read the bytes of the input, writing alone that to write as many bytes as the output has,
both by plain calls. A peer is a command with IN and OUT in it, which gets the OBJ file and an output named OUT.glb.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

BLOCK_BYTES = 1 << 20
MESH_TARGETS = ["ply", "obj", "stl", "csv", "npy", "glb"]
TEXT_TARGETS = ["ply", "obj", "stl", "csv", "glb"]
SOURCES = ["splats", "mesh", "text"]
SPLAT_TARGETS = ["ply", "csv", "npy", "spz", "splat", "compressed.ply"]
#: Bytes of OBJ text for each byte of the PLY file that it is made from, about.
OBJ_FACTOR = 2.0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("polyhaul")
    parser.add_argument("--gigabytes", type=float, default=8)
    parser.add_argument("--limit", default="192MiB")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder")
    parser.add_argument("--peer", action="append", default=[])
    parser.add_argument("--source", action="append", choices=SOURCES, help="only this input; several may be given")
    parser.add_argument("--target", action="append", help="only this output; several may be given")
    given = parser.parse_args()
    polyhaul = os.path.abspath(given.polyhaul)
    print(f"limit {given.limit}, {given.threads} threads")
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        options = ["--json", f"-j{given.threads}", "--memory-limit", given.limit]
        chosen = given.source or SOURCES
        if "splats" in chosen:
            splats = folder / "splats.ply"
            write_splats(splats, given.gigabytes)
            convert(polyhaul, splats, among(SPLAT_TARGETS, given.target), options)
            splats.unlink()
        mesh = folder / "mesh.ply"
        if "mesh" in chosen:
            write_mesh(mesh, given.gigabytes)
            convert(polyhaul, mesh, among(MESH_TARGETS, given.target), options)
        if "text" in chosen:
            write_mesh(mesh, given.gigabytes / OBJ_FACTOR)
            text = folder / "mesh.obj"
            subprocess.run([polyhaul, "convert", "-q", mesh, text], check=True)
            mesh.unlink()
            convert(polyhaul, text, among(TEXT_TARGETS, given.target), options)
            for peer in given.peer:
                run_peer(peer, text)


def among(targets: list[str], names: list[str] | None) -> list[str]:
    """Those that are wanted, or all."""
    return [target for target in targets if names is None or target in names]


def convert(polyhaul: str, source: Path, targets: list[str], options: list[str]) -> None:
    """Converts a file to each target, and prints a line for each."""
    reading = read_alone(source)
    print(f"{source.name}, {source.stat().st_size / 1e9:.2f} GB, its bytes alone: {reading:.2f} s", flush=True)
    for target in targets:
        output = source.with_name(f"out.{target}")
        start = time.perf_counter()
        ran = subprocess.run([polyhaul, "convert", source, output, *options], capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - start
        if ran.returncode:
            error = json.loads(ran.stdout)["error"]["message"]
            print(f"  {target:16} {seconds:7.2f} s, {error}", flush=True)
            output.unlink(missing_ok=True)
            continue
        report = json.loads(ran.stdout)
        size = output.stat().st_size
        output.unlink()
        for other in source.parent.glob("out.*"):
            other.unlink()
        writing = write_alone(output, size)
        print(
            f"  {target:16} {seconds:7.2f} s, {size / 1e9:6.2f} GB, writing alone {writing:6.2f} s,"
            f" {seconds / max(reading, writing):4.2f} of the slower, peak {report['peak_bytes'] / 1e6:,.0f} MB,"
            f" on disk {report['spilled_bytes'] / 1e9:.2f} GB, read {report['bytes_in'] / source.stat().st_size:.3f} of the file",
            flush=True,
        )


def run_peer(peer: str, source: Path) -> None:
    """Runs a peer once, and prints its time and peak memory."""
    name, command = peer.split("=", 1)
    output = source.with_name("out.glb")
    words = [word.replace("IN", str(source)).replace("OUT", str(output)) for word in shlex.split(command)]
    start = time.perf_counter()
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    size = output.stat().st_size / 1e9 if output.exists() else 0
    print(
        f"  {name:16} {time.perf_counter() - start:7.2f} s, {size:6.2f} GB, peak {usage.ru_maxrss / 1e3:,.0f} MB,"
        f" exit code {child.returncode}",
        flush=True,
    )
    output.unlink(missing_ok=True)


def read_alone(path: Path) -> float:
    """The time to read a file."""
    block = bytearray(BLOCK_BYTES)
    start = time.perf_counter()
    with path.open("rb", buffering=0) as file:
        while file.readinto(block):
            pass
    return time.perf_counter() - start


def write_alone(path: Path, size: int) -> float:
    """The time to write a file of so many bytes."""
    block = os.urandom(BLOCK_BYTES)
    start = time.perf_counter()
    with path.open("wb", buffering=0) as file:
        for _ in range(size // BLOCK_BYTES):
            file.write(block)
    seconds = time.perf_counter() - start
    path.unlink()
    return seconds


def write_mesh(path: Path, gigabytes: float) -> None:
    """A grid of triangles with normals, as binary PLY."""
    side = int((gigabytes * 1e9 / (24 + 2 * 13)) ** 0.5)
    random = np.random.default_rng(1)
    header = ["ply", "format binary_little_endian 1.0", f"element vertex {side * side}"]
    header += [f"property float {name}" for name in ("x", "y", "z", "nx", "ny", "nz")]
    header += [f"element face {2 * (side - 1) ** 2}", "property list uchar int vertex_indices", "end_header\n"]
    faces = np.zeros(2 * (side - 1), np.dtype([("count", "u1"), ("corners", "<i4", 3)]))
    faces["count"] = 3
    first = np.arange(side - 1)
    with path.open("wb") as file:
        file.write("\n".join(header).encode())
        for row in range(side):
            vertices = np.zeros((side, 6), "<f4")
            vertices[:, 0], vertices[:, 1] = np.arange(side) * 0.001, row * 0.001
            vertices[:, 2], vertices[:, 5] = random.random(side, dtype="f4") * 0.01, 1
            file.write(vertices.tobytes())
        for row in range(side - 1):
            at = first + row * side
            faces["corners"][0::2] = np.stack([at, at + 1, at + side], 1)
            faces["corners"][1::2] = np.stack([at + 1, at + side + 1, at + side], 1)
            file.write(faces.tobytes())


def write_splats(path: Path, gigabytes: float) -> None:
    """Gaussian splats with harmonics of the third degree, as binary PLY."""
    names = ["x", "y", "z", "nx", "ny", "nz", *(f"f_dc_{number}" for number in range(3))]
    names += [f"f_rest_{number}" for number in range(45)]
    names += ["opacity", *(f"scale_{number}" for number in range(3)), *(f"rot_{number}" for number in range(4))]
    count = int(gigabytes * 1e9 / (4 * len(names)))
    random = np.random.default_rng(2)
    block = random.normal(size=(1 << 16, len(names))).astype("<f4")
    block[:, 55:58] -= 5
    header = ["ply", "format binary_little_endian 1.0", f"element vertex {count}"]
    header += [*(f"property float {name}" for name in names), "end_header\n"]
    with path.open("wb") as file:
        file.write("\n".join(header).encode())
        for first in range(0, count, len(block)):
            block[:, :3] = random.normal(size=(len(block), 3))
            file.write(block[: count - first].tobytes())


if __name__ == "__main__":
    main()
