"""Profiles: what the jobs of a block did, what they waited for, and pictures of it.

Native code (``src/profile.rs``) records and judges; here are the classes that users see. Which profile a job belongs to
is one variable of the context, ``current``, which native code asks when a job begins: without a profile that is all
that happens.
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

#: Every begun profile of a context has its own value, so the innermost has the jobs.
_current: ContextVar[NativeProfile | None] = ContextVar("polyhaul.profile", default=None)

#: What native code asks.
current = _current.get


@dataclass(frozen=True, slots=True, repr=False)
class Verdict:
    """What limited the jobs of a profile. ``str()`` is one line of text."""

    #: The main cause, as a short fixed name such as ``"parse"`` or ``"host"``; ``"unknown"`` if none leads.
    bound: str
    #: Its share of the cores' time, 0 to 1.
    share: float
    #: The elapsed time of the jobs in seconds, without other work in the block.
    seconds: float
    #: Uncompressed bytes per second: bytes read or bytes written, whichever are more.
    bytes_per_second: float
    #: The least time that this machine needs for the same bytes, in seconds; ``None`` before ``polyhaul limits`` has
    #: measured the machine, for small jobs, and if the rate of a format or a codec is not known.
    best_possible_seconds: float | None
    #: How many times longer than that the jobs took.
    times_off: float | None
    #: What would help and by how much, and what would not.
    advice: tuple[str, ...]
    #: The share of every cause, largest first; they add up to 1.
    causes: Mapping[str, float]
    _line: str

    def __str__(self) -> str:
        return self._line

    def __repr__(self) -> str:
        return f"<polyhaul.Verdict: {self._line}>"


@dataclass(frozen=True, slots=True)
class FileUse:
    """The calls on one source or sink."""

    #: Its name in messages: the path, if it has one.
    name: str
    #: The kind of calls: ``"read"``, ``"write"``, ``"host"`` for file objects, or ``"decompress"`` for decompressed data.
    phase: str
    #: Whether it is written.
    is_output: bool
    #: Bytes moved. Can exceed the file size, since the first bytes are read twice.
    bytes: int
    #: Successful calls, including those at the end of the file.
    calls: int
    #: The time in these calls, summed over threads.
    waiting_seconds: float
    #: Number of calls by size: 65536 is the class of 65,536 to 131,071 bytes.
    histogram: Mapping[int, int]
    #: Number of calls by phase. Empty with ``detail="totals"``.
    callers: Mapping[str, int]

    @property
    def mean_bytes(self) -> float:
        """Bytes per call; 0 if there were no calls."""
        return self.bytes / self.calls if self.calls else 0.0


class Profile:
    """What the jobs of a block did. Made by :func:`profile`; the results are available after the block."""

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
            # A generator that ends in another context than it began in: there the profile stays, and records nothing.
            pass
        finally:
            self._native.end()
            self._is_ended = True

    @property
    def verdict(self) -> Verdict:
        """What limited the jobs, how far they are from this machine's best, and what would help."""
        plain = self._ended.verdict()
        causes, line = dict(plain.pop("causes")), plain.pop("line")
        return Verdict(**plain | {"advice": tuple(plain["advice"]), "causes": causes, "_line": line})

    @property
    def files(self) -> list[FileUse]:
        """The calls on each source and sink, longest waits first."""
        return [_file(plain) for plain in self._ended.files()]

    @property
    def phases(self) -> dict[str, float]:
        """The seconds spent in each phase, summed over threads, longest first."""
        return dict(self._ended.phases())

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write a report as one self-contained HTML file."""
        self._ended.write("report", path, self._title)

    def trace(self, path: str | os.PathLike[str]) -> None:
        """Write a trace as JSON for Perfetto and ``chrome://tracing``."""
        self._ended.write("trace", path, self._title)

    def chart(self, path: str | os.PathLike[str]) -> None:
        """Write a chart as SVG.

        A name ending in ``.png`` raises :class:`ValueError`; use the command for PNG.
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
        """For notebooks: the verdict, the phases, and a chart if there are spans."""
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
    """Record what the polyhaul jobs of a ``with`` block do.

        >>> import polyhaul
        >>> with polyhaul.profile() as p:
        ...     scene = polyhaul.read(b"v 0.25 0.5 0.75\\n" * 1000, format="obj")
        >>> p.files[0].name
        'memory'
        >>> "parse" in p.phases
        True

    All jobs are recorded that read or write and start in the context of the block: in its thread, in its ``asyncio``
    tasks and ``asyncio.to_thread`` calls, and in copies of the context (``contextvars.copy_context().run``). Other
    threads have their own context. Of nested profiles, only the innermost records a job. A block that raises an
    exception leaves a profile of everything up to then. A job that is still running when the block ends is recorded
    only in part.

    Args:
        detail: ``"spans"`` to record what each thread did when; ``"totals"`` for sums only, without charts over time.
        samples: sample cores, disks and memory of the process every 5 ms (Linux).
        title: the title of the report and the chart.
    """
    return Profile(detail, samples, title)


def _file(plain: dict[str, Any]) -> FileUse:
    return FileUse(**plain | {"histogram": dict(plain["histogram"]), "callers": dict(plain["callers"])})


def _table(phases: Mapping[str, float]) -> str:
    """The phases as a table with their shares."""
    total = sum(phases.values()) or 1.0
    rows = (
        f"<tr><th>{html.escape(name)}</th><td>{seconds:.3f}</td><td>{100 * seconds / total:.0f} %</td></tr>"
        for name, seconds in phases.items()
    )
    return f"<table><tr><th>phase</th><th>seconds (all threads)</th><th>share</th></tr>{''.join(rows)}</table>"


def _image(svg: str) -> str:
    """An image that cannot run scripts, fetch anything, or affect the styles of the page."""
    data = base64.b64encode(svg.encode()).decode()
    return f'<img alt="what each thread did when" style="max-width:100%" src="data:image/svg+xml;base64,{data}">'
