"""Text output: ``savetxt``, compatible with numpy, and records formatted by templates with named fields."""

from __future__ import annotations

import codecs
import io
import locale
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, TypeAlias, Unpack

import numpy as np
import numpy.typing as npt

from polyhaul import _arrays, _options, _polyhaul
from polyhaul._option_types import WriteOptions
from polyhaul._progress import Progress, reporter
from polyhaul._report import Report, report_from_plain
from polyhaul._sources import Target, opened_target, writer_of

#: Targets of :func:`polyhaul.savetxt`, which also include text files.
TextTarget: TypeAlias = Target | io.TextIOBase

#: Records: a structured array, or columns by name.
Records: TypeAlias = npt.NDArray[np.void] | Mapping[str, npt.ArrayLike]


class Column(NamedTuple):
    """A column of values, and the native name of its type."""

    values: npt.NDArray[Any]
    kind: str


def savetxt(
    fname: TextTarget,
    X: npt.ArrayLike,
    fmt: str | Sequence[str] = "%.18e",
    delimiter: str = " ",
    newline: str = "\n",
    header: str = "",
    footer: str = "",
    comments: str = "# ",
    encoding: str | None = None,
    *,
    progress: Progress | bool | None = None,
    **options: Unpack[WriteOptions],
) -> Report:
    """Write an array as text, with the arguments and output of :func:`numpy.savetxt`.

        >>> import io, polyhaul
        >>> out = io.StringIO()
        >>> report = polyhaul.savetxt(out, [[1, 2.5], [3, 4]], fmt=["%d", "%.3f"], header="n x")
        >>> print(out.getvalue(), end="")
        # n x
        1 2.500
        3 4.000

    The GIL is released while writing; other threads must not change the array. Ctrl-C interrupts the call. Files are
    replaced atomically. Arrays in native byte order are not copied if their strides are not negative. Text (``str``) is
    copied, as UTF-8.

    Args:
        fname: a path, a URL, or a file object in binary or text mode.
        X: an array of one or two dimensions, or a structured array of one dimension, of bools, integers, floats or
            text.
        fmt: a conversion for all columns, a sequence with one conversion per column, or a template for the whole row.
            Conversions are ``%d %i %u %f %F %e %E %g %G %s`` with flags (``- + space 0 #``), width and precision, and
            ``%%``. ``%d`` truncates floats; ``%f``, ``%e`` and ``%g`` convert all values to floats.
        delimiter: the text between columns. Not used if ``fmt`` is a template for the whole row.
        newline: the text at the end of each row.
        header, footer: text before and after the rows. Each line starts with ``comments``.
        comments: the prefix of each line of ``header`` and ``footer``.
        encoding: the encoding of the file. The default is the encoding of the locale for a path, and latin1 for a
            binary file object. Only UTF-8 allows non-ASCII characters in ``fmt``, ``delimiter``, ``newline`` and the
            values.
        progress: as for :func:`polyhaul.write`.
        **options: threads, compression, durable and more: see :class:`polyhaul.WriteOptions`.

    Returns:
        The report, with measurements and warnings.

    Raises:
        polyhaul.UsageError: a conversion in ``fmt`` is not supported or does not match its column, or NaN would be
            written as an integer. It is also a ``ValueError``.
        polyhaul.IoError: the operating system reported an error; also an ``OSError``, such as ``PermissionError``.
        TypeError, ValueError: an argument is invalid. Complex numbers, objects and dates are not supported.
    """
    encoding = _encoding(fname, encoding)
    rows, empty_rows = _rows(np.asarray(X), fmt, delimiter, newline, encoding)
    head = _commented(header, comments, newline) + empty_rows * newline
    ends = (head.encode(encoding), _commented(footer, comments, newline).encode(encoding))
    native = _options.write_options(options)
    with _opened(fname, native) as target, reporter(progress, "writing") as report_progress:
        return report_from_plain(_polyhaul.write_rows(rows, ends, target, native, report_progress))


def format_rows(
    template: str,
    records: Records,
    out: bytearray | memoryview | npt.NDArray[np.uint8] | None = None,
    *,
    threads: int | None = None,
    progress: Progress | bool | None = None,
) -> memoryview:
    r"""Format records as text, using a template with named fields.

        >>> import numpy as np, polyhaul
        >>> records = np.array([(True, 1.5), (False, -20.25)], [("flag", "?"), ("value", "f4")])
        >>> bytes(polyhaul.format_rows("{flag:y/n} {value:.2f}\n", records))
        b'y 1.50\nn -20.25\n'

    The GIL is released while formatting; other threads must not change the records or ``out``. Ctrl-C interrupts the
    call. Records in native byte order are not copied.

    Args:
        template: the text of each record. ``{name}`` is the shortest representation of the value that round-trips;
            ``{name:.2f}`` has a conversion of :func:`polyhaul.savetxt` after the colon, without ``%``;
            ``{name:yes/no}`` has the strings for true and false; ``{{`` and ``}}`` are literal braces. Nested fields
            are ``{name.inner}``, and elements of array fields are ``{name[0]}`` and ``{name[1,2]}``.
        records: a structured array of any shape, in C order, or a dict of columns of equal length. Text is written as
            UTF-8.
        out: the output buffer, any object with a contiguous, writable buffer; ``None`` allocates one.
        threads: worker threads; ``None`` uses all cores available to the process. The output does not depend on it.
        progress: as for :func:`polyhaul.read`.

    Returns:
        The text, as a view of ``out`` or of new memory.

    Raises:
        polyhaul.UsageError: the template is invalid, or ``out`` is too small. The message has the required size.
        TypeError, ValueError: an argument is invalid.
    """
    if not isinstance(template, str):
        raise TypeError(f"template is of type {type(template).__name__}; expected str")
    used = set(re.findall(r"\{([^{}:]*)", template))
    fields = {name: column for name, column in _fields(records) if name in used}
    if len({len(column) for column in fields.values()}) > 1:
        lengths = ", ".join(f"{name}: {len(column)}" for name, column in fields.items())
        raise ValueError(f"the columns have different lengths ({lengths})")
    columns = [_typed(f"field {name!r}", column, "utf-8") for name, column in fields.items()]
    rows = {"template": template, "notation": "fields", "columns": columns, "names": list(fields)}
    options = _options.write_options({"threads": threads})
    with reporter(progress, "formatting") as report_progress:
        text, length = _polyhaul.format_rows(rows, out, options, report_progress)
    memory: Any = out if text is None else text
    view = memoryview(memory)
    return (view.cast("B") if view.nbytes else memoryview(b""))[:length]


def _split(array: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    """Return the columns of an array, like numpy."""
    if array.dtype.names is not None:
        if array.ndim != 1:
            raise ValueError(f"X is a structured array of {array.ndim} dimensions; expected one")
        return [array[name] for name in array.dtype.names]
    if array.ndim == 1:
        return [array]
    if array.ndim != 2:
        raise ValueError(f"X has {array.ndim} dimensions; expected one or two")
    return list(array.T)


def _rows(
    array: npt.NDArray[Any], fmt: Any, delimiter: str, newline: str, encoding: str
) -> tuple[dict[str, Any], int]:
    """Return the rows as native code expects them, and the number of empty rows, if the array does not have columns."""
    columns = _split(array)
    template = _template(fmt, delimiter, len(columns)) + newline.replace("%", "%%")
    empty_rows = 0
    if not columns:
        columns, template, empty_rows = [np.empty(0)], "%f", len(array)
    if encoding != "utf-8" and not template.isascii():
        raise ValueError(f"fmt, delimiter and newline are {template!r}; expected ASCII, or encoding='utf-8'")
    _check_conversions(template, columns)
    typed = [_typed(f"column {i} of X", column, encoding) for i, column in enumerate(columns)]
    notation = "numpy" if str(np.float32(1e6)) == "1e+06" else "older numpy"
    return {"template": template, "notation": notation, "columns": typed, "names": []}, empty_rows


def _template(fmt: Any, delimiter: str, count: int) -> str:
    """Return the template of a row, without its line end."""
    if isinstance(fmt, list | tuple):
        if len(fmt) != count:
            raise ValueError(f"fmt has {len(fmt)} conversions for {count} columns")
        return delimiter.join(fmt)
    if not isinstance(fmt, str):
        raise ValueError(f"fmt is {fmt!r}; expected a string, or a list of strings")
    conversions = fmt.count("%")
    if conversions == 1:
        return delimiter.join([fmt] * count)
    if conversions != count:
        raise ValueError(f"fmt is {fmt!r}, with {conversions} conversions (%); expected 1 or {count}")
    return fmt


def _commented(text: str, comments: str, newline: str) -> str:
    return comments + text.replace("\n", "\n" + comments) + newline if text else ""


def _typed(what: str, values: npt.NDArray[Any], encoding: str) -> Column:
    """Return a column as native code expects it, without a copy if its memory layout allows it."""
    kind, size = values.dtype.kind, values.dtype.itemsize
    if values.ndim != 1 or kind not in "biufSU":
        hint = "; view it as floats, or write the real and imaginary parts" if kind == "c" else ""
        raise TypeError(f"{what} has dtype {values.dtype}; expected bools, integers, floats or text{hint}")
    if kind == "U":
        encoded = np.char.encode(values, "utf-8")
        # Encoding an empty array returns an array of str.
        encoded = encoded if encoded.dtype.kind == "S" and encoded.itemsize else encoded.astype("S1")
        if encoding != "utf-8" and not encoded.tobytes().isascii():
            raise ValueError(f"{what} has characters other than ASCII; expected encoding='utf-8'")
        return Column(encoded, "text")
    if kind == "f" and size not in (4, 8):
        return Column(values.astype(np.float64), "f8")
    if not values.dtype.isnative or (values.size and values.strides[0] < 0):
        values = values.astype(values.dtype.newbyteorder("="), order="C")
    if size == 0:
        values = values.astype("S1")
    return Column(values, "bytes" if kind == "S" else f"{kind}{size}")


_CONVERSION = re.compile(r"%(?:%|[-+ 0#]*\d*(?:\.\d*)?([a-zA-Z]))")


def _check_conversions(template: str, columns: list[npt.NDArray[Any]]) -> None:
    """Raise ``TypeError`` for conversions that do not match their columns.

    These are text formatted as numbers, and floats of sizes that native code only formats as float64.
    """
    letters = [letter for letter in _CONVERSION.findall(template) if letter]
    for index, (letter, column) in enumerate(zip(letters, columns, strict=False)):
        kind, size = column.dtype.kind, column.dtype.itemsize
        if kind in "SU" and letter != "s":
            raise TypeError(f"column {index} of X is text, but its conversion is %{letter}; expected %s")
        if kind == "f" and (size == 2 and letter == "s" or size > 8 and letter in "sdiu"):
            expected = "%f, %e or %g" if size > 8 else "a number"
            raise TypeError(f"column {index} of X has dtype {column.dtype}, but its conversion is %{letter}; expected {expected}")


def _fields(records: Any, prefix: str = "") -> Iterator[tuple[str, npt.NDArray[Any]]]:
    """Yield all named columns of records, including nested fields."""
    if isinstance(records, Mapping):
        for name, values in records.items():
            _arrays.check_mask(f"field {name!r}", values)
            yield from _field(name, np.asarray(values))
        return
    _arrays.check_mask("records", records)
    if not isinstance(records, np.ndarray) or records.dtype.names is None:
        raise TypeError(f"records is of type {type(records).__name__}; expected a structured array, or a dict of columns")
    flat = records.reshape(-1)
    for name in records.dtype.names:
        yield from _field(prefix + name, flat[name])


def _field(name: str, values: npt.NDArray[Any]) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    if values.dtype.names is not None and values.ndim == 1:
        yield from _fields(values, f"{name}.")
    elif values.ndim == 1:
        yield name, values
    else:
        for place in np.ndindex(*values.shape[1:]):
            yield from _field(f"{name}[{','.join(map(str, place))}]", values[(slice(None), *place)])


def _encoding(fname: Any, encoding: str | None) -> str:
    """Return the name of the requested encoding, or of numpy's default."""
    if isinstance(fname, io.TextIOBase):
        return "utf-8"  # the text file encodes the output itself
    if encoding is None:
        encoding = "latin1" if hasattr(fname, "write") else locale.getpreferredencoding(False)
    name = codecs.lookup(encoding).name
    if "0\n".encode(name) != b"0\n":
        raise ValueError(f"encoding is {encoding!r}; expected an ASCII-compatible one")
    return name


def _opened(fname: Any, options: _polyhaul.NativeWriteOptions) -> AbstractContextManager[dict[str, Any]]:
    """Open the target as native code expects it.

    Unlike paths, file objects are not compressed based on their names.
    """
    if not callable(getattr(fname, "write", None)):
        _refuse_other_codecs(fname)
        return opened_target(fname, options, needs_format=False)
    write, name = writer_of(fname), f"file object of type {type(fname).__name__}"
    if isinstance(fname, io.TextIOBase):
        write = _writer_of_text(fname)
    return nullcontext({"path": None, "write": write, "flush": getattr(fname, "flush", None), "name": name})


def _writer_of_text(file: io.TextIOBase) -> Any:
    decoder = codecs.getincrementaldecoder("utf-8")()

    def write(data: bytes) -> int:
        file.write(decoder.decode(data))
        return len(data)

    return write


def _refuse_other_codecs(fname: Any) -> None:
    """Raise ``ValueError`` for extensions that numpy compresses but polyhaul does not."""
    name = os.fspath(fname) if isinstance(fname, os.PathLike) else fname
    if isinstance(name, str) and name.endswith((".bz2", ".xz", ".lzma")):
        raise ValueError(f"{name}: this compression is not supported; expected .gz, .zst or .lz4, or a plain name")
