"""PLY reader for meshio, which returns the results of meshio's own reader, parsed by polyhaul."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from polyhaul._fallback import FallbackError
from polyhaul._statements import numbers_per_line, text_of
from polyhaul._table import Lists, Table
from polyhaul._tables import read_tables

Array = npt.NDArray[Any]

#: The types that meshio assigns to PLY types in binary files. It treats ``uchar`` as signed.
_BINARY_TYPES = {
    "uchar": "i1",
    "uint": "u4",
    "uint8": "u1",
    "uint16": "u2",
    "uint32": "u4",
    "int": "i4",
    "int8": "i1",
    "int32": "i4",
    "float": "f4",
    "float32": "f4",
    "double": "f8",
}

#: The types that meshio assigns to PLY types in text files.
_TEXT_TYPES = _BINARY_TYPES | {"uchar": "u1", "char": "i1", "short": "i2", "ushort": "u2", "float64": "f8"}


class _Header(NamedTuple):
    """The vertices and faces that a header declares."""

    encoding: str
    #: The number of elements, and the types of their properties by name. For lists, the type of their values.
    vertices: tuple[int, dict[str, str]]
    faces: tuple[int, dict[str, str]]
    #: The offset of the data.
    end: int


def read_ply(data: bytes) -> Any:
    """Read a PLY file like meshio: as blocks of faces with the same number of corners, and columns."""
    import meshio

    header = _header(data)
    is_text = header.encoding == "ascii"
    tables = {table.name: table for table in read_tables(_with_doubles(data, header) if is_text else data, format="ply")}
    types = _TEXT_TYPES if is_text else _BINARY_TYPES
    order = ">" if header.encoding == "binary_big_endian" else "<"
    if is_text:
        _check_lines(data, header, tables)
    columns = _typed(tables["vertex"], header.vertices[1], types, order)
    points = np.column_stack([columns.pop(axis) for axis in "xyz"])
    faces, face_kinds = tables.get("face"), header.faces[1]
    if faces is None or not header.faces[0]:
        return meshio.Mesh(points, [], point_data=columns)
    indices = faces["vertex_indices"]
    if not isinstance(indices, Lists):
        raise FallbackError("faces without lists")
    cells = _blocks(indices, order + types[face_kinds.pop("vertex_indices")])
    values = _typed(faces, face_kinds, types, order)
    ends = np.cumsum([len(block) for _, block in cells])[:-1]
    if values and len({block.shape[1] for _, block in cells}) < len(cells):
        raise FallbackError("properties of faces in several blocks of one size")
    cell_data = {name: np.split(column, ends) for name, column in values.items()}
    return meshio.Mesh(points, cells, point_data=columns, cell_data=cell_data)


def _header(data: bytes) -> _Header:
    end = data.find(b"end_header")
    line_end = data.find(b"\n", end)
    if not data.startswith((b"ply\n", b"ply\r\n")) or end < 0 or line_end < 0:
        raise FallbackError("a header in an unexpected form")
    lines = [line.strip() for line in data[:end].decode("latin1").splitlines()[1:]]
    lines = [line for line in lines if line and not line.startswith(("comment", "obj_info"))]
    encoding = re.fullmatch(r"format (ascii|binary_(?:big|little)_endian) 1\.0", lines[0] if lines else "")
    is_text = encoding is not None and encoding[1] == "ascii"
    types = _TEXT_TYPES if is_text else _BINARY_TYPES
    elements: dict[str, tuple[int, dict[str, str]]] = {}
    for line in lines[1:]:
        if element := re.fullmatch(r"element (vertex|face) (\d+)", line):
            kinds: dict[str, str] = {}
            elements[element[1]] = int(element[2]), kinds
        elif elements and (found := re.fullmatch(r"property (?:list (\w+) )?(\w+) (\S+)", line)):
            if bool(found[1]) != (found[3] == "vertex_indices"):
                raise FallbackError("lists other than vertex_indices")
            if unknown := {found[1] or found[2], found[2]} - types.keys():
                raise FallbackError(f"properties of type {unknown.pop()}")
            kinds[found[3]] = found[2]
        else:
            raise FallbackError("elements other than vertices and faces")
    vertices, faces = elements.get("vertex", (0, {})), elements.get("face", (0, {}))
    is_plain = list(vertices[1])[:3] == ["x", "y", "z"] and (not faces[1] or next(iter(faces[1])) == "vertex_indices")
    if encoding is None or not is_plain or next(iter(elements)) != "vertex":
        raise FallbackError("elements or properties in another order")
    if is_text and vertices[0] < 2:
        raise FallbackError("fewer than two vertices as text")
    if is_text and any(re.fullmatch(r"\w+", name) is None or name in ("return", "file", "print") for name in vertices[1]):
        raise FallbackError("names that numpy changes")
    if not is_text and len(faces[1]) > 1:
        raise FallbackError("other properties of faces in a binary file")
    return _Header(encoding[1], vertices, faces, line_end + 1)


def _with_doubles(data: bytes, header: _Header) -> bytes:
    """Return the file with doubles declared instead of floats, because meshio parses doubles before rounding."""
    kept = text_of(data[: header.end])
    return re.sub(rb"(?m)^property float(32)? ", b"property double ", kept) + data[header.end :]


def _check_lines(data: bytes, header: _Header, tables: dict[str, Table]) -> None:
    """Raise ``FallbackError`` unless each row is a line."""
    text = text_of(data[header.end :])
    if b"#" in text:
        raise FallbackError("comments between rows")
    counts = numbers_per_line(text.rstrip())
    count = header.vertices[0]
    expected = np.full(count, len(header.vertices[1]))
    if (faces := tables.get("face")) is not None and len(faces):
        indices: Any = faces["vertex_indices"]
        expected = np.concatenate([expected, np.diff(indices.offsets.astype(np.int64)) + len(faces.names)])
    if not np.array_equal(counts, expected):
        raise FallbackError("rows that are not lines")


def _typed(table: Table, kinds: dict[str, str], types: dict[str, str], order: str) -> dict[str, Array]:
    """Return the columns with the types that meshio assigns."""
    typed = {}
    for name, kind in kinds.items():
        column: Any = table[name]
        is_signed_byte = kind == "uchar" and types[kind] == "i1"
        typed[name] = column.view(np.int8) if is_signed_byte else column.astype(order + types[kind], copy=False)
    return typed


def _blocks(indices: Lists, kind: str) -> list[tuple[str, Array]]:
    """Return the faces in runs of equal size."""
    offsets = indices.offsets.astype(np.int64)
    sizes = np.diff(offsets)
    if not bool(sizes.all()):
        raise FallbackError("faces without corners")
    corners = indices.values.astype(kind, copy=False)
    starts = np.concatenate([[0], np.flatnonzero(np.diff(sizes)) + 1])
    blocks = []
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(sizes)], strict=True):
        block = corners[offsets[start] : offsets[end]].reshape(end - start, -1)
        blocks.append((cell_type(block.shape[1]), block))
    return blocks


def cell_type(size: int) -> str:
    """Return meshio's name of cells with ``size`` corners."""
    return {1: "vertex", 2: "line", 3: "triangle", 4: "quad"}.get(size, "polygon")


__all__ = ["cell_type", "read_ply"]
