"""The exceptions of polyhaul, one class per kind of error.

Native code creates them with :func:`make`.
"""

from __future__ import annotations

import errno
import os
import re
from typing import Any

#: An excerpt of the source: the line, and the start and end of the relevant characters.
Excerpt = tuple[str, int, int]


class Error(Exception):
    """The base class of all exceptions of polyhaul.

    Attributes:
        kind: the cause of the error, as a short fixed name: ``"malformed"``, ``"limit"``, ``"unsupported"``, ``"io"``,
            ``"usage"``, ``"host"``, ``"memory"``, ``"cancelled"`` or ``"internal"``.
        message: the description of the problem, without the location.
        path: the file as passed by the caller; ``None`` if the error is not related to a file.
        line: the line, from 1.
        column: the column in bytes, from 1.
        offset: the offset in bytes, from 0.
        expected: the expected value.
        hint: a suggestion for solving the problem.

    The last six attributes are ``None`` if unknown. ``str(error)`` is a single line with the location, the message and
    the expected value. Tracebacks also show the line of the file and the hint.
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
    """The operating system reported an error, such as a full disk, a closed pipe or a missing file.

    It is also an :class:`OSError`, with ``errno``, ``strerror`` and ``filename``. If Python has a dedicated class for
    the error number, the exception is an instance of that class as well: ``except FileNotFoundError`` works.
    """

    kind = "io"


class NotFoundError(IoError, FileNotFoundError):
    """A file or folder does not exist."""


class PermissionDeniedError(IoError, PermissionError):
    """Reading or writing the file is not permitted."""


class IsAFolderError(IoError, IsADirectoryError):
    """The path is a folder, not a file."""


class NotAFolderError(IoError, NotADirectoryError):
    """A component of the path is not a folder."""


class ClosedPipeError(IoError, BrokenPipeError):
    """The reading end of a pipe is closed."""


class AlreadyExistsError(IoError, FileExistsError):
    """The file or folder already exists."""


class TimedOutError(IoError, TimeoutError):
    """A server, a disk or an asset of a batch took too long."""


class ConnectionFailedError(IoError, ConnectionError):
    """A server cannot be reached, or the connection was lost."""


class UsageError(Error, ValueError):
    """The call is invalid, such as options that contradict each other."""

    kind = "usage"


class HostError(Error):
    """A file object or callback violated its contract, such as ``read(n)`` returning more than ``n`` bytes."""

    kind = "host"


class OutOfMemoryError(Error, MemoryError):
    """Out of memory."""

    kind = "memory"


class CancelledError(Error):
    """The job was canceled. If an exception such as Ctrl-C stops a job, that exception is raised instead."""

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

#: The error numbers for errors that the library detects itself, by the names of their kinds.
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


#: Replacements for terms in the library's hints. Options already have their Python names.
_TERMS = {"Limits::": "polyhaul.Limits."}


def make(
    kind: str,
    cause: tuple[int | None, str] | None,
    *,
    message: str,
    excerpt: Excerpt | None,
    **fields: Any,
) -> Error:
    """Return the exception for an error of the library.

    ``cause`` is the operating system's error number, and the kind of error.
    """
    error = _system_error(cause, message, fields["path"]) if kind == "io" else _CLASSES.get(kind, Error)(message)
    error.message = message
    for term, ours in _TERMS.items():
        fields["hint"] = fields["hint"] and fields["hint"].replace(term, ours)
    error.__dict__.update(fields)
    for note in _notes(excerpt, fields):
        error.add_note(note)
    return error


def of_command(error: dict[str, Any], message: str | None = None) -> Error:
    """Return the exception for an error that the command printed as JSON.

    If ``message`` is set, it is prepended to the message of the error, and the location is only part of the message.
    """
    text = error["message"]
    kind = _KINDS_OF_COMMAND.get(error["kind"], error["kind"])
    # The system's error number is at the end of the message: "No such file or directory (os error 2)".
    number = re.search(r"\(os error (\d+)\)", text)
    named = "TimedOut" if error["kind"] == "asset-timeout" else error.get("cause") or ""
    cause = (int(number[1]) if number else None, named)
    place = {name: error.get(name) for name in ("line", "column", "offset", "expected", "hint")}
    made = make(kind, cause, message=text, excerpt=None, path=error.get("file") or None, **place)
    if message is not None:
        made.message, made.path, made.line, made.column, made.offset = f"{message}{made}", None, None, None, None
    return made


#: The kinds of errors that only occur in batches.
_KINDS_OF_COMMAND = {"asset-memory": "memory", "asset-timeout": "io"}


def _system_error(cause: tuple[int | None, str] | None, message: str, path: str | None) -> Error:
    number, name = cause or (None, "")
    if number is None or os.name == "nt":  # Windows error numbers are not errno values
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
    """Return the notes that tracebacks show below the message."""
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
