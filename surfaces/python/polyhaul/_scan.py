"""Scans: chosen rows of a file, read in batches, or written to another file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy.typing as npt

from polyhaul import _options, _polyhaul
from polyhaul._io import Reading, opened_reading, warn_of
from polyhaul._option_types import FormatName, ReadOptions, Types, WriteOptions
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
    _format: FormatName | None
    _types: Types | None
    #: As for :func:`polyhaul.read`.
    _options: dict[str, Any]
    #: All of them have to be true.
    _filters: tuple[str, ...] = ()

    def select(self, *columns: str | int) -> Scan:
        """Keeps these columns, in this order: names, or indices from 0. Filters may use others.

        A scan with columns is a table: it cannot be written as a mesh.
        """
        return self._with(columns=list(columns))

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
        scan = self
        if expression is not None:
            _polyhaul.check_filter(expression)
            scan = replace(scan, _filters=(*scan._filters, expression))
        if box is not None:
            if "bounds" in self._options:
                raise ValueError("the scan has a box already")
            scan = scan._with(bounds=box)
        return scan

    def transform(self, matrix: npt.ArrayLike) -> Scan:
        """Moves positions and normals by a matrix, (4, 4) numbers, or (3, 4) or (3, 3), that multiplies from the left.

        Gaussian splats are turned, mirrored and scaled as a whole. A matrix that would shear them or scale them
        unevenly is an error.
        """
        if "transform" in self._options:
            raise ValueError("the scan has a transform already: multiply the matrices")
        return self._with(transform=matrix)

    def sample(self, n: int | None = None, *, every: int | None = None) -> Scan:
        """Keeps every n-th row, or ``n`` rows at random in their order, or both: every n-th row first.

        The same rows are chosen each time.
        """
        given = {"every": every, "sample": n}
        return self._with(**{name: number for name, number in given.items() if number is not None})

    def sink(
        self,
        target: Target,
        *,
        format: FormatName | None = None,
        progress: Progress | bool | None = None,
        **options: Unpack[WriteOptions],
    ) -> Report:
        """Writes what is chosen, in any format; faces whose vertices are all kept are written too.

        The arguments are those of :func:`polyhaul.convert`. ``memory_limit`` is the memory of the whole job.
        """
        native, writing = _options.convert_options(self._options | options, self._format, format, self._types)
        self._add_filters(native)
        with (
            opened_reading(self._source, native, None, progress, "scanning") as reading,
            opened_target(target, writing) as plain,
        ):
            plain_report = _polyhaul.convert(reading, plain, writing)
        report = report_from_plain(plain_report)
        warn_of(report, reading)
        return report

    def read(self) -> Table:
        """Reads what is chosen as a table: of a PLY file the vertices, or the element that was asked for."""
        with opened_reading(self._source, self._read_options(), None, None, "scanning") as reading:
            plain, comments, infos, plain_report = _polyhaul.read_tables(reading)
        report = report_from_plain(plain_report)
        warn_of(report, reading)
        tables = [table_from_plain(table, report) for table in plain]
        element = self._options.get("element") or "vertex"
        table = next((candidate for candidate in tables if candidate.name == element), tables[0] if tables else Table())
        table.comments, table.infos = comments, infos
        return table

    def read_scene(self) -> Scene:
        """Reads what is chosen as a scene: meshes with the faces whose vertices are all kept."""
        with opened_reading(self._source, self._read_options(), None, None, "scanning") as reading:
            scene, plain_report = _polyhaul.read(reading, True, (None, 1.0), False)
        report = report_from_plain(plain_report)
        warn_of(report, reading)
        return scene_from_plain(scene, report)

    def batches(self, bytes: int | str = BATCH_BYTES) -> Iterator[dict[str, Any]]:
        """What is chosen, some rows at a time: columns by name, as numpy arrays.

        The next batch is read while the caller works with the one before. Of large binary PLY files only some rows are
        in memory at a time; other files are read first. Formats without tables have no batches.

        Args:
            bytes: about how many bytes of the file make a batch, as a number or as text such as ``"64MB"``.
        """
        reading, batches = self._batches(bytes)
        for plain in batches:
            yield table_from_plain(plain, None).to_dict()
        if (plain_report := batches.report()) is not None:
            warn_of(report_from_plain(plain_report), reading)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any:
        """A stream of Apache Arrow: ``polars.DataFrame(scan)``, ``pyarrow.table(scan)``, ``duckdb.from_arrow(...)``.

        Columns without a name are ``f0``, ``f1`` and so on. ``requested_schema`` is ignored, and
        warnings are not reported.
        """
        return self._batches(BATCH_BYTES)[1].arrow_stream()

    def _batches(self, size: int | str) -> tuple[Reading, _polyhaul.NativeBatches]:
        options = self._read_options()
        with opened_source(self._source) as plain:
            if plain["read"] is not None:
                plain = plain | {"memory": _whole(plain["read"])}
            reading = Reading(plain, options, None, None)
            return reading, _polyhaul.NativeBatches(plain, options, _options.size("bytes", size))

    def _with(self, **options: Any) -> Scan:
        """The same scan with other options, which are checked."""
        scan = replace(self, _options=self._options | options)
        scan._read_options()
        return scan

    def _read_options(self) -> _polyhaul.NativeReadOptions:
        native = _options.read_options(self._options, self._format, self._types)
        self._add_filters(native)
        return native

    def _add_filters(self, native: _polyhaul.NativeReadOptions) -> None:
        for text in self._filters:
            native.add_filter(text)


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
    format: FormatName | None = None,
    types: Types | None = None,
    **options: Unpack[ReadOptions],
) -> Scan:
    """Plans to read some rows of a file, or some vertices of a mesh. Nothing is opened yet.

        >>> import polyhaul
        >>> points = b"x,y,z\\n0,0,0\\n1,5,2\\n3,4,9\\n"
        >>> [batch["z"].tolist() for batch in polyhaul.scan(points, format="csv").filter("z > 1").batches()]
        [[2, 9]]

    Args:
        source: as for :func:`polyhaul.read`: a path, a URL, bytes, a file object in binary mode.
        format: as for :func:`polyhaul.read`.
        types: as for :func:`polyhaul.read_table`.
        **options: element, columns, threads and more: see :class:`polyhaul.ReadOptions`. The element of a PLY file that
            rows are chosen from is ``"vertex"`` by default.

    Returns:
        The plan: see :class:`polyhaul.Scan`.
    """
    return Scan(source, format, types, _options.canonical(options))._with()
