"""What a job did: bytes, times, threads, and warnings with their places."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, overload

from polyhaul._errors import _place


class PolyhaulWarning(UserWarning):
    """Data was repaired or skipped. Issued once per call with ``on_error="warn"``; the report has all warnings."""


@dataclass(frozen=True, slots=True)
class Warning:
    """Something that was repaired, skipped or is missing, and is not an error."""

    #: The kind, as a short fixed name such as ``"missing-material"``.
    code: str
    #: What is wrong.
    message: str
    #: ``"note"`` if the format has no slot for it and everybody expects that, ``"loss"`` if something is changed or gone
    #: that could have stayed, ``"fault"`` if the file breaks its format.
    severity: Literal["note", "loss", "fault"] = "note"
    #: The file, as passed by the caller.
    path: str | None = None
    #: The line, from 1.
    line: int | None = None
    #: The column in bytes, from 1.
    column: int | None = None
    #: The offset in bytes, from 0.
    offset: int | None = None
    #: What was expected.
    expected: str | None = None
    #: What would help.
    hint: str | None = None
    #: The line of the file, shortened to a window around the place.
    excerpt: str | None = None
    #: The name that the warning is about: a material, a texture, a file.
    subject: str | None = None
    #: The names of what was lost: the first few.
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        expected = f"; expected {self.expected}" if self.expected else ""
        return f"{_place(self.path, self.line, self.column, self.offset)}{self.message}{expected}"


@dataclass(frozen=True, slots=True, eq=False)
class Warnings(Sequence[Warning]):
    """The first 1,000 warnings, and at least three of each kind, with their places in order, and the counts of all."""

    _kept: tuple[Warning, ...] = ()
    #: The number of warnings by :attr:`Warning.code`.
    counts: Mapping[str, int] = field(default_factory=dict)
    #: The number of warnings by :attr:`Warning.severity`.
    severities: Mapping[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """The number of warnings. ``len()`` is the number of those kept with their places."""
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
    """Bytes of one format and codec that a job read or wrote."""

    #: The format, such as ``"obj"``; ``"mtl"`` for material libraries, ``None`` for rows of a format of your own.
    format: str | None
    #: The codec: ``"gzip"``, ``"zstd"``, ``"lz4"``, or ``None``.
    codec: str | None
    #: Bytes as stored.
    bytes: int
    #: Bytes after decompression.
    plain_bytes: int


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """The measurements and warnings of a job."""

    #: Bytes read, including referenced files, before decompression.
    bytes_in: int
    #: The same after decompression.
    plain_bytes_in: int
    #: The codec of the input: ``"gzip"``, ``"zstd"``, ``"lz4"``, or ``None``.
    codec: str | None
    #: Bytes written.
    bytes_out: int
    #: How many files were copied beside the output: referenced ones (``copy_assets``), and images inside glTF files.
    #: Their bytes are in ``bytes_out``, too.
    copied_files: int
    #: The bytes of those copies.
    copied_bytes: int
    #: Bytes read by format and codec; the sum is ``bytes_in``.
    reads: tuple[Moved, ...]
    #: Bytes written by format and codec; the sum is ``bytes_out``.
    writes: tuple[Moved, ...]
    #: Worker threads.
    threads: int
    #: Wall time in seconds by phase, such as ``"read"`` and ``"write"``.
    phases: Mapping[str, float]
    #: What was repaired, skipped or is missing.
    warnings: Warnings
    #: Of a conversion with ``memory_limit``, the bytes of arrays that were moved to disk because they did not fit (Linux).
    spilled_bytes: int = 0
    #: Of a preview, the seconds until a whole picture was in memory, with a sample for each pixel at least.
    first_pixel: float | None = None

    @property
    def seconds(self) -> float:
        """The total time of all phases."""
        # They are whole nanoseconds: the sum is, too, so that it is never less than its parts.
        return round(math.fsum(self.phases.values()), 9)

    def __repr__(self) -> str:
        moved = f"{self.bytes_in} bytes in, {self.bytes_out} bytes out"
        return f"<polyhaul.Report: {moved}, {self.seconds:.3f} s, {self.warnings}>"


def report_from_plain(plain: Mapping[str, Any]) -> Report:
    """The report that native code returned."""
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
