"""A library of small assets, some of them broken, for the tests of batches."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

#: Broken assets by name: the bytes, and the kind of the error.
BROKEN: dict[str, bytes] = {
    "numbers.obj": b"v 0 0 0\nv 1 2\n",
    "index.obj": b"v 0 0 0\nf 1 2 9\n",
    "word.obj": b"v 0 zero 0\n",
    "short.ply": b"ply\nformat binary_little_endian 1.0\nelement vertex 9\nproperty float x\nend_header\nabc",
    "format.ply": b"ply\nformat nonsense 1.0\nend_header\n",
    "empty.ply": b"",
    "short.stl": b"\0" * 80 + struct.pack("<I", 1000) + b"\0" * 60,
    "word.stl": b"solid x\nfacet normal 0 0 1\nouter loop\nvertex 0 0 oops\n",
    "face.off": b"OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 7\n",
    "cut.obj.gz": b"\x1f\x8b\x08\0\0\0\0\0\0\x03cut",
}


def make_library(folder: Path, count: int, broken: bool = True) -> Path:
    """Makes ``count`` sound assets in two subfolders, and the broken ones beside them."""
    for number in range(count):
        sub = folder / f"part{number % 2}"
        sub.mkdir(parents=True, exist_ok=True)
        if number % 3 == 0:
            (sub / f"asset{number}.obj").write_bytes(_obj(number))
        else:
            (sub / f"asset{number}.stl").write_bytes(_stl(number))
    for name, data in BROKEN.items() if broken else []:
        (folder / name).write_bytes(data)
    return folder


def _obj(seed: int) -> bytes:
    points = np.random.default_rng(seed).random((50, 3), np.float32)
    faces = np.arange(48)
    text = "".join(f"v {x:.6f} {y:.6f} {z:.6f}\n" for x, y, z in points)
    return (text + "".join(f"f {i + 1} {i + 2} {i + 3}\n" for i in faces)).encode()


def _stl(seed: int) -> bytes:
    triangles = np.zeros(40, dtype=[("n", "<f4", 3), ("v", "<f4", (3, 3)), ("x", "<u2")])
    triangles["v"] = np.random.default_rng(seed).random((40, 3, 3), np.float32)
    return b"\0" * 80 + struct.pack("<I", 40) + triangles.tobytes()


def outputs(folder: Path) -> dict[str, bytes]:
    """All outputs below a folder, by name, without the library's own files."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files if ".polyhaul" not in path.parts}
