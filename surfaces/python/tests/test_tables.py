"""Tables: what they are made of, their rows, and files of every format there and back."""

from __future__ import annotations

import copy
import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import polyhaul
import pytest
from polyhaul import Lists, Table

RANDOM = np.random.default_rng(7)
KINDS = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")


def every_type(count: int = 1000) -> Table:
    """A column of each type, whose name is that of its type."""
    table = Table(name="vertex")
    for kind in KINDS:
        whole = RANDOM.integers(0, 2**63, count, dtype=np.uint64).astype(f"u{kind[1]}")
        table[kind] = RANDOM.normal(0, 1e4, count).astype(kind) if kind[0] == "f" else whole.view(kind)
    return table


def same(left: Table, right: Table) -> None:
    """Equal names, types, values."""
    assert left.names == right.names and len(left) == len(right)
    for a, b in zip(left.columns, right.columns, strict=True):
        parts = zip(a, b, strict=True) if isinstance(a, Lists) and isinstance(b, Lists) else [(a, b)]
        for mine, other in parts:
            assert mine.dtype == other.dtype
            np.testing.assert_array_equal(mine, other)


def with_lists() -> Table:
    values = np.arange(10, dtype="i2")
    return Table({"list": Lists(np.array([0, 2, 2, 7, 10], np.uint32), values), "number": np.arange(4.0)})


def test_columns_are_not_copied_and_may_be_changed() -> None:
    mine = np.arange(5.0)
    table = Table({"x": mine})
    assert np.shares_memory(table["x"], mine)
    read = polyhaul.read_table(b"x,y\n1,2\n3,4.5\n", format="csv")
    read["y"] *= 2
    read["x"][0] = 9
    assert read.to_array().tolist() == [[9, 4], [3, 9]]


def test_a_column_is_set_and_taken_away() -> None:
    table = Table()
    assert (len(table), table.names, list(table)) == (0, (), [])
    table["a"] = [1, 2, 3]
    table["b"] = np.array([True, False, True])
    table["a"] = np.array([4.5, 5, 6], ">f4")
    assert table.names == ("a", "b") and "b" in table and "c" not in table
    assert (table["a"].dtype, table["b"].dtype) == (np.float32, np.uint8)
    del table["a"]
    assert list(table) == ["b"] and len(table) == 3


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, 2], "column 'x' has 2 rows; expected 3, one per row"),
        (np.zeros((3, 2, 2)), "has shape"),
        (["a", "b", "c"], "expected integers or floats"),
        (np.zeros(3, complex), "expected integers or floats"),
        (np.zeros(3, np.longdouble), "expected integers or floats"),
        (Lists(np.array([0, 1, 2, 9], np.uint32), np.zeros(3)), "is 9; expected an index from 0 to 3"),
        (Lists(np.array([0, 2, 1, 3], np.uint32), np.zeros(3)), "offsets"),
    ],
)
def test_columns_that_do_not_fit(values: Any, message: str) -> None:
    table = Table({"a": [1, 2, 3]})
    with pytest.raises((ValueError, TypeError), match=message):
        table["x"] = values
    assert table.names == ("a",)


def test_an_unknown_name_says_what_there_is() -> None:
    with pytest.raises(KeyError, match="no column named 'z'; the names are 'x', 'y'"):
        Table({"x": [1], "y": [2]})["z"]


@pytest.mark.parametrize("threads", [None, 1, 3])
@pytest.mark.parametrize("count", [0, 1, 8191, 8192, 40_000])
def test_rows_are_those_of_numpy(count: int, threads: int | None) -> None:
    table = every_type(count)
    mask = RANDOM.random(count) < 0.3
    indices = RANDOM.integers(-count, count, 3 * count) if count else np.empty(0, int)
    for rows in (mask, indices, np.zeros(count, bool), np.ones(count, bool)):
        taken = table.take(rows, threads=threads)
        assert taken.name == "vertex"
        for kind in KINDS:
            np.testing.assert_array_equal(taken[kind], table[kind][rows])
            assert taken[kind].dtype == table[kind].dtype and taken[kind].flags.writeable


@pytest.mark.parametrize("rows", [slice(None), slice(1, 3), slice(None, None, -1), slice(5, 2), slice(-1, None), slice(0, 4, 2)])
def test_slices_are_those_of_numpy(rows: slice) -> None:
    table = with_lists()
    lists = [table["list"].values[a:b].tolist() for a, b in zip([0, 2, 2, 7], [2, 2, 7, 10], strict=True)]
    part = table[rows]
    assert part["number"].tolist() == list(range(4))[rows]
    offsets, values = part["list"]
    assert [values[a:b].tolist() for a, b in zip(offsets[:-1], offsets[1:], strict=True)] == lists[rows]
    assert offsets[0] == 0 and offsets[-1] == len(values)
    same(part, table.take(np.arange(4)[rows]))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([4], "from 4 to 4, but there are 4"), ([-5], "there are 4"), ([True], "1 values for 4 rows"), ([0.5], "float64"), ([[0]], "shape"),
        (np.array([2**64 - 1], np.uint64), "from 18446744073709551615"),
    ],
)
def test_rows_that_are_not_there(rows: Any, message: str) -> None:
    with pytest.raises(IndexError, match=message):
        with_lists()[rows]


def test_a_row_by_number_is_refused() -> None:
    with pytest.raises(TypeError, match="expected a name, a slice, a mask or indices"):
        with_lists()[0]  # type: ignore[call-overload]


def test_some_columns_in_another_order() -> None:
    table = every_type(10)[["f4", "i1"]]
    assert table.names == ("f4", "i1") and len(table) == 10


@pytest.mark.parametrize("order", ["<", ">"])
def test_structured_arrays_there_and_back(order: str) -> None:
    count = 70_000
    dtype = np.dtype([("a", f"{order}f4"), ("b", "u1"), ("c", f"{order}i8"), ("d", f"{order}i2", (3,))])
    records = np.frombuffer(RANDOM.bytes(count * dtype.itemsize), dtype)
    table = Table(records)
    assert isinstance(table["d"], Lists) and table["d"].offsets[-1] == 3 * count
    back = table.to_structured()
    for name in ("a", "b", "c", "d"):
        np.testing.assert_array_equal(back[name], records[name])
    assert not np.shares_memory(back, records)


def test_rows_of_two_dimensions_there_and_back() -> None:
    rows = RANDOM.random((5000, 7)).astype(np.float32)
    for given in (rows, np.asfortranarray(rows), rows[::-1, ::2]):
        np.testing.assert_array_equal(Table(given).to_array(), given)
    named = Table(rows, names=list("abcdefg"))
    assert named.names == tuple("abcdefg") and named.to_array("f8").dtype == np.float64
    assert list(Table(rows).to_dict()) == ["f0", "f1", "f2", "f3", "f4", "f5", "f6"]


def test_lists_of_different_lengths_are_no_structured_array() -> None:
    with pytest.raises(ValueError, match="'list' has lists of 0 to 5 numbers"):
        with_lists().to_structured()
    with pytest.raises(TypeError, match="contains lists"):
        with_lists().to_array()


def test_tables_can_be_copied_and_pickled() -> None:
    table = with_lists()
    same(pickle.loads(pickle.dumps(table)), table)
    other = copy.deepcopy(table)
    other["number"][0] = 100
    assert table["number"][0] == 0


@pytest.mark.parametrize("big_endian", [False, True])
@pytest.mark.parametrize("ascii", [False, True])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_ply_keeps_columns_and_types(tmp_path: Path, ascii: bool, big_endian: bool, suffix: str) -> None:
    if ascii and big_endian:
        with pytest.raises(ValueError, match="cannot be combined"):
            polyhaul.write_table(Table({"x": [1.0]}), tmp_path / "x.ply", ascii=True, big_endian=True)
        return
    table = every_type()[[kind for kind in KINDS if kind not in ("i8", "u8")]]
    table["list"] = RANDOM.integers(0, 9, (1000, 3), dtype=np.int32)
    table.comments, table.infos = ["a comment", "another"], ["of the object"]
    path = tmp_path / f"x.ply{suffix}"
    report = polyhaul.write_table(table, path, ascii=ascii, big_endian=big_endian, threads=2)
    assert report.bytes_out == path.stat().st_size
    read = polyhaul.read_table(path)
    same(read, table)
    assert (read.name, read.comments, read.infos) == ("vertex", table.comments, table.infos)
    assert read.report is not None and read.report.bytes_in == path.stat().st_size


def test_the_elements_of_a_ply_file() -> None:
    out = io.BytesIO()
    tables: dict[str, Any] = {"vertex": every_type(5)[["f4"]], "face": {"vertex_indices": np.array([[0, 1, 2]], np.int32)}}
    polyhaul.write_tables(tables, out, comments=["mine"])
    read = polyhaul.read_tables(out.getvalue(), format="ply")
    assert [table.name for table in read] == ["vertex", "face"] and read.comments == ["mine"]
    assert read["face"]["vertex_indices"].values.tolist() == [0, 1, 2]
    again = io.BytesIO()
    polyhaul.write_tables(read, again)
    assert again.getvalue() == out.getvalue()
    face = polyhaul.read_table(out.getvalue(), format="ply", element="face")
    assert face.name == "face" and face.comments == ["mine"]
    with pytest.raises(ValueError, match="found 2 tables \\('vertex', 'face'\\); choose one"):
        polyhaul.read_table(out.getvalue(), format="ply")
    with pytest.raises(ValueError, match="no element named 'edge'"):
        polyhaul.read_table(out.getvalue(), format="ply", element="edge")


@pytest.mark.parametrize("format", ["csv", "tsv", "txt", "xyz", "npy"])
def test_other_formats_there_and_back(format: Any, tmp_path: Path) -> None:
    table = Table({"x": RANDOM.normal(size=500), "y": RANDOM.normal(size=500), "z": RANDOM.normal(size=500)})
    path = tmp_path / f"t.{format}"
    polyhaul.write_table(table, path, threads=2)
    read = polyhaul.read_table(path, threads=2, types="f8" if format != "npy" else None)
    np.testing.assert_array_equal(read.to_array(), table.to_array())
    first, second = io.BytesIO(), io.BytesIO()
    polyhaul.write_table(table.to_structured(), first, format=format, threads=1)
    polyhaul.write_table(table.to_dict(), second, format=format, threads=3)
    assert first.getvalue() == second.getvalue() == path.read_bytes()


def test_npy_is_that_of_numpy(tmp_path: Path) -> None:
    table = every_type()
    polyhaul.write_table(table, tmp_path / "t.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "t.npy"), table.to_structured())
    rows = RANDOM.random((100, 4))
    np.save(tmp_path / "rows.npy", rows)
    np.testing.assert_array_equal(polyhaul.read_table(tmp_path / "rows.npy").to_array(), rows)


def test_how_text_is_read() -> None:
    text = b"skip\n# comment\na;b;c\n1;;x\n2;5.5;y\n3;6;z\n"
    table = polyhaul.read_table(
        text, format="csv", delimiter=";", skip_lines=1, columns=["b", 0], types={"b": "f4"}, missing=-1, max_rows=2
    )
    assert table.names == ("b", "a")
    assert (table["b"].dtype, table["b"].tolist(), table["a"].tolist()) == (np.float32, [-1, 5.5], [1, 2])
    assert np.isnan(polyhaul.read_table(b"1,\n2,3\n", format="csv", missing=np.nan).columns[1][0])
    no_header = polyhaul.read_table(b"1 2\n3 4\n", format="txt", header=False, types=["u1", None])
    assert no_header.names == ("", "") and [column.dtype for column in no_header.columns] == [np.uint8, np.int64]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delimiter": ";;"}, "delimiter is ';;'; expected one character"),
        ({"types": "U5"}, "the type <U5 is not supported"),
        ({"types": {"a": "f4"}}, "types has 'a'; expected names that are in columns"),
        ({"columns": [-1]}, "columns is -1; expected 0 or more"),
        ({"columns": ["q"]}, "no column `q`"),
        ({"max_rows": -1}, "max_rows is -1"),
        ({"delimeter": ","}, "did you mean 'delimiter'"),
        ({"format": "obj"}, "no tables"),
    ],
)
def test_reading_what_makes_no_sense(options: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        polyhaul.read_table(b"a,b\n1,2\n", **{"format": "csv"} | options)


def test_how_text_is_written() -> None:
    def written(**options: Any) -> bytes:
        out = io.BytesIO()
        table = Table({"x": [0.5, np.nan], "n": [1, 2]})
        table.comments = ["hello"]
        polyhaul.write_table(table, out, **{"format": "csv"} | options)
        return out.getvalue()

    assert written() == b"# hello\nx,n\n0.5,1\nnan,2\n"
    assert written(delimiter=";", header=False, digits=3, nan="-", comment="") == b"0.500;1\n-;2\n"
    assert written(digits={"x": 2}, comment="") == written(digits=[2, "shortest"], comment="") == b"x,n\n0.50,1\nnan,2\n"
    with pytest.raises(ValueError, match="digits has 'q'"):
        written(digits={"q": 2})


def test_what_formats_do_not_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(polyhaul.UsageError, match="lists"):
        polyhaul.write_table(with_lists(), tmp_path / "x.csv")
    with pytest.raises(polyhaul.UsageError):
        polyhaul.write_table(Table({"n": [1, 2**40]}), tmp_path / "x.ply")
    with pytest.raises(polyhaul.UsageError, match="no tables"):
        polyhaul.write_table(Table({"n": [1, 2]}), tmp_path / "x.obj")
    with pytest.raises(ValueError, match="dimensions"):
        polyhaul.write_table(np.zeros(3), tmp_path / "x.csv")
    assert not list(tmp_path.iterdir())


def test_integers_of_64_bits_go_into_ply_where_they_fit() -> None:
    out = io.BytesIO()
    polyhaul.write_table({"n": np.array([-5, 2**31 - 1])}, out, format="ply")
    read = polyhaul.read_table(out.getvalue(), format="ply")["n"]
    assert read.dtype == np.int32 and read.tolist() == [-5, 2**31 - 1]


def test_errors_of_data_have_their_place(tmp_path: Path) -> None:
    with pytest.raises(polyhaul.MalformedError) as caught:
        polyhaul.read_table(b"1,2\n3\n", format="csv")
    assert (caught.value.line, caught.value.column) == (2, 1)
    with pytest.warns(polyhaul.PolyhaulWarning):
        table = polyhaul.read_table(b"1,2\n3\n4,5\n", format="csv", on_error="warn")
    assert table.columns[0].tolist() == [1, 4]
    assert table.report is not None and table.report.warnings.total == 1
    with pytest.raises(FileNotFoundError):
        polyhaul.read_table(tmp_path / "none.csv")
    with pytest.raises(polyhaul.LimitError, match="columns"):
        polyhaul.read_table(b"1,2,3\n", format="csv", limits=polyhaul.Limits(columns=2))


def test_sources_and_targets(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    polyhaul.write_table({"x": [1, 2]}, str(path))
    seen: list[int] = []
    for source in (path, str(path), path.read_bytes(), io.BytesIO(path.read_bytes())):
        read = polyhaul.read_table(source, format="csv", progress=lambda completed, total: seen.append(completed))
        assert read["x"].tolist() == [1, 2]
    assert seen
    with pytest.raises(ValueError, match="the name"):
        polyhaul.write_table({"x": [1, 2]}, path, compression="none")


def test_no_result_depends_on_threads_or_memory() -> None:
    table = every_type(20_000)[["f4", "u2", "i4"]]
    files = []
    for threads, memory_limit in ((1, None), (2, "1MB"), (5, "4MB")):
        out = io.BytesIO()
        polyhaul.write_table(table, out, format="ply", threads=threads, memory_limit=memory_limit)
        files.append(out.getvalue())
        same(polyhaul.read_table(files[0], format="ply", threads=threads, memory_limit=memory_limit), table)
    assert files[0] == files[1] == files[2]


def frame_of(**columns: Any) -> Any:
    return pytest.importorskip("pandas").DataFrame(columns)


def test_tables_are_streams_of_arrow(tmp_path: Path) -> None:
    pyarrow, polars = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    numbers = {kind: np.arange(5).astype(kind) for kind in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")}
    numbers["f8"][1] = np.nan
    ragged = Lists(np.array([0, 2, 2, 3, 5, 6], np.uint32), np.arange(6, dtype=np.int16))
    table = Table(numbers | {"list": ragged, "wide": np.arange(10.0).reshape(5, 2), "flags": np.arange(5) > 2})
    arrow = pyarrow.table(table)
    assert arrow.schema.equals(pyarrow.schema(table)) and arrow.num_rows == 5
    assert arrow.column_names == list(table.names) and arrow["f8"].null_count == 0
    for name, values in numbers.items():
        assert np.array_equal(arrow[name].to_numpy(), values, equal_nan=values.dtype.kind == "f"), name
        assert arrow[name].to_numpy().dtype == values.dtype
    assert arrow["list"].to_pylist() == [[0, 1], [], [2], [3, 4], [5]] and arrow["wide"].to_pylist()[1] == [2, 3]
    again = Table(arrow)
    assert again.names == table.names
    for a, b in zip(again.columns, table.columns, strict=True):
        parts = zip(a, b, strict=True) if isinstance(a, Lists) else [(a, b)]
        for x, y in parts:
            assert x.dtype == y.dtype and np.array_equal(x, y, equal_nan=x.dtype.kind == "f")
    assert polars.DataFrame(table).filter(polars.col("i4") > 2).height == 2
    # What is exported does not change with the table.
    table["i4"][:] = 9
    assert arrow["i4"].to_pylist() == [0, 1, 2, 3, 4]
    # A part, columns without a name, nothing.
    assert pyarrow.table(table[1:3]).num_rows == 2
    assert pyarrow.table(Table(np.eye(3))).column_names == ["f0", "f1", "f2"]
    assert pyarrow.table(Table({"x": []})).num_rows == 0 and pyarrow.table(Table()).num_rows == 0
    polyhaul.write_table(table[["f4", "i8"]], tmp_path / "a.csv")
    assert pyarrow.table(polyhaul.read_table(tmp_path / "a.csv")).column_names == ["f4", "i8"]


def test_offsets_that_were_overwritten_are_an_error_of_the_stream() -> None:
    offsets = np.array([0, 1, 3], np.uint32)
    table = Table({"x": Lists(offsets, np.arange(3.0))})
    offsets[1] = 9
    with pytest.raises(polyhaul.UsageError, match="column `x`"):
        table.__arrow_c_stream__()


def test_a_stream_of_arrow_that_nobody_takes_is_freed() -> None:
    for _ in range(100):
        Table({"x": np.zeros(1000)}).__arrow_c_stream__()
        Table({"x": np.zeros(1000)}).__arrow_c_schema__()


def test_frames_with_bools_and_fixed_lists() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    flags = pyarrow.chunked_array([[True, False], [], [True]])
    pairs = pyarrow.array([[1, 2], [3, 4], [5, 6]], pyarrow.list_(pyarrow.int32(), 2))
    table = Table(pyarrow.table({"flag": flags, "pair": pairs}).slice(1))
    assert table["flag"].tolist() == [0, 1] and table["flag"].dtype == np.uint8
    assert table["pair"].offsets.tolist() == [0, 2, 4] and table["pair"].values.tolist() == [3, 4, 5, 6]
    for column in ([True, None], [1, None]):
        with pytest.raises(ValueError, match="missing values"):
            Table(pyarrow.table({"x": column}))


def test_frames_of_pandas(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = frame_of(
        x=[1.0, np.nan, 3.0], flag=[True, False, True], level=np.array([1, 2, 3], np.int16), half=np.ones(3, np.float16)
    )
    for index in (None, ["a", "b", "c"], [7, 8, 9], pandas.date_range("2020", periods=3), [True, False, True]):
        indexed = frame if index is None else frame.set_index(pandas.Index(index))
        table = Table(indexed)
        assert table.names == ("x", "flag", "level", "half") and len(table) == 3
        assert np.array_equal(table["x"], [1, np.nan, 3], equal_nan=True)
        assert table["flag"].tolist() == [1, 0, 1] and table["level"].dtype == np.int16 and table["half"].dtype == np.float32
        polyhaul.write_table(indexed, tmp_path / "a.ply")
        polyhaul.write_tables({"vertex": indexed}, tmp_path / "b.ply")
        assert polyhaul.read_table(tmp_path / "b.ply").names == table.names
    assert len(Table(frame[frame["level"] > 1])) == 2 and Table(frame[["level", "x"]]).names == ("level", "x")
    assert len(Table(frame[:0])) == 0
    multi = Table(frame.set_index(["level", "flag"]))
    assert multi.names == ("x", "half")
    assert Table(pandas.DataFrame(np.eye(2))).names == ("0", "1")
    masked = pandas.DataFrame({"a": pandas.array([1, 2], "Int32"), "b": pandas.array([0.5, None], "Float32"),
                               "c": pandas.array([True, False], "boolean")})
    taken = Table(masked)
    assert [column.dtype.name for column in taken.columns] == ["int32", "float32", "uint8"] and np.isnan(taken["b"][1])
    with pytest.raises(ValueError, match="column 'a' has missing values"):
        Table(pandas.DataFrame({"a": pandas.array([1, None], "Int32")}))
    for wrong in (["a", "b"], pandas.date_range("2020", periods=2), pandas.Categorical([1, 2])):
        with pytest.raises(TypeError, match="column 'a' is of type .*; expected numbers"):
            Table(pandas.DataFrame({"a": wrong}))
    back = pandas.DataFrame(Table(frame).to_dict())
    assert back["level"].tolist() == [1, 2, 3]


def test_columns_of_a_mesh_are_taken_from_frames() -> None:
    frame = frame_of(x=[0.0, 1, 0], y=[0.0, 0, 1], z=[0.0, 0, 0], heat=[1.0, np.nan, 3.0], flag=[True, False, True])
    frame.index = ["a", "b", "c"]
    mesh = polyhaul.Mesh(frame[["x", "y", "z"]], [[0, 1, 2]], vertex_columns=frame[["heat", "flag"]])
    assert list(mesh.vertex_columns) == ["heat", "flag"] and np.isnan(mesh.vertex_columns["heat"][1])
    mesh.vertex_columns = frame[["heat"]]
    mesh.vertex_columns["flag"] = frame["flag"]
    assert mesh.vertex_columns["flag"].tolist() == [1, 0, 1]
