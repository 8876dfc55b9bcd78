"""The exceptions of polyhaul, one class per kind of error.

Made from what the library says by :func:`make`, which native code calls.
"""

from __future__ import annotations

import errno
import os
import re
from typing import Any

#: A line of the source, and which characters of it are meant: text, start, end.
Excerpt = tuple[str, int, int]


class Error(Exception):
    """The base class of all exceptions of polyhaul.

    Attributes:
        kind: who is at fault, as a short fixed name: ``"malformed"``, ``"limit"``, ``"unsupported"``,
            ``"io"``, ``"usage"``, ``"host"``, ``"memory"``, ``"cancelled"`` or ``"internal"``.
        message: what is wrong, without the place.
        path: the file as the caller named it; ``None`` if the error is not about a file.
        line: the line, from 1.
        column: the column in bytes, from 1.
        offset: the offset in bytes, from 0.
        expected: what was expected instead.
        hint: how to solve the problem.

    Each of the last six is ``None`` if it is unknown. ``str(error)`` is one line with place, message
    and what was expected; tracebacks show the line of the file and the hint below it.
    """

    kind: str = "internal"
    message: str
    path: str | None = None
    line: int | None = None
    column: int | None = None
    offset: int | None = None
    expected: str | None = None
    hint: str | None = None

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.message = str(args[-1]) if args else ""

    def __str__(self) -> str:
        place = _place(self.path, self.line, self.column, self.offset)
        expected = f"; expected {self.expected}" if self.expected else ""
        return f"{place}{self.message}{expected}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restore, (type(self), self.args, dict(self.__dict__)))


class MalformedError(Error, ValueError):
    """The data is not valid in its format."""

    kind = "malformed"


class LimitError(Error, ValueError):
    """The data exceeds :class:`polyhaul.Limits`; the message names the limit."""

    kind = "limit"


class UnsupportedError(Error, ValueError):
    """The data uses a feature of its format that polyhaul does not support."""

    kind = "unsupported"


class IoError(Error, OSError):
    """The operating system reported an error: a full disk, a closed pipe, a missing file.

    It is an :class:`OSError` with its ``errno``, ``strerror`` and ``filename``, and where Python has a class
    of its own for the error number it is one of these too: ``except FileNotFoundError`` works.
    """

    kind = "io"


class NotFoundError(IoError, FileNotFoundError):
    """A file or a folder is missing."""


class PermissionDeniedError(IoError, PermissionError):
    """The file may not be read or written."""


class IsAFolderError(IoError, IsADirectoryError):
    """The path is a folder, not a file."""


class NotAFolderError(IoError, NotADirectoryError):
    """A part of the path is not a folder."""


class ClosedPipeError(IoError, BrokenPipeError):
    """The reading end of the pipe is closed."""


class AlreadyExistsError(IoError, FileExistsError):
    """The file or the folder exists already."""


class TimedOutError(IoError, TimeoutError):
    """A server, a disk or an asset of a batch took too long."""


class ConnectionFailedError(IoError, ConnectionError):
    """A server cannot be reached, or the connection to it was lost."""


class UsageError(Error, ValueError):
    """The call is invalid, such as options that contradict each other."""

    kind = "usage"


class HostError(Error):
    """A file object or a callback broke its contract, such as ``read(n)`` returning more than ``n`` bytes."""

    kind = "host"


class OutOfMemoryError(Error, MemoryError):
    """The machine is out of memory."""

    kind = "memory"


class CancelledError(Error):
    """The work was stopped. An exception that stops it (Ctrl-C) is raised itself instead."""

    kind = "cancelled"


class InternalError(Error, RuntimeError):
    """A bug in polyhaul; please report it."""

    kind = "internal"


_CLASSES: dict[str, type[Error]] = {
    cls.kind: cls
    for cls in (
        MalformedError,
        LimitError,
        UnsupportedError,
        IoError,
        UsageError,
        HostError,
        OutOfMemoryError,
        CancelledError,
        InternalError,
    )
}

_IO_CLASSES: dict[int, type[IoError]] = {
    errno.ENOENT: NotFoundError,
    errno.EACCES: PermissionDeniedError,
    errno.EPERM: PermissionDeniedError,
    errno.EISDIR: IsAFolderError,
    errno.ENOTDIR: NotAFolderError,
    errno.EPIPE: ClosedPipeError,
    errno.EEXIST: AlreadyExistsError,
    errno.ETIMEDOUT: TimedOutError,
    errno.ECONNREFUSED: ConnectionFailedError,
    errno.ECONNRESET: ConnectionFailedError,
    errno.ECONNABORTED: ConnectionFailedError,
}

#: Numbers of errors that the library found by itself, by the names that it gives to their kinds.
_NUMBERS = {
    "NotFound": errno.ENOENT,
    "PermissionDenied": errno.EACCES,
    "IsADirectory": errno.EISDIR,
    "NotADirectory": errno.ENOTDIR,
    "BrokenPipe": errno.EPIPE,
    "AlreadyExists": errno.EEXIST,
    "StorageFull": errno.ENOSPC,
    "InvalidInput": errno.EINVAL,
    "TimedOut": errno.ETIMEDOUT,
    "ConnectionRefused": errno.ECONNREFUSED,
    "ConnectionReset": errno.ECONNRESET,
    "ConnectionAborted": errno.ECONNABORTED,
    "OutOfMemory": errno.ENOMEM,
}


#: What the library's hints call limits, and what they are called here. Options have their keywords already.
_TERMS = {"Limits::": "polyhaul.Limits."}


def make(
    kind: str,
    cause: tuple[int | None, str] | None,
    *,
    message: str,
    excerpt: Excerpt | None,
    **fields: Any,
) -> Error:
    """The exception for what the library says. ``cause`` is the system's error number and its kind."""
    error = _system_error(cause, message, fields["path"]) if kind == "io" else _CLASSES.get(kind, Error)(message)
    error.message = message
    for term, ours in _TERMS.items():
        fields["hint"] = fields["hint"] and fields["hint"].replace(term, ours)
    error.__dict__.update(fields)
    for note in _notes(excerpt, fields):
        error.add_note(note)
    return error


def of_command(error: dict[str, Any], message: str | None = None) -> Error:
    """The exception for an error that the command prints as JSON, with another message if there is one."""
    text = error["message"]
    kind = _KINDS_OF_COMMAND.get(error["kind"], error["kind"])
    # The number of the system's error ends the message, as in "No such file or directory (os error 2)".
    number = re.search(r"\(os error (\d+)\)", text)
    named = "TimedOut" if error["kind"] == "asset-timeout" else error.get("cause") or ""
    cause = (int(number[1]) if number else None, named)
    place = {name: error.get(name) for name in ("line", "column", "offset", "expected", "hint")}
    made = make(kind, cause, message=text, excerpt=None, path=error.get("file") or None, **place)
    if message is not None:
        made.message, made.path, made.line, made.column, made.offset = f"{message}{made}", None, None, None, None
    return made


#: Kinds of errors that only batches have.
_KINDS_OF_COMMAND = {"asset-memory": "memory", "asset-timeout": "io"}


def _system_error(cause: tuple[int | None, str] | None, message: str, path: str | None) -> Error:
    number, name = cause or (None, "")
    if number is None or os.name == "nt":  # there the system's numbers are not those of errno
        number = _NUMBERS.get(name)
    if number is None:
        return IoError(message)
    if number == errno.ENOMEM:
        return OutOfMemoryError(message)
    return _IO_CLASSES.get(number, IoError)(number, os.strerror(number), path)


def _place(path: str | None, line: int | None, column: int | None, offset: int | None) -> str:
    if path is None:
        return ""
    if line is None:
        return f"{path}: " if offset is None else f"{path}: byte {offset}: "
    return f"{path}:{line}: " if column is None else f"{path}:{line}:{column}: "


def _notes(excerpt: Excerpt | None, fields: dict[str, Any]) -> list[str]:
    """What tracebacks show below the message."""
    notes = []
    if excerpt is not None:
        text, start, end = excerpt
        number = str(fields["line"] or "")
        margin = " " * len(number)
        notes.append(f" {number} | {text}\n {margin} | {' ' * start}{'^' * max(end - start, 1)}")
    if fields["hint"]:
        notes.append(f"hint: {fields['hint']}")
    return notes


def _restore(cls: type[Error], args: tuple[Any, ...], fields: dict[str, Any]) -> Error:
    error = cls(*args)
    error.__dict__.update(fields)
    return error
