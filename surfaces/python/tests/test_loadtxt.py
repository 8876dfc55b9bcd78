"""loadtxt: the values, shapes and types of numpy's own."""

from __future__ import annotations

import gzip
import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polyhaul
import pytest

RANDOM = np.random.default_rng(11)


def by_numpy(text: str, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.loadtxt(io.StringIO(text), **options)


def ours(text: str, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return polyhaul.loadtxt(io.StringIO(text), **options)


def same(mine: Any, theirs: Any) -> None:
    if isinstance(theirs, list):
        assert isinstance(mine, list) and len(mine) == len(theirs)
        for a, b in zip(mine, theirs, strict=True):
            same(a, b)
        return
    assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
    assert mine.tobytes() == theirs.tobytes()


TEXTS = {
    "one": "7\n",
    "row": "1 2 3\n",
    "column": "1\n2\n3\n",
    "grid": "1 2 3\n4 5 6\n",
    "no end": "1 2 3\n4 5 6",
    "crlf": "1 2\r\n3 4\r\n",
    "blanks": "  1\t 2 \n\n   \n3 4\n",
    "comments": "# head\n1 2 # behind\n#\n3 4\n",
    "integers": "0 -1\n+5 2147483647\n",
    "floats": "1.5 -2.25e3\n1e-300 .5\n5. 1E5\n",
    "specials": "nan -inf\nInfinity NaN\n-0.0 0\n",
    "hard": "0.1 179769313486231570000000000000000000000\n2.2250738585072011e-308 9007199254740993\n",
}


@pytest.mark.parametrize("ndmin", [0, 1, 2])
@pytest.mark.parametrize("unpack", [False, True])
@pytest.mark.parametrize("name", TEXTS)
def test_shapes_and_values(name: str, unpack: bool, ndmin: int) -> None:
    options = {"unpack": unpack, "ndmin": ndmin}
    same(ours(TEXTS[name], **options), by_numpy(TEXTS[name], **options))


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", float, int, np.float32, ">f8"])
def test_types(dtype: Any) -> None:
    text = "1 2 3\n100 +5 7\n"
    same(ours(text, dtype=dtype), by_numpy(text, dtype=dtype))


def test_random_numbers_are_rounded_as_by_numpy() -> None:
    for dtype, digits in (("f8", 17), ("f8", 25), ("f4", 9), ("f8", 4)):
        values = RANDOM.normal(size=(300, 4)) * 10.0 ** RANDOM.integers(-30, 30, (300, 4))
        out = io.StringIO()
        np.savetxt(out, values, fmt=f"%.{digits}g")
        if dtype == "f8":
            same(ours(out.getvalue()), by_numpy(out.getvalue()))
        else:
            # numpy rounds twice there: to float64 first.
            exact = ours(out.getvalue(), dtype=dtype)
            assert np.abs(exact.view("i4") - by_numpy(out.getvalue(), dtype=dtype).view("i4")).max() <= 1


@pytest.mark.parametrize(
    "options",
    [
        {"delimiter": ","},
        {"delimiter": ",", "skiprows": 1},
        {"delimiter": ",", "skiprows": 3},
        {"delimiter": ",", "usecols": 1},
        {"delimiter": ",", "usecols": (2, 0)},
        {"delimiter": ",", "usecols": [1], "ndmin": 2},
        {"delimiter": ",", "max_rows": 2},
        {"delimiter": ",", "max_rows": 1, "unpack": True},
        {"delimiter": ",", "usecols": (0, 1), "unpack": True, "dtype": int},
        {"delimiter": ",", "comments": ["#"]},
        {"delimiter": ",", "comments": "#", "encoding": "utf-8", "max_rows": 99},
    ],
    ids=str,
)
def test_options(options: dict[str, Any]) -> None:
    text = "# a, b\n1, 2, 3\n4,5,6 # six\n7,8,9\n"
    same(ours(text, **options), by_numpy(text, **options))


@pytest.mark.parametrize("unpack", [False, True])
@pytest.mark.parametrize("text", ["1 2.5 3\n4 5 6\n", "1 2.5 3\n"])
def test_structured_types(text: str, unpack: bool) -> None:
    dtype = np.dtype([("a", "i4"), ("b", "f8"), ("c", "u1")])
    same(ours(text, dtype=dtype, unpack=unpack), by_numpy(text, dtype=dtype, unpack=unpack))
    aligned = np.dtype([("a", "u1"), ("b", "f8")], align=True)
    mine = ours(text, dtype=aligned, usecols=(0, 1), unpack=unpack)
    theirs = by_numpy(text, dtype=aligned, usecols=(0, 1), unpack=unpack)
    for a, b in zip(mine if unpack else [mine["a"], mine["b"]], theirs if unpack else [theirs["a"], theirs["b"]], strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("text", ["", "# nothing\n", "\n\n"])
@pytest.mark.parametrize("options", [{}, {"ndmin": 1}, {"ndmin": 2}, {"dtype": "i4"}, {"usecols": (0, 2)}, {"dtype": "i4,f8"}, {"usecols": 1}], ids=str)
def test_no_data(text: str, options: dict[str, Any]) -> None:
    with pytest.warns(UserWarning, match="input contained no data"):
        mine = polyhaul.loadtxt(io.StringIO(text), **options)
    same(mine, by_numpy(text, **options))


@pytest.mark.parametrize(
    ("text", "options"),
    [("1 x\n", {}), ("1 2\n3\n", {}), ("1,,2\n", {"delimiter": ","}), ("300\n", {"dtype": "u1"}), ("1 2\n", {"usecols": 5})],
)
def test_what_numpy_refuses_is_refused(text: str, options: dict[str, Any]) -> None:
    for read in (ours, by_numpy):
        with pytest.raises((ValueError, OverflowError)):
            read(text, **options)


def test_an_error_has_its_place() -> None:
    with pytest.raises(polyhaul.MalformedError) as caught:
        polyhaul.loadtxt(b"1 2\n3 x\n")
    assert (caught.value.line, caught.value.column) == (2, 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"converters": {0: float}}, "converters is not supported"),
        ({"like": np.empty(0)}, "like is not supported"),
        ({"dtype": complex}, "complex128 is not supported"),
        ({"dtype": str}, "is not supported"),
        ({"dtype": "f2"}, "float16 is not supported"),
        ({"dtype": bool}, "bool is not supported"),
        ({"comments": ["#", "%"]}, "comments has 2 strings"),
        ({"delimiter": ", "}, "expected one character"),
        ({"usecols": [-1]}, "usecols is -1"),
        ({"usecols": []}, "usecols is empty"),
        ({"skiprows": -1}, "skiprows is -1"),
        ({"quotechar": "'"}, "quotechar"),
        ({"ndmin": 3}, "ndmin is 3"),
        ({"encoding": "utf-16"}, "encoding"),
    ],
    ids=str,
)
def test_what_is_not_supported_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        polyhaul.loadtxt(b"1 2\n", **options)


def test_sources(tmp_path: Path) -> None:
    text = "1 2\n3 4.5\n"
    plain, packed = tmp_path / "a.txt", tmp_path / "a.dat.gz"
    plain.write_text(text)
    packed.write_bytes(gzip.compress(text.encode()))
    lines = text.splitlines()
    sources: list[Any] = [plain, str(plain), packed, text.encode(), io.BytesIO(text.encode()), io.StringIO(text), lines]
    sources += [(line + "\n" for line in lines), [line.encode() for line in lines]]
    for source in sources:
        array = polyhaul.loadtxt(source, threads=2)
        assert array.tolist() == [[1, 2], [3, 4.5]]
        array += 1  # it may be changed
    with pytest.raises(FileNotFoundError):
        polyhaul.loadtxt(tmp_path / "none.txt")


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_no_result_depends_on_threads(threads: int) -> None:
    values = RANDOM.normal(size=(20_000, 3))
    out = io.BytesIO()
    polyhaul.savetxt(out, values)
    np.testing.assert_array_equal(polyhaul.loadtxt(out.getvalue(), threads=threads, memory_limit="1MB"), values)
