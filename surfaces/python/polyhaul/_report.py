"""Reports of jobs: bytes, times, threads, and warnings with their locations."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, overload

from polyhaul._errors import _place


class PolyhaulWarning(UserWarning):
    """Issued if data was repaired, skipped or dropped.

    With ``on_error="warn"``, each call issues it once, and the report has all warnings.
    """


@dataclass(frozen=True, slots=True)
class Warning:
    """A problem that is not an error: something was repaired, skipped or is missing."""

    #: The kind of warning, as a short fixed name such as ``"missing-material"``.
    code: str
    #: The description of the problem.
    message: str
    #: ``"note"`` for data that users do not expect the format to store, ``"loss"`` if data that the format can store
    #: was changed or dropped, ``"fault"`` if the file violates its format.
    severity: Literal["note", "loss", "fault"] = "note"
    #: The file, as passed by the caller.
    path: str | None = None
    #: The line, from 1.
    line: int | None = None
    #: The column in bytes, from 1.
    column: int | None = None
    #: The offset in bytes, from 0.
    offset: int | None = None
    #: The expected value.
    expected: str | None = None
    #: A suggestion for solving the problem.
    hint: str | None = None
    #: An excerpt of the line in the file, around the location.
    excerpt: str | None = None
    #: The name that the warning refers to: a material, a texture or a file.
    subject: str | None = None
    #: The names of dropped items; only the first few.
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        expected = f"; expected {self.expected}" if self.expected else ""
        return f"{_place(self.path, self.line, self.column, self.offset)}{self.message}{expected}"


@dataclass(frozen=True, slots=True, eq=False)
class Warnings(Sequence[Warning]):
    """The warnings of a job, in order, and the counts of all warnings.

    Only the first 1,000 warnings, and at least three of each kind, are kept with their locations.
    """

    _kept: tuple[Warning, ...] = ()
    #: The number of warnings by :attr:`Warning.code`.
    counts: Mapping[str, int] = field(default_factory=dict)
    #: The number of warnings by :attr:`Warning.severity`.
    severities: Mapping[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """The total number of warnings. ``len()`` returns the number of warnings kept with their locations."""
        return sum(self.counts.values())

    @overload
    def __getitem__(self, index: int) -> Warning: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Warning, ...]: ...
    def __getitem__(self, index: int | slice) -> Warning | tuple[Warning, ...]:
        return self._kept[index]

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[Warning]:
        return iter(self._kept)

    def __str__(self) -> str:
        counts = ", ".join(f"{code}: {count}" for code, count in self.counts.items())
        words = "warning" if self.total == 1 else "warnings"
        return f"{self.total} {words} ({counts})" if counts else "no warnings"


@dataclass(frozen=True, slots=True)
class Moved:
    """The bytes of one format and codec that a job read or wrote."""

    #: The format, such as ``"obj"``; ``"mtl"`` for material libraries, ``None`` for rows in a custom format.
    format: str | None
    #: The codec: ``"gzip"``, ``"zstd"``, ``"lz4"``, or ``None``.
    codec: str | None
    #: The number of stored bytes.
    bytes: int
    #: The number of bytes after decompression.
    plain_bytes: int


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """The measurements and warnings of a job."""

    #: The number of bytes read, including referenced files, before decompression.
    bytes_in: int
    #: The number of bytes read, including referenced files, after decompression.
    plain_bytes_in: int
    #: The codec of the input: ``"gzip"``, ``"zstd"``, ``"lz4"``, or ``None``.
    codec: str | None
    #: The number of bytes written.
    bytes_out: int
    #: The number of files copied next to the output: referenced files (``copy_assets``), and images embedded in glTF
    #: files. ``bytes_out`` includes their bytes.
    copied_files: int
    #: The number of bytes of the copied files.
    copied_bytes: int
    #: The bytes read by format and codec; the sum is ``bytes_in``.
    reads: tuple[Moved, ...]
    #: The bytes written by format and codec; the sum is ``bytes_out``.
    writes: tuple[Moved, ...]
    #: The number of worker threads.
    threads: int
    #: The wall time in seconds by phase, such as ``"read"`` and ``"write"``.
    phases: Mapping[str, float]
    #: The warnings: data that was repaired, skipped or is missing.
    warnings: Warnings
    #: For a conversion with ``memory_limit``, the bytes of arrays that were spilled to disk (Linux).
    spilled_bytes: int = 0
    #: For a preview, the seconds until a complete picture with at least one sample per pixel was in memory.
    first_pixel: float | None = None

    @property
    def seconds(self) -> float:
        """The total time of all phases."""
        # Round to whole nanoseconds, like the phases, so that the sum is never less than its parts.
        return round(math.fsum(self.phases.values()), 9)

    def __repr__(self) -> str:
        moved = f"{self.bytes_in} bytes in, {self.bytes_out} bytes out"
        return f"<polyhaul.Report: {moved}, {self.seconds:.3f} s, {self.warnings}>"


def report_from_plain(plain: Mapping[str, Any]) -> Report:
    """Return a report from the result of native code."""
    warnings = tuple(_warning(fields) for fields in plain["warnings"])
    return Report(
        bytes_in=plain["bytes_in"],
        plain_bytes_in=plain["plain_bytes_in"],
        codec=plain["codec"],
        bytes_out=plain["bytes_out"],
        copied_files=plain["copied_files"],
        copied_bytes=plain["copied_bytes"],
        reads=tuple(Moved(*moved) for moved in plain["reads"]),
        writes=tuple(Moved(*moved) for moved in plain["writes"]),
        threads=plain["threads"],
        phases=plain["phases"],
        warnings=Warnings(warnings, plain["counts"], plain["severities"]),
        spilled_bytes=plain["spilled_bytes"],
        first_pixel=plain["first_pixel"],
    )


def _warning(fields: dict[str, Any]) -> Warning:
    excerpt = fields.pop("excerpt")
    return Warning(**fields, excerpt=excerpt and excerpt[0])
