"""Readers for meshio that parse with polyhaul and return the same results as meshio's own readers."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from polyhaul._errors import Error
from polyhaul._facets import as_solid, facets_of, is_binary_stl, joined_facets
from polyhaul._fallback import FallbackError, check_faults, log_fallback, log_read
from polyhaul._io import read
from polyhaul._mesh import Mesh
from polyhaul._ply_for_meshio import cell_type, read_ply
from polyhaul._statements import Statements, check_comments, numbers_per_line, text_of

Array = npt.NDArray[Any]


def reader(before: Any, format: str, convert: Callable[[bytes], Any]) -> Any:
    """Return a reader that calls ``convert`` with the bytes of a file.

    If ``convert`` cannot reproduce the result exactly, the reader calls meshio's own reader, ``before``.
    """

    def read_file(filename: Any) -> Any:
        if isinstance(filename, str) or hasattr(filename, "__fspath__"):
            try:
                made = convert(Path(filename).read_bytes())
            except (FallbackError, Error, OSError) as reason:
                log_fallback("meshio", format, reason)
            else:
                log_read("meshio", format)
                return made
        return before(filename)

    return read_file


def _read_obj(data: bytes) -> Any:
    """Read an OBJ file like meshio: as blocks of faces with the same number of corners, split where a group starts."""
    import meshio

    text = text_of(data)
    if b"\\" in text:
        raise FallbackError("continued lines")
    check_comments(text)
    scene = read(text, format="obj", load_materials=False, precision="double", writable=True)
    check_faults(scene, allowed=("empty-index", "unknown-statement", "extra-value", "missing-corner-value"))
    mesh = scene.meshes[0]
    if _has_relative_indices(text):
        raise FallbackError("relative indices")
    points: Any = mesh.positions.astype(np.float64, copy=False) if mesh.position_count else np.array([])
    point_data: dict[str, Array] = {}
    has_more = mesh.colors is not None or mesh.position_weights is not None
    if has_more or mesh.uvs is not None or mesh.normals is not None:
        statements = Statements(text)
        points = _rows(statements, b"v", points) if has_more else points
        given = {"obj:vt": _rows(statements, b"vt", mesh.uvs), "obj:vn": _rows(statements, b"vn", mesh.normals)}
        point_data = {name: rows for name, rows in given.items() if rows is not None}
    cells, ids = _blocks(mesh)
    return meshio.Mesh(points, cells, point_data=point_data, cell_data={"obj:group_ids": ids})


def _rows(statements: Statements, keyword: bytes, known: Array | None) -> Array | None:
    rows = statements.numbers(keyword)
    if (0 if rows is None else len(rows)) != (0 if known is None else len(known)):
        raise FallbackError("statements that polyhaul skips")
    return rows


def _has_relative_indices(text: bytes) -> bool:
    """Return whether a face has a negative index."""
    end = text.rfind(b"-")
    # Searching for a byte is several times faster than searching for a line that starts with it, and few lines with
    # numbers contain an f.
    start = text.find(b"f", 0, max(end, 0))
    for _ in range(MAX_WORDS):
        if start < 0:
            return False
        if text[text.rfind(b"\n", 0, start) + 1 : start].isspace() or start == 0 or text[start - 1] == ord("\n"):
            break
        start = text.find(b"f", start + 1, end)
    return re.search(rb"(?m)^[ \t]*f[ \t][^\n]*-", text) is not None


#: The maximum number of ``f`` bytes to test before falling back to a search of all lines.
MAX_WORDS = 1000


def _blocks(mesh: Mesh) -> tuple[list[tuple[str, Array]], list[Array]]:
    """Return runs of faces with the same number of corners, and the group index of each face, -1 before any group."""
    offsets, corners = mesh.face_offsets, mesh.corner_positions.astype(np.int64)
    sizes = np.diff(offsets)
    runs = mesh._data["group_runs"]
    starts_of_groups = np.empty(0, np.int64) if runs is None else runs[:, 3].astype(np.int64)
    starts = np.unique(np.concatenate([[0], np.flatnonzero(np.diff(sizes)) + 1, starts_of_groups]))
    starts = starts[starts < len(sizes)]
    ends = np.append(starts[1:], len(sizes))
    groups = np.searchsorted(starts_of_groups, starts, side="right") - 1
    cells, ids = [], []
    for start, end, group in zip(starts.tolist(), ends.tolist(), groups.tolist(), strict=False):
        size = int(sizes[start])
        cells.append((cell_type(size), corners[offsets[start] : offsets[end]].reshape(-1, size)))
        ids.append(np.full(end - start, group))
    return cells, ids


def _read_stl(data: bytes) -> Any:
    """Read an STL file like meshio: with distinct positions in order of first use."""
    import meshio

    normals = None
    is_binary = is_binary_stl(data)
    if not is_binary:
        text = text_of(data)
        if re.search(rb"\n[ \t]*\n", text[max(text.rfind(b"vertex"), 0) :]) is not None:
            raise FallbackError("empty lines at the end")
        facets = joined_facets(text)
        if not facets.strip():
            return meshio.Mesh([], {})
        normals = facets_of(facets, facets.count(b"vertex"), facets.count(b"normal"))[:, 0].copy()
        data = as_solid(facets)
    mesh = read(data, format="stl", weld=True, precision="single" if is_binary else "double", writable=True).meshes[0]
    if not mesh.face_count:
        return meshio.Mesh(np.empty((0, 3)), [])
    points = mesh.positions if is_binary else mesh.positions.astype(np.float64, copy=False)
    if bool(np.isnan(points).any()):
        raise FallbackError("positions that are not numbers")
    cells = [("triangle", mesh.corner_positions.reshape(-1, 3).astype(np.int64))]
    return meshio.Mesh(points, cells, cell_data=None if normals is None else {"facet_normals": [normals]})


def _read_off(data: bytes) -> Any:
    """Read an OFF file of triangles like meshio."""
    import meshio

    text = text_of(data)
    if b"#" in text or not re.match(rb"OFF[ \t]*\n\s*\d+ \d+ \d+\n", text):
        raise FallbackError("a header in an unexpected form")
    mesh = read(text, format="off", precision="double", writable=True).meshes[0]
    sizes = np.diff(mesh.face_offsets)
    words = int(numbers_per_line(text).sum())
    if words != 4 + 3 * mesh.position_count + 4 * mesh.face_count:
        raise FallbackError("an unexpected count of numbers")
    if not mesh.face_count or bool((sizes != 3).any()) or mesh.colors is not None or len(mesh.points) or len(mesh.line_positions):
        raise FallbackError("faces that are not triangles")
    faces = mesh.corner_positions.reshape(-1, 3).astype(np.int64)
    return meshio.Mesh(mesh.positions.astype(np.float64, copy=False), [("triangle", faces)])


#: The readers by meshio's format names.
READERS: dict[str, Callable[[bytes], Any]] = {"obj": _read_obj, "ply": read_ply, "stl": _read_stl, "off": _read_off}
