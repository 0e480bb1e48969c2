"""Where what begins at some place of a YAML or JSON text ends.

The readers note where values begin; where they end matters to few of them, those that something is
found about. So it is read off the text afterwards: the key, scalar, comment or bracket that stands
there. A mapping in block style is shown by its first key, a list by its first dash.
"""

from __future__ import annotations

import re

from quota_advisor.documents.text import Lines
from quota_advisor.patterns import pattern

_BOM = "\ufeff"
_DOUBLE = pattern(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SINGLE = pattern(r"'(?:[^']|'')*'")
_PROPERTIES = pattern(r"(?:[&!][^\s,\[\]{}]*[ \t]+)+")
_BLOCK_SCALAR = pattern(r"[|>](?:[-+]|[1-9])*[ \t]*(?:#[^\n]*)?\r?(?:\n|\Z)")
_BLOCK_HEADER = pattern(r"[|>][-+0-9]*")
_BLANKS = pattern(" *")
_COMMENT = pattern(r"#[^\r\n]*")
_DASH = pattern(r"-(?=[ \t\r\n]|\Z)")

_PLAIN = pattern(r"(?:[^\s:#]|:(?!\s|\Z)|(?<=\S)#|[ \t]+(?!:?\s|#|:?\Z))*")
"""One line of a plain scalar in block style."""

_PLAIN_IN_FLOW = pattern(
    r"(?:[^\s:#,\[\]{}]|:(?![\s,\[\]{}]|\Z)|(?<=\S)#|[ \t]+(?!:?[\s,\[\]{}]|#|:?\Z))*"
)
"""The same in brackets."""

_BEGINS = r"(?<![^\s\[{,:])"
_FLOW_PARTS = pattern(
    _BEGINS + r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')|(?<!\S)#[^\n]*|[\[\]{}]""", re.DOTALL
)
_DEPTHS = {"[": 1, "{": 1, "]": -1, "}": -1}
_FAR = 4096
"""No bracket is looked for further away: many findings in one long line must not take long."""

_OPENING = pattern(r"""(?:(?<!\S)|(?<=["']:))[\[{]""")
_DASH_AHEAD = pattern(r" *-[ \t\r\n]")
_KEY_INDENT = pattern(r" *(?:- +)*")
_LINE = pattern(r"( *)([^\n]*)(?:\n|\Z)")


class Extents:
    """Ends of what stands in a text.

    Args:
        text: Whole documents, with line feeds as line ends.
        first_line: Number of its first line.
    """

    def __init__(self, text: str, first_line: int) -> None:
        self._text = text
        self._lines = Lines(text, first_line)

    def end_of(self, line: int, column: int) -> tuple[int, int] | None:
        """Return line and column behind what begins at a place; None for no place of the text."""
        bounds = self._lines.bounds(line)
        if bounds is None:
            return None
        start, stop = bounds
        # Columns do not count a byte order mark at the start of a line.
        at = start + column - 1 + self._text.startswith(_BOM, start)
        if not start <= at <= stop:
            return None
        end = self._end(at)
        return (line, column + end - at) if end <= stop else self._lines.place(end)

    def _end(self, at: int) -> int:
        text = self._text
        first = text[at : at + 1]
        if first in ("&", "!") and (properties := _PROPERTIES.match(text, at)):
            at = properties.end()
            first = text[at : at + 1]
        if first in ('"', "'"):
            quoted = (_DOUBLE if first == '"' else _SINGLE).match(text, at)
            if quoted:
                return quoted.end()
        if first in ("[", "{"):
            return self._closing(at)
        if first == "#":
            return _end(_COMMENT, text, at)
        if first in ("|", ">") and (header := _BLOCK_SCALAR.match(text, at)):
            return self._block_end(at, header.end())
        return _end(_DASH, text, at) if _DASH.match(text, at) else self._plain_end(at)

    def _closing(self, at: int) -> int:
        """Return where a collection in brackets ends; behind the bracket if that is far away."""
        depth = 0
        for part in _FLOW_PARTS.finditer(self._text, at, at + _FAR):
            depth += _DEPTHS.get(part[0], 0)
            if depth == 0:
                return part.end()
        return at + 1

    def _plain_end(self, at: int) -> int:
        text = self._text
        in_block, in_flow = _end(_PLAIN, text, at), _end(_PLAIN_IN_FLOW, text, at)
        if in_flow != in_block and self._is_in_flow(at):
            return in_flow
        return self._continued(at, in_block)

    def _is_in_flow(self, at: int) -> bool:
        """Whether a place is in brackets, as far as the lines not far above it tell."""
        head = self._text.rfind("\n", 0, at) + 1
        if at - head > _FAR or self._depth(head, at):
            return True  # nobody writes lines that long except in brackets
        if not head or _DASH_AHEAD.match(self._text, head):
            return False
        start = self._text.rfind("\n", 0, max(head - _FAR, 0)) + 1
        if self._depth(start, head):
            return True
        return start > 0 and self._text[head - _FAR : head].rstrip().endswith(("{", "[", ","))

    def _depth(self, start: int, end: int) -> int:
        """Return how many brackets are open at an offset of those that another is before."""
        depth = 0
        for part in _FLOW_PARTS.finditer(self._text, start, end):
            # Outside of brackets one in the middle of a word is a part of that.
            if depth or _OPENING.match(self._text, part.start()):
                depth += _DEPTHS.get(part[0], 0)
        return depth

    def _continued(self, at: int, end: int) -> int:
        """Return the end of a plain scalar whose first line ends somewhere: it may go on below."""
        if self._text[end : end + 1] not in ("\n", "\r"):
            return end
        head = self._text.rfind("\n", 0, at) + 1
        indent = _end(_KEY_INDENT, self._text, head) - head
        if at - head > indent:
            least = indent + 1
        else:
            # What begins its line may be an item of a list, or the value of the key above.
            least = self._text.rfind("-", head, at) - head + 1 or indent
        return self._last_below(at, end, max(least, 1))

    def _last_below(self, at: int, end: int, least: int) -> int:
        """Return the end of the last line below that is indented enough to go on with a scalar."""
        grammar = None
        below = self._text.find("\n", end) + 1
        while below < len(self._text) and (line := _LINE.match(self._text, below)):
            below = line.end()
            content = line[2].strip(" \t\r")
            if not content:
                continue
            if len(line[1]) < least:
                break
            grammar = grammar or (_PLAIN_IN_FLOW if self._is_in_flow(at) else _PLAIN)
            last = _end(grammar, self._text, line.start(2))
            if last == line.start(2):
                break
            end = last
            if self._text[end : end + 1] not in ("\n", "\r"):
                break
        return end

    def _block_end(self, at: int, content: int) -> int:
        """Return where a block scalar ends: behind the last of the lines indented below it."""
        head = self._text.rfind("\n", 0, at) + 1
        outer = _end(_BLANKS, self._text, head) - head
        end = _end(_BLOCK_HEADER, self._text, at)
        indent = 0
        while content < len(self._text) and (line := _LINE.match(self._text, content)):
            text = line[2].rstrip(" \t\r")
            indent = indent or (len(line[1]) if text else 0)
            if text and (len(line[1]) < indent or len(line[1]) <= outer):
                break
            if text:
                end = line.start(2) + len(text)
            content = line.end()
        return end


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return at if found is None else found.end()
