"""What may be read and written: paths, bytes, file objects and URLs, told apart and put into one form."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeAlias


class BinaryReader(Protocol):
    """A file object to read from: ``read(n)`` returns at most ``n`` bytes, none only at the end."""

    def read(self, size: int, /) -> bytes: ...


class BinaryWriter(Protocol):
    """A file object to write to: ``write(data)`` returns how many bytes it took."""

    def write(self, data: bytes, /) -> Any: ...


#: What :func:`polyhaul.read` takes.
Source: TypeAlias = str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryReader

#: What :func:`polyhaul.write` takes.
Target: TypeAlias = str | os.PathLike[str] | BinaryWriter

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


@contextmanager
def opened_source(source: Source) -> Iterator[dict[str, Any]]:
    """The source as native code takes it, while it is open."""
    if isinstance(source, str) and _URL.match(source):
        with _open_url(source, "rb") as file:
            yield _plain_source(read=file.read, name=source)
    elif isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        yield _plain_source(path=path, name=_shown(path))
    elif callable(read := getattr(source, "read", None)):
        _refuse_text("source", source, "rb")
        yield _plain_source(read=read, name=_name(source))
    else:
        yield _plain_source(memory=_bytes(source), name="memory")


@contextmanager
def opened_target(target: Target, compression: str | None = None) -> Iterator[dict[str, Any]]:
    """The target as native code takes it, while it is open."""
    if compression == "none" and _is_compressed_by_name(target):
        raise ValueError(f'compression is "none", and the name {target} says otherwise; give it another name')
    if isinstance(target, str) and _URL.match(target):
        with _open_url(target, "wb") as file:
            yield _plain_target(write=file.write, name=target)
    elif isinstance(target, str | os.PathLike):
        path = os.fspath(target)
        yield _plain_target(path=path, name=_shown(path))
    elif callable(write := getattr(target, "write", None)):
        _refuse_text("target", target, "wb")
        yield _plain_target(write=write, flush=getattr(target, "flush", None), name=_name(target))
    else:
        raise TypeError(f"target is of type {type(target).__name__}; expected a path, a URL or a binary file object")


def _is_compressed_by_name(target: Target) -> bool:
    """Whether a name ends as those of compressed files do."""
    name = target if isinstance(target, str | os.PathLike) else getattr(target, "name", "")
    return isinstance(name, str | os.PathLike) and bool(re.search(r"\.(gz|bgz|zst|lz4)$", str(name), re.IGNORECASE))


def _plain_source(**given: Any) -> dict[str, Any]:
    return {"path": None, "memory": None, "read": None} | given


def _plain_target(**given: Any) -> dict[str, Any]:
    return {"path": None, "write": None, "flush": None} | given


def _bytes(source: Any) -> memoryview:
    try:
        return memoryview(source).cast("B")
    except TypeError:
        expected = "a path, a URL, bytes or a binary file object"
        raise TypeError(f"source is of type {type(source).__name__}; expected {expected}") from None


def _refuse_text(argument: str, file: Any, mode: str) -> None:
    if isinstance(file, io.TextIOBase):
        raise TypeError(f'{argument} is a file object in text mode; open it in binary mode ("{mode}")')


def _name(file: Any) -> str:
    """What a file object calls itself; descriptors and nothing are no names."""
    name = getattr(file, "name", None)
    if isinstance(name, str | os.PathLike):
        return _shown(os.fspath(name))
    return type(file).__name__


def _shown(path: str | bytes) -> str:
    """A path as messages show it: bytes that are not UTF-8 are replaced."""
    return os.fsencode(path).decode(errors="replace")


def _open_url(url: str, mode: str) -> Any:
    try:
        import fsspec
    except ImportError:
        message = f"{url}: URLs need the package fsspec (pip install fsspec); a path has no \"://\""
        raise ImportError(message) from None
    return fsspec.open(url, mode)
