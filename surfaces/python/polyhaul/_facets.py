"""Facets of ASCII STL as float64, including the normals of the file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from polyhaul._errors import MalformedError
from polyhaul._fallback import FallbackError
from polyhaul._tables import loadtxt


class Solid(NamedTuple):
    """A solid of an ASCII STL file."""

    name: str
    #: (f, 3) float64
    normals: npt.NDArray[np.float64]
    #: (f, 3, 3) float64
    corners: npt.NDArray[np.float64]


#: The indices of the numbers among the words of a facet.
_NUMBERS = (2, 3, 4, 8, 9, 10, 12, 13, 14, 16, 17, 18)

_WORDS = b"facet normal 0 0 0 outer loop vertex 0 0 0 vertex 0 0 0 vertex 0 0 0 endloop".split()


def solids_of(text: bytes) -> Iterator[Solid]:
    """Yield the solids that have facets, in order.

    Raises:
        FallbackError: the order of the keywords or the form of the facets is unexpected.
    """
    lower = text.lower()
    end = 0
    while True:
        start = lower.find(b"solid", end)
        stop = lower.find(b"endsolid", end)
        if start < 0 or stop < 0:
            return
        if start > stop:
            raise FallbackError("a solid that ends before it starts")
        end = stop + len(b"endsolid")
        line_end = lower.find(b"\n", start, stop)
        line_end = stop if line_end < 0 else line_end
        if b"vertex" in lower[start:stop]:
            numbers = facets_of(lower[line_end:stop], lower.count(b"vertex", start, stop), lower.count(b"normal", start, stop))
            name = text[start + len(b"solid ") : line_end].decode().strip()
            yield Solid(name, numbers[:, 0].copy(), numbers[:, 1:].copy())


def facets_of(text: bytes, vertices: int, normals: int) -> npt.NDArray[np.float64]:
    """Return (f, 4, 3) float64: the normal and the corners of each facet.

    Raises:
        FallbackError: the facets have other words, or other numbers of vertices and normals.
    """
    # Convert each facet to a line of numbers between words.
    rows = text.replace(b"\n", b" ").replace(b"endfacet", b"\n")
    first = rows[: rows.find(b"\n")].split()
    if [word for at, word in enumerate(first) if at not in _NUMBERS] != [
        word for at, word in enumerate(_WORDS) if at not in _NUMBERS
    ]:
        raise FallbackError("facets in an unexpected form")
    try:
        numbers = loadtxt(rows, usecols=_NUMBERS, comments=None, ndmin=2)
    except MalformedError:
        raise FallbackError("facets in an unexpected form") from None
    if not 3 * len(numbers) == 3 * normals == vertices:
        raise FallbackError("facets in an unexpected form")
    return np.asarray(numbers, np.float64).reshape(-1, 4, 3)


def joined_facets(text: bytes) -> bytes:
    """Return the facets of all solids, without the ``solid`` and ``endsolid`` lines."""
    return re.sub(rb"(?m)^[ \t]*(endsolid|solid).*$", b"", text)


def as_solid(facets: bytes) -> bytes:
    """Return facets as a file with one solid."""
    return b"solid\n" + facets + b"\nendsolid\n"


def is_binary_stl(data: bytes) -> bool:
    """Return whether the size matches the number of triangles in the header."""
    return len(data) >= 84 and len(data) == 84 + 50 * int.from_bytes(data[80:84], "little")


__all__ = ["Solid", "as_solid", "facets_of", "is_binary_stl", "joined_facets", "solids_of"]
