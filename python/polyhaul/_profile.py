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
    """What bound the jobs of a profile. ``str()`` is a line of it."""

    #: What held them back most, as a short fixed name such as ``"parse"`` or ``"host"``; ``"unknown"`` where none
    #: leads.
    bound: str
    #: The share of the cores' time that this took, 0 to 1.
    share: float
    #: How long the jobs took, in seconds: what else the block did is not in it.
    seconds: float
    #: Plain bytes per second: those read or those written, whichever are more.
    bytes_per_second: float
    #: The best that this machine can do with the same bytes, in seconds; ``None`` before ``polyhaul limits`` measured
    #: the machine, for small jobs, and where the rate of a format or a codec is not known.
    best_possible_seconds: float | None
    #: How many times longer than that it took.
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
    """The calls on one source or target."""

    #: What messages call it: the path, where it has one.
    name: str
    #: What its calls are: ``"read"``, ``"write"``, ``"host"`` for file objects, or ``"decompress"`` for the plain bytes
    #: of compressed data.
    phase: str
    #: Whether bytes go out.
    is_output: bool
    #: Bytes moved: more than the file has where some are looked at twice, as the first ones are.
    bytes: int
    #: Calls that succeeded, those that met the end included.
    calls: int
    #: The time in these calls, summed over threads.
    waiting_seconds: float
    #: Calls by the bytes that they moved: 65536 stands for 65,536 to 131,071.
    histogram: Mapping[int, int]
    #: Who called: on behalf of which phase, how often. Empty with ``detail="totals"``.
    callers: Mapping[str, int]

    @property
    def mean_bytes(self) -> float:
        """Bytes per call; 0 where there was none."""
        return self.bytes / self.calls if self.calls else 0.0


class Profile:
    """What the jobs of a block did: see :func:`profile`, which makes it. All but the block itself is for afterwards."""

    def __init__(self, detail: Literal["spans", "totals"], samples: bool, title: str) -> None:
        if detail not in ("spans", "totals"):
            raise ValueError(f'detail is {detail!r}; expected "spans" or "totals"')
        self._has_spans, self._has_samples, self._title = detail == "spans", bool(samples), str(title)
        self._native: NativeProfile | None = None
        self._token: Token[NativeProfile | None] | None = None
        self._is_ended = False

    def __enter__(self) -> Self:
        if self._native is not None:
            raise RuntimeError("this profile has had its block; make another one with polyhaul.profile()")
        self._native = NativeProfile(self._has_spans, self._has_samples)
        self._token = _current.set(self._native)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._native is None or self._token is None:
            raise RuntimeError("this profile has not begun")
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
        """What bound the jobs, how far they are from the best possible, and what would help."""
        plain = self._ended.verdict()
        causes, line = dict(plain.pop("causes")), plain.pop("line")
        return Verdict(**plain | {"advice": tuple(plain["advice"]), "causes": causes, "_line": line})

    @property
    def files(self) -> list[FileUse]:
        """The calls on each source and target, those that threads waited for longest first."""
        return [_file(plain) for plain in self._ended.files()]

    @property
    def phases(self) -> dict[str, float]:
        """How many seconds threads were in each phase, summed over threads, the longest first."""
        return dict(self._ended.phases())

    def report(self, path: str | os.PathLike[str]) -> None:
        """Writes a page for a browser, one HTML file that needs nothing else."""
        self._ended.write("report", path, self._title)

    def trace(self, path: str | os.PathLike[str]) -> None:
        """Writes a trace, JSON for Perfetto and ``chrome://tracing``."""
        self._ended.write("trace", path, self._title)

    def chart(self, path: str | os.PathLike[str]) -> None:
        """Writes a picture, SVG.

        A name that ends in ``.png`` is a :class:`ValueError`: pixels are what the command writes.
        """
        if os.fspath(path).lower().endswith(".png"):
            raise ValueError("a profile's chart is SVG: its name may not end in .png, but in .svg")
        self._ended.write("chart", path, self._title)

    @property
    def _ended(self) -> NativeProfile:
        if self._native is None:
            raise RuntimeError("this profile has not begun; use it as `with polyhaul.profile() as p:`")
        if not self._is_ended:
            raise RuntimeError("this profile goes on: what it recorded is there after its block")
        return self._native

    def __repr__(self) -> str:
        state = str(self.verdict) if self._is_ended else "has not begun" if self._native is None else "goes on"
        return f"<polyhaul.Profile: {state}>"

    def _repr_html_(self) -> str | None:
        """For notebooks: the verdict, the phases, and a picture if there are spans."""
        if not self._is_ended:
            return None
        verdict, phases = self.verdict, self.phases
        advice = "".join(f"<li>{html.escape(it)}</li>" for it in verdict.advice)
        listed = f"<ul>{advice}</ul>" if advice else ""
        picture = _image(self._ended.picture(self._title)) if self._has_spans and phases else ""
        return f"<div><p><b>{html.escape(str(verdict))}</b></p>{listed}{_table(phases)}{picture}</div>"


def profile(
    detail: Literal["spans", "totals"] = "spans", *, samples: bool = True, title: str = "polyhaul.profile()"
) -> Profile:
    """Records what the polyhaul jobs of a ``with`` block do, and judges it when the block ends.

        >>> import polyhaul
        >>> with polyhaul.profile() as p:
        ...     scene = polyhaul.read(b"v 0.25 0.5 0.75\\n" * 1000, format="obj")
        >>> p.files[0].name
        'memory'
        >>> "parse" in p.phases
        True

    It has every job that reads or writes and begins in the block's context: in the thread of the block, in ``asyncio``
    tasks and ``asyncio.to_thread`` of it, and in whatever runs in a copy of the context
    (``contextvars.copy_context().run``); a plain thread has a context of its own. Of profiles in each other the
    innermost has the jobs. A block that ends with an exception leaves a profile of what there was until then. Jobs
    should be done when the block ends: of those that go on, what their threads still hold is missing.

    Args:
        detail: ``"spans"``: when each thread was at what; ``"totals"``: sums alone, without charts over time.
        samples: look at the process every 5 ms: cores, disks, memory, on Linux.
        title: what stands above the report and the picture.
    """
    return Profile(detail, samples, title)


def _file(plain: dict[str, Any]) -> FileUse:
    return FileUse(**plain | {"histogram": dict(plain["histogram"]), "callers": dict(plain["callers"])})


def _table(phases: Mapping[str, float]) -> str:
    """The phases as a table, with their shares."""
    total = sum(phases.values()) or 1.0
    rows = (
        f"<tr><th>{html.escape(name)}</th><td>{seconds:.3f}</td><td>{100 * seconds / total:.0f} %</td></tr>"
        for name, seconds in phases.items()
    )
    return f"<table><tr><th>phase</th><th>seconds, all threads</th><th>share</th></tr>{''.join(rows)}</table>"


def _image(svg: str) -> str:
    """A picture that cannot run or fetch anything, and leaves the styles of the page alone."""
    data = base64.b64encode(svg.encode()).decode()
    return f'<img alt="what the threads did when" style="max-width:100%" src="data:image/svg+xml;base64,{data}">'
