"""What a job did: bytes, times, threads, and warnings with their places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from polyhaul._errors import _place


class PolyhaulWarning(UserWarning):
    """Data was repaired or left out. Issued once per call where ``on_error="warn"``; all of them are in the report."""


@dataclass(frozen=True, slots=True)
class Warning:
    """Something that was repaired, left out or is missing, and did not stop the work."""

    #: What kind of thing, as a short fixed name, such as ``"missing-material"``.
    code: str
    #: What is wrong.
    message: str
    #: The file as the caller named it.
    path: str | None = None
    #: The line, from 1.
    line: int | None = None
    #: The column in bytes, from 1.
    column: int | None = None
    #: The offset in bytes, from 0.
    offset: int | None = None
    #: What would have been right.
    expected: str | None = None
    #: What would help.
    hint: str | None = None
    #: The line of the file, shortened to a window around the place.
    excerpt: str | None = None

    def __str__(self) -> str:
        expected = f"; expected {self.expected}" if self.expected else ""
        return f"{_place(self.path, self.line, self.column, self.offset)}{self.message}{expected}"


@dataclass(frozen=True, slots=True, eq=False)
class Warnings(Sequence[Warning]):
    """The first 1,000 warnings with their places, in the order of the data, and the counts of all."""

    _kept: tuple[Warning, ...] = ()
    #: How many there were of each kind, by :attr:`Warning.code`.
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """How many there were. ``len()`` is how many have their place kept."""
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
        return f"{self.total} warnings ({counts})" if counts else "no warnings"


@dataclass(frozen=True, slots=True)
class Moved:
    """Bytes of one format, compressed in one way, that a job read or wrote."""

    #: The format, such as ``"obj"``; ``"mtl"`` for material libraries, ``None`` for rows of a format of your own.
    format: str | None
    #: How they are compressed: ``"gzip"``, ``"zstd"``, ``"lz4"``, or ``None``.
    codec: str | None
    #: How many there are in the files.
    bytes: int
    #: How many there are when they are not compressed.
    plain_bytes: int


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """What a job did."""

    #: Bytes read, those of referenced files included; compressed ones where they are compressed.
    bytes_in: int
    #: What these bytes came to when they were decompressed; ``bytes_in`` where nothing was compressed.
    plain_bytes_in: int
    #: How the scene's source was compressed: ``"gzip"``, ``"zstd"``, ``"lz4"``, or ``None``.
    codec: str | None
    #: Bytes written.
    bytes_out: int
    #: What was read, by format and codec; together it is ``bytes_in``.
    reads: tuple[Moved, ...]
    #: What was written, by format and codec; together it is ``bytes_out``.
    writes: tuple[Moved, ...]
    #: Worker threads.
    threads: int
    #: Wall time in seconds by phase, such as ``"read"`` and ``"write"``.
    phases: Mapping[str, float]
    #: What was repaired, left out or is missing.
    warnings: Warnings

    @property
    def seconds(self) -> float:
        """The time of all phases together."""
        return sum(self.phases.values())

    def __repr__(self) -> str:
        moved = f"{self.bytes_in} bytes in, {self.bytes_out} bytes out"
        return f"<polyhaul.Report: {moved}, {self.seconds:.3f} s, {self.warnings}>"


def report_from_plain(plain: Mapping[str, Any]) -> Report:
    """The report that native code returned."""
    kept = tuple(_warning(fields) for fields in plain["warnings"])
    return Report(
        bytes_in=plain["bytes_in"],
        plain_bytes_in=plain["plain_bytes_in"],
        codec=plain["codec"],
        bytes_out=plain["bytes_out"],
        reads=tuple(Moved(*moved) for moved in plain["reads"]),
        writes=tuple(Moved(*moved) for moved in plain["writes"]),
        threads=plain["threads"],
        phases=plain["phases"],
        warnings=Warnings(kept, plain["counts"]),
    )


def _warning(fields: dict[str, Any]) -> Warning:
    excerpt = fields.pop("excerpt")
    return Warning(**fields, excerpt=excerpt and excerpt[0])
