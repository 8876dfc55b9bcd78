"""Profiles: recordings of jobs, their bottlenecks, and charts.

Native code (``src/profile.rs``) records and analyzes; this module has the public classes. The profile of a job is
stored in a context variable. Native code calls ``current`` when a job starts, which is the only overhead without a
profile.
"""

from __future__ import annotations

import base64
import html
import os
from collections.abc import Mapping
from contextvars import ContextVar, Token
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, Self

from polyhaul._polyhaul import NativeProfile

#: Each active profile of a context sets its own value, so that the innermost profile records the jobs.
_current: ContextVar[NativeProfile | None] = ContextVar("polyhaul.profile", default=None)

#: Called by native code when a job starts.
current = _current.get


@dataclass(frozen=True, slots=True, repr=False)
class Verdict:
    """The bottleneck of the jobs of a profile. ``str()`` returns one line of text."""

    #: The main cause, as a short fixed name such as ``"parse"`` or ``"host"``; ``"unknown"`` if no cause dominates.
    bound: str
    #: The fraction of the cores' time, from 0 to 1, attributed to the main cause.
    share: float
    #: The elapsed time of the jobs in seconds, excluding other work in the block.
    seconds: float
    #: The throughput in uncompressed bytes per second: the larger of bytes read and bytes written.
    bytes_per_second: float
    #: The minimum time in seconds that this machine needs for the same bytes; ``None`` if ``polyhaul limits`` has not
    #: measured the machine, for small jobs, and if the rate of a format or codec is unknown.
    best_possible_seconds: float | None
    #: The ratio of ``seconds`` to ``best_possible_seconds``; ``None`` if unknown.
    times_off: float | None
    #: Suggestions: changes that would help, with the expected gain, and changes that would not help.
    advice: tuple[str, ...]
    #: The share of each cause, largest first. The sum is 1.
    causes: Mapping[str, float]
    _line: str

    def __str__(self) -> str:
        return self._line

    def __repr__(self) -> str:
        return f"<polyhaul.Verdict: {self._line}>"


@dataclass(frozen=True, slots=True)
class FileUse:
    """The calls to a single source or sink."""

    #: The name in messages: the path, if there is one.
    name: str
    #: The kind of calls: ``"read"``, ``"write"``, ``"host"`` for file objects, or ``"decompress"`` for decompressed
    #: data.
    phase: str
    #: Whether this is an output.
    is_output: bool
    #: The number of bytes transferred. It may exceed the file size, because the first bytes are read twice.
    bytes: int
    #: The number of successful calls, including calls at the end of the file.
    calls: int
    #: The total time of these calls in seconds, summed over threads.
    waiting_seconds: float
    #: The number of calls by size class: 65536 is the class from 65,536 to 131,071 bytes.
    histogram: Mapping[int, int]
    #: The number of calls by phase; empty with ``detail="totals"``.
    callers: Mapping[str, int]

    @property
    def mean_bytes(self) -> float:
        """The mean number of bytes per call; 0 without calls."""
        return self.bytes / self.calls if self.calls else 0.0


class Profile:
    """A recording of the jobs in a block.

    Created by :func:`profile`. The results are available after the block.
    """

    def __init__(self, detail: Literal["spans", "totals"], samples: bool, title: str) -> None:
        if detail not in ("spans", "totals"):
            raise ValueError(f'detail is {detail!r}; expected "spans" or "totals"')
        self._has_spans, self._has_samples, self._title = detail == "spans", bool(samples), str(title)
        self._native: NativeProfile | None = None
        self._token: Token[NativeProfile | None] | None = None
        self._is_ended = False

    def __enter__(self) -> Self:
        if self._native is not None:
            raise RuntimeError("a profile can be used only once; create another one with polyhaul.profile()")
        self._native = NativeProfile(self._has_spans, self._has_samples)
        self._token = _current.set(self._native)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._native is None or self._token is None:
            raise RuntimeError("this profile has not started")
        try:
            _current.reset(self._token)
        except ValueError:
            # A generator may exit in another context than it entered. The profile then stays active there, but does not
            # record anything.
            pass
        finally:
            self._native.end()
            self._is_ended = True

    @property
    def verdict(self) -> Verdict:
        """The bottleneck of the jobs, the gap to the best possible time on this machine, and suggestions."""
        plain = self._ended.verdict()
        causes, line = dict(plain.pop("causes")), plain.pop("line")
        return Verdict(**plain | {"advice": tuple(plain["advice"]), "causes": causes, "_line": line})

    @property
    def files(self) -> list[FileUse]:
        """The calls to each source and sink, longest waits first."""
        return [_file(plain) for plain in self._ended.files()]

    @property
    def phases(self) -> dict[str, float]:
        """The seconds in each phase, summed over threads, longest first."""
        return dict(self._ended.phases())

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write a report as a self-contained HTML file."""
        self._ended.write("report", path, self._title)

    def trace(self, path: str | os.PathLike[str]) -> None:
        """Write a trace as JSON for Perfetto and ``chrome://tracing``."""
        self._ended.write("trace", path, self._title)

    def chart(self, path: str | os.PathLike[str]) -> None:
        """Write a chart as SVG.

        Raises:
            ValueError: the name ends in ``.png``. Use the command for PNG.
        """
        if os.fspath(path).lower().endswith(".png"):
            raise ValueError("charts are SVG; expected a name ending in .svg")
        self._ended.write("chart", path, self._title)

    @property
    def _ended(self) -> NativeProfile:
        if self._native is None:
            raise RuntimeError("this profile has not started; use it as `with polyhaul.profile() as p:`")
        if not self._is_ended:
            raise RuntimeError("this profile is still recording; use the results after its block")
        return self._native

    def __repr__(self) -> str:
        state = str(self.verdict) if self._is_ended else "not started" if self._native is None else "recording"
        return f"<polyhaul.Profile: {state}>"

    def _repr_html_(self) -> str | None:
        """Return the verdict, the phases, and a chart if there are spans, for notebooks."""
        if not self._is_ended:
            return None
        verdict, phases = self.verdict, self.phases
        advice = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in verdict.advice)
        listed = f"<ul>{advice}</ul>" if advice else ""
        picture = _image(self._ended.picture(self._title)) if self._has_spans and phases else ""
        return f"<div><p><b>{html.escape(str(verdict))}</b></p>{listed}{_table(phases)}{picture}</div>"


def profile(
    detail: Literal["spans", "totals"] = "spans", *, samples: bool = True, title: str = "polyhaul.profile()"
) -> Profile:
    """Record the polyhaul jobs of a ``with`` block.

        >>> import polyhaul
        >>> with polyhaul.profile() as p:
        ...     scene = polyhaul.read(b"v 0.25 0.5 0.75\\n" * 1000, format="obj")
        >>> p.files[0].name
        'memory'
        >>> "parse" in p.phases
        True

    A profile records all jobs that read or write and start in the context of the block: in its thread, in its
    ``asyncio`` tasks and ``asyncio.to_thread`` calls, and in copies of the context
    (``contextvars.copy_context().run``). Other threads have their own context. If profiles are nested, only the
    innermost records a job. If the block raises an exception, the profile has everything up to that point. A job that
    is still running at the end of the block is only recorded in part.

    Args:
        detail: ``"spans"`` to record the activity of each thread over time; ``"totals"`` for sums only, without charts
            over time.
        samples: whether to sample cores, disks and memory of the process every 5 ms (Linux).
        title: the title of the report and the chart.
    """
    return Profile(detail, samples, title)


def _file(plain: dict[str, Any]) -> FileUse:
    return FileUse(**plain | {"histogram": dict(plain["histogram"]), "callers": dict(plain["callers"])})


def _table(phases: Mapping[str, float]) -> str:
    """Return the phases and their shares as an HTML table."""
    total = sum(phases.values()) or 1.0
    rows = (
        f"<tr><th>{html.escape(name)}</th><td>{seconds:.3f}</td><td>{100 * seconds / total:.0f}%</td></tr>"
        for name, seconds in phases.items()
    )
    return f"<table><tr><th>phase</th><th>seconds (all threads)</th><th>share</th></tr>{''.join(rows)}</table>"


def _image(svg: str) -> str:
    """Return an HTML image that cannot run scripts, fetch resources, or affect the styles of the page."""
    data = base64.b64encode(svg.encode()).decode()
    return f'<img alt="timeline of the threads" style="max-width:100%" src="data:image/svg+xml;base64,{data}">'
