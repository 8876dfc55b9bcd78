"""Writes a PLY or STL file once: `write_ply.py NAME FILE OUTPUT`, where NAME is plyfile, trimesh or numpy-stl.

`-stl` and `-text` behind a name mean STL of that kind.

FILE is read before, by the same package. What is written is compared with it behind the headers, and removed.
Prints a line for `cargo xtask bench`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import measure

# Writes to a file what was read before.
Writer = Callable[[str], object]


def plyfile(file: str) -> Writer:
    import plyfile

    # Told that faces are triangles, it reads them fast.
    model = plyfile.PlyData.read(file, known_list_len={"face": {"vertex_indices": 3}})
    return model.write


def trimesh(file: str) -> Writer:
    import trimesh

    model = trimesh.load(file, process=False)
    return lambda output: model.export(output, vertex_normal=True)


def trimesh_stl(file: str, kind: str = "stl") -> Writer:
    import trimesh

    model = trimesh.load(file, process=False)
    return lambda output: model.export(output, file_type=kind)


def numpy_stl(file: str, is_text: bool = False) -> Writer:
    import stl

    model = stl.mesh.Mesh.from_file(file, calculate_normals=False)
    mode = stl.Mode.ASCII if is_text else stl.Mode.BINARY
    return lambda output: model.save(output, mode=mode, update_normals=False)


WRITERS: dict[str, Callable[[str], Writer]] = {
    "plyfile": plyfile,
    "trimesh": trimesh,
    "trimesh-stl": trimesh_stl,
    "trimesh-text": lambda file: trimesh_stl(file, "stl_ascii"),
    "numpy-stl": numpy_stl,
    "numpy-stl-text": lambda file: numpy_stl(file, is_text=True),
}


def same_rows(left: Path, right: Path) -> bool:
    """Whether two files are equal behind their headers; of STL as text, as a whole."""
    with left.open("rb") as a, right.open("rb") as b:
        for file in (a, b):
            if left.suffix == ".stl":
                file.seek(0 if file.read(6) == b"solid " else 80)
                continue
            while line := file.readline():
                if line.strip() == b"end_header":
                    break
        while block := a.read(measure.CHUNK_BYTES):
            if block != b.read(len(block)):
                return False
        return not b.read(1)


def main(name: str, file: str, output: str) -> None:
    write = WRITERS[name](file)
    timing = measure.timed(lambda: write(output))
    target = Path(output)
    fields = {} if timing.before_bytes is None else {"base_bytes": timing.before_bytes}
    measure.tell(timing, bytes=target.stat().st_size, identical=int(same_rows(Path(file), target)), **fields)
    target.unlink()
    # Taking the model apart is not measured.
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
