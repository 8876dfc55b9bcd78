"""Fall back to another library's own reader, and log the reason."""

from __future__ import annotations

import logging
from typing import Any

#: Logs one record at level DEBUG per file: that polyhaul read it, or why another reader did.
logger = logging.getLogger("polyhaul.accelerate")


#: Binary files above this size in bytes are read by trimesh's own reader, which maps them without parsing and is
#: faster.
MAX_MAPPED = 1 << 20


class FallbackError(Exception):
    """The result of polyhaul would differ from the result of the other library. The message is the reason."""


def log_read(library: str, format: str) -> None:
    """Log that polyhaul read a file for a library."""
    logger.debug("%s, %s: read by polyhaul", library, format)


def log_fallback(library: str, format: str, reason: BaseException) -> None:
    """Log that the library's own reader is called, and why."""
    text = str(reason) if isinstance(reason, FallbackError) else f"polyhaul cannot read it: {reason}"
    logger.debug("%s, %s: fallback: %s", library, format, text)


def check_faults(scene: Any, allowed: tuple[str, ...] = ()) -> None:
    """Raise ``FallbackError`` if polyhaul repaired or skipped anything.

    The kinds in ``allowed`` are ignored, because the libraries read them in the same way.
    """
    for warning in scene.report.warnings:
        if warning.severity == "fault" and warning.code not in allowed:
            raise FallbackError(warning.message)


def check_mapped(data: bytes) -> None:
    """Raise ``FallbackError`` for binary data that trimesh maps faster than polyhaul parses it."""
    if len(data) > MAX_MAPPED:
        raise FallbackError("binary data above 1 MiB, which trimesh maps without parsing")
