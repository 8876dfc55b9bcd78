"""Progress, threads, and the interpreter's lock."""

from __future__ import annotations

import io
import sys
import threading
import types
from pathlib import Path
from typing import Any

import numpy as np
import polyhaul
import pytest
from conftest import CUBE, rows

BIG = rows(100_000)


def test_progress_is_told_on_this_thread_and_at_the_end() -> None:
    calls: list[tuple[int, int | None]] = []
    threads = set()

    def progress(completed: int, total: int | None) -> None:
        calls.append((completed, total))
        threads.add(threading.get_ident())

    polyhaul.read(BIG, progress=progress)
    assert calls[-1] == (len(BIG), len(BIG))
    assert [completed for completed, _ in calls] == sorted(completed for completed, _ in calls)
    assert threads == {threading.get_ident()}


def test_progress_of_streams_knows_no_total_until_the_end() -> None:
    calls: list[tuple[int, int | None]] = []
    polyhaul.read(io.BytesIO(BIG), progress=lambda *values: calls.append(values))
    assert calls[-1] == (len(BIG), len(BIG))
    assert all(total is None for _, total in calls[:-1])


def test_progress_of_writing_ends_full() -> None:
    calls: list[tuple[int, int | None]] = []
    polyhaul.write(polyhaul.read(BIG), io.BytesIO(), format="obj", progress=lambda *values: calls.append(values))
    completed, total = calls[-1]
    assert completed == total and completed > 0


def test_what_progress_raises_comes_out_and_cancels(tmp_path: Path) -> None:
    error = LookupError("mine")

    def progress(completed: int, total: int | None) -> None:
        raise error

    with pytest.raises(LookupError) as caught:
        polyhaul.read(BIG, progress=progress)
    assert caught.value is error

    class Slow(io.BytesIO):
        """Long enough for a call of progress before the end."""

        def read(self, size: int | None = -1, /) -> bytes:
            threading.Event().wait(0.01)
            return super().read(size)

    source = Slow(BIG * 10)
    with pytest.raises(LookupError):
        polyhaul.convert(source, tmp_path / "x.obj", progress=progress)
    assert source.tell() < len(BIG) * 10
    assert list(tmp_path.iterdir()) == []


def test_progress_true_is_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    class Bar:
        n = 0
        total: int | None = None
        closed = False

        def __init__(self, **options: Any) -> None:
            made.append(self)

        def __enter__(self) -> Bar:
            return self

        def __exit__(self, *_: object) -> None:
            self.closed = True

        def update(self, count: int) -> None:
            self.n += count

        def reset(self) -> None:
            self.n = 0

    made: list[Bar] = []
    module = types.ModuleType("tqdm.auto")
    module.tqdm = Bar  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", module)
    polyhaul.read(BIG, progress=True)
    assert (made[0].n, made[0].total, made[0].closed) == (len(BIG), len(BIG), True)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(ImportError, match="pip install tqdm"):
        polyhaul.read(CUBE, progress=True)


def test_other_threads_run_meanwhile() -> None:
    """A thread counts while a read waits for a source that only this thread can end."""
    counted = threading.Event()

    class Waiting(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            data = super().read(size)
            if not data:
                counted.wait(30)
            return data

    count = 0

    def counting() -> None:
        nonlocal count
        while count < 1000:
            count += 1
        counted.set()

    thread = threading.Thread(target=counting)
    thread.start()
    polyhaul.read(Waiting(CUBE))
    assert count == 1000
    thread.join()


def test_the_lock_is_free_while_native_code_works() -> None:
    """Progress comes from the waiting thread, so a counter moves between the start and the end of one read."""
    counts: list[int] = []
    count = 0
    stop = threading.Event()

    def counting() -> None:
        nonlocal count
        while not stop.is_set():
            count += 1

    thread = threading.Thread(target=counting)
    thread.start()
    try:
        big = BIG * 4
        for _ in range(50):
            before = count
            polyhaul.read(big, threads=1)
            counts.append(count - before)
            if counts[-1] > 0:
                break
    finally:
        stop.set()
        thread.join()
    assert max(counts) > 0


def test_threads_read_side_by_side() -> None:
    expected = polyhaul.read(BIG).meshes[0].positions
    results: list[Any] = []

    def work() -> None:
        for source in (BIG, io.BytesIO(BIG)):
            results.append(polyhaul.read(source).meshes[0].positions)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8
    for positions in results:
        np.testing.assert_array_equal(positions, expected)


def test_a_source_may_read_inside_of_a_read(tmp_path: Path) -> None:
    class Nested(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            assert len(polyhaul.read(CUBE).objects) == 2
            return super().read(size)

    assert len(polyhaul.read(Nested(CUBE)).objects) == 2
