"""Table I/O: read_table, read_tables, write_table, write_tables, loadtxt."""

from __future__ import annotations

import codecs
import io
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, Unpack

import numpy as np
import numpy.typing as npt

from polyhaul import _options, _polyhaul
from polyhaul._io import Reading, opened_reading, warn_of
from polyhaul._option_types import FormatName, Limits, Rate, ReadOptions, Types, WriteOptions
from polyhaul._progress import Progress, reporter
from polyhaul._report import Report, report_from_plain
from polyhaul._scene import Items
from polyhaul._sources import Source, Target, opened_target
from polyhaul._table import Table, TableLike, memory, table_from_plain

#: Sources of :func:`polyhaul.loadtxt`, which also include text files and lines of text.
TextSource: TypeAlias = Source | io.TextIOBase | Iterable[str] | Iterable[bytes]


class Tables(Items[Table]):
    """The tables of a file, in order. Also accessible by name: ``tables["vertex"]``."""

    __slots__ = ("comments", "infos", "report")

    #: Comments of the file.
    comments: list[str]
    #: Remarks about the object (``obj_info`` in PLY).
    infos: list[str]
    #: The report of reading, with its warnings.
    report: Report

    def __init__(self, tables: list[Table], comments: list[str], infos: list[str], report: Report) -> None:
        super().__init__(tables)
        self.comments, self.infos, self.report = comments, infos, report


def read_tables(
    source: Source,
    *,
    format: FormatName | None = None,
    types: Types | None = None,
    progress: Progress | bool | None = None,
    **options: Unpack[ReadOptions],
) -> Tables:
    """Read all tables of a file: the elements of a PLY file, with all their columns.

    Files in other formats have a single table, which :func:`read_table` reads. The arguments are the same.

    Returns:
        The tables, also accessible by name, with the comments and the report.
    """
    native = _options.read_options(options, format, types)
    with opened_reading(source, native, None, progress, "reading") as reading:
        plain, comments, infos, plain_report = _polyhaul.read_tables(reading)
    report = report_from_plain(plain_report)
    warn_of(report, reading)
    return Tables([table_from_plain(table, report) for table in plain], comments, infos, report)


def read_table(
    source: Source,
    *,
    format: FormatName | None = None,
    types: Types | None = None,
    progress: Progress | bool | None = None,
    **options: Unpack[ReadOptions],
) -> Table:
    """Read a table of numbers: csv, tsv, txt, xyz, pts, npy, or an element of a PLY file.

        >>> import polyhaul
        >>> table = polyhaul.read_table(b"x,y,level\\n0.5,1,7\\n2,3,8\\n", format="csv")
        >>> table.names, table["level"]
        (('x', 'y', 'level'), array([7, 8]))

    Each column is a separate, writable array. The GIL is released while reading, and Ctrl-C interrupts the call.

    Args:
        source: as for :func:`polyhaul.read`: a path, a URL, bytes, or a file object in binary mode; compressed or not.
        format: ``"csv"``, ``"tsv"``, ``"txt"``, ``"xyz"``, ``"pts"``, ``"npy"``, ``"ply"``; ``None`` infers it from the
            name.
        types: a numpy type for all columns, a sequence with one type per column (``None`` to detect it), or a dict by
            name, which requires ``columns``. By default, columns are int64 if all values are integers, and float64
            otherwise.
        progress: as for :func:`polyhaul.read`.
        **options: delimiter, header, columns, element, threads and more: see :class:`polyhaul.ReadOptions`. A PLY file
            with several elements requires ``element``, such as ``"vertex"``.

    Returns:
        The table, with its comments. ``table.report`` is the report.

    Raises:
        polyhaul.MalformedError: the data is invalid; the exception includes the location.
        polyhaul.IoError: the operating system reported an error; also an ``OSError``, such as ``FileNotFoundError``.
        TypeError, ValueError: an argument is invalid, or there are several tables and no ``element``.
    """
    element = options.pop("element", None)
    tables = read_tables(source, format=format, types=types, progress=progress, **options)
    table = _chosen(tables, element)
    table.comments, table.infos = tables.comments, tables.infos
    return table


def write_table(
    table: Table | TableLike,
    target: Target,
    *,
    names: Sequence[str] | None = None,
    format: FormatName | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    comment: str = "# ",
    progress: Progress | bool | None = None,
    **options: Unpack[WriteOptions],
) -> Report:
    """Write a table of numbers: csv, tsv, txt, xyz, pts, npy, or as the only element of a PLY file.

        >>> import io, numpy as np, polyhaul
        >>> out = io.BytesIO()
        >>> report = polyhaul.write_table({"x": np.array([0.5, 2]), "level": np.array([7, 8])}, out, format="csv")
        >>> out.getvalue()
        b'x,level\\n0.5,7\\n2,8\\n'

    Files are replaced atomically. Other threads must not change the columns while writing.

    Args:
        table: a table, a dict of columns, a structured array, an array of two dimensions, or a data frame of polars,
            pandas, pyarrow or DuckDB.
        target: as for :func:`polyhaul.write`: a path, a URL, or a file object in binary mode.
        names: the column names of an array of two dimensions.
        format: as for :func:`polyhaul.read_table`.
        delimiter, header, comment: the options ``out_delimiter``, ``out_header`` and ``out_comment``.
        progress: as for :func:`polyhaul.write`.
        **options: digits, nan, threads, compression and more: see :class:`polyhaul.WriteOptions`. ``digits`` is
            a number for all columns, a sequence with one number per column, or a dict by name.

    Returns:
        The report, with measurements and warnings.

    Raises:
        polyhaul.UsageError: the format cannot store the columns, such as lists in csv, or integers above 32 bits in PLY.
        polyhaul.IoError: the operating system reported an error; also an ``OSError``, such as ``PermissionError``.
        TypeError, ValueError: an argument is invalid.
    """
    table = _table_of(table, names)
    written = {"out_delimiter": delimiter, "out_header": header, "out_comment": comment} | _column_digits(options, table)
    native = _options.write_options(written, format)
    name, count, columns = table._to_plain()
    plain = [(name or "vertex", count, columns)]  # the element name of unnamed rows in PLY files
    with opened_target(target, native) as opened, reporter(progress, "writing") as report_progress:
        plain_report = _polyhaul.write_tables(plain, (table.comments, table.infos), opened, native, report_progress)
    return report_from_plain(plain_report)


def write_tables(
    tables: Iterable[Table] | Mapping[str, Table | TableLike],
    target: Target,
    *,
    comments: Iterable[str] | None = None,
    infos: Iterable[str] | None = None,
    format: FormatName | None = None,
    progress: Progress | bool | None = None,
    **options: Unpack[WriteOptions],
) -> Report:
    """Write tables as the elements of a PLY file, the only format that stores several tables.

    Args:
        tables: the result of :func:`polyhaul.read_tables`, tables with names, or a dict of tables.
        target: a path, a URL, or a file object in binary mode.
        comments: the comments of the file; by default, the comments of ``tables``.
        infos: the remarks about the object (``obj_info``); by default, the remarks of ``tables``.

    The other arguments are the same as for :func:`polyhaul.write_table`.

    Returns:
        The report, with measurements and warnings.
    """
    if isinstance(tables, Mapping):
        named = {str(name): table if isinstance(table, Table) else Table(table) for name, table in tables.items()}
        plain = [(name, *table._to_plain()[1:]) for name, table in named.items()]
        notes: list[list[str]] = [[], []]
    else:
        notes = [list(getattr(tables, "comments", ())), list(getattr(tables, "infos", ()))]
        plain = [_checked(table)._to_plain() for table in tables]
    if format is None and hasattr(target, "write"):
        format = "ply"
    native = _options.write_options(options, format)
    said = [old if new is None else list(new) for old, new in zip(notes, (comments, infos), strict=True)]
    with opened_target(target, native) as opened, reporter(progress, "writing") as report_progress:
        return report_from_plain(_polyhaul.write_tables(plain, (said[0], said[1]), opened, native, report_progress))


def loadtxt(
    fname: TextSource,
    dtype: npt.DTypeLike = float,
    comments: str | Sequence[str] | None = "#",
    delimiter: str | None = None,
    converters: None = None,
    skiprows: int = 0,
    usecols: Sequence[int] | int | None = None,
    unpack: bool = False,
    ndmin: int = 0,
    encoding: str | None = None,
    max_rows: int | None = None,
    *,
    quotechar: str | None = None, like: None = None,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    read_rate: Rate | None = None, read_latency: float | None = None,
    limits: Limits | None = None,
    progress: Progress | bool | None = None,
) -> Any:
    """Load numbers from text, with the arguments, values and shapes of :func:`numpy.loadtxt`.

        >>> import io, polyhaul
        >>> polyhaul.loadtxt(io.StringIO("# x y\\n1 2\\n3 4.5\\n"))
        array([[1. , 2. ],
               [3. , 4.5]])

    Args:
        fname: a path, a URL, bytes, a file object in binary or text mode, or an iterable of lines; compressed or not.
        dtype: integers of 8 to 64 bits, float32 or float64, or a structured type of these.
        comments: the prefix of comments, a single string; ``None`` disables comments.
        delimiter: the field delimiter, a single character; ``None`` for any whitespace.
        skiprows: the number of lines to skip at the start, including comments.
        usecols: the columns to read, from 0.
        unpack: whether to return the columns instead of the rows.
        ndmin: the minimum number of dimensions, 0 to 2.
        encoding: any ASCII-compatible encoding. The numbers are parsed as ASCII.
        max_rows: the maximum number of rows to read.
        quotechar: ``None`` or ``'"'``. Values may be in double quotes in both cases.
        converters, like: not supported; must be ``None``.
        threads, memory_limit, read_rate, read_latency, limits, progress: as for :func:`polyhaul.read`.

    Returns:
        A writable array, or a list of arrays for ``unpack`` with a structured type.

    Raises:
        polyhaul.MalformedError: a value is not a number of that type, or a row has a different number of values. The
            exception includes the location, and is also a ``ValueError``.
        TypeError, ValueError: an argument is invalid or not supported.
    """
    _refuse_others(converters=converters, like=like, encoding=encoding, quotechar=quotechar, ndmin=ndmin)
    kind = np.dtype(dtype)
    columns = _used_columns(usecols)
    options = {
        "threads": threads,
        "memory_limit": memory_limit,
        "read_rate": read_rate,
        "read_latency": read_latency,
        "limits": limits,
        "delimiter": " " if delimiter is None else delimiter,
        "header": False,
        "columns": columns,
        "comment": _comment(comments),
        "skip_lines": _options.count("skiprows", skiprows),
        "max_rows": max_rows,
    }
    native = _options.read_options(options, "txt", kind if kind.names is None else [kind[name] for name in kind.names])
    native.set_numpy()
    with opened_reading(_data(fname), native, None, progress, "reading") as reading:
        array = _array_of(reading, kind)
    if not len(array):
        warnings.warn(f'loadtxt: input contained no data: "{reading.source["name"]}"', UserWarning, stacklevel=2)
        array = np.empty((0, len(columns)) if columns and kind.names is None else 0, kind)
    return _shaped(array, unpack, ndmin)


def _array_of(reading: Reading, kind: np.dtype[Any]) -> npt.NDArray[Any]:
    """Read the source as an array of that type."""
    if kind.names is not None:
        [plain], *_ = _polyhaul.read_tables(reading)
        return _structured(table_from_plain(plain), kind)
    name, values, shape, _ = _polyhaul.read_array(reading)
    return memory(values, name).reshape(shape).astype(kind, copy=False)


def _used_columns(usecols: Any) -> list[str | int] | None:
    columns = _options.column_names("usecols", usecols)
    if columns is not None and not columns:
        raise ValueError("usecols is empty; expected at least one column")
    return columns


def _column_digits(options: WriteOptions, table: Table) -> dict[str, Any]:
    """Return the options, with the digits of each column if ``digits`` is a sequence or a dict."""
    digits = options.get("digits")
    if not isinstance(digits, Mapping | list | tuple):
        return dict(options)
    if isinstance(digits, Mapping):
        if unknown := [name for name in digits if name not in table.names]:
            raise ValueError(f"digits has {unknown[0]!r}, which is not a column")
        digits = [digits.get(name, "shortest") for name in table.names]
    return dict(options) | {"digits": None, "column_digits": digits}


def _chosen(tables: Tables, element: str | None) -> Table:
    names = ", ".join(repr(table.name) for table in tables)
    if element is not None:
        if all(table.name != element for table in tables):
            raise ValueError(f"no element named {element!r}; the elements are {names or 'none'}")
        return tables[element]
    if len(tables) != 1:
        raise ValueError(f"found {len(tables)} tables ({names}); choose one with element, or use read_tables")
    return tables[0]


def _table_of(given: Table | TableLike, names: Sequence[str] | None) -> Table:
    if not isinstance(given, Table):
        return Table(given, names)
    if names is not None:
        raise TypeError("names is only for arrays; a table has its own names")
    return given


def _checked(table: Any) -> Table:
    if not isinstance(table, Table):
        raise TypeError(f"tables contains an item of type {type(table).__name__}; expected polyhaul.Table")
    return table


def _refuse_others(*, converters: Any, like: Any, encoding: str | None, quotechar: str | None, ndmin: int) -> None:
    """Raise ``ValueError`` for arguments that numpy supports but polyhaul does not."""
    for name, value in (("converters", converters), ("like", like)):
        if value is not None:
            raise ValueError(f"{name} is not supported; expected None")
    if encoding is not None and encoding != "bytes" and "0\n".encode(codecs.lookup(encoding).name) != b"0\n":
        raise ValueError(f"encoding is {encoding!r}; expected an ASCII-compatible one")
    if quotechar not in (None, '"'):
        raise ValueError(f"quotechar is {quotechar!r}; expected None, or '\"'")
    if ndmin not in (0, 1, 2):
        raise ValueError(f"ndmin is {ndmin!r}; expected 0, 1 or 2")


def _comment(comments: Any) -> str | None:
    """Return the single prefix of comments, or ``None``."""
    if isinstance(comments, bytes):
        comments = comments.decode("latin1")
    if comments is None or isinstance(comments, str):
        return comments or None
    texts = [comment.decode("latin1") if isinstance(comment, bytes) else str(comment) for comment in comments]
    if len(texts) > 1:
        raise ValueError(f"comments has {len(texts)} strings; expected one")
    return texts[0] if texts else None


def _data(fname: Any) -> Source:
    """Return the source, with text and lines encoded as bytes."""
    if isinstance(fname, io.TextIOBase):
        return fname.read().encode()
    is_lines = not isinstance(fname, str | os.PathLike | bytes | bytearray | memoryview) and isinstance(fname, Iterable)
    if not is_lines or hasattr(fname, "read"):
        source: Source = fname
        return source
    # Lines may include their line endings.
    return b"\n".join((line if isinstance(line, bytes) else line.encode()).rstrip(b"\r\n") for line in fname)


def _structured(table: Table, kind: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return the rows of a table as a structured array."""
    if not len(table):
        return np.empty(0, kind)
    named = Table(dict(zip(kind.names or (), table.columns, strict=True)))
    return named.to_structured().astype(kind, copy=False)


def _shaped(array: npt.NDArray[Any], unpack: bool, ndmin: int) -> Any:
    """Return the array with the dimensions that numpy returns."""
    if array.ndim > ndmin:
        array = np.squeeze(array)
    if array.ndim < ndmin:
        array = np.atleast_1d(array) if ndmin == 1 else np.atleast_2d(array).T
    if not unpack:
        return array
    return array.T if array.dtype.names is None else [array[name] for name in array.dtype.names]
