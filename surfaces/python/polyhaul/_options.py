"""Validate options, and convert them to text for native code.

The options are the rows of the library's table. ``_option_types`` has their types and documentation, and is generated
from the same rows.
"""

from __future__ import annotations

import difflib
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, cast, get_args

import numpy as np
import numpy.typing as npt

from polyhaul import _arrays, _polyhaul
from polyhaul._option_types import AxisName, Limits, Rate, Types


@dataclass(frozen=True, slots=True)
class Row:
    """An option in the table."""

    name: str
    group: str
    alias: str
    #: ``flag``, ``integer``, ``size``, ``positive``, ``text``, ``choice``, or the name of a special kind.
    kind: str
    is_optional: bool
    choices: list[str]
    default: str
    docs: str
    formats: list[str]
    reads: bool
    writes: bool


ROWS = [Row(**row) for row in _polyhaul.option_rows()]


def _by_name(rows: Iterable[Row], *extras: str) -> dict[str, Row | None]:
    """Return rows by name and alias, and ``None`` for the names of additional options.

    Limits have a separate class, and formats are parameters.
    """
    rows = [row for row in rows if row.group != "limits" and row.name != "format"]
    return {row.alias: row for row in rows if row.alias} | {row.name: row for row in rows} | dict.fromkeys(extras)


_READ = _by_name((row for row in ROWS if row.reads), "limits", "read_rate", "read_latency")
_WRITE = _by_name((row for row in ROWS if row.writes), "write_rate", "write_latency")
_FORMAT = next(row for row in ROWS if row.name == "format")
_LIMITS = {row.name: row for row in ROWS if row.group == "limits"}

#: The option that ``digits`` sets for each attribute.
_DIGITS = {"positions": "position_digits", "uvs": "uv_digits", "normals": "normal_digits", "colors": "color_digits"}


def read_options(
    options: Mapping[str, Any], format: str | None = None, types: Types | None = None
) -> _polyhaul.NativeReadOptions:
    """Return read options as native code expects them."""
    return _read_options(canonical(options, _READ), format, types)


def write_options(options: Mapping[str, Any], format: str | None = None) -> _polyhaul.NativeWriteOptions:
    """Return write options as native code expects them."""
    return _write_options(canonical(options, _WRITE), format)


def convert_options(
    options: Mapping[str, Any], from_format: str | None, to_format: str | None, types: Types | None = None
) -> tuple[_polyhaul.NativeReadOptions, _polyhaul.NativeWriteOptions]:
    """Split combined options into read and write options, as native code expects them."""
    options = canonical(options, _READ | _WRITE)
    reading, writing = ({name: options[name] for name in options if name in names} for names in (_READ, _WRITE))
    return _read_options(reading, from_format, types), _write_options(writing, to_format)


def canonical(options: Mapping[str, Any], rows: Mapping[str, Row | None] = _READ) -> dict[str, Any]:
    """Return the options with aliases replaced by names.

    Raises:
        TypeError: an option is unknown, or passed twice.
    """
    by_name: dict[str, Any] = {}
    for given_name, value in options.items():
        if given_name not in rows:
            close = difflib.get_close_matches(given_name, rows, 1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise TypeError(f"unknown option {given_name!r}{hint}")
        row = rows[given_name]
        name = row.name if row else given_name
        if name in by_name:
            raise TypeError(f"{name!r} is given twice, also as {row.alias if row else name!r}")
        by_name[name] = value
    return by_name


def _read_options(options: dict[str, Any], format: str | None, types: Types | None) -> _polyhaul.NativeReadOptions:
    native = _polyhaul.NativeReadOptions(*_pace("read", options))
    _set(native, "format", _FORMAT, format)
    _set_limits(native, options.pop("limits", None))
    columns = column_names("columns", options.pop("columns", None))
    if columns is not None:
        native.set_columns(columns)
    if types is not None:
        native.set_types(_type_names(types, columns or []))
    if (bounds := options.pop("bounds", None)) is not None:
        native.set_bounds(*_arrays.box(bounds))
    if (matrix := options.pop("transform", None)) is not None:
        native.set_transform(_arrays.matrix(matrix))
    for name, value in options.items():
        _set(native, name, cast(Row, _READ[name]), value)
    return native


def _write_options(options: dict[str, Any], format: str | None) -> _polyhaul.NativeWriteOptions:
    native = _polyhaul.NativeWriteOptions(*_pace("write", options))
    _set(native, "format", _FORMAT, format)
    if isinstance(options.get("digits"), Mapping):
        for attribute, places in options.pop("digits").items():
            if attribute not in _DIGITS:
                raise ValueError(f"digits has the key {attribute!r}; expected {', '.join(map(repr, _DIGITS))}")
            options[_DIGITS[attribute]] = places
    for name, value in options.items():
        _set(native, name, cast(Row, _WRITE[name]), value)
    if options.get("ascii") and options.get("big_endian"):
        raise ValueError("ascii and big_endian cannot be combined")
    return native


def _set_limits(native: _polyhaul.NativeReadOptions, limits: Limits | None) -> None:
    if limits is None:
        return
    if not isinstance(limits, Limits):
        raise TypeError(f"limits is of type {type(limits).__name__}; expected polyhaul.Limits")
    for field in fields(limits):
        if (value := getattr(limits, field.name)) != field.default:
            _set(native, f"limits.{field.name}", _LIMITS[field.name], value)


def _set(
    native: _polyhaul.NativeReadOptions | _polyhaul.NativeWriteOptions, name: str, row: Row, value: Any
) -> None:
    """Set an option. ``None`` keeps the default, unless ``none`` is a value of the option."""
    if value is None and not row.is_optional and row.kind != "text":
        return
    try:
        native.set(name, _text(name, row, value))
    except ValueError as error:
        raise ValueError(f"{name} is {value!r}; {error}") from None


def _text(name: str, row: Row, value: Any) -> str:
    """Return the text of an option value."""
    if value is None:
        return "none" if row.is_optional else ""
    if isinstance(value, str):
        return value
    if row.kind == "flag":
        return "true" if value else "false"
    if row.kind == "choice" and isinstance(value, bool | np.bool_):
        words = ("true", "false") if "true" in row.choices else ("yes", "no")
        return words[0] if value else words[1]
    if row.kind in ("integer", "size"):
        return str(_whole(name, value))
    if row.kind in ("positive", "Missing"):
        return str(float(value))
    return ",".join(map(str, value)) if isinstance(value, list | tuple | np.ndarray) else str(value)


def column_names(name: str, columns: Any) -> list[str | int] | None:
    """Return column names or indices as a list. A single column may be passed without a list."""
    if columns is None:
        return None
    if isinstance(columns, str) or not isinstance(columns, Sequence | np.ndarray):
        columns = [columns]
    return [column if isinstance(column, str) else count(name, column) for column in columns]


def _type_names(types: Any, columns: list[str | int]) -> str | list[str | None]:
    """Return the native name of the type of all columns, or a list with the type of each column."""
    if isinstance(types, Mapping):
        if unknown := [name for name in types if name not in columns]:
            raise ValueError(f"types has {unknown[0]!r}; expected names that are in columns")
        types = [types.get(name) for name in columns]
    if isinstance(types, list | tuple):
        return [None if dtype is None else type_name(dtype) for dtype in types]
    return type_name(types)


def type_name(given: npt.DTypeLike) -> str:
    """Return the native name of a numeric type."""
    dtype = np.dtype(given)
    name = f"{dtype.kind}{dtype.itemsize}"
    if name not in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"):
        raise TypeError(f"the type {dtype} is not supported; expected integers of 8 to 64 bits, float32 or float64")
    return name


def axis(name: str, value: str) -> str:
    """Return Blender's name of an axis."""
    text = str(value).upper().replace("POSITIVE_", "").replace("-", "NEGATIVE_")
    if text not in get_args(AxisName):
        raise ValueError(f"{name} is {value!r}; expected X, Y, Z, -X, -Y or -Z")
    return text


def check_axes(forward: str, up: str) -> None:
    """Raise ``ValueError`` if the forward and up axes are parallel."""
    if forward[-1] == up[-1]:
        raise ValueError(f"forward_axis {forward} and up_axis {up} are parallel")


def count(name: str, value: Any) -> int:
    """Return a nonnegative integer."""
    number = _whole(name, value)
    if number < 0:
        raise ValueError(f"{name} is {number}; expected 0 or more")
    return number


def size(name: str, value: float | str) -> int:
    """Return a size in bytes from a number, or a string such as ``"64MB"``, ``"1.5GB"`` or ``"512KiB"``."""
    try:
        number = _polyhaul.parse_size(value) if isinstance(value, str) else _whole(name, value)
    except ValueError as error:
        raise ValueError(f"{name} is {value!r}; {error}") from None
    if not 0 < number < 2**63:
        raise ValueError(f"{name} is {value!r}; expected more than 0 bytes")
    return number


def _whole(name: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r} of type {type(value).__name__}; expected an integer") from None


def _pace(job: str, options: dict[str, Any]) -> tuple[int | None, float | None]:
    """Return the rate, in bytes per second, and the latency, in seconds, of a simulated slow device."""
    rate: Rate | None = options.pop(f"{job}_rate", None)
    latency: float | None = options.pop(f"{job}_latency", None)
    if isinstance(rate, str):
        rate = rate.strip().removesuffix("/s")
    elif isinstance(rate, float) and np.isfinite(rate):
        rate = round(rate)
    if latency is not None and not 0 <= float(latency) <= 3600:
        raise ValueError(f"{job}_latency is {latency!r}; expected seconds, from 0 to 3600")
    return None if rate is None else size(f"{job}_rate", rate), latency
