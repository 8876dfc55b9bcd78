"""What the tests share: small scenes, and where the repository's test files are."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
TESTDATA = REPOSITORY / "testdata" / "obj"

CUBE = textwrap.dedent("""\
    # two objects, uvs, normals, groups and materials
    mtllib cube.mtl
    o first
    v 0 0 0
    v 1 0 0
    v 1 1 0
    v 0 1 0
    vt 0 0
    vt 1 0
    vt 1 1
    vn 0 0 1
    s 1
    usemtl red
    f 1/1/1 2/2/1 3/3/1
    g left right
    s 0
    usemtl blue
    f 1/1/1 3/3/1 4/2/1
    o second
    v 5 5 5
    v 6 5 5
    v 6 6 5
    f 5 6 7
    l 5 6 7
    p 5
    """).encode()

LIBRARY = b"newmtl red\nKd 0.8 0.1 0\nNs 10\nmap_Kd -o 0.5 0 0 red.png\n\nnewmtl blue\nKd xyz 0 0 1\n"


def rows(count: int) -> bytes:
    """An OBJ of ``count`` positions and as many triangles."""
    positions = "".join(f"v {i} {i + 0.5} {-i}\n" for i in range(count))
    return (positions + "f 1 2 3\n" * count).encode()


@pytest.fixture
def cube(tmp_path: Path) -> Path:
    """A file with its library beside it."""
    (tmp_path / "cube.mtl").write_bytes(LIBRARY)
    path = tmp_path / "cube.obj"
    path.write_bytes(CUBE)
    return path
