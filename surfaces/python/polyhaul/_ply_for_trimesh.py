"""PLY data for trimesh: the arrays of trimesh's own reader, parsed by polyhaul."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from polyhaul._errors import Error
from polyhaul._fallback import FallbackError, check_mapped, log_fallback, log_read
from polyhaul._statements import numbers_per_line, text_of
from polyhaul._table import Lists, Table
from polyhaul._tables import read_tables

Array = npt.NDArray[Any]

#: An element as trimesh represents it: its length and the types of its properties.
Element = dict[str, Any]


def filler(before: Any, fill: Callable[[dict[str, Element], bytes], dict[str, Any]]) -> Any:
    """Return a function that fills the elements of a header with the data of a file object, like ``before``."""

    def fill_elements(elements: dict[str, Element], file_obj: Any) -> None:
        start = file_obj.tell()
        try:
            values = fill(elements, file_obj.read())
        except (FallbackError, Error) as reason:
            log_fallback("trimesh", "ply", reason)
            file_obj.seek(start)
            before(elements, file_obj)
        else:
            log_read("trimesh", "ply")
            for name, data in values.items():
                elements[name]["data"] = data

    return fill_elements


def ascii_data(elements: dict[str, Element], data: bytes) -> dict[str, Any]:
    """Return the values of each element by property: (n, 1) for numbers, (n, k) for lists of equal length."""
    text = text_of(data).rstrip()
    counts = numbers_per_line(text)
    lengths = [element["length"] for element in elements.values()]
    if len(counts) != sum(lengths):
        raise FallbackError("rows that are not lines")
    # trimesh parses all numbers as float64 before converting them.
    header = _header(elements, "ascii", lambda kind, is_count: "int" if is_count else "double")
    tables = read_tables(header + text + b"\n", format="ply")
    filled: dict[str, Any] = {}
    row = 0
    for table, (name, element) in zip(tables, elements.items(), strict=True):
        per_row = counts[row : row + len(table)]
        row += len(table)
        if not np.array_equal(per_row, _expected_numbers(table)):
            raise FallbackError("rows that are not lines")
        if len(table):
            filled[name] = _columns(table, element["properties"], bool((per_row == per_row[0]).all()))
    return filled


def _columns(table: Table, kinds: dict[str, str], is_even: bool) -> dict[str, Array]:
    columns = zip(kinds.items(), table.columns, strict=True)
    is_single = is_even and sum(isinstance(column, Lists) for column in table.columns) <= 1
    return {name: _values(column, kind.rsplit(")", 1)[-1], is_single) for (name, kind), column in columns}


def _values(column: Array | Lists, kind: str, is_single: bool) -> Array:
    if isinstance(column, Lists):
        values = column.values.astype(kind)
        if is_single:
            return values.reshape(len(column.offsets) - 1, -1)
        rows: Any = np.split(values, column.offsets[1:-1].astype(np.int64))
    else:
        rows = column.astype(kind).reshape(-1, 1)
        if is_single:
            return rows
    stacked = np.array(rows, dtype=object)
    return stacked.squeeze().astype(kind) if stacked.ndim == 2 else stacked


def _expected_numbers(table: Table) -> Array:
    counts = np.zeros(len(table), np.int64)
    for column in table.columns:
        counts += 1
        if isinstance(column, Lists):
            counts += column.offsets[1:].astype(np.int64) - column.offsets[:-1]
    return counts


def binary_data(elements: dict[str, Element], data: bytes) -> dict[str, Any]:
    """Return the rows of each element as a structured array. The lists of each property must have equal lengths."""
    check_mapped(data)
    is_big = any(kind.startswith(">") for element in elements.values() for kind in element["properties"].values())
    header = _header(elements, f"binary_{'big' if is_big else 'little'}_endian", lambda kind, is_count: _TYPES[kind[1:]])
    tables = read_tables(header + data, format="ply")
    sized = {table.name: _sized(elements[table.name]["properties"], table) for table in tables}
    for name in _at_the_end(elements):
        # trimesh drops lists without a first length in the file.
        lists = [field for field, kind in sized[name].items() if "$LIST" in kind]
        sized[name] = {field: kind for field, kind in sized[name].items() if field not in lists[:1]}
    if any("$LIST" in kind for kinds in sized.values() for kind in kinds.values()):
        raise FallbackError("lists of different lengths")
    filled = {table.name: _rows(table, sized[table.name]) for table in tables if sized[table.name]}
    if len(data) != sum(rows.nbytes for rows in filled.values()):
        raise FallbackError("data after the last row")
    for table in tables:
        elements[table.name]["properties"] = OrderedDict(sized[table.name])
        if table.name not in filled:
            del elements[table.name]
    return filled


def _at_the_end(elements: dict[str, Element]) -> list[str]:
    """Return the names of the trailing elements without rows."""
    names: list[str] = []
    for name, element in reversed(elements.items()):
        if element["length"]:
            break
        names.append(name)
    return names


def _rows(table: Table, kinds: dict[str, str]) -> Array:
    rows = np.empty(len(table), np.dtype(list(kinds.items())))
    for field in kinds:
        column: Any = table[field]
        if isinstance(column, Lists):
            rows[field]["f1"] = column.values.reshape(rows[field]["f1"].shape)
            rows[field]["f0"] = rows[field]["f1"].shape[1]
        else:
            rows[field] = column
    return rows


def _sized(kinds: dict[str, str], table: Table) -> dict[str, str]:
    """Return the types of properties, with the length of lists if all lists of a property have equal lengths."""
    sized = {}
    for (field, kind), column in zip(kinds.items(), table.columns, strict=True):
        lengths = np.diff(column.offsets.astype(np.int64)) if isinstance(column, Lists) else np.zeros(0)
        is_one = len(lengths) > 0 and bool((lengths == lengths[0]).all())
        sized[field] = kind.replace("$LIST", str(lengths[0])) if is_one else kind
    return sized


def _header(elements: dict[str, Element], encoding: str, type_of: Callable[[str, bool], str]) -> bytes:
    lines = ["ply", f"format {encoding} 1.0"]
    for name, element in elements.items():
        lines.append(f"element {name} {element['length']}")
        for field, kind in element["properties"].items():
            for part in kind.split(", ($LIST,)"):
                if part[1:] not in _TYPES:
                    raise FallbackError(f"properties of type {part[1:]}")
            if "$LIST" in kind:
                count, values = kind.split(", ($LIST,)")
                lines.append(f"property list {type_of(count, True)} {type_of(values, False)} {field}")
            else:
                lines.append(f"property {type_of(kind, False)} {field}")
    return "\n".join([*lines, "end_header\n"]).encode()


#: PLY types by numpy type.
_TYPES = {
    "i1": "char",
    "u1": "uchar",
    "i2": "short",
    "u2": "ushort",
    "i4": "int",
    "u4": "uint",
    "f4": "float",
    "f8": "double",
}
