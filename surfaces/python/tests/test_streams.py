"""File objects, kind and hostile, as sources and targets; URLs."""

from __future__ import annotations

import io
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polyhaul
import pytest
from conftest import CUBE, rows

BIG = rows(20_000)


class Reader:
    """Reads from bytes as it likes: ``answer`` makes of the size asked for what is returned."""

    def __init__(self, data: bytes, answer: Callable[[io.BytesIO, int], Any]) -> None:
        self.file = io.BytesIO(data)
        self.answer = answer
        self.sizes: list[int] = []
        self.threads: set[int] = set()

    def read(self, size: int, /) -> Any:
        self.sizes.append(size)
        self.threads.add(threading.get_ident())
        return self.answer(self.file, size)


@pytest.mark.parametrize(
    "answer",
    [
        lambda file, size: file.read(size),
        lambda file, size: file.read(min(size, 4099)),
        lambda file, size: bytearray(file.read(size)),
        lambda file, size: memoryview(file.read(size)),
    ],
)
def test_a_reader_may_return_less_and_any_bytes(answer: Any) -> None:
    reader = Reader(BIG, answer)
    mesh = polyhaul.read(reader).meshes[0]
    np.testing.assert_array_equal(mesh.positions, polyhaul.read(BIG).meshes[0].positions)
    assert min(reader.sizes) >= 64 * 1024
    assert reader.threads == {threading.get_ident()}


def test_one_byte_at_a_time() -> None:
    reader = Reader(CUBE, lambda file, size: file.read(1))
    assert len(polyhaul.read(reader).objects) == 2


def test_tables_are_read_from_readers_and_written_to_writers() -> None:
    text = b"x,y\n" + b"1,2.5\n" * 2000
    for answer in (lambda file, size: file.read(min(size, 7)), lambda file, size: file.read(size)):
        reader = Reader(text, answer)
        assert len(polyhaul.read_table(reader, format="csv")) == 2000
        assert reader.threads == {threading.get_ident()}

    def fail(file: io.BytesIO, size: int) -> bytes:
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        polyhaul.read_table(Reader(text, fail), format="csv")
    with pytest.raises(RuntimeError, match="mine"):
        polyhaul.loadtxt(Reader(text, fail))

    class Full(io.BytesIO):
        def write(self, data: Any, /) -> int:
            raise OSError(28, "no room")

    with pytest.raises(OSError, match="no room"):
        polyhaul.write_table({"x": [1, 2]}, Full(), format="csv")


def test_a_reader_is_asked_in_large_blocks() -> None:
    reader = Reader(BIG, lambda file, size: file.read(size))
    polyhaul.read(reader)
    assert len(reader.sizes) <= len(BIG) // 65536 + 4


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (lambda file, size: "text", TypeError, "returned str: open the source in binary mode"),
        (lambda file, size: None, BlockingIOError, "non-blocking"),
        (lambda file, size: 7, TypeError, "returned int; expected bytes"),
        (lambda file, size: [1, 2], TypeError, "returned list; expected bytes"),
        (lambda file, size: b"x" * (size + 1), polyhaul.HostError, "bytes, more than the .* requested"),
    ],
)
def test_a_reader_that_breaks_its_contract(answer: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        polyhaul.read(Reader(CUBE, answer))


@pytest.mark.parametrize("after", [0, 1, 5])
@pytest.mark.parametrize("error", [RuntimeError("mine"), OSError(5, "mine"), KeyboardInterrupt("mine"), SystemExit(3)])
def test_what_a_reader_raises_comes_out_as_itself(error: BaseException, after: int) -> None:
    def answer(file: io.BytesIO, size: int) -> bytes:
        if len(reader.sizes) > after:
            raise error
        return file.read(1000)

    reader = Reader(BIG, answer)
    with pytest.raises(type(error)) as caught:
        polyhaul.read(reader)
    assert caught.value is error
    assert any(entry.name == "answer" for entry in caught.traceback)
    assert len(reader.sizes) == after + 1  # and it is not called again


def test_a_closed_file_raises_what_python_raises(cube: Path) -> None:
    with cube.open("rb") as file:
        pass
    with pytest.raises(ValueError, match="closed file"):
        polyhaul.read(file)
    buffer = io.BytesIO()
    buffer.close()
    with pytest.raises(ValueError, match="closed file"):
        polyhaul.write(polyhaul.read(cube), buffer)


def test_text_mode_is_refused(cube: Path, tmp_path: Path) -> None:
    with cube.open() as file, pytest.raises(TypeError, match=r'source is a file object in text mode.*\("rb"\)'):
        polyhaul.read(file)  # type: ignore[arg-type]
    with (tmp_path / "x.obj").open("w") as file, pytest.raises(TypeError, match="target is a file object in text mode"):
        polyhaul.write(polyhaul.Scene(), file)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="text mode"):
        polyhaul.read(io.StringIO("v 0 0 0"))  # type: ignore[arg-type]


def test_a_file_is_read_from_where_it_stands_and_named_in_errors(tmp_path: Path) -> None:
    path = tmp_path / "x.obj"
    path.write_bytes(b"skipped\nv 0 0 z\n")
    with path.open("rb") as file:
        file.readline()
        with pytest.raises(polyhaul.MalformedError) as caught:
            polyhaul.read(file)
    assert (caught.value.path, caught.value.line) == (str(path), 1)


def test_pipes_are_sources() -> None:
    reader, writer = os.pipe()

    def feed() -> None:
        with open(writer, "wb") as file:
            file.write(BIG)

    thread = threading.Thread(target=feed)
    thread.start()
    with open(reader, "rb", buffering=0) as file:
        assert polyhaul.read(file).meshes[0].position_count == 20_000
    thread.join()


class Writer:
    """Collects what it is given; ``answer`` makes of the data what is returned."""

    def __init__(self, answer: Callable[[Writer, bytes], Any]) -> None:
        self.data = b""
        self.calls = 0
        self.threads: set[int] = set()
        self.answer = answer

    def write(self, data: bytes, /) -> Any:
        assert type(data) is bytes
        self.calls += 1
        self.threads.add(threading.get_ident())
        return self.answer(self, data)

    def take(self, data: bytes) -> int:
        self.data += data
        return len(data)


@pytest.fixture(scope="module")
def expected() -> bytes:
    buffer = io.BytesIO()
    polyhaul.write(polyhaul.read(BIG), buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "answer",
    [
        lambda self, data: self.take(data),
        lambda self, data: self.take(data[:777]),
        lambda self, data: self.take(data) and None,
    ],
)
def test_a_writer_may_take_less_or_say_nothing(answer: Any, expected: bytes) -> None:
    writer = Writer(answer)
    report = polyhaul.write(polyhaul.read(BIG), writer)
    assert writer.data == expected
    assert report.bytes_out == len(expected)
    assert writer.threads == {threading.get_ident()}


@pytest.mark.parametrize("answer", [lambda self, data: len(data) + 1, lambda self, data: -1, lambda self, data: "x"])
def test_a_writer_that_breaks_its_contract(answer: Any) -> None:
    with pytest.raises(polyhaul.HostError, match=r"write\(\) returned"):
        polyhaul.write(polyhaul.read(CUBE), Writer(answer))


def test_a_writer_that_takes_nothing_is_an_error() -> None:
    with pytest.raises(polyhaul.IoError):
        polyhaul.write(polyhaul.read(CUBE), Writer(lambda self, data: 0))


def test_what_a_writer_raises_comes_out_as_itself() -> None:
    error = RuntimeError("mine")

    def answer(self: Writer, data: bytes) -> int:
        raise error

    writer = Writer(answer)
    with pytest.raises(RuntimeError) as caught:
        polyhaul.write(polyhaul.read(BIG), writer)
    assert caught.value is error and writer.calls == 1


def test_flush_is_called_once_at_the_end() -> None:
    class Flushing(io.BytesIO):
        flushed = 0

        def flush(self) -> None:
            self.flushed += 1

    target = Flushing()
    polyhaul.write(polyhaul.read(CUBE), target)
    assert target.flushed == 1 and not target.closed


def test_a_name_says_the_format(tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    with path.open("wb") as file:
        polyhaul.write(polyhaul.read(CUBE), file)
    with path.open("rb") as file:
        assert len(polyhaul.read(file).objects) == 2


def test_urls_go_through_fsspec(cube: Path) -> None:
    pytest.importorskip("fsspec")
    scene = polyhaul.read(cube.as_uri())
    assert len(scene.objects) == 2
    polyhaul.write(scene, "memory://folder/x.obj")
    assert polyhaul.read("memory://folder/x.obj").meshes[0].face_count == 3
    with pytest.raises(FileNotFoundError):
        polyhaul.read(f"file://{cube.parent}/none.obj")


def test_urls_without_fsspec_say_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(ImportError, match="pip install fsspec"):
        polyhaul.read("sftp://host/x.obj")
    with pytest.raises(ImportError, match="pip install fsspec"):
        polyhaul.write(polyhaul.Scene(), "sftp://host/x.obj")
