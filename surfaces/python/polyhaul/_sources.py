"""What may be read and written: paths, bytes, file objects and URLs, told apart and put into one form."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol, TypeAlias
from urllib.parse import unquote

from ._polyhaul import CAN_OPEN_URLS, NativeWriteOptions


class BinaryReader(Protocol):
    """A file object to read from: ``read(n)`` returns at most ``n`` bytes, none only at the end."""

    def read(self, size: int, /) -> bytes: ...


class BinaryWriter(Protocol):
    """A file object to write to: ``write(data)`` returns how many bytes it took."""

    def write(self, data: bytes, /) -> Any: ...


#: What :func:`polyhaul.read` takes.
Source: TypeAlias = str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryReader

#: Gives the files that a scene refers to, by their names in the scene; ``None`` for what it does not have.
Resolver: TypeAlias = Callable[[str], Source | None]

#: What native code calls for such files.
_Answer: TypeAlias = Callable[[str], dict[str, Any] | None]

#: What :func:`polyhaul.write` takes.
Target: TypeAlias = str | os.PathLike[str] | BinaryWriter

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
#: URLs that native code opens, unless they are a chain of fsspec.
_NATIVE_URL = re.compile(r"(s3|gs|az|https?)://(?!.*::)", re.IGNORECASE | re.DOTALL)


@contextmanager
def opened_source(source: Source, argument: str = "source") -> Iterator[dict[str, Any]]:
    """The source as native code takes it, while it is open. ``argument`` is what messages call it."""
    if (path := _path(source)) is not None:
        yield _plain_source(path=path, name=_shown(path))
    elif isinstance(source, str):
        with _open_url(source, "rb") as file:
            yield _plain_source(read=file.read, name=source)
    elif callable(read := getattr(source, "read", None)):
        _refuse_text(argument, source, "rb")
        yield _plain_source(read=read, name=_name(source))
    else:
        yield _plain_source(memory=_bytes(source, argument), name="memory")


@contextmanager
def opened_resolver(resolver: Resolver | None, source: Source) -> Iterator[_Answer | None]:
    """Who native code asks for the files that ``source`` refers to: ``resolver``, then the folder of a URL.

    What is opened for an answer stays open until the next question.
    """
    if resolver is not None and not callable(resolver):
        raise TypeError(f"resolver is of type {type(resolver).__name__}; expected a function, such as get of a dict")
    url = source if isinstance(source, str) and _path(source) is None else None
    with ExitStack() as opened:

        def answer(name: str) -> dict[str, Any] | None:
            opened.close()
            given = None if resolver is None else resolver(name)
            if given is not None:
                plain = opened.enter_context(opened_source(given, f"the result of resolver({name!r})"))
            elif url is not None and (sibling := _sibling(url, name)) is not None:
                try:
                    plain = opened.enter_context(opened_source(sibling))
                except OSError:  # as a library that is missing beside a path
                    return None
            else:
                return None
            # What has no path goes by the name that was asked for.
            return plain if plain["path"] is not None else plain | {"name": ""}

        yield None if resolver is None and url is None else answer


def _sibling(url: str, name: str) -> str | None:
    """The URL of what lies below the folder of another one.

    Names come from files that may be hostile: they must not lead out of the folder, or mean something to fsspec.
    """
    first, chain, others = url.partition("::")
    folder = re.split(r"[?#]", first)[0].rpartition("/")[0]
    # Behind a scheme comes a host, unless it is that of an archive.
    has_folder = not folder.endswith(":/") or chain or first.startswith("memory://")
    parts = [part for part in name.replace("\\", "/").split("/") if part != "."]
    if not has_folder or "" in parts or ".." in parts or re.search(r"[\x00-\x1f:?#%*{}\[\]]", name):
        return None
    return f"{folder}/{'/'.join(parts)}{chain}{others}"


def _path(place: Any) -> str | bytes | None:
    """The path that is meant, where one is: URLs of files are paths too, and so are those that native code opens."""
    if not isinstance(place, str):
        return os.fspath(place) if isinstance(place, os.PathLike) else None
    if not _URL.match(place) or (CAN_OPEN_URLS and _NATIVE_URL.match(place)):
        return place
    match = re.match(r"file://(?:localhost)?(/.*)", place, re.IGNORECASE | re.DOTALL)
    path = unquote(match[1]) if match and "::" not in place else None
    return path[1:] if path and os.name == "nt" else path


@contextmanager
def opened_target(target: Target, options: NativeWriteOptions) -> Iterator[dict[str, Any]]:
    """The target as native code takes it, while it is open."""
    if _is_compressed_by_name(target) and options.get("compression") == "none":
        raise ValueError(f'compression is "none", but the name {target} implies compression; use a different name')
    if (path := _path(target)) is not None:
        yield _plain_target(path=path, name=_shown(path))
    elif isinstance(target, str):
        with _open_url(target, "wb") as file:
            yield _plain_target(write=file.write, name=target)
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


def _bytes(source: Any, argument: str) -> memoryview:
    try:
        return memoryview(source).cast("B")
    except TypeError:
        expected = "a path, a URL, bytes or a binary file object"
        raise TypeError(f"{argument} is of type {type(source).__name__}; expected {expected}") from None


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
        message = f"{url}: URLs need the package fsspec (pip install fsspec); a path does not contain \"://\""
        raise ImportError(message) from None
    return fsspec.open(url, mode)
