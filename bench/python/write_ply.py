"""Writes a PLY file once: `write_ply.py NAME FILE OUTPUT`, where NAME is plyfile or trimesh.

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


WRITERS: dict[str, Callable[[str], Writer]] = {"plyfile": plyfile, "trimesh": trimesh}


def same_rows(left: Path, right: Path) -> bool:
    """Whether two files are equal behind their headers."""
    with left.open("rb") as a, right.open("rb") as b:
        for file in (a, b):
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
