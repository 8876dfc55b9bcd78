"""Conversions in little memory: the same bytes, and what was moved to disk is told."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polyhaul
import pytest


@pytest.mark.skipif(sys.platform != "linux", reason="arrays move to disk on Linux")
def test_what_does_not_fit_moves_to_disk(tmp_path: Path) -> None:
    count = 900_000
    positions = np.arange(3 * count, dtype=np.float32).reshape(-1, 3)
    faces = np.arange(3 * count, dtype=np.uint32).reshape(-1, 3) % count
    polyhaul.write((positions, faces), tmp_path / "in.obj")
    plenty = polyhaul.convert(tmp_path / "in.obj", tmp_path / "plenty.stl")
    little = polyhaul.convert(tmp_path / "in.obj", tmp_path / "little.stl", memory_limit="8MB")
    assert plenty.spilled_bytes == 0 and little.spilled_bytes > positions.nbytes
    assert (tmp_path / "plenty.stl").read_bytes() == (tmp_path / "little.stl").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.obj", "little.stl", "plenty.stl"]
