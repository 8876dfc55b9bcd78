"""Checking a surface of two million triangles beside reading it, and beside trimesh and PyVista: `check.py FOLDER [ROUNDS]`.

Writes a bumpy grid to FOLDER, which should be in memory, and prints rows of a table in Markdown: the least milliseconds of
ROUNDS (7). `check` is of `mesh.check()`, which finds open, non-manifold and flipped edges, duplicate and degenerate faces,
components, area and volume. The others do less: trimesh answers `is_watertight`, `is_winding_consistent`, `area`
and `volume` of merged vertices; PyVista `n_open_edges`, `area` and `volume`, without merging points.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polyhaul

SIDE = 1000


def grid() -> polyhaul.Mesh:
    row = SIDE + 1
    y, x = np.divmod(np.arange(row * row), row)
    positions = np.column_stack([x, y, np.sin(x * 0.01) * np.cos(y * 0.013) * 30]).astype(np.float32)
    first = np.add.outer(np.arange(SIDE) * row, np.arange(SIDE)).reshape(-1)
    a, b, c, d = first, first + 1, first + row + 1, first + row
    faces = np.stack([a, b, c, a, c, d], axis=1).reshape(-1, 3).astype(np.uint32)
    return polyhaul.Mesh(positions, faces)


def shuffled(mesh: polyhaul.Mesh) -> polyhaul.Mesh:
    random = np.random.default_rng(1)
    order = random.permutation(mesh.position_count)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    faces = random.permutation(place[mesh.corner_positions.reshape(-1, 3)])
    return polyhaul.Mesh(mesh.positions[order], faces.astype(np.uint32))


def least(work: Callable[[], Any], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
        del result
    return min(times) * 1000


def others(mesh: polyhaul.Mesh, rounds: int) -> list[tuple[str, float]]:
    import pyvista
    import trimesh

    positions, faces = np.array(mesh.positions), mesh.corner_positions.reshape(-1, 3).astype(np.int64)

    def by_trimesh() -> tuple[Any, ...]:
        surface = trimesh.Trimesh(positions, faces, process=True)
        return surface.is_watertight, surface.is_winding_consistent, surface.area, surface.volume

    def by_pyvista() -> tuple[Any, ...]:
        surface = pyvista.PolyData.from_regular_faces(positions, faces)
        return surface.n_open_edges, surface.area, surface.volume

    return [("trimesh", least(by_trimesh, rounds)), ("PyVista", least(by_pyvista, rounds))]


def main(folder: str, rounds: str = "7") -> None:
    mesh, count = grid(), int(rounds)
    print("| job | 1 thread | 2 threads |\n| --- | ---: | ---: |")

    def row(name: str, work: Callable[[int], Any]) -> None:
        print(f"| {name} | " + " | ".join(f"{least(lambda: work(threads), count):.1f}" for threads in (1, 2)) + " |")

    for name in ("grid.obj", "grid.ply", "grid.stl", "grid.glb"):
        path = Path(folder) / name
        polyhaul.write(mesh, path)
        row(f"read {name}", lambda threads: polyhaul.read(path, threads=threads))
    for name, surface in (("grid", mesh), ("shuffled grid", shuffled(mesh)), ("triangles apart", apart(mesh))):
        row(f"check {name}", lambda threads: surface.check(threads=threads))
    row("compute_normals of the grid", lambda threads: mesh.compute_normals(threads=threads))
    for name, milliseconds in others(mesh, min(count, 2)):
        print(f"| {name}, grid | {milliseconds:.1f} | - |")


def apart(mesh: polyhaul.Mesh) -> polyhaul.Mesh:
    corners = mesh.corner_positions
    return polyhaul.Mesh(mesh.positions[corners], np.arange(len(corners), dtype=np.uint32).reshape(-1, 3))


if __name__ == "__main__":
    main(*sys.argv[1:])
