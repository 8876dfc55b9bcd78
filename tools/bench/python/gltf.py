"""glTF: OBJ to .glb and back into arrays, beside obj2gltf and assimp.

    python tools/bench/python/gltf.py POLYHAUL [--megabytes N] [--rounds N] [--obj2gltf COMMAND] [--assimp COMMAND] [--folder DIR]

The OBJ file has eight objects with uvs and normals, whose corners share them as in files of modelers. Reading is `info`, which
ends with the arrays in memory; beside it, the same bytes are read into fresh memory. Peers run once: they take long.
"""

from __future__ import annotations

import argparse
import os
import shlex
import tempfile
import time
from pathlib import Path

import numpy as np
from commands import apart, rounds

#: Bytes of OBJ text per vertex of a grid, about.
VERTEX_BYTES = 165
THREADS = sorted({1, 2, os.cpu_count() or 1})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("polyhaul")
    parser.add_argument("--megabytes", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--obj2gltf", help="the command, to which `-i IN -o OUT` is added")
    parser.add_argument("--assimp", help="the command, to which `export IN OUT` is added")
    parser.add_argument("--folder", default="/dev/shm")
    given = parser.parse_args()
    polyhaul = os.path.abspath(given.polyhaul)
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        source, target = folder / "scene.obj", folder / "scene.glb"
        apart(write_obj, source, given.megabytes)
        print(f"OBJ, {source.stat().st_size / 1e6:,.0f} MB")
        jobs = {
            f"convert to .glb, {threads} threads": [polyhaul, "convert", "-q", f"-j{threads}", source, target]
            for threads in THREADS
        }
        jobs |= {f"read OBJ, {threads} threads": [polyhaul, "info", "-q", f"-j{threads}", source] for threads in THREADS}
        rounds(jobs, given.rounds)
        print(f".glb, {target.stat().st_size / 1e6:,.0f} MB")
        rounds({f"read .glb, {threads} threads": [polyhaul, "info", "-q", f"-j{threads}", target] for threads in THREADS}, given.rounds)
        print(f"  {'its bytes into fresh memory':28} {fresh(target, given.rounds):.3f} s")
        if given.obj2gltf:
            rounds({"obj2gltf": [*shlex.split(given.obj2gltf), "-i", source, "-o", folder / "peer.glb"]}, 1)
        if given.assimp:
            rounds({"assimp": [*shlex.split(given.assimp), "export", source, folder / "assimp.glb"]}, 1)


def fresh(path: Path, count: int) -> float:
    """The least time in which the bytes of a file are read into memory that was not in use."""
    times = []
    for _ in range(count):
        start = time.perf_counter()
        data = np.fromfile(path, np.uint8)
        times.append(time.perf_counter() - start)
        del data
    return min(times)


def write_obj(path: Path, megabytes: int) -> None:
    side = int((megabytes * 1e6 / 8 / VERTEX_BYTES) ** 0.5)
    x, y = np.meshgrid(np.linspace(0, 1, side), np.linspace(0, 1, side))
    z = 0.1 * np.sin(7 * x) * np.cos(5 * y)
    slope = np.stack([-0.7 * np.cos(7 * x) * np.cos(5 * y), 0.5 * np.sin(7 * x) * np.sin(5 * y), np.ones_like(x)], -1)
    slope /= np.linalg.norm(slope, axis=-1, keepdims=True)
    corner = np.arange(side * side).reshape(side, side)
    quads = np.stack([corner[:-1, :-1], corner[:-1, 1:], corner[1:, 1:], corner[1:, :-1]], -1).reshape(-1, 4) + 1
    halves = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    with path.open("w") as file:
        for number in range(8):
            file.write(f"o part{number}\n")
            np.savetxt(file, np.stack([x + number, y, z], -1).reshape(-1, 3), "v %.6f %.6f %.6f")
            np.savetxt(file, np.stack([x, y], -1).reshape(-1, 2), "vt %.6f %.6f")
            np.savetxt(file, slope.reshape(-1, 3), "vn %.4f %.4f %.4f")
            faces = halves + number * side * side
            np.savetxt(file, np.repeat(faces, 3, axis=1), "f %d/%d/%d %d/%d/%d %d/%d/%d")


if __name__ == "__main__":
    main()
