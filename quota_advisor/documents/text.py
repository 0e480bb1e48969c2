"""The text of a file, whatever its encoding and line ends."""

from __future__ import annotations

import codecs
from bisect import bisect_right
from itertools import accumulate

from quota_advisor.patterns import pattern

_LONE_RETURN = pattern(rb"\r(?!\n)")
_BOM = codecs.BOM_UTF8


def to_utf8(data: bytes) -> bytes:
    """Return a file in UTF-8, without byte order mark and without lone carriage returns.

    Raises:
        UnicodeDecodeError: A byte order mark promises UTF-16, and it is not.
    """
    if data.startswith(codecs.BOM_UTF8):
        data = data[len(codecs.BOM_UTF8) :]
    elif data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        data = data.decode("utf-16").encode("utf-8", "replace")
    return _LONE_RETURN.sub(b"\n", data) if b"\r" in data else data


def without_marks(data: bytes) -> bytes:
    """Return a document without the byte order marks that joining files leaves at line starts."""
    return data.removeprefix(_BOM).replace(b"\n" + _BOM, b"\n") if _BOM in data else data


class Lines:
    """Turns places of a file into offsets of a text and back.

    Args:
        text: The file, or whole lines of it; only line feeds end lines.
        first_line: Number of its first line.
    """

    def __init__(self, text: str, first_line: int = 1) -> None:
        self._first_line = first_line
        self._lines = text.split("\n")
        # Line ends not counted: this much is summed up without a step of Python for each line.
        self._lengths = list(accumulate(map(len, self._lines), initial=0))

    def line(self, number: int) -> str | None:
        """Return a line without its end; None for none of the text."""
        row = number - self._first_line
        return self._lines[row] if 0 <= row < len(self._lines) else None

    def offset(self, line: int, column: int) -> int | None:
        """Return the offset of a place; None for no place of the text."""
        row = line - self._first_line
        if not 0 <= row < len(self._lines) or not 0 < column <= len(self._lines[row]) + 1:
            return None
        return self._lengths[row] + row + column - 1

    def place(self, offset: int) -> tuple[int, int]:
        """Return line and column of a character."""
        row = bisect_right(range(len(self._lines)), offset, key=self._start) - 1
        return row + self._first_line, offset - self._start(row) + 1

    def _start(self, row: int) -> int:
        return self._lengths[row] + row
