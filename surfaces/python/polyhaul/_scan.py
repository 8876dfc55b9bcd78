"""Scans: selected rows of a file, read in batches or written to another file."""

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

#: The default number of bytes of the file per batch.
BATCH_BYTES = 16 << 20


@dataclass(frozen=True, repr=False)
class Scan:
    """A lazy selection of rows of a file, or of vertices of a mesh. Created by :func:`polyhaul.scan`.

    ``select``, ``filter``, ``sample`` and ``transform`` return a new scan, without reading the file. The order of the
    calls does not matter: filters and the box are applied first, to the values of the file, followed by every n-th row,
    the random sample, and the transform.

    Example:
        >>> import polyhaul
        >>> scan = polyhaul.scan(b"x,y,z,age\\n0,0.5,1,7\\n2,3,4,8\\n5,6,7,9\\n", format="csv")
        >>> scan.filter("age > 7 and not x == 2").select("y", "age").read().to_dict()
        {'y': array([6.]), 'age': array([9])}
    """

    _source: Source
    _format: FormatName | None
    _types: Types | None
    #: Read options, as for :func:`polyhaul.read`.
    _options: dict[str, Any]
    #: Filter expressions; rows must satisfy all of them.
    _filters: tuple[str, ...] = ()

    def select(self, *columns: str | int) -> Scan:
        """Keep these columns, in this order: names, or indices from 0. Filters may use other columns.

        A scan with selected columns is a table, and cannot be written as a mesh.
        """
        return self._with(columns=list(columns))

    def filter(self, expression: str | None = None, *, box: npt.ArrayLike | None = None) -> Scan:
        """Keep rows that satisfy a condition, are inside a box, or both. Rows must satisfy all filters.

        Args:
            expression: comparisons of columns, combined with ``and``, ``or`` and ``not``, such as
                ``"opacity > 0.05 and z < 10"``. Operators: ``+ - * / %``, ``< <= > >= == !=``. Functions: ``abs``,
                ``sqrt``, ``exp``, ``log``, ``floor``, ``sigmoid``, ``is_finite``, and ``min`` and ``max`` of two
                values. Columns have the names of the file, in backquotes if they contain characters other than
                letters, digits and ``_``; ``column(0)`` is the first column. In formats without columns, the names are
                ``x y z``, ``nx ny nz``, ``u v`` and ``red green blue alpha``.
            box: the minimum and maximum x, y, z, as a (2, 3) array. Bounds are inclusive. A scan can only have one box.

        Raises:
            polyhaul.UsageError: the expression is invalid; the exception includes the location.
            ValueError: the scan already has a box.
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
        """Transform positions and normals by a matrix that multiplies column vectors from the left.

        Gaussian splats are rotated, mirrored and scaled as a whole. Matrices that would shear them or scale them
        nonuniformly are errors. A scan can only have one transform.

        Args:
            matrix: (4, 4), (3, 4) or (3, 3) numbers.

        Raises:
            ValueError: the scan already has a transform.
        """
        if "transform" in self._options:
            raise ValueError("the scan has a transform already: multiply the matrices")
        return self._with(transform=matrix)

    def sample(self, n: int | None = None, *, every: int | None = None) -> Scan:
        """Keep every n-th row, a random sample of ``n`` rows in file order, or both: every n-th row first.

        The selection is deterministic.
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
        """Write the selection to a file, in any format, including faces whose vertices are all selected.

        The arguments are the same as for :func:`polyhaul.convert`. ``memory_limit`` applies to the whole job.
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
        """Read the selection as a table: the vertices of a PLY file, or the element set by ``element``."""
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
        """Read the selection as a scene: meshes with the faces whose vertices are all selected."""
        with opened_reading(self._source, self._read_options(), None, None, "scanning") as reading:
            scene, plain_report = _polyhaul.read(reading, True, (None, 1.0), False)
        report = report_from_plain(plain_report)
        warn_of(report, reading)
        return scene_from_plain(scene, report)

    def batches(self, bytes: int | str = BATCH_BYTES) -> Iterator[dict[str, Any]]:
        """Yield the selection in batches of rows: dicts of columns by name, as numpy arrays.

        The next batch is read while the caller processes the current one. For large binary PLY files, only a few
        batches are in memory at a time; other files are read completely first. Formats without tables do not support
        batches.

        Args:
            bytes: the approximate number of bytes of the file per batch, as a number or a string such as ``"64MB"``.
        """
        reading, batches = self._batches(bytes)
        for plain in batches:
            yield table_from_plain(plain, None).to_dict()
        if (plain_report := batches.report()) is not None:
            warn_of(report_from_plain(plain_report), reading)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any:
        """Export the selection as an Arrow stream.

        For ``polars.DataFrame(scan)``, ``pyarrow.table(scan)`` and ``duckdb.from_arrow(...)``. Unnamed columns are
        ``f0``, ``f1`` and so on. ``requested_schema`` is ignored, and warnings are not reported.
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
        """Return the same scan with additional options, which are validated."""
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
    """Return the remaining contents of a file object."""
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
    """Create a lazy selection of rows of a file, or of vertices of a mesh, without opening the file.

        >>> import polyhaul
        >>> points = b"x,y,z\\n0,0,0\\n1,5,2\\n3,4,9\\n"
        >>> [batch["z"].tolist() for batch in polyhaul.scan(points, format="csv").filter("z > 1").batches()]
        [[2, 9]]

    Args:
        source: as for :func:`polyhaul.read`: a path, a URL, bytes, or a file object in binary mode.
        format: as for :func:`polyhaul.read`.
        types: as for :func:`polyhaul.read_table`.
        **options: element, columns, threads and more: see :class:`polyhaul.ReadOptions`. The default element of a PLY
            file is ``"vertex"``.

    Returns:
        The scan: see :class:`polyhaul.Scan`.
    """
    return Scan(source, format, types, _options.canonical(options))._with()
