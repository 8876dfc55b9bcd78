"""Arrays and records as text: the bytes of numpy's own savetxt, and of Python's formatting."""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polyhaul
import pytest

RANDOM = np.random.default_rng(4)


def specials(dtype: str) -> np.ndarray[Any, Any]:
    """Values where formatting is hard, 6 to a row."""
    powers = [0.0, -0.0, 0.5, 1.5, 2.5, -0.5, 1e-5, 9.9999995, 0.00012345, 123456.5, 1e6, 1e15, 1e16, 1e22, -1e30]
    values = np.array([*powers, np.nan, np.inf, -np.inf, 0.1, 1 / 3, 65504.0], dtype)
    return np.resize(np.concatenate([values, RANDOM.normal(0, 1e4, 99).astype(dtype)]), (20, 6))


FLOATS: dict[str, Any] = {
    "f4": specials("f4"),
    "f8": specials("f8"),
    ">f8": specials("f8").astype(">f8"),
    "columns first": np.asfortranarray(specials("f4")),
    "backwards": specials("f8")[::-2, ::-1],
    "steps": specials("f8")[::3, 1::2],
    "one dimension": specials("f4").ravel(),
    "repeated": np.broadcast_to(specials("f8")[0], (7, 6)),
    "f2": np.array([[0.1, 65504, -1], [1e-7, 0, np.nan]], "f2"),
    "long double": np.array([[0.1, 1e300, -1], [1e-7, 0, np.nan]], np.longdouble),
    "no rows": np.empty((0, 3)),
    "no columns": np.empty((3, 0)),
    "nothing": np.empty(0),
    "bool": np.array([[True, False], [False, False]]),
    "u8": np.array([[0, 2**64 - 1], [7, 10**19]], "u8"),
    "list": [[1, 2.5], [3, 4]],
}
INTEGERS = {
    kind: np.array([np.iinfo(kind).min, 0, 1, 99, np.iinfo(kind).max, 7], kind).reshape(3, 2)
    for kind in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4", "<u2")
} | {
    "bool": np.array([[True, False], [False, False]]),
    "truncated": np.array([[1.9, -1.9, -0.5], [1e15, 123456.789, 0]]),
    "truncated f4": np.array([1.9, -1.9, 1e10, -0.5], "f4"),
    "truncated f2": np.array([1.9, -1.9, 1000, -0.5], "f2"),
}
TEXTS = {
    "U": np.array([["a", "bcdefgh"], ["", "x y"]]),
    "S": np.array([b"a'b", b"", b'x"y\n\xff']),
    "bool": np.array([True, False]),
    "f8": specials("f8"),
    "f4": specials("f4"),
    "i8": np.arange(-3, 9).reshape(4, 3),
    "list": ["one", "three"],
}


def same(array: Any, to: Callable[[], Any] = io.BytesIO, **given: Any) -> None:
    ours, numpys = to(), to()
    polyhaul.savetxt(ours, array, **given)
    np.savetxt(numpys, array, **given)
    assert ours.getvalue() == numpys.getvalue(), given


@pytest.mark.parametrize("fmt", ["%.18e", "%f", "%.6f", "%.0f", "%12.3f", "%-14.7g|", "%+G", "% .3E", "%015.2f", "%#.0f",
                                 "%.3e", "%g", "%.17g", "%F", "a%%%fb"])  # fmt: skip
@pytest.mark.parametrize("name", FLOATS)
def test_floats_are_as_numpy_has_them(name: str, fmt: str) -> None:
    columns = np.asarray(FLOATS[name]).shape[1] if np.ndim(FLOATS[name]) == 2 else 1
    same(FLOATS[name], fmt=[fmt] * columns)


@pytest.mark.parametrize("fmt", ["%d", "%i", "%u", "%5d", "%-6dx", "%+d", "% d", "%07d", "%.3d", "%s", "%8s", "%.1f", "%g"])
@pytest.mark.parametrize("name", INTEGERS)
def test_integers_are_as_numpy_has_them(name: str, fmt: str) -> None:
    if name == "truncated f2" and fmt.endswith("s"):
        pytest.skip("f2 is not written as text")
    same(INTEGERS[name], fmt=fmt, delimiter=",")


@pytest.mark.parametrize("fmt", ["%s", "%10s", "%-10s", "%.2s", "%6.3s|"])
@pytest.mark.parametrize("name", TEXTS)
def test_text_is_as_numpy_has_it(name: str, fmt: str) -> None:
    same(TEXTS[name], fmt=fmt, delimiter="\t", newline="%\r\n")


def test_structured_arrays_and_templates() -> None:
    kinds = [("id", "u2"), ("x", ">f4"), ("name", "U4"), ("ok", "?"), ("raw", "S3")]
    array = np.array([(1, 0.5, "ab", True, b"q"), (65535, -1e9, "", False, b"")], kinds)
    same(array, fmt="%s")
    same(array, fmt="%d: %.3f <%5s> %d %s")
    same(array[::-1], fmt=["%4d", "%e", "%s", "%s", "%s"], delimiter=" ; ")
    same(array["x"], fmt="%.2f")
    same(np.rec.array(array), fmt="%s", delimiter=",")
    same([1.5, 2.5], fmt="%.2f")


@pytest.mark.parametrize("to", [io.BytesIO, io.StringIO])
def test_head_and_foot(to: Callable[[], Any]) -> None:
    for array in (np.eye(2), np.empty((0, 2))):
        same(array, to, header="first\nsecond", footer="the end\n", comments="// ")
        same(array, to, header="h", comments="", newline="\r\n")


def test_characters_beyond_ascii() -> None:
    array = np.array([["é", "日本語"], ["ab", "€"]])
    same(array, io.StringIO, fmt="%s")
    same(array, fmt="%4s", delimiter="·", encoding="utf-8", header="ü")
    same(array, fmt="%.2s", encoding="utf-8")
    same(np.eye(2), header="grün", encoding="latin1")
    with pytest.raises(ValueError, match=r"column 0 of X has characters other than ASCII; expected encoding='utf-8'"):
        polyhaul.savetxt(io.BytesIO(), array, fmt="%s")
    with pytest.raises(ValueError, match="expected ASCII"):
        polyhaul.savetxt(io.BytesIO(), np.eye(2), delimiter="·")
    with pytest.raises(ValueError, match="expected an ASCII-compatible one"):
        polyhaul.savetxt(io.BytesIO(), np.eye(2), encoding="utf-16")


def test_files_and_compression(tmp_path: Path) -> None:
    array = RANDOM.normal(size=(5000, 3)).astype("f4")
    np.savetxt(tmp_path / "numpy.txt", array)
    expected = (tmp_path / "numpy.txt").read_bytes()
    report = polyhaul.savetxt(tmp_path / "ours.txt", array)
    assert (tmp_path / "ours.txt").read_bytes() == expected and report.bytes_out == len(expected)
    polyhaul.savetxt(os.fspath(tmp_path / "ours.txt.gz"), array, threads=1)
    assert gzip.decompress((tmp_path / "ours.txt.gz").read_bytes()) == expected
    # A file object is what it is, whatever its name.
    with (tmp_path / "plain.gz").open("wb") as file:
        polyhaul.savetxt(file, array)
    assert (tmp_path / "plain.gz").read_bytes() == expected
    with (tmp_path / "text.txt").open("w", encoding="utf-8") as text:
        polyhaul.savetxt(text, array)
    assert (tmp_path / "text.txt").read_bytes() == expected
    with pytest.raises(ValueError, match="not supported"):
        polyhaul.savetxt(tmp_path / "a.bz2", array)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_change_nothing(threads: int) -> None:
    array = RANDOM.normal(size=(200_000, 2))
    progress: list[tuple[int, int | None]] = []
    ours, numpys = io.BytesIO(), io.BytesIO()
    polyhaul.savetxt(ours, array, fmt="%.4f", threads=threads, progress=lambda *at: progress.append(at))
    np.savetxt(numpys, array, fmt="%.4f")
    assert ours.getvalue() == numpys.getvalue()
    length = len(numpys.getvalue())
    assert progress[-1][0] >= length


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_bytes(b"old")
    wrong: list[tuple[type[Exception], str, Any, Any]] = [
        (polyhaul.UsageError, "expected one of d i u f F e E g G s", np.eye(2), "%x"),
        (polyhaul.UsageError, "row 1, column 0: NaN and infinity cannot be written as integers", [1, np.nan], "%d"),
        (ValueError, "fmt has 1 conversions for 2 columns", np.eye(2), ["%d"]),
        (ValueError, "with 3 conversions", np.eye(2), "%d %d %d"),
        (ValueError, "with 0 conversions", np.eye(2), "text"),
        (TypeError, "column 0 of X is text, but its conversion is %d", ["a"], "%d"),
        (TypeError, "complex128; .* view it as floats", [1j], "%f"),
        (TypeError, "object", np.array([None]), "%s"),
        (TypeError, "datetime64", np.array(["2026-01-01"], "M8[D]"), "%s"),
        (TypeError, "float16", np.ones(2, "f2"), "%s"),
        (TypeError, "longdouble|float128|float64", np.ones(2, np.longdouble), "%d"),
        (TypeError, "column 0", np.zeros(2, [("a", "f4", 3)]), "%s"),
        (ValueError, "3 dimensions", np.zeros((1, 1, 1)), "%f"),
        (ValueError, "0 dimensions", 1.0, "%f"),
    ]
    for kind, message, array, fmt in wrong:
        if np.asarray(array).dtype == np.longdouble and np.dtype(np.longdouble).itemsize == 8:
            continue
        with pytest.raises(kind, match=message):
            polyhaul.savetxt(path, array, fmt=fmt)
        assert path.read_bytes() == b"old"
    with pytest.raises(FileNotFoundError):
        polyhaul.savetxt(tmp_path / "no" / "out.txt", np.eye(2))
    with pytest.raises(TypeError, match="int"):
        polyhaul.savetxt(7, np.eye(2))  # type: ignore[arg-type]


RECORDS = np.zeros((300, 40), [("flag", "?"), ("value", "f4"), ("at", "i2", (2,)), ("in", [("name", "U6")])])
RECORDS["flag"] = RANDOM.random(RECORDS.shape) < 0.5
RECORDS["value"] = RANDOM.normal(0, 1000, RECORDS.shape)
RECORDS["at"] = RANDOM.integers(-999, 999, (*RECORDS.shape, 2))
RECORDS["in"]["name"] = RANDOM.choice(["", "é", "abcdef"], RECORDS.shape)

TEMPLATE = "{flag:y/n} {value:.2f} {{{at[1]:+4d}}} {in.name:8s}|{in.name}\n"
TEXT = "".join(
    f"{'y' if flag else 'n'} {value:.2f} {{{at[1]:+4d}}} {inner['name']:>8s}|{inner['name']}\n"
    for flag, value, at, inner in RECORDS.ravel()
).encode()


@pytest.mark.parametrize("threads", [1, 2, 7, None])
def test_records(threads: int | None) -> None:
    assert polyhaul.format_rows(TEMPLATE, RECORDS, threads=threads) == TEXT
    out = bytearray(len(TEXT) + 10)
    assert polyhaul.format_rows(TEMPLATE, RECORDS, out, threads=threads) == TEXT
    assert out.startswith(TEXT)
    array = np.zeros(len(TEXT), np.uint8)
    assert polyhaul.format_rows(TEMPLATE, RECORDS, array, threads=threads) == TEXT
    columns: dict[str, Any] = {"a": np.arange(9)[::-1], "b": list("abcdefghi")}
    expected = "".join(f"{8 - i}{letter};" for i, letter in enumerate("abcdefghi")).encode()
    assert polyhaul.format_rows("{a}{b};", columns, threads=threads) == expected


def test_records_that_are_refused() -> None:
    with pytest.raises(polyhaul.UsageError, match=rf"the rows need {len(TEXT)} bytes, but the buffer has 99"):
        polyhaul.format_rows(TEMPLATE, RECORDS, bytearray(99))
    with pytest.raises(polyhaul.UsageError, match="template, byte 8: unknown field name") as caught:
        polyhaul.format_rows("{flag} {no}", RECORDS)
    assert caught.value.offset == 8 and "^^" in caught.value.__notes__[0]
    with pytest.raises(polyhaul.UsageError, match="refers to no column"):
        polyhaul.format_rows("text\n", RECORDS)
    with pytest.raises(ValueError, match="different lengths"):
        polyhaul.format_rows("{a}{b}", {"a": [1], "b": [1, 2]})
    with pytest.raises(TypeError, match="expected a structured array"):
        polyhaul.format_rows("{a}", np.eye(2))  # type: ignore[arg-type]
    with pytest.raises((ValueError, BufferError)):
        polyhaul.format_rows(TEMPLATE, RECORDS, memoryview(b"read-only"))
    empty = RECORDS[:0]
    assert bytes(polyhaul.format_rows(TEMPLATE, empty)) == b""
    assert bytes(polyhaul.format_rows(TEMPLATE, empty, bytearray())) == b""
