"""The example programs run."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polyhaul
from conftest import CUBE, REPOSITORY

EXAMPLES = REPOSITORY / "surfaces" / "python" / "examples"


def function(program: str, name: str) -> Callable[..., Any]:
    return runpy.run_path(str(EXAMPLES / program))[name]


def test_every_example_is_tested() -> None:
    names = {path.name for path in EXAMPLES.glob("*.py")}
    assert names == {"mesh_to_npz.py", "check_folder.py", "thin_scan.py"}


def test_meshes_become_arrays(tmp_path: Path) -> None:
    (tmp_path / "cube.obj").write_bytes(CUBE)
    count = function("mesh_to_npz.py", "save")(str(tmp_path / "cube.obj"), str(tmp_path / "cube.npz"))
    arrays = np.load(tmp_path / "cube.npz")
    assert arrays["triangles"].shape == (count, 3) and arrays["normals"].shape == arrays["positions"].shape


def test_a_folder_is_checked(tmp_path: Path) -> None:
    (tmp_path / "a.obj").write_bytes(CUBE)
    (tmp_path / "b.obj").write_bytes(b"v 0 0 0\nf 1 2 3\n")
    errors = function("check_folder.py", "check")(str(tmp_path), str(tmp_path / "out.csv"))
    table = polyhaul.read_table(tmp_path / "out.csv")
    assert len(errors) == 1 and "b.obj" in errors[0] and len(table) == 1


def test_a_scan_is_thinned(tmp_path: Path) -> None:
    grid = np.arange(100, dtype=np.float32)
    polyhaul.write_table({"x": grid, "y": grid * 0, "z": grid * 0}, tmp_path / "scan.ply")
    function("thin_scan.py", "thin")(str(tmp_path / "scan.ply"), str(tmp_path / "part.ply"), [0, 0, 0, 49, 1, 1], 5)
    assert len(polyhaul.read_table(tmp_path / "part.ply")) == 10
