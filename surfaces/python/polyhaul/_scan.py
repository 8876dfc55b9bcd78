"""Scans: chosen rows of a file, read in batches, or written to another file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy.typing as npt

from polyhaul import _arrays, _options, _polyhaul
from polyhaul._io import OnError, Reading, opened_reading, warn_of
from polyhaul._options import CompressionName, FormatName, Limits, TextOptions, WriteOptions
from polyhaul._progress import Progress
from polyhaul._report import Report, report_from_plain
from polyhaul._scene import Scene, scene_from_plain
from polyhaul._sources import Source, Target, opened_source, opened_target
from polyhaul._table import Table, table_from_plain

#: Bytes of a file that make a batch.
BATCH_BYTES = 16 << 20


@dataclass(frozen=True, repr=False)
class Scan:
    """Rows of a file, or vertices of a mesh, that are to be read: a lazy plan, created by :func:`polyhaul.scan`.

    ``select``, ``filter``, ``sample`` and ``transform`` return a new scan and read nothing. The filters and the box see the values of the file; of the
    rows that pass, every n-th is kept, then a sample; what is kept is moved. The order of the calls does not matter.

    Example:
        >>> import polyhaul
        >>> scan = polyhaul.scan(b"x,y,z,age\\n0,0.5,1,7\\n2,3,4,8\\n5,6,7,9\\n", format="csv")
        >>> scan.filter("age > 7 and not x == 2").select("y", "age").read().to_dict()
        {'y': array([6.]), 'age': array([9])}
    """

    _source: Source
    _options: dict[str, Any]
    _rows: dict[str, Any]
    _table: dict[str, Any]

    def select(self, *columns: str | int) -> Scan:
        """Keeps these columns, in this order: names, or indices from 0. Filters may use others.

        A scan with columns is a table: it cannot be written as a mesh.
        """
        return replace(self, _table=self._table | {"columns": _options.wanted_columns("columns", list(columns))})

    def filter(self, expression: str | None = None, *, box: npt.ArrayLike | None = None) -> Scan:
        """Keeps rows for which a condition is true, and those in a box. With several filters, all have to be true.

        Args:
            expression: comparisons of columns, joined by ``and``, ``or`` and ``not``, such as
                ``"opacity > 0.05 and z < 10"``. Operators: ``+ - * / %``, ``< <= > >= == !=``. Functions: ``abs``,
                ``sqrt``, ``exp``, ``log``, ``floor``, ``sigmoid``, ``is_finite``, ``min`` and ``max`` of two. Columns
                have the names of the file, in backquotes if they contain anything but letters, digits and ``_``;
                ``column(0)`` is the first one. In formats without columns they are ``x y z``, ``nx ny nz``, ``u v`` and
                ``red green blue alpha``.
            box: the smallest and the largest x, y, z, as an array of (2, 3). Bounds are inclusive.

        Raises:
            polyhaul.UsageError: the expression is invalid; the exception has the place.
        """
        rows = self._rows
        if expression is not None:
            _polyhaul.check_filter(expression)
            rows = rows | {"filters": [*rows["filters"], expression]}
        if box is not None:
            if rows["bounds"] is not None:
                raise ValueError("the scan has a box already")
            rows = rows | {"bounds": _arrays.box(box)}
        return replace(self, _rows=rows)

    def transform(self, matrix: npt.ArrayLike) -> Scan:
        """Moves positions and normals by a matrix, (4, 4) numbers, or (3, 4) or (3, 3), that multiplies from the left.

        Gaussian splats are turned, mirrored and scaled as a whole. A matrix that would shear them or scale them
        unevenly is an error.
        """
        if self._rows["transform"] is not None:
            raise ValueError("the scan has a transform already: multiply the matrices")
        return replace(self, _rows=self._rows | {"transform": _arrays.matrix(matrix)})

    def sample(self, n: int | None = None, *, every: int | None = None) -> Scan:
        """Keeps every n-th row, or ``n`` rows at random in their order, or both: every n-th row first.

        The same rows are chosen each time.
        """
        rows = self._rows
        if every is not None:
            if _options.count("every", every) < 1:
                raise ValueError(f"every is {every!r}; expected 1 or more")
            rows = rows | {"every": int(every)}
        if n is not None:
            rows = rows | {"sample": _options.count("n", n)}
        return replace(self, _rows=rows)

    def sink(
        self,
        target: Target,
        *,
        format: FormatName | None = None,
        memory_limit: int | str | None = None,
        compression: CompressionName | None = None,
        level: int | None = None,
        durable: bool = False,
        progress: Progress | bool | None = None,
        **written: Unpack[WriteOptions],
    ) -> Report:
        """Writes what is chosen, in any format; faces whose vertices are all kept are written too.

        The arguments are those of :func:`polyhaul.convert`. ``memory_limit`` is the memory of the whole job.
        """
        options = self._read_options(memory_limit)
        writing = _options.write_options(
            format=format, threads=options["run"]["threads"], memory_limit=memory_limit, compression=compression,
            level=level, durable=durable, written=written, strict=options["strict"],
        )
        with (
            opened_reading(self._source, options, None, progress, "scanning") as reading,
            opened_target(target, compression) as plain,
        ):
            done = _polyhaul.convert(*reading, plain, writing)
        report = report_from_plain(done)
        warn_of(report, self._options["on_error"], reading)
        return report

    def read(self) -> Table:
        """Reads what is chosen as a table: of a PLY file the vertices, or the element that was asked for."""
        with opened_reading(self._source, self._read_options(), None, None, "scanning") as reading:
            plain, comments, infos, done = _polyhaul.read_tables(*reading)
        report = report_from_plain(done)
        warn_of(report, self._options["on_error"], reading)
        tables = [table_from_plain(table, report) for table in plain]
        wanted = self._rows["element"] or "vertex"
        table = next((it for it in tables if it.name == wanted), tables[0] if tables else Table())
        table.comments, table.infos = comments, infos
        return table

    def read_scene(self) -> Scene:
        """Reads what is chosen as a scene: meshes with the faces whose vertices are all kept."""
        with opened_reading(self._source, self._read_options(), None, None, "scanning") as reading:
            scene, done = _polyhaul.read(*reading, True, (None, 1.0), False)
        report = report_from_plain(done)
        warn_of(report, self._options["on_error"], reading)
        return scene_from_plain(scene, report)

    def batches(self, bytes: int | str = BATCH_BYTES) -> Iterator[dict[str, Any]]:
        """What is chosen, some rows at a time: columns by name, as numpy arrays.

        The next batch is read while the caller works with the one before. Of large binary PLY files only some rows are
        in memory at a time; other files are read first. Formats without tables have no batches.

        Args:
            bytes: about how many bytes of the file make a batch, as a number or as text such as ``"64MB"``.
        """
        name, native = self._native(bytes)
        for plain in native:
            yield table_from_plain(plain, None).to_dict()
        if (done := native.report()) is not None:
            self._warn(report_from_plain(done), name)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any:
        """A stream of Apache Arrow: ``polars.DataFrame(scan)``, ``pyarrow.table(scan)``, ``duckdb.from_arrow(...)``.

        Columns without a name are ``f0``, ``f1`` and so on. ``requested_schema`` is ignored, and
        warnings are not reported.
        """
        return self._native(BATCH_BYTES)[1].arrow_stream()

    def _warn(self, report: Report, name: str) -> None:
        warn_of(report, self._options["on_error"], Reading({"name": name}, {}, None))

    def _native(self, size: int | str) -> tuple[str, _polyhaul.NativeBatches]:
        """The name of the source, and its batches."""
        with opened_source(self._source) as plain:
            if plain["read"] is not None:
                plain = plain | {"memory": _whole(plain["read"])}
            options = self._read_options() | {"resolver": None}
            return plain["name"], _polyhaul.NativeBatches(plain, options, _options.size("bytes", size))

    def _read_options(self, memory_limit: int | str | None = None) -> dict[str, Any]:
        return _options.read_options(**self._options, memory_limit=memory_limit, table=self._table, rows=self._rows)


def _whole(read: Any) -> bytes:
    """All that a file object has."""
    parts: list[bytes] = []
    while (part := read(1 << 20)) != b"":
        if part is None:
            raise BlockingIOError("the source has no data yet; expected a blocking file object")
        parts.append(bytes(part))
    return b"".join(parts)


def scan(
    source: Source,
    *,
    element: str | None = None,
    format: FormatName | None = None,
    threads: int | None = None,
    on_error: OnError = "raise",
    strict: bool = False,
    limits: Limits | None = None,
    allow_outside: bool = False,
    weld: bool = False,
    **text: Unpack[TextOptions],
) -> Scan:
    """Plans to read some rows of a file, or some vertices of a mesh. Nothing is opened yet.

        >>> import polyhaul
        >>> points = b"x,y,z\\n0,0,0\\n1,5,2\\n3,4,9\\n"
        >>> [batch["z"].tolist() for batch in polyhaul.scan(points, format="csv").filter("z > 1").batches()]
        [[2, 9]]

    Args:
        source: as for :func:`polyhaul.read`: a path, a URL, bytes, a file object in binary mode.
        element: the element of a PLY file that rows are chosen from (``"vertex"``).
        format, threads, on_error, strict, limits, allow_outside, weld: as for :func:`polyhaul.read`.
        **text: how text is read; see :class:`polyhaul.TextOptions`.

    Returns:
        The plan: see :class:`polyhaul.Scan`.
    """
    options = {
        "format": format, "threads": threads, "limits": limits, "allow_outside": allow_outside, "on_error": on_error,
        "strict": strict, "weld": weld,
    }
    rows: dict[str, Any] = {
        "filters": [], "bounds": None, "every": 1, "sample": None, "transform": None,
        "element": None if element is None else str(element),
    }
    return Scan(source, options, rows, _options.table_options(text))
