"""Patterns as in ``.gitignore``, matched in a time that no pattern can blow up.

Names between two ``**`` are taken where they first fit, and in a name the text between two stars
(an atomic group). That finds a match whenever there is one, because such a group of names and such
a text have a fixed length. So a path is gone through once, however many stars there are: with
plain stars ``*a*a*a*a*a*b`` took minutes.

Source: gitignore(5), "PATTERN FORMAT".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from quota_advisor.patterns import pattern
from quota_advisor.records import dataclass

_CLASSES = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r"\s",
    "blank": r" \t",
    "punct": r"!-/:-@\[-`{-~",
    "xdigit": "0-9A-Fa-f",
    "cntrl": r"\x00-\x1f\x7f",
    "print": r"\x20-\x7e",
    "graph": r"\x21-\x7e",
}
_CLASS = pattern(r"\[:([a-z]+):\]")
_STAR = "*"
_NEVER = "(?!)"
"""A broken pattern is about nothing, as for git."""


_Names = tuple[re.Pattern[str], ...]


@dataclass(frozen=True, slots=True)
class Glob:
    """One pattern.

    Attributes:
        leaves_out: It leaves paths out; one that begins with ``!`` takes them back in.
        directories: It is about directories only.
        start: Names at the start of the path; all of it where there is no ``**``.
        middle: Groups of names between two ``**``.
        end: Names behind the last ``**``; None without any.
    """

    leaves_out: bool
    directories: bool
    start: _Names
    middle: tuple[_Names, ...]
    end: _Names | None

    def matches(self, names: Sequence[str], *, directory: bool) -> bool:
        """Whether the pattern is about exactly this path, given as its names."""
        if self.directories and not directory:
            return False
        if self.end is None:
            return len(names) == len(self.start) and _fit(self.start, names, 0)
        last = len(names) - len(self.end)
        # A trailing ** is everything inside, not the directory itself.
        room = last if self.end else last - 1
        if room < len(self.start) or not _fit(self.end, names, last):
            return False
        at: int | None = len(self.start) if _fit(self.start, names, 0) else None
        for group in self.middle:
            at = None if at is None else _find(group, names, at, room)
        return at is not None


def parse_glob(line: str) -> Glob | None:
    """Return the pattern in a line; None for an empty one, a comment, and one that is broken."""
    text = _without_trailing_spaces(line)
    if not text or text.startswith("#"):
        return None
    leaves_out = not text.startswith("!")
    text = text[not leaves_out :]
    directories = text.endswith("/")
    text = text.removesuffix("/")
    names = text.removeprefix("/").split("/")
    if "/" not in text:
        names.insert(0, "**")
    try:
        start, *rest = _groups(names)
    except re.error:
        return None
    return Glob(leaves_out, directories, start, tuple(rest[:-1]), rest[-1] if rest else None)


def _without_trailing_spaces(line: str) -> str:
    text = line.rstrip(" ")
    escapes = len(text) - len(text.rstrip("\\"))
    return f"{text} " if escapes % 2 and len(text) < len(line) else text


def _groups(names: Iterable[str]) -> list[_Names]:
    """Return the names of a pattern as groups with ``**`` between them."""
    groups: list[list[re.Pattern[str]]] = [[]]
    for name in names:
        if name == "**":
            groups.append([])
        else:
            groups[-1].append(re.compile(_name(name), re.DOTALL))
    return [tuple(group) for group in groups]


def _fit(group: _Names, names: Sequence[str], at: int) -> bool:
    return all(
        pattern.fullmatch(name)
        for pattern, name in zip(group, names[at : at + len(group)], strict=True)
    )


def _find(group: _Names, names: Sequence[str], start: int, end: int) -> int | None:
    """Return where the first place at which a group fits ends."""
    for at in range(start, end - len(group) + 1):
        if _fit(group, names, at):
            return at + len(group)
    return None


def _name(name: str) -> str:
    """Return the expression for one name."""
    pieces = [""]
    for token in _tokens(name):
        if token == _STAR:
            pieces.append("")
        else:
            pieces[-1] += token
    first, *rest = pieces
    if not rest:
        return first
    *middle, last = rest
    atoms = "".join(f"(?>.*?{piece})" for piece in middle if piece)
    return f"{first}{atoms}.*{last}"


def _tokens(name: str) -> Iterator[str]:
    """Yield an expression for each character, and ``*`` for each star."""
    at = 0
    while at < len(name):
        character = name[at]
        at += 1
        if character == "*":
            yield _STAR
        elif character == "?":
            yield "."
        elif character == "[":
            text, at = _class(name, at)
            yield text
        elif character == "\\":
            yield re.escape(name[at]) if at < len(name) else _NEVER
            at += 1
        else:
            yield re.escape(character)


def _class(name: str, at: int) -> tuple[str, int]:
    """Return the expression for ``[…]`` from behind its bracket, and where it ends."""
    negated = name[at : at + 1] in ("!", "^")
    at += negated
    text, first = "", True
    while at < len(name) and (first or name[at] != "]"):
        first = False
        match = _CLASS.match(name, at)
        if match is not None:
            text += _CLASSES.get(match[1], "")
            at = match.end()
            continue
        at += name[at] == "\\"
        low, at = name[at : at + 1], at + 1
        if name[at : at + 1] == "-" and name[at + 1 : at + 2] not in ("", "]"):
            at += 1
            at += name[at] == "\\"
            high, at = name[at : at + 1], at + 1
            text += f"{re.escape(low)}-{re.escape(high)}" if low <= high else ""
        # The lower end counts even where the range is empty.
        text += re.escape(low)
    if at >= len(name):
        return _NEVER, len(name)
    inside = f"[{'^' * negated}{text}]" if text else "." if negated else _NEVER
    return inside, at + 1
