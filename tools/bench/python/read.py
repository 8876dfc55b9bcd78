"""Reads an OBJ, PLY or STL file once: `read.py NAME FILE`, where NAME is polyhaul, trimesh, meshio, open3d or pymeshlab.

Of PLY alone, plyfile reads too; plyfile-triangles is told that faces are such, which spares it a row at a time, and
open3d-points reads a file without faces. Of STL alone, numpy-stl reads too.
`read.py polyhaul FILE THREADS` and `read.py command FILE THREADS PROGRAM` read with so many threads; the
latter tells what the command `polyhaul` says of itself. Importing a package and taking the model apart
are not measured. Prints a line for `cargo xtask bench`.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterable
from typing import Any

import measure

# Reads a file; counts the positions and faces of what that gave.
Reader = tuple[Callable[[], Any], Callable[[Any], tuple[int, int]]]


def polyhaul(file: str, threads: str) -> Reader:
    import polyhaul

    def count(scene: polyhaul.Scene) -> tuple[int, int]:
        return _sums((len(mesh.positions), len(mesh.face_offsets) - 1) for mesh in scene.meshes)

    return lambda: polyhaul.read(file, threads=int(threads)), count


def trimesh(file: str) -> Reader:
    import trimesh

    def count(model: Any) -> tuple[int, int]:
        meshes = getattr(model, "geometry", {"": model}).values()
        # Points alone have no faces.
        return _sums((len(mesh.vertices), len(getattr(mesh, "faces", ()))) for mesh in meshes)

    return lambda: trimesh.load(file, process=False), count


def meshio(file: str) -> Reader:
    import meshio

    def count(model: Any) -> tuple[int, int]:
        return len(model.points), sum(len(cells.data) for cells in model.cells)

    return lambda: meshio.read(file), count


def open3d(file: str) -> Reader:
    # Its older reader, open3d.io, leaves out faces that are no triangles.
    import open3d.t.io

    def count(model: Any) -> tuple[int, int]:
        return len(model.vertex.positions), len(model.triangle.indices)

    return lambda: open3d.t.io.read_triangle_mesh(file), count


def open3d_points(file: str) -> Reader:
    import open3d.t.io

    return lambda: open3d.t.io.read_point_cloud(file), lambda model: (len(model.point.positions), 0)


def plyfile(file: str, lists: dict[str, dict[str, int]] | None = None) -> Reader:
    import numpy as np
    import plyfile

    def read() -> dict[str, Any]:
        # Rows of one size are only mapped into memory; a copy reads them.
        elements = plyfile.PlyData.read(file, known_list_len=lists or {}).elements
        return {element.name: np.array(element.data) for element in elements}

    def count(rows: dict[str, Any]) -> tuple[int, int]:
        return len(rows["vertex"]), len(rows.get("face", ()))

    return read, count


def plyfile_triangles(file: str) -> Reader:
    return plyfile(file, {"face": {"vertex_indices": 3}})


def pymeshlab(file: str) -> Reader:
    import pymeshlab

    def read() -> Any:
        meshes = pymeshlab.MeshSet()
        meshes.load_new_mesh(file)
        return meshes

    def count(meshes: Any) -> tuple[int, int]:
        return _sums((mesh.vertex_number(), mesh.face_number()) for mesh in meshes)

    return read, count


def numpy_stl(file: str) -> Reader:
    import stl

    # Normals are the file's; working them out anew would only take longer.
    return lambda: stl.mesh.Mesh.from_file(file, calculate_normals=False), lambda mesh: (3 * len(mesh), len(mesh))


def command(file: str, threads: str, program: str) -> None:
    """Tells what the command says it took to read the file, in its own process."""
    words = [program, "info", "--json", "--no-progress", "--threads", threads, file]
    summary = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)
    seconds = sum(phase["seconds"] for phase in summary["phases"] if phase["name"] == "read")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    timing = measure.Timed(summary, seconds, used.ru_utime + used.ru_stime, summary["peak_bytes"], None)
    measure.tell(timing, positions=summary["positions"], faces=summary["faces"])


def _sums(pairs: Iterable[tuple[int, int]]) -> tuple[int, int]:
    firsts, seconds = zip(*pairs, strict=True)
    return sum(firsts), sum(seconds)


READERS: dict[str, Callable[..., Reader]] = {
    "polyhaul": polyhaul,
    "trimesh": trimesh,
    "meshio": meshio,
    "numpy-stl": numpy_stl,
    "open3d": open3d,
    "open3d-points": open3d_points,
    "plyfile": plyfile,
    "plyfile-triangles": plyfile_triangles,
    "pymeshlab": pymeshlab,
}


def main(name: str, file: str, *rest: str) -> None:
    if name == "command":
        command(file, *rest)
        return
    read, count = READERS[name](file, *rest)
    timing = measure.timed(read)
    positions, faces = count(timing.result)
    measure.tell(timing, positions=positions, faces=faces)
    # Taking the model apart is not measured.
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
