"""File objects, kind and hostile, as sources and targets; URLs."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
import threading
import zipfile
from collections.abc import Callable, Sequence
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
        polyhaul.write(polyhaul.read(cube), buffer, format="obj")


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
    polyhaul.write(polyhaul.read(BIG), buffer, format="obj")
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
    report = polyhaul.write(polyhaul.read(BIG), writer, format="obj")
    assert writer.data == expected
    assert report.bytes_out == len(expected)
    assert writer.threads == {threading.get_ident()}


@pytest.mark.parametrize("answer", [lambda self, data: len(data) + 1, lambda self, data: -1, lambda self, data: "x"])
def test_a_writer_that_breaks_its_contract(answer: Any) -> None:
    with pytest.raises(polyhaul.HostError, match=r"write\(\) returned"):
        polyhaul.write(polyhaul.read(CUBE), Writer(answer), format="obj")


def test_a_writer_that_takes_nothing_is_an_error() -> None:
    with pytest.raises(polyhaul.IoError):
        polyhaul.write(polyhaul.read(CUBE), Writer(lambda self, data: 0), format="obj")


def test_what_a_writer_raises_comes_out_as_itself() -> None:
    error = RuntimeError("mine")

    def answer(self: Writer, data: bytes) -> int:
        raise error

    writer = Writer(answer)
    with pytest.raises(RuntimeError) as caught:
        polyhaul.write(polyhaul.read(BIG), writer, format="obj")
    assert caught.value is error and writer.calls == 1


def test_flush_is_called_once_at_the_end() -> None:
    class Flushing(io.BytesIO):
        flushed = 0

        def flush(self) -> None:
            self.flushed += 1

    target = Flushing()
    polyhaul.write(polyhaul.read(CUBE), target, format="obj")
    assert target.flushed == 1 and not target.closed


class Named(io.BytesIO):
    """A file object with a name, which is that of a class by default."""

    def __init__(self, name: Any = None, attribute: str = "name") -> None:
        super().__init__()
        if name is not None:
            setattr(self, attribute, name)


TRIANGLE = polyhaul.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
#: How files of these formats begin.
STARTS = {"obj": b"# polyhaul", "ply": b"ply\n", "stl": b"polyhaul", "off": b"OFF"}


@pytest.mark.parametrize("format", STARTS)
@pytest.mark.parametrize("attribute", ["name", "path", "url"])
def test_the_name_of_a_file_object_decides_the_format(format: Any, attribute: str) -> None:
    names: list[Any] = [f"x.{format}", f"x.{format.upper()}", f"folder.x/y.{format}", Path(f"x.{format}")]
    for name in names + [f"x.{format}".encode()] * (attribute == "name"):
        target = Named(name, attribute)
        polyhaul.write(TRIANGLE, target)
        assert target.getvalue().startswith(STARTS[format]), name
        target.seek(0)
        assert polyhaul.read(target).meshes[0].face_count == 1
    explicit = Named(f"x.{format}", attribute)
    polyhaul.write(TRIANGLE, explicit, format="ply")
    assert explicit.getvalue().startswith(b"ply\n")


@pytest.mark.parametrize("name", [None, 3, "", "x", "x.bin", "x.txt.old", ".ply", b"x.unknown"])
def test_a_target_without_a_name_that_says_the_format_is_refused(name: Any) -> None:
    calls: dict[str, Callable[[Any], Any]] = {
        "write": lambda target: polyhaul.write(TRIANGLE, target),
        "convert": lambda target: polyhaul.convert(CUBE, target),
        "table": lambda target: polyhaul.write_table({"x": [1.0]}, target),
        "image": lambda target: polyhaul.write_image(np.zeros((2, 2, 4), np.uint8), target),
        "sink": lambda target: polyhaul.scan(b"1 2 3\n", format="xyz").sink(target),
    }
    for call in calls.values():
        target = Named(name)
        with pytest.raises(polyhaul.UsageError, match="cannot infer the output format") as caught:
            call(target)
        assert target.getvalue() == b"" and caught.value.hint is not None and "format=" in caught.value.hint


def test_a_source_without_a_name_is_read_by_its_content_or_refused() -> None:
    assert len(polyhaul.read(io.BytesIO(CUBE)).objects) == 2
    for data in (b"hello world\n", b"1 2 3\n", b"", b"\0\1\2"):
        with pytest.raises(polyhaul.UsageError, match="cannot infer the format"):
            polyhaul.read(io.BytesIO(data))


def test_compressing_file_objects_are_not_compressed_twice(tmp_path: Path) -> None:
    for opener, ending in ((gzip.open, "gz"), (bz2.open, "bz2"), (lzma.open, "xz")):
        path = tmp_path / f"x.ply.{ending}"
        with opener(path, "wb") as file:
            polyhaul.write(TRIANGLE, file, format="ply")
        with opener(path, "rb") as file:
            assert file.read(4) == b"ply\n"
        with opener(path, "rb") as file:
            report = polyhaul.read(file).report
            assert report is not None and not report.warnings
    with gzip.open(tmp_path / "x.stl.gz", "wb") as file:
        polyhaul.write(TRIANGLE, file)
    assert polyhaul.read(tmp_path / "x.stl.gz").meshes[0].face_count == 1


class Raw(io.RawIOBase):
    """A raw file that takes as much as ``answers`` say, in turn; ``None`` if it would have to wait."""

    name = "raw.obj"

    def __init__(self, answers: Sequence[int | None]) -> None:
        self.answers, self.data, self.calls = answers, b"", 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int | None:
        answer = self.answers[self.calls % len(self.answers)]
        self.calls += 1
        if answer is None:
            return None
        self.data += bytes(data[:answer])
        return min(answer, len(data))


def test_raw_files_get_everything_or_fail() -> None:
    scene = polyhaul.read(CUBE)
    whole = Named("x.obj")
    polyhaul.write(scene, whole)
    short = Raw([7, 1, 100])
    polyhaul.write(scene, short)
    assert short.data == whole.getvalue()
    stops: list[list[int | None]] = [[None], [50, None], [3, None, 9]]
    for answers in stops:
        with pytest.raises(BlockingIOError, match="non-blocking"):
            polyhaul.write(scene, Raw(answers))
    with pytest.raises(BlockingIOError, match="non-blocking"):
        polyhaul.savetxt(Raw([None]), np.eye(3))
    with pytest.raises(BlockingIOError, match="non-blocking"):
        polyhaul.write_table({"x": [1.0]}, Raw([None]), format="csv")


@pytest.mark.skipif(sys.platform == "win32", reason="non-blocking pipes")
def test_a_full_pipe_is_an_error_and_a_read_one_gets_everything() -> None:
    big = polyhaul.read(BIG)
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with open(reading, "rb"), open(writing, "wb", buffering=0) as raw:
        with pytest.raises(BlockingIOError):
            polyhaul.write(big, raw, format="obj")
    reading, writing = os.pipe()
    received: list[bytes] = []
    with open(reading, "rb") as source, open(writing, "wb", buffering=0) as raw:
        thread = threading.Thread(target=lambda: received.append(source.read()))
        thread.start()
        polyhaul.write(big, raw, format="obj")
        raw.close()
        thread.join()
    target = io.BytesIO()
    polyhaul.write(big, target, format="obj")
    assert received == [target.getvalue()]


def test_chains_of_urls_go_to_fsspec(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    data = Named("x.ply")
    polyhaul.write(TRIANGLE, data)
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("in/a.ply", data.getvalue())
        archive.writestr("in/b.mtl", b"newmtl red\nKd 1 0 0\n")
        archive.writestr("in/b.obj", b"mtllib b.mtl\nusemtl red\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    fsspec.filesystem("memory").pipe("/chain/x.zip", (tmp_path / "x.zip").read_bytes())
    fsspec.filesystem("memory").pipe("/chain/a.ply", data.getvalue())
    for url in (
        f"zip://in/a.ply::{tmp_path}/x.zip", f"zip://in/a.ply::file://{tmp_path}/x.zip", "simplecache::memory://chain/a.ply",
        "zip://in/a.ply::memory://chain/x.zip", "zip://in/a.ply::simplecache::memory://chain/x.zip",
    ):
        assert polyhaul.read(url).meshes[0].face_count == 1, url
        with fsspec.open(url) as file:
            assert polyhaul.read(file).meshes[0].face_count == 1, url
        assert polyhaul.read(fsspec.open(url)).meshes[0].face_count == 1, url
    scene = polyhaul.read("zip://in/b.obj::memory://chain/x.zip")
    assert scene.materials["red"].diffuse == (1, 0, 0)
    fsspec.filesystem("memory").pipe("/chain/b.mtl", b"newmtl red\nKd 0 1 0\n")
    fsspec.filesystem("memory").pipe("/chain/b.obj", b"mtllib b.mtl\nusemtl red\nv 0 0 0\n")
    assert polyhaul.read("simplecache::memory://chain/b.obj").materials["red"].diffuse == (0, 1, 0)
    assert polyhaul.validate("simplecache::memory://chain/a.ply").valid
    with pytest.raises(FileNotFoundError):
        polyhaul.read("simplecache::memory://chain/none.ply")
    assert polyhaul.read(zipfile.Path(str(tmp_path / "x.zip"), "in/a.ply")).meshes[0].face_count == 1


def test_a_failed_write_to_a_url_leaves_what_was_there(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    big = polyhaul.read(BIG)

    def fail(done: int, total: int | None) -> None:
        raise KeyError("stop")

    for url, written in (("memory://kept/a.obj", lambda: memory.cat("/kept/a.obj")),
                         (f"dir::file://{tmp_path}/a.obj", (tmp_path / "a.obj").read_bytes)):
        if url.startswith("dir"):
            url = f"local://{tmp_path}/a.obj"
        polyhaul.write(TRIANGLE, url)
        before = written()
        with pytest.raises(KeyError):
            polyhaul.write(big, url, progress=fail)
        assert written() == before and before.startswith(b"# polyhaul")
    with pytest.raises(polyhaul.UsageError, match="cannot infer"):
        polyhaul.write(TRIANGLE, "memory://kept/a.unknown")
    assert not memory.exists("/kept/a.unknown")
    polyhaul.write(TRIANGLE, fsspec.open("memory://kept/b.ply", "wb"))
    assert memory.cat("/kept/b.ply").startswith(b"ply\n")


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


def test_paths_may_be_bytes(tmp_path: Path) -> None:
    class Place(os.PathLike[bytes]):
        def __init__(self, name: str) -> None:
            self.path = os.fsencode(tmp_path / name)

        def __fspath__(self) -> bytes:
            return self.path

    place: Any = Place("a.ply")
    polyhaul.write(TRIANGLE, place)
    assert polyhaul.read(place).meshes[0].face_count == 1
    missing: Any = Place("none.ply")
    with pytest.raises(FileNotFoundError):
        polyhaul.read(missing)
