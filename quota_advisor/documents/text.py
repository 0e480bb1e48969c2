"""The text of a file, whatever its encoding and line ends."""

from __future__ import annotations

import codecs
from bisect import bisect_right
from itertools import accumulate, count
from operator import add

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


FEW = 4
"""Places of a text that are found faster without a table of its lines than with one."""


class Lines:
    """Turns places of a file into offsets of a text and back.

    Args:
        text: The file, or whole lines of it; only line feeds end lines.
        first_line: Number of its first line.
    """

    def __init__(self, text: str, first_line: int = 1) -> None:
        self._text = text
        self._first_line = first_line
        self._asked = 0
        self._starts: list[int] = []

    def line(self, number: int) -> str | None:
        """Return a line without its end; None for none of the text."""
        bounds = self.bounds(number)
        return None if bounds is None else self._text[slice(*bounds)]

    def bounds(self, number: int) -> tuple[int, int] | None:
        """Return where a line starts and ends, its end not counted; None for none of the text."""
        start = self._start(number - self._first_line)
        if start is None:
            return None
        end = self._text.find("\n", start)
        return start, len(self._text) if end < 0 else end

    def offset(self, line: int, column: int) -> int | None:
        """Return the offset of a place; None for no place of the text."""
        start, end = self.bounds(line) or (0, -1)
        return start + column - 1 if 0 < column <= end - start + 1 else None

    def place(self, offset: int) -> tuple[int, int]:
        """Return line and column of a character."""
        if self._is_worth_a_table():
            row = bisect_right(self._starts, offset) - 1
            start = self._starts[row]
        else:
            row = self._text.count("\n", 0, offset)
            start = self._text.rfind("\n", 0, offset) + 1
        return row + self._first_line, offset - start + 1

    def _start(self, row: int) -> int | None:
        if self._is_worth_a_table():
            return self._starts[row] if 0 <= row < len(self._starts) else None
        if row < 0:
            return None
        head = self._text.split("\n", row)
        return len(self._text) - len(head[-1]) if len(head) > row else None

    def _is_worth_a_table(self) -> bool:
        """Whether there is a table of all lines, which pays once more than a few are asked for."""
        self._asked += 1
        if self._asked > FEW and not self._starts:
            lengths = accumulate(map(len, self._text.split("\n")), initial=0)
            # Line ends are not among the lengths. No step of Python for each line here.
            self._starts = [*map(add, lengths, count())][:-1]
        return bool(self._starts)
