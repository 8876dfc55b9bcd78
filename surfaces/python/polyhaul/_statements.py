"""The statements of OBJ text: their locations, and the numbers of vertex statements as float64.

Meshes store normals, UVs and colors as float32. This module provides the float64 numbers for libraries that return
them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from polyhaul._errors import MalformedError
from polyhaul._fallback import FallbackError
from polyhaul._tables import loadtxt

#: The byte that must follow the keyword of a vertex or face statement.
_SPACE = ord(" ")


#: The number of bytes that are searched for line ends at a time, chosen to fit the cache.
BLOCK = 1 << 18

#: The maximum number of lines for which preceding faces are counted one line at a time, which is faster than numbering
#: all faces.
FEW = 64


class Remark(NamedTuple):
    """A line that is not a vertex or face statement."""

    text: bytes
    #: The number of preceding faces.
    face: int


class Statements:
    """The statements of an OBJ file, located without parsing them.

    Raises:
        FallbackError: libraries parse some line differently: there are spaces before or tabs after a keyword, or a
            comment after numbers.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        check_comments(data)
        codes = np.frombuffer(data, np.uint8)
        starts = [np.flatnonzero(codes[at : at + BLOCK] == ord("\n")) + (at + 1) for at in range(0, len(codes), BLOCK)]
        self._starts = np.concatenate([np.zeros(1, np.int64), *starts])
        if self._starts[-1] == len(data):
            self._starts = self._starts[:-1]
        first, second = self._at(codes, self._starts, 0), self._at(codes, self._starts, 1)
        is_v, self._is_face = first == ord("v"), first == ord("f")
        if bool((self._is_face & (second != _SPACE)).any()):
            raise FallbackError("a face statement without a space after its keyword")
        is_position = is_v & (second == _SPACE)
        self._keywords = {b"v": is_position, b"vt": is_v & (second == ord("t")), b"vn": is_v & (second == ord("n"))}
        longer = np.flatnonzero(is_v ^ is_position)
        is_spaced = self._at(codes, self._starts[longer], 2) == _SPACE
        is_known = is_spaced & ((second[longer] == ord("t")) | (second[longer] == ord("n"))) | (second[longer] == ord("p"))
        if not bool(is_known.all()):
            raise FallbackError("a vertex statement without a space after its keyword")
        self.remarks = self._remarks(~is_v & ~self._is_face)

    @staticmethod
    def _at(codes: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], step: int) -> npt.NDArray[np.uint8]:
        """Return the bytes at offset ``step`` from the starts of lines. Bytes after the end are line ends."""
        values = np.take(codes[step:], starts, mode="clip") if len(codes) > step else np.zeros(len(starts), np.uint8)
        # Only the last lines can be too short.
        values[-3:][starts[-3:] + step >= len(codes)] = ord("\n")
        return values

    def count(self, keyword: bytes) -> int:
        """Return the number of ``v``, ``vt``, ``vn`` or ``f`` statements."""
        return int(np.count_nonzero(self._is_face if keyword == b"f" else self._keywords[keyword]))

    def numbers(self, keyword: bytes) -> npt.NDArray[np.float64] | None:
        """Return (n, k) float64: the numbers of the statements with this keyword; ``None`` if there are none.

        Raises:
            FallbackError: the statements have different numbers of values.
        """
        rows = np.flatnonzero(self._keywords[keyword])
        if not len(rows):
            return None
        columns = len(self._line(int(rows[0])).split()) - 1
        try:
            values = loadtxt(self._lines(rows), usecols=range(1, columns + 1), comments=None, ndmin=2)
        except MalformedError:
            raise FallbackError(f"{keyword.decode()} statements have different numbers of values") from None
        return np.asarray(values, np.float64)

    def fewest_numbers(self, keyword: bytes) -> int:
        """Return the minimum number of values per statement with this keyword."""
        lines = bytes(self._lines(np.flatnonzero(self._keywords[keyword]))).split(b"\n")
        return min(len(line.split()) for line in lines if line) - 1

    def has_in_faces(self, text: bytes) -> bool:
        """Return whether a face statement contains ``text``."""
        rows = np.flatnonzero(self._is_face)
        start = int(self._starts[rows[0]]) if len(rows) else len(self._data)
        return self._data.find(text, start) >= 0 and text in bytes(self._lines(rows))

    def _line(self, row: int) -> bytes:
        end = int(self._starts[row + 1]) if row + 1 < len(self._starts) else len(self._data)
        return self._data[int(self._starts[row]) : end]

    def _lines(self, rows: npt.NDArray[Any]) -> bytes | memoryview:
        """Return the text of some lines. Consecutive lines are not copied."""
        cuts = np.flatnonzero(np.diff(rows) != 1) + 1
        firsts = rows[np.concatenate([[0], cuts])]
        lasts = rows[np.concatenate([cuts - 1, [len(rows) - 1]])]
        ends = np.append(self._starts, len(self._data))[lasts + 1]
        view = memoryview(self._data)
        runs = [view[start:end] for start, end in zip(self._starts[firsts].tolist(), ends.tolist(), strict=True)]
        return runs[0] if len(runs) == 1 else b"".join(runs)

    def _remarks(self, is_other: npt.NDArray[np.bool_]) -> list[Remark]:
        rows = np.flatnonzero(is_other)
        if len(rows) > FEW:
            faces = np.cumsum(self._is_face)[rows].tolist()
        else:
            faces = [int(np.count_nonzero(self._is_face[:row])) for row in rows]
        remarks = [Remark(self._line(row).rstrip(b"\n"), face) for row, face in zip(rows.tolist(), faces, strict=True)]
        for text, _ in remarks:
            if text[:1] in (b" ", b"\t") and text.split()[:1] and text.split()[0] in (b"v", b"vt", b"vn", b"f"):
                raise FallbackError("spaces before a keyword")
        return remarks


def text_of(data: bytes) -> bytes:
    """Return the text with Unix line ends.

    Raises:
        FallbackError: the text is not UTF-8, or it has a byte order mark or other line ends.
    """
    if not data.isascii():
        if data.startswith(b"\xef\xbb\xbf"):
            raise FallbackError("a byte order mark")
        try:
            data.decode()
        except UnicodeDecodeError:
            raise FallbackError("text that is not UTF-8") from None
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
        if b"\r" in data:
            raise FallbackError("lines that end with a carriage return alone")
    return data


def numbers_per_line(text: bytes) -> npt.NDArray[np.int64]:
    """Return the number of words in each line."""
    if not text:
        return np.zeros(0, np.int64)
    codes = np.frombuffer(text, np.uint8)
    is_text = codes > ord(" ")
    is_start = is_text.copy()
    is_start[1:] &= ~is_text[:-1]
    starts = np.concatenate([[0], np.flatnonzero(codes == ord("\n")) + 1])
    return np.add.reduceat(is_start, starts[starts < len(text)], dtype=np.int64)


def check_comments(text: bytes) -> None:
    """Raise ``FallbackError`` if a comment follows other text on its line."""
    at = text.find(b"#")
    while at >= 0:
        if text[text.rfind(b"\n", 0, at) + 1 : at].strip():
            raise FallbackError("a comment after other text")
        end = text.find(b"\n", at)
        at = text.find(b"#", end) if end >= 0 else -1
