"""Tables: named columns of numbers, and of lists of numbers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, cast, overload

import numpy as np
import numpy.typing as npt

from polyhaul import _arrays, _polyhaul
from polyhaul._arrays import Indices
from polyhaul._report import Report


class Lists(NamedTuple):
    """A column with a list of numbers per row. Row ``i`` is ``values[offsets[i]:offsets[i + 1]]``."""

    #: (rows + 1,) uint32: the start of each list, from 0 to the number of values.
    offsets: Indices
    #: The numbers of all lists.
    values: npt.NDArray[Any]


#: The values of a column.
Column: TypeAlias = npt.NDArray[Any] | Lists

#: Values that can be converted to a column. An array of two dimensions has one list per row.
ColumnLike: TypeAlias = npt.ArrayLike | Lists


class ArrowStream(Protocol):
    """An object that exports columns through the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any: ...


#: Data that can be converted to a table, besides tables.
TableLike: TypeAlias = "Table | Mapping[str, ColumnLike] | npt.NDArray[Any] | Sequence[Sequence[float]] | ArrowStream"

#: A column as native code expects it: its name, its numbers, and the offsets of lists.
Plain: TypeAlias = tuple[str, npt.NDArray[Any], Indices | None]

#: Approximate size in bytes of the blocks of rows that are converted to or from columns, chosen to fit the cache.
BLOCK_BYTES = 1 << 18


class Table:
    """A table of named columns of equal length.

    ``table["x"]`` is a column: a writable array, or :class:`polyhaul.Lists`. ``table["x"] = values`` sets a column.
    ``table[rows]`` is a table with a selection of the rows: a slice (its columns are views), a mask, or indices.
    ``table[["x", "y"]]`` is a table with a selection of the columns. ``len(table)`` is the number of rows. Iteration
    yields the column names.

    Args:
        data: another table, a dict of columns, a structured array, an array of two dimensions, or a data frame of
            pandas, polars, pyarrow or DuckDB (``__arrow_c_stream__``). Contiguous columns of arrays in native byte
            order are not copied. Missing floats of pandas are converted to NaN, and bools to 0 and 1. The index of a
            pandas data frame is dropped; ``frame.reset_index()`` converts it to a column.
        names: the column names of an array of two dimensions. By default, its columns are unnamed.
        name: the element name of the rows in PLY files, such as ``"vertex"``.

    Raises:
        ValueError, TypeError: the columns have different lengths or are not numbers.

    Example:
        >>> import numpy as np, polyhaul
        >>> table = polyhaul.Table({"x": np.array([1.5, 2, 3]), "level": np.array([7, 8, 9], "u1")})
        >>> table[table["x"] > 1.8]["level"]
        array([8, 9], dtype=uint8)
    """

    __slots__ = ("__weakref__", "_columns", "_row_count", "comments", "infos", "name", "report")

    #: The element name of the rows in the file, such as ``"vertex"``; empty if the file does not name it.
    name: str
    #: Comments of the file.
    comments: list[str]
    #: Remarks about the object (``obj_info`` in PLY).
    infos: list[str]
    #: The report of reading, with its warnings; ``None`` if the table was not read from a file.
    report: Report | None

    def __init__(
        self, data: TableLike | None = None, names: Sequence[str] | None = None, *, name: str = ""
    ) -> None:
        self.name, self.comments, self.infos, self.report = name, [], [], None
        self._columns: list[Plain] = []
        self._row_count = 0
        if isinstance(data, Table):
            if names is not None:
                raise TypeError("names is only for arrays; a table has its own names")
            self.name, self.comments, self.infos = name or data.name, list(data.comments), list(data.infos)
            self._columns, self._row_count = list(data._columns), data._row_count
        elif isinstance(data, Mapping):
            if names is not None:
                raise TypeError("names is only for arrays; a dict has its own names")
            for key, values in data.items():
                self[key] = values
        elif _is_pandas(data):
            if names is not None:
                raise TypeError("names is only for arrays; a frame has its own names")
            self._columns = _columns_of_pandas(data)
            self._row_count = len(cast(Any, data).index)
        elif (export := getattr(data, "__arrow_c_stream__", None)) is not None:
            if names is not None:
                raise TypeError("names is only for arrays; a frame has its own names")
            _, self._row_count, columns = _polyhaul.table_from_arrow(export())
            self._columns = columns_from_plain(columns)
        elif data is not None:
            _arrays.check_mask("the table", data)
            self._columns, self._row_count = _columns_of(np.asarray(data), names)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order; empty strings for unnamed columns."""
        return tuple(name for name, _, _ in self._columns)

    @property
    def columns(self) -> tuple[Any, ...]:
        """The columns, in order: arrays, or :class:`polyhaul.Lists`."""
        return tuple(_column(values, offsets) for _, values, offsets in self._columns)

    def take(self, rows: npt.ArrayLike, *, threads: int | None = None) -> Table:
        """Return the rows selected by a mask or by indices, in the order of the indices.

        Like ``table[rows]``, with control over the number of threads.

        Raises:
            IndexError: an index is out of range, or the mask has a different length.
        """
        picked = self._like()
        at = row_numbers(rows, self._row_count, "rows")
        single = [values for _, values, offsets in self._columns if offsets is None]
        gathered = iter(_gathered(single, at, threads))
        for name, values, offsets in self._columns:
            if offsets is None:
                picked._columns.append((name, next(gathered), None))
            else:
                picked._columns.append((name, *picked_lists(values, offsets, at, threads)))
        picked._row_count = len(at)
        return picked

    def equals(self, other: Table) -> bool:
        """Return whether another table has the same columns, with the same types and in the same order.

        NaN equals NaN. The operator ``==`` compares identities.
        """
        return len(self) == len(other) and _arrays.same(self._columns, other._columns)

    def to_dict(self) -> dict[str, Any]:
        """Return the columns by name, without copying them.

        Unnamed columns are ``"f0"``, ``"f1"`` and so on.

        Raises:
            ValueError: two columns have the same name.
        """
        return dict(zip(self._different_names(), self.columns, strict=True))

    def to_structured(self) -> npt.NDArray[np.void]:
        """Return the rows as a structured array. The lists of each column must all have the same length."""
        names = self._different_names()
        columns = [_even(name, column) for name, column in zip(names, self.columns, strict=True)]
        dtype = np.dtype([(name, values.dtype, values.shape[1:]) for name, values in zip(names, columns, strict=True)])
        rows = np.empty(self._row_count, dtype)
        _copy_blocks([rows[name] for name in names], columns, dtype.itemsize)
        return rows

    def to_array(self, dtype: npt.DTypeLike | None = None) -> npt.NDArray[Any]:
        """Return a (rows, columns) array. By default, its dtype can represent all columns.

        Raises:
            TypeError: a column contains lists.
        """
        for name, _, offsets in self._columns:
            if offsets is not None:
                raise TypeError(f"column {name!r} contains lists; select other columns: table[[...]].to_array()")
        columns = [values for _, values, _ in self._columns]
        common = np.dtype(dtype) if dtype is not None else np.result_type(*columns) if columns else np.dtype(float)
        rows = np.empty((self._row_count, len(columns)), common)
        _copy_blocks(list(rows.T), columns, rows.itemsize * len(columns))
        return rows

    @overload
    def __getitem__(self, key: str) -> Any: ...
    @overload
    def __getitem__(self, key: list[str] | tuple[str, ...] | slice | npt.NDArray[Any] | list[Any]) -> Table: ...
    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            _, values, offsets = self._columns[self._place(key)]
            return _column(values, offsets)
        if isinstance(key, list | tuple) and key and all(isinstance(name, str) for name in key):
            return self._like([self._columns[self._place(name)] for name in key])
        if isinstance(key, slice):
            return self._sliced(key)
        if isinstance(key, int | np.integer | tuple) or key is None or key is ...:
            raise TypeError(f"{key!r} is not a name or a set of rows; expected a name, a slice, a mask or indices")
        return self.take(key)

    def __setitem__(self, name: str, values: ColumnLike) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{name!r} is not a column name")
        count = self._row_count if self._columns else None
        new = plain_column(f"column {name!r}", values, count, "row")
        self._columns = replaced(self._columns, name, new)
        self._row_count = count_of(new)

    def __delitem__(self, name: str) -> None:
        del self._columns[self._place(name)]

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Return the result of :meth:`to_array`, for ``numpy.asarray(table)``."""
        if copy is False:
            raise ValueError("an array of a table is a copy")
        return self.to_array(dtype)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return self._row_count

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any:
        """Export the table as an Arrow stream.

        For ``polars.DataFrame(table)``, ``pyarrow.table(table)``, ``pandas.DataFrame.from_arrow(table)`` and
        ``duckdb.from_arrow(...)``. The numbers are copied, so the table may be changed later. Unnamed columns are
        ``f0``, ``f1`` and so on. ``requested_schema`` is ignored.
        """
        return _polyhaul.table_to_arrow(self._to_plain())

    def __arrow_c_schema__(self) -> Any:
        """Export the names and types of the columns as an Arrow schema: ``pyarrow.schema(table)``."""
        return _polyhaul.table_to_arrow_schema(self._to_plain())

    def _repr_png_(self) -> bytes | None:
        """Return a PNG preview of a table of points for notebooks, with fewer points for large tables.

        ``None`` if the table does not have columns ``x``, ``y`` and ``z``.
        """
        from polyhaul._preview import png

        return png(self) if all(name in self for name in "xyz") else None

    def __repr__(self) -> str:
        called = f" {self.name!r}" if self.name else ""
        shown = [name or "?" for name in self.names]
        columns = ", ".join(shown if len(shown) <= 8 else [*shown[:6], "...", shown[-1]])
        return f"<polyhaul.Table{called}: {self._row_count} rows, {len(shown)} columns ({columns})>"

    def _place(self, name: str) -> int:
        for place, (column_name, _, _) in enumerate(self._columns):
            if column_name == name:
                return place
        raise KeyError(f"no column named {name!r}; the names are {', '.join(map(repr, self.names)) or 'none'}")

    def _like(self, columns: Sequence[Plain] = ()) -> Table:
        """Return a table with other columns and the same number of rows."""
        other = Table(name=self.name)
        other.comments, other.infos = list(self.comments), list(self.infos)
        other._columns, other._row_count = list(columns), self._row_count
        return other

    def _sliced(self, key: slice) -> Table:
        start, stop, step = key.indices(self._row_count)
        has_lists = any(offsets is not None for _, _, offsets in self._columns)
        if has_lists and step != 1:
            return self.take(np.arange(start, stop, step))
        part = self._like()
        part._row_count = len(range(start, stop, step))
        for name, values, offsets in self._columns:
            if offsets is None:
                part._columns.append((name, values[key], None))
                continue
            bounds = offsets[start : max(start, stop) + 1]
            part._columns.append((name, values[bounds[0] : bounds[-1]], bounds - bounds[0]))
        return part

    def _different_names(self) -> list[str]:
        names = [name or f"f{place}" for place, name in enumerate(self.names)]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two columns are named {name!r}")
        return names

    def _to_plain(self) -> tuple[str, int, list[Plain]]:
        """Return the table as native code expects it."""
        columns = [(name, np.ascontiguousarray(values), offsets) for name, values, offsets in self._columns]
        return str(self.name), self._row_count, columns


class Columns(MutableMapping[str, Any]):
    """The columns of a mesh by name, with one row per position or per face.

    Assigned columns must have the same number of rows.
    """

    __slots__ = ("_change", "_count", "_plain", "_what")

    def __init__(
        self, plain: Sequence[Plain], what: str, count: int, change: Callable[[list[Plain]], None]
    ) -> None:
        self._plain, self._what, self._count, self._change = list(plain), what, count, change

    def __getitem__(self, name: str) -> Any:
        for column_name, values, offsets in self._plain:
            if column_name == name:
                width = _width(values, offsets)
                return _column(values, offsets) if width is None else values.reshape(-1, width)
        raise KeyError(name)

    def __setitem__(self, name: str, values: ColumnLike) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{name!r} is not a column name")
        new = plain_column(f"{self._what} column {name!r}", values, self._count, self._what)
        self._store(replaced(self._plain, name, new))

    def __delitem__(self, name: str) -> None:
        self[name]
        self._store([column for column in self._plain if column[0] != name])

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(name for name, _, _ in self._plain))

    def __len__(self) -> int:
        return len({name for name, _, _ in self._plain})

    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)

    def _store(self, columns: list[Plain]) -> None:
        self._change(columns)
        self._plain = columns


def plain_columns(given: Mapping[str, ColumnLike], what: str, count: int) -> list[Plain]:
    """Convert the caller's columns to columns of a mesh."""
    made: list[Plain] = []
    for name, values in given.items():
        made.append((str(name), *plain_column(f"{what} column {name!r}", values, count, what)))
    return made


def plain_column(
    name: str, values: ColumnLike, count: int | None, what: str
) -> tuple[npt.NDArray[Any], Indices | None]:
    """Return the numbers and offsets of a column.

    If ``count`` is not ``None``, the column must have ``count`` rows.
    """
    if isinstance(values, Lists):
        numbers = _numbers(name, values.values)
        if numbers.ndim != 1:
            raise ValueError(f"{name} has values of shape {numbers.shape}; expected one dimension")
        numbers = np.ascontiguousarray(numbers)
        offsets = _arrays.offsets(f"the offsets of {name}", values.offsets, len(numbers), 0, "list")
        rows = len(offsets) - 1
    else:
        numbers = _numbers(name, values)
        if numbers.ndim not in (1, 2):
            raise ValueError(f"{name} has shape {numbers.shape}; expected one number, or one list of them, per {what}")
        rows, offsets = len(numbers), None
        if numbers.ndim == 2:
            offsets = _even_offsets(*numbers.shape)
        numbers = np.ascontiguousarray(numbers).reshape(-1)
    if count is not None and rows != count:
        raise ValueError(f"{name} has {rows} rows; expected {count}, one per {what}")
    return numbers, offsets


def replaced(columns: Sequence[Plain], name: str, new: tuple[npt.NDArray[Any], Indices | None]) -> list[Plain]:
    """Return the columns with a new column, which replaces the column of that name or is appended."""
    names = [column_name for column_name, _, _ in columns]
    place = names.index(name) if name in names else len(names)
    return [*columns[:place], (name, *new), *columns[place + 1 :]]


def count_of(column: tuple[npt.NDArray[Any], Indices | None]) -> int:
    """Return the number of rows of a column."""
    values, offsets = column
    return len(values) if offsets is None else len(offsets) - 1


def columns_from_plain(columns: Sequence[tuple[str, str, Any, Any]]) -> list[Plain]:
    """Return the columns of native code. The arrays are views of its memory, writable if the buffers are."""
    return [
        (name, memory(values, kind), None if offsets is None else memory(offsets, "u4"))
        for name, kind, values, offsets in columns
    ]


def table_from_plain(plain: tuple[str, int, Any], report: Report | None = None) -> Table:
    """Return a table from the result of native code."""
    table = Table(name=plain[0])
    table._row_count, table._columns, table.report = plain[1], columns_from_plain(plain[2]), report
    return table


def memory(buffer: Any, kind: str) -> npt.NDArray[Any]:
    """Return native memory as an array, which is writable if the buffer is."""
    return np.frombuffer(buffer, kind) if len(buffer) else np.empty(0, kind)


def _column(values: npt.NDArray[Any], offsets: Indices | None) -> Column:
    return values if offsets is None else Lists(offsets, values)


def _width(values: npt.NDArray[Any], offsets: Indices | None) -> int | None:
    """Return the number of values per row if all lists have the same nonzero length, and ``None`` otherwise."""
    count = 0 if offsets is None else len(offsets) - 1
    if offsets is None or not count or not len(values) or len(values) % count:
        return None
    width = len(values) // count
    return width if np.array_equal(offsets, _arrays.even_offsets(count, width)) else None


def _numbers(name: str, values: Any) -> npt.NDArray[Any]:
    """Return an array of numbers in native byte order, with a dtype that columns support."""
    _arrays.check_mask(name, values)
    array = np.asarray(values)
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind == "b":
        return array.view(np.uint8)
    if kind == "f" and size == 2:
        return array.astype(np.float32)
    if kind not in "iuf" or size > 8:
        raise TypeError(f"{name} has dtype {array.dtype}; expected integers or floats of at most 64 bits")
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _columns_of(array: npt.NDArray[Any], names: Sequence[str] | None) -> tuple[list[Plain], int]:
    """Return the columns of a structured array, or of an array of two dimensions."""
    fields = array.dtype.names
    if fields is not None:
        if array.ndim != 1 or names is not None:
            wrong = "names are given" if names is not None else f"it has {array.ndim} dimensions"
            raise ValueError(f"the table is a structured array, but {wrong}; expected one dimension and no names")
        columns = [array[name] for name in fields]
    elif array.ndim == 2:
        fields = tuple(names) if names is not None else ("",) * array.shape[1]
        columns = list(array.T)
        if len(fields) != len(columns):
            raise ValueError(f"found {len(fields)} names for {len(columns)} columns")
    else:
        raise ValueError(f"the table is an array of {array.ndim} dimensions; expected two, or a structured array")
    numbers = [_numbers(f"column {name!r}", column) for name, column in zip(fields, columns, strict=True)]
    if not all(column.flags.c_contiguous for column in numbers):
        apart = [np.empty(column.shape, column.dtype) for column in numbers]
        _copy_blocks(apart, numbers, array.dtype.itemsize * (1 if array.ndim == 1 else array.shape[1]))
        numbers = apart
    made = [(name, *plain_column(f"column {name!r}", column, None, "row")) for name, column in zip(fields, numbers, strict=True)]
    return made, len(array)


def _is_pandas(data: Any) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, pandas.DataFrame)


def _columns_of_pandas(frame: Any) -> list[Plain]:
    """Return the columns of a data frame, without its index."""
    made: list[Plain] = []
    for place, name in enumerate(frame.columns):
        series = frame.iloc[:, place]
        called = f"column {str(name)!r}"
        # Masked types and Arrow types have the equivalent numpy type as an attribute.
        kind = getattr(series.dtype, "numpy_dtype", series.dtype)
        if not isinstance(kind, np.dtype) or kind.kind not in "biuf":
            raise TypeError(f"{called} is of type {series.dtype}; expected numbers: cast it first")
        if series.hasnans and kind.kind != "f":
            raise ValueError(f"{called} has missing values, which only floats may have; fill or drop them first")
        values = series.to_numpy() if kind is series.dtype else series.to_numpy(kind, na_value=np.nan if kind.kind == "f" else 0)
        made.append((str(name), *plain_column(called, values, None, "row")))
    return made


def _copy_blocks(targets: list[npt.NDArray[Any]], sources: list[npt.NDArray[Any]], row_bytes: int) -> None:
    """Copy columns to columns block by block.

    This is much faster than column by column if one side is in row order.
    """
    count = len(targets[0]) if targets else 0
    step = max(BLOCK_BYTES // max(row_bytes, 1), 64)
    for start in range(0, count, step):
        for target, source in zip(targets, sources, strict=True):
            target[start : start + step] = source[start : start + step]


def _even(name: str, column: Column) -> npt.NDArray[Any]:
    """Return a column as an array. Lists of equal length are converted to an array of two dimensions."""
    if not isinstance(column, Lists):
        return column
    lengths = np.diff(column.offsets)
    if lengths.size and lengths.min() != lengths.max():
        raise ValueError(f"column {name!r} has lists of {lengths.min()} to {lengths.max()} numbers; expected lists of one length")
    return column.values.reshape(len(lengths), int(lengths[0]) if lengths.size else 0)


def _even_offsets(count: int, length: int) -> Indices:
    return _arrays.even_offsets(count, length) if length else np.zeros(count + 1, np.uint32)


def row_numbers(rows: npt.ArrayLike, count: int, what: str) -> npt.NDArray[np.int64]:
    """Return the row numbers, or other indices, that a mask or an index array selects."""
    _arrays.check_mask(what, rows)
    array = np.asarray(rows)
    if array.ndim != 1:
        raise IndexError(f"the {what} have shape {array.shape}; expected one dimension: a mask, or indices")
    if array.dtype.kind == "b":
        if len(array) != count:
            raise IndexError(f"the mask has {len(array)} values for {count} {what}")
        return np.flatnonzero(array).astype(np.int64, copy=False)
    if array.dtype.kind not in "iu" and array.size:
        raise IndexError(f"the {what} have dtype {array.dtype}; expected a mask (bool), or indices (integers)")
    # Before the conversion, which wraps large uint64 around to negative indices.
    if array.size and not -count <= int(array.min()) <= int(array.max()) < count:
        raise IndexError(f"the {what} range from {array.min()} to {array.max()}, but there are {count}")
    at = np.ascontiguousarray(array, dtype=np.int64)
    return np.where(at < 0, at + count, at) if at.size and at.min() < 0 else at


def _gathered(
    columns: list[npt.NDArray[Any]], rows: npt.NDArray[np.int64], threads: int | None
) -> list[npt.NDArray[Any]]:
    """Return the selected rows of each column."""
    picked = [np.empty(len(rows), column.dtype) for column in columns]
    lanes = [
        (np.ascontiguousarray(column).view(f"u{column.itemsize}"), room.view(f"u{column.itemsize}"))
        for column, room in zip(columns, picked, strict=True)
    ]
    _polyhaul.gather(lanes, rows, threads)
    return picked


def picked_lists(
    values: npt.NDArray[Any], offsets: Indices, rows: npt.NDArray[np.int64], threads: int | None
) -> tuple[npt.NDArray[Any], Indices]:
    """Return the selected rows of a column of lists, as values and offsets."""
    starts, lengths = offsets[:-1].astype(np.int64)[rows], np.diff(offsets).astype(np.int64)[rows]
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if ends.size else 0
    _arrays.check_count("the values of lists", total)
    at = np.repeat(starts - (ends - lengths), lengths) + np.arange(total)
    [picked] = _gathered([values], at, threads)
    return picked, cast(Indices, np.concatenate([[0], ends]).astype(np.uint32))
