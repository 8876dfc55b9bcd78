"""Why a file is handed on to another library's own reader, and the log that says so."""

from __future__ import annotations

import logging
from typing import Any

#: One record at level DEBUG for each file: read by polyhaul, or handed on and why.
logger = logging.getLogger("polyhaul.accelerate")


#: Above this many bytes, binary files are handed on to trimesh, whose reader only maps them: to parse them takes longer.
MAX_MAPPED = 1 << 20


class HandedOnError(Exception):
    """The other library would return something else than polyhaul; the message is the reason."""


def log_read(library: str, format: str) -> None:
    """Logs that polyhaul read a file for a library."""
    logger.debug("%s, %s: read by polyhaul", library, format)


def log_handed_on(library: str, format: str, reason: BaseException) -> None:
    """Logs that the library's own reader is called, and why."""
    text = str(reason) if isinstance(reason, HandedOnError) else f"polyhaul cannot read it: {reason}"
    logger.debug("%s, %s: handed on: %s", library, format, text)


def check_faults(scene: Any, allowed: tuple[str, ...] = ()) -> None:
    """Raises ``HandedOnError`` if polyhaul repaired or skipped something in a file, apart from kinds that libraries read alike."""
    for warning in scene.report.warnings:
        if warning.severity == "fault" and warning.code not in allowed:
            raise HandedOnError(warning.message)


def check_mapped(data: bytes) -> None:
    """Raises ``HandedOnError`` for binary data that trimesh maps faster than they are parsed."""
    if len(data) > MAX_MAPPED:
        raise HandedOnError("binary data above 1 MiB, which trimesh maps without parsing")
