"""Errors: their classes, their places, and arguments that make no sense."""

from __future__ import annotations

import builtins
import copy
import errno
import pickle
import re
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import polyhaul
import pytest
from conftest import CUBE


def test_a_broken_statement_says_where() -> None:
    with pytest.raises(polyhaul.MalformedError) as caught:
        polyhaul.read(b"v 0 0 0\nf 1 2 x\n")
    error = caught.value
    assert isinstance(error, polyhaul.Error) and isinstance(error, ValueError)
    assert (error.kind, error.path, error.line, error.column, error.offset) == ("malformed", "memory", 2, 7, 14)
    assert error.message == "invalid index `x`" and error.expected is not None
    assert str(error).startswith("memory:2:7: invalid index `x`; expected an index")
    shown = "".join(traceback.format_exception(error))
    assert " 2 | f 1 2 x\n   |       ^\n" in shown


def test_the_caret_counts_characters() -> None:
    with pytest.raises(polyhaul.MalformedError) as caught:
        polyhaul.read("v 0 0 é x\n".encode())
    line, caret = caught.value.__notes__[0].split("\n")
    assert line[caret.index("^")] == "é"


def test_limits_name_themselves_and_say_how_to_go_on() -> None:
    with pytest.raises(polyhaul.LimitError, match="name_bytes") as caught:
        polyhaul.read(CUBE, limits=polyhaul.Limits(name_bytes=4))
    assert caught.value.kind == "limit" and caught.value.hint is not None
    assert f"hint: {caught.value.hint}" in caught.value.__notes__


@pytest.mark.parametrize(
    ("path", "cls", "number"),
    [
        ("none.obj", builtins.FileNotFoundError, errno.ENOENT),
        ("none/none.obj", builtins.FileNotFoundError, errno.ENOENT),
        (".", builtins.IsADirectoryError, errno.EISDIR),
        ("file/none.obj", builtins.NotADirectoryError, errno.ENOTDIR),
    ],
)
def test_errors_of_the_system_are_os_errors(tmp_path: Path, path: str, cls: type[OSError], number: int) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(cls) as caught:
        polyhaul.read(tmp_path / path, format="obj")
    error = caught.value
    assert isinstance(error, polyhaul.IoError)
    assert (error.errno, error.filename, error.kind) == (number, str(tmp_path / path), "io")
    assert error.path == str(tmp_path / path) and str(error).startswith(str(tmp_path / path))


def test_writing_where_one_may_not(tmp_path: Path) -> None:
    with pytest.raises(builtins.FileNotFoundError) as caught:
        polyhaul.write(polyhaul.Scene(), tmp_path / "none" / "x.obj")
    assert isinstance(caught.value, polyhaul.Error)
    with pytest.raises(builtins.IsADirectoryError):
        polyhaul.write(polyhaul.Scene(), tmp_path, format="obj")


def test_every_class_is_reachable_and_derives_from_error() -> None:
    kinds = {"malformed", "limit", "unsupported", "io", "usage", "host", "memory", "cancelled", "internal"}
    classes = [item for item in vars(polyhaul).values() if isinstance(item, type) and issubclass(item, polyhaul.Error)]
    assert {cls.kind for cls in classes} == kinds
    assert all(cls.__module__ == "polyhaul" for cls in classes)
    assert issubclass(polyhaul.OutOfMemoryError, MemoryError) and issubclass(polyhaul.UsageError, ValueError)


def test_errors_survive_pickling_and_copying(tmp_path: Path) -> None:
    def raised(call: Any) -> polyhaul.Error:
        with pytest.raises(polyhaul.Error) as caught:
            call()
        return caught.value

    for error in (raised(lambda: polyhaul.read(b"f 1 2 x")), raised(lambda: polyhaul.read(tmp_path / "x.obj"))):
        for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
            assert (type(other), str(other), other.line) == (type(error), str(error), error.line)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"format": "docx"}, ValueError, "format is 'docx'; expected one of obj"),
        ({"threads": 0}, ValueError, "threads is 0; expected 1 to 1024"),
        ({"threads": 2.5}, TypeError, "threads is 2.5 of type float; expected an integer"),
        ({"memory_limit": 2.5}, TypeError, "memory_limit is 2.5 of type float"),
        ({"memory_limit": "64 XB"}, ValueError, "memory_limit is '64 XB'"),
        ({"memory_limit": 0}, ValueError, "memory_limit is 0"),
        ({"on_error": "ignore"}, ValueError, "on_error is 'ignore'; expected raise or warn"),
        ({"limits": {"files": 3}}, TypeError, "expected polyhaul.Limits"),
        ({"progress": 3}, TypeError, "progress is of type int"),
        ({"nonsense": 3}, TypeError, "nonsense"),
    ],
)
def test_options_of_reading_that_make_no_sense(options: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        polyhaul.read(CUBE, **options)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"forward_axis": "W"}, ValueError, "forward_axis is 'W'; expected X, Y, Z, -X, -Y or -Z"),
        ({"forward_axis": "Y", "up_axis": "-Y"}, ValueError, "forward_axis Y and up_axis -Y are parallel"),
        ({"global_scale": 0}, ValueError, "global_scale is 0"),
        ({"global_scale": float("nan")}, ValueError, "global_scale is nan"),
        ({"digits": 13}, ValueError, "digits is 13"),
        ({"digits": {"uv": 3}}, ValueError, "expected 'positions'"),
        ({"export_normal": False}, TypeError, "unknown option 'export_normal'; did you mean 'export_normals'"),
        ({"uv": True, "export_uv": True}, TypeError, "'uv' is given twice, also as 'export_uv'"),
        ({"smoothing": "all"}, ValueError, "smoothing is 'all'; expected none, flags, groups or bitflags"),
    ],
)
def test_options_of_writing_that_make_no_sense(
    tmp_path: Path, options: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=re.escape(message)):
        polyhaul.write(polyhaul.Scene(), tmp_path / "x.obj", **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", ["2000000", "2MB", "2 mb", "2M", 2_000_000, "0.002GB"])
def test_sizes_have_units(value: int | str) -> None:
    from polyhaul import _options

    assert _options.size("x", value) == 2_000_000
    assert _options.size("x", "1KiB") == 1024


def test_sources_and_targets_of_the_wrong_type(tmp_path: Path) -> None:
    wrong: list[Any] = [None, 3, ["x.obj"], {}]
    for source in wrong:
        with pytest.raises(TypeError, match="expected a path, a URL, bytes or a binary file object"):
            polyhaul.read(source)
    for target in (None, 3, b"bytes"):
        with pytest.raises(TypeError, match="expected a path, a URL or a binary file object"):
            polyhaul.write(polyhaul.Scene(), target)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"expected polyhaul\.Scene, polyhaul\.Mesh or"):
        polyhaul.write("scene", tmp_path / "x.obj")  # type: ignore[arg-type]


def test_names_that_say_no_format(tmp_path: Path) -> None:
    with pytest.raises(polyhaul.UsageError, match="extension"):
        path = tmp_path / "x.docx"
        path.write_bytes(CUBE)
        polyhaul.read(path)
    assert polyhaul.read(path, format="obj").objects
    with pytest.raises(polyhaul.UsageError) as caught:
        polyhaul.write(polyhaul.Scene(), tmp_path / "y.docx")
    assert caught.value.hint is not None and 'format="obj"' in caught.value.hint


def test_importing_everything_hides_nothing_of_python() -> None:
    assert not set(polyhaul.__all__) & set(vars(builtins))


def test_strict_refuses_losses_of_writing(tmp_path: Path) -> None:
    source, target = tmp_path / "a.obj", tmp_path / "a.stl"
    source.write_bytes(b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\nl 1 2\n")
    target.write_bytes(b"old")
    scene = polyhaul.read(source)
    with pytest.raises(polyhaul.UnsupportedError, match="lines") as caught:
        polyhaul.write(scene, target, strict="all")
    assert caught.value.hint == 'without `strict=True` this is a warning; `allow=["left-out-lines"]` accepts it'
    with pytest.raises(polyhaul.UnsupportedError, match="lines"):
        polyhaul.convert(source, target, strict="all")
    assert target.read_bytes() == b"old"
    # Nobody expects lines of STL: they are a note.
    report = polyhaul.write(scene, target, strict=True)
    assert report.warnings.severities == {"note": 1, "loss": 0, "fault": 0}
    assert report.warnings[0].severity == "note"
    assert polyhaul.convert(source, target, strict="all", allow=["left-out-lines"]).warnings.total == 1
    with pytest.raises(ValueError, match="did you mean `left-out-lines`"):
        polyhaul.convert(source, target, allow="left-out-line")
    half = np.full((1, 1, 3), 0.5, np.float32)
    with pytest.raises(polyhaul.UnsupportedError, match="rounded"):
        polyhaul.write_image(half, tmp_path / "a.png", strict=True)


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        ((errno.ENOENT, ""), FileNotFoundError), ((None, "NotFound"), FileNotFoundError),
        ((errno.EACCES, ""), PermissionError), ((None, "PermissionDenied"), PermissionError),
        ((errno.EISDIR, ""), IsADirectoryError), ((errno.ENOTDIR, ""), NotADirectoryError),
        ((errno.EEXIST, ""), FileExistsError), ((errno.EPIPE, ""), BrokenPipeError),
        ((errno.ETIMEDOUT, ""), TimeoutError), ((None, "TimedOut"), TimeoutError),
        ((errno.ECONNREFUSED, ""), ConnectionError), ((None, "ConnectionReset"), ConnectionError),
        ((errno.ENOSPC, ""), OSError), ((None, "Other"), OSError), (None, OSError),
        ((errno.ENOMEM, ""), MemoryError), ((None, "OutOfMemory"), MemoryError),
    ],
)
def test_errors_of_the_system_have_the_class_of_their_cause(cause: Any, expected: type[Exception]) -> None:
    error = polyhaul._errors.make("io", cause, message="reading failed", excerpt=None, path="a.obj", line=None, column=None,
                                  offset=None, expected=None, hint=None)
    assert isinstance(error, expected) and isinstance(error, polyhaul.Error)
    assert (type(error) is polyhaul.IoError) == (expected is OSError)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and str(again) == str(error) == "a.obj: reading failed"
    # The same from the command, which a batch runs.
    number = f" (os error {cause[0]})" if cause and cause[0] else ""
    printed = {"kind": "io", "message": f"reading failed{number}", "file": "a.obj", "cause": cause and cause[1]}
    assert type(polyhaul._errors.of_command(printed)) is type(error)


@pytest.mark.parametrize("error", [KeyError("a"), MemoryError(), KeyboardInterrupt(), SystemExit(3), TimeoutError("late"), StopIteration()])
def test_exceptions_of_hosts_are_raised_unchanged(error: BaseException, tmp_path: Path) -> None:
    def fail(*_: Any) -> Any:
        raise error

    class Failing:
        name = "x.obj"
        read = write = staticmethod(fail)

    calls: list[Any] = [
        lambda: polyhaul.read(Failing()),
        lambda: polyhaul.write(polyhaul.Mesh(np.eye(3)), Failing()),
        lambda: polyhaul.read(CUBE, resolver=fail),
        lambda: polyhaul.convert(CUBE, tmp_path / "x.ply", progress=fail),
        lambda: polyhaul.write_table({"x": [1.0]}, Failing(), format="csv"),
        lambda: polyhaul.read_table(Failing(), format="csv"),
    ]
    for call in calls:
        with pytest.raises(type(error)) as caught:
            call()
        assert caught.value is error
