"""Failed loads leave nothing behind: no descriptor, no memory, no thread."""

from __future__ import annotations

import gc
import io
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import polyhaul
import pytest
from conftest import rows

LINUX = Path("/proc/self/statm").exists()

#: Of a thousand loads that fail; each parses two megabytes first.
MAX_BYTES = 64 << 20


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def native_threads() -> int:
    return len(os.listdir("/proc/self/task"))


@pytest.mark.skipif(not LINUX, reason="/proc is Linux's")
def test_a_thousand_failed_loads_leave_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.obj"
    path.write_bytes(rows(2_000) + b"f 1 2 x\n")
    data = path.read_bytes()

    class Broken(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            if self.tell():
                raise RuntimeError("mine")
            return super().read(size)

    def fail(turn: int) -> None:
        sources: list[Any] = [path, data, io.BytesIO(data), Broken(data), tmp_path / "none.obj"]
        with pytest.raises((polyhaul.Error, RuntimeError)):
            polyhaul.read(sources[turn % len(sources)], threads=2)

    for turn in range(50):
        fail(turn)
    gc.collect()
    before = resident_bytes(), descriptors(), native_threads(), threading.active_count()
    for turn in range(1_000):
        fail(turn)
    gc.collect()
    after = resident_bytes(), descriptors(), native_threads(), threading.active_count()
    assert after[0] - before[0] < 16 << 20
    assert after[1:] == before[1:]


@pytest.mark.skipif(not LINUX, reason="/proc is Linux's")
def test_reading_and_writing_many_times_leaves_nothing(tmp_path: Path) -> None:
    data = rows(2_000)

    def turn() -> None:
        scene = polyhaul.read(data)
        polyhaul.write(scene, tmp_path / "x.obj")
        polyhaul.write(scene, io.BytesIO(), format="obj")

    for _ in range(20):
        turn()
    gc.collect()
    before = resident_bytes(), descriptors(), native_threads()
    for _ in range(200):
        turn()
    gc.collect()
    after = resident_bytes(), descriptors(), native_threads()
    assert after[0] - before[0] < 16 << 20
    assert after[1:] == before[1:]


@pytest.mark.skipif(not LINUX, reason="/proc is Linux's")
def test_arrays_give_their_memory_back() -> None:
    data = rows(200_000)
    polyhaul.read(data)
    gc.collect()
    before = resident_bytes()
    for _ in range(10):
        polyhaul.read(data)
    assert resident_bytes() - before < 16 << 20


@pytest.mark.skipif(not LINUX, reason="/proc is Linux's")
def test_tables_give_their_memory_back(tmp_path: Path) -> None:
    path = tmp_path / "x.ply"
    polyhaul.write_table({name: np.arange(200_000, dtype="f4") for name in "abcdefgh"}, path)
    text = b"1.5,2\n" * 50_000

    def turn() -> None:
        table = polyhaul.read_table(path)
        column = table[table["a"] > 1000]["b"]
        del table
        assert column[0] == 1001
        polyhaul.write_table({"b": column}, io.BytesIO(), format="ply")
        assert polyhaul.read_table(text, format="csv").columns[0][-1] == 1.5
        assert polyhaul.loadtxt(text, delimiter=",").shape == (50_000, 2)
        with pytest.raises(polyhaul.MalformedError):
            polyhaul.read_table(text + b"x,2\n", format="csv", header=False)

    for _ in range(3):
        turn()
    gc.collect()
    before = resident_bytes(), descriptors(), native_threads()
    for _ in range(20):
        turn()
    gc.collect()
    after = resident_bytes(), descriptors(), native_threads()
    assert after[0] - before[0] < 16 << 20
    assert after[1:] == before[1:]
