"""Wall time, CPU time and peak memory of a piece of work in this process, and the line that tells them."""

from __future__ import annotations

import ctypes
import gc
import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Generic, TypeVar

CHUNK_BYTES = 1 << 20

# How long to wait at a time for threads to come to rest, at most in all, and what counts as none.
REST_SECONDS = 0.02
MAX_REST_SECONDS = 1.0
IDLE_SECONDS = 0.001

Result = TypeVar("Result")


@dataclass(frozen=True)
class Timed(Generic[Result]):
    """What a piece of work gave and took."""

    result: Result
    seconds: float
    cpu_seconds: float
    peak_rss_bytes: int
    # What the process held when the work began; None where the system does not tell.
    before_bytes: int | None


def timed(work: Callable[[], Result]) -> Timed[Result]:
    """Runs `work` once; the peak of memory is its own where the system lets it begin anew (Linux)."""
    before = _begin_peak()
    _come_to_rest()
    cpu, start = time.process_time(), time.perf_counter()
    result = work()
    seconds, used = time.perf_counter() - start, time.process_time() - cpu
    return Timed(result, seconds, used, _status_bytes("VmHWM") or _max_rss_bytes(), before)


def tell(timing: Timed[Result], **fields: int) -> None:
    """Prints the line that `cargo xtask bench` takes."""
    words = [
        f"seconds={timing.seconds:.6f}",
        f"cpu_seconds={timing.cpu_seconds:.6f}",
        f"peak_rss_bytes={timing.peak_rss_bytes}",
        *(f"{name}={value}" for name, value in fields.items()),
    ]
    print("bench", *words, flush=True)


def serve(write: Callable[[], object], output: Path, result: Path) -> None:
    """Runs `write`, which makes `output`, for each line of input, and compares it with `wanted`.

    What the process held before is not the work's own. A difference ends it, and leaves the output.
    """
    for _ in sys.stdin:
        output.unlink(missing_ok=True)
        timing = timed(write)
        place = difference(output, result)
        if place is not None:
            print(f"failed other bytes than {result.name} from byte {place} on", flush=True)
            return
        fields = {} if timing.before_bytes is None else {"base_bytes": timing.before_bytes}
        tell(timing, bytes=output.stat().st_size, identical=1, **fields)
        output.unlink()


def difference(left: Path, right: Path) -> int | None:
    """How far two OBJ files are equal, in bytes behind their comments and the library's name; None: all."""
    place = 0
    with left.open("rb") as a, right.open("rb") as b:
        for mine, theirs in zip(_body(a), _body(b), strict=True):
            if mine != theirs:
                equal = (at for at, (x, y) in enumerate(zip(mine, theirs, strict=False)) if x != y)
                return place + next(equal, min(len(mine), len(theirs)))
            place += len(mine)
    return None


def _body(file: BinaryIO) -> Iterator[bytes]:
    """Blocks of a file behind the comments at its top and the library's name, and an empty one at last."""
    line = b"#"
    while line.startswith((b"#", b"mtllib ")):
        line = file.readline()
    yield line
    while block := file.read(CHUNK_BYTES):
        yield block
    yield b""


def _come_to_rest() -> None:
    """Waits until no thread of this process computes any more, one second at most.

    Importing numpy starts threads of its linear algebra, which spin for some 30 ms before they sleep. That
    belongs to the import, and would take a part of the cores from the work.
    """
    deadline = time.perf_counter() + MAX_REST_SECONDS
    used = -1.0
    while time.process_time() - used > IDLE_SECONDS and time.perf_counter() < deadline:
        used = time.process_time()
        time.sleep(REST_SECONDS)


def _begin_peak() -> int | None:
    """Gives freed memory back, and lets the peak begin anew; the memory that is held then."""
    gc.collect()
    try:
        trim = ctypes.CDLL(None).malloc_trim
        trim(0)
        Path("/proc/self/clear_refs").write_text("5")
    except (AttributeError, OSError):
        return None
    return _status_bytes("VmRSS")


def _status_bytes(name: str) -> int | None:
    """A line of Linux's table about this process; None where there is none."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith(f"{name}:")), None)


def _max_rss_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
