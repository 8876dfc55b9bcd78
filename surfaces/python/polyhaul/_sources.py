"""Sources and targets: convert paths, bytes, file objects and URLs to a common form."""

from __future__ import annotations

import errno
import io
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any, Protocol, TypeAlias
from urllib.parse import unquote

from . import _errors
from ._polyhaul import CAN_OPEN_URLS, NativeWriteOptions, format_of_name


class BinaryReader(Protocol):
    """A file object for reading. ``read(n)`` returns at most ``n`` bytes, and an empty result only at the end."""

    def read(self, size: int, /) -> bytes: ...


class BinaryWriter(Protocol):
    """A file object for writing. ``write(data)`` returns the number of bytes written."""

    def write(self, data: bytes, /) -> Any: ...


class Openable(Protocol):
    """A path inside an archive or file system: ``zipfile.Path``, ``UPath``."""

    def open(self, mode: Any, /) -> Any: ...
    def joinpath(self, /, *parts: Any) -> Any: ...


#: The source argument of :func:`polyhaul.read`.
Source: TypeAlias = str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryReader | Openable

#: Returns the source of a file that a scene refers to by name, or ``None`` if it does not have the file.
Resolver: TypeAlias = Callable[[str], Source | None]

#: Called by native code for such files.
_Answer: TypeAlias = Callable[[str], dict[str, Any] | None]

#: The target argument of :func:`polyhaul.write`.
Target: TypeAlias = str | os.PathLike[str] | BinaryWriter | Openable

#: URLs and URL chains, such as ``simplecache::s3://bucket/a.obj``.
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(://|::.*://)", re.DOTALL)
#: URLs that native code opens, unless they are an fsspec chain.
_NATIVE_URL = re.compile(r"(s3|gs|az|https?)://(?!.*::)", re.IGNORECASE | re.DOTALL)


@contextmanager
def opened_source(source: Source, argument: str = "source") -> Iterator[dict[str, Any]]:
    """Open a source as native code expects it. ``argument`` is its name in messages."""
    if _is_unopened(source):
        with _opened(source, "rb") as file:
            yield _plain_source(read=file.read, name=_name(source))
    elif (path := _path(source)) is not None:
        yield _plain_source(path=path, name=_shown(path))
    elif isinstance(source, str):
        with _opened(source, "rb") as file:
            yield _plain_source(read=file.read, name=_name_of_url(source))
    elif callable(read := getattr(source, "read", None)):
        _refuse_text(argument, source, "rb")
        yield _plain_source(read=read, name=_name(source))
    else:
        yield _plain_source(memory=_bytes(source, argument), name="memory")


@contextmanager
def opened_resolver(resolver: Resolver | None, source: Source) -> Iterator[_Answer | None]:
    """Return the callback for files that ``source`` refers to: ``resolver``, then the folder of a URL.

    A file that the callback opens stays open until the next call.
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
                except OSError:  # like a missing library next to a path
                    return None
            else:
                return None
            # Sources without a path are identified by the requested name.
            return plain if plain["path"] is not None else plain | {"name": ""}

        yield None if resolver is None and url is None else answer


def _sibling(url: str, name: str) -> str | None:
    """Return the URL of a file below the folder of another URL.

    Names come from files that may be hostile. They must not leave the folder, or have a special meaning to fsspec.
    """
    links = url.split("::")
    # The links before it are caches, which do not have a path; the links after it are the archives that contain it.
    named = next((at for at, link in enumerate(links) if link.partition("://")[2]), 0)
    folder = re.split(r"[?#]", links[named])[0].rpartition("/")[0]
    # The scheme is followed by a host, unless the URL is inside an archive.
    has_folder = not folder.endswith(":/") or named + 1 < len(links) or links[named].startswith("memory://")
    parts = [part for part in name.replace("\\", "/").split("/") if part != "."]
    if not has_folder or "" in parts or ".." in parts or re.search(r"[\x00-\x1f:?#%*{}\[\]]", name):
        return None
    links[named] = f"{folder}/{'/'.join(parts)}"
    return "::".join(links)


def _path(place: Any) -> str | None:
    """Return the path of a source or target; ``None`` if it does not have one.

    Paths include ``file:`` URLs and URLs that native code opens.
    """
    if not isinstance(place, str):
        return os.fsdecode(place) if isinstance(place, os.PathLike) else None
    if not _URL.match(place) or (CAN_OPEN_URLS and _NATIVE_URL.match(place)):
        return place
    match = re.match(r"file://(?:localhost)?(/.*)", place, re.IGNORECASE | re.DOTALL)
    path = unquote(match[1]) if match and "::" not in place else None
    return path[1:] if path and os.name == "nt" else path


@contextmanager
def opened_target(
    target: Target, options: NativeWriteOptions, *, needs_format: bool = True
) -> Iterator[dict[str, Any]]:
    """Open a target as native code expects it. Its name determines the format unless the options set it."""
    if _is_compressed_by_name(target) and options.get("compression") == "none":
        raise ValueError(f'compression is "none", but the name {target} implies compression; use a different name')
    if not _is_unopened(target) and (path := _path(target)) is not None:
        yield _plain_target(path=path, name=_shown(path))
        return
    is_closed = isinstance(target, str) or _is_unopened(target)
    if not is_closed and not callable(getattr(target, "write", None)):
        raise TypeError(f"target is of type {type(target).__name__}; expected a path, a URL or a binary file object")
    _refuse_text("target", target, "wb")
    name = _name_of_url(target) if isinstance(target, str) else _name(target)
    _set_format(options, name, needs_format)
    with _opened(target, "wb") if is_closed else nullcontext(target) as file:
        flush = None if is_closed else getattr(file, "flush", None)
        yield _plain_target(write=writer_of(file), flush=flush, name=name)


@contextmanager
def _opened(place: Any, mode: str) -> Iterator[Any]:
    """Open the file of a URL, or of a path inside an archive or file system."""
    if hasattr(place, "joinpath"):
        with place.open(mode) as file:
            yield file
    elif not isinstance(place, str):
        with place as file:
            yield file
    else:
        opened = _open_url(place, mode)
        # The transaction commits the output at the end, or not at all.
        with opened.fs.transaction if "w" in mode else nullcontext(), opened as file:
            yield file


def _set_format(options: NativeWriteOptions, name: str, is_needed: bool) -> None:
    """Set the format implied by a name, if it is not set."""
    if options.get("format") not in (None, "none"):
        return
    found = format_of_name(name)
    if found is not None:
        options.set("format", found)
    elif is_needed:
        message = f"cannot infer the output format from `{name}`"
        hint = 'pass the format, such as format="obj", or use a name with its extension'
        fields = dict.fromkeys(("path", "line", "column", "offset", "expected"))
        raise _errors.make("usage", None, message=message, excerpt=None, hint=hint, **fields)


def writer_of(file: Any) -> Callable[[bytes], Any]:
    """Return a ``write`` function for a file object.

    If ``write`` of a raw file returns ``None`` because it would block, the function raises ``BlockingIOError``.
    """
    write: Callable[[bytes], Any] = file.write
    if not isinstance(getattr(file, "file", file), io.RawIOBase):
        return write

    def write_now(data: bytes) -> Any:
        count = write(data)
        if count is None:
            raise BlockingIOError(errno.EAGAIN, "write() returned None: the target is in non-blocking mode")
        return count

    return write_now


def _is_compressed_by_name(target: Target) -> bool:
    """Return whether a name has the extension of a compressed file."""
    name = target if isinstance(target, str | os.PathLike) else _name(target)
    return bool(re.search(r"\.(gz|bgz|zst|lz4)$", str(name), re.IGNORECASE))


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
    """Return the name of a file object, or its type if it does not have one. File descriptors are not names."""
    for attribute in ("full_name", "name", "path", "url"):
        name = getattr(file, attribute, None)
        if isinstance(name, str | bytes | os.PathLike) and name:
            shown = _name_of_url(_shown(os.fspath(name)))
            return _COMPRESSED.sub("", shown) if _is_codec(file) else shown
    return type(file).__name__


def _name_of_url(url: str) -> str:
    """Return the part of a URL that names the file.

    For a chain, this is the first link with a path. Queries of web URLs are removed.
    """
    links = url.split("::") if _URL.match(url) else []
    name = next((link for link in links if link.partition("://")[2]), url)
    return re.split(r"[?#]", name)[0] if re.match("https?:", name, re.IGNORECASE) else name


#: The extensions of compressed files.
_COMPRESSED = re.compile(r"\.(gz|bgz|bz2|xz|lzma|zst|lz4)$", re.IGNORECASE)

#: Modules whose file objects compress and decompress transparently.
_CODECS = {"bz2", "compression", "gzip", "isal", "lz4", "lzma", "pyzstd", "zstandard"}


def _is_codec(file: Any) -> bool:
    """Return whether a file object compresses or decompresses transparently.

    The name of such an object has the extension of a compressed file, but its data is not compressed.
    """
    modules = {cls.__module__.partition(".")[0] for cls in type(file).__mro__}
    return bool(modules & _CODECS) or getattr(file, "compression", None) is not None


def _is_unopened(place: Any) -> bool:
    """Return whether this is an unopened fsspec file, or a path inside an archive or file system."""
    if isinstance(place, str | bytes | bytearray | memoryview) or hasattr(place, "read"):
        return False
    fsspec = sys.modules.get("fsspec")
    if fsspec is not None and isinstance(place, fsspec.core.OpenFile):
        return True
    return hasattr(place, "joinpath") and callable(getattr(place, "open", None)) and not isinstance(place, os.PathLike)


def _shown(path: str | bytes) -> str:
    """Return a path for messages. Bytes that are not UTF-8 are replaced."""
    return os.fsencode(path).decode(errors="replace")


def _open_url(url: str, mode: str) -> Any:
    try:
        import fsspec
    except ImportError:
        message = f"{url}: URLs need the package fsspec (pip install fsspec); a path does not contain \"://\""
        raise ImportError(message) from None
    # Use a separate instance, so that the transaction does not include files of others.
    return fsspec.open(url, mode, skip_instance_cache="w" in mode)
