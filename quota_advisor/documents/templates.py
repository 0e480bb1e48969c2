"""Templates and placeholders: what a program or a person has yet to fill in."""

from __future__ import annotations

import re

from quota_advisor.patterns import pattern

TEMPLATE = pattern(rb"\{\{|\{%|<%")
"""How actions begin in templates of Go, Jinja and ERB."""

YTT = b": #@"
"""How ytt writes a value; to YAML it is a comment."""

_PLACEHOLDER = pattern(
    r"\$\w+\$?|\$\([^()]*\)|@[\w.-]+@|__\w+__|%\w+%|<[\w .-]+>|\[\[.*\]\]|\(\(.*\)\)"
    r"|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+",
    re.ASCII,
)


def is_placeholder(text: str) -> bool:
    """Whether a value is a placeholder that a program or a person has yet to fill in."""
    if text[:1].isdigit():
        return "{" in text
    return "{" in text or _PLACEHOLDER.fullmatch(text) is not None


def place_on_line(data: bytes, start: int, lines: int) -> int | None:
    """Return the column of the first template mark on a line, None where there is none.

    Args:
        data: The file.
        start: Offset of the first line.
        lines: How many lines after it.
    """
    for _ in range(lines):
        start = data.find(b"\n", start) + 1
    end = data.find(b"\n", start)
    line = data[start : end if end >= 0 else len(data)]
    match = TEMPLATE.search(line)
    return match and len(line[: match.start()].decode("utf-8", "replace")) + 1
