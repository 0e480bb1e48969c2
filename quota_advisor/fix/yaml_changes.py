"""The changes that are made to YAML: as edits of its text, and as what its tree becomes.

The two are made apart from each other, so that one proves the other. Lines never change their
order: a comment stays where it is, between the lines that it was written between.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Any

from quota_advisor.documents.yaml.tree import Node, is_list, is_scalar, pairs
from quota_advisor.documents.yaml.written import Entry, Path, Span
from quota_advisor.records import NamedTuple, dataclass

Plain = Any
"""A tree without its places: dictionaries, lists, and tuples of a scalar's text and style."""

STEP = 2
"""Blanks by which what is nested is indented, where the text itself does not tell."""


class Edit(NamedTuple):
    """A run of characters that others take the place of; ``old`` is empty for an insertion."""

    at: int
    old: str
    new: str


def edited(text: str, edits: Iterable[Edit]) -> str:
    """Return a text with some edits made."""
    pieces, last = [], 0
    for at, old, new in sorted(edits):
        pieces += [text[last:at], new]
        last = at + len(old)
    return "".join([*pieces, text[last:]])


class Shift:
    """Where the characters of a text are once some edits are made.

    Args:
        edits: The edits; what is inserted at an offset pushes on what stands there.
    """

    def __init__(self, edits: Iterable[Edit]) -> None:
        ordered = sorted(edits)
        self._at = [(at, old != "") for at, old, _ in ordered]
        self._by = [0, *accumulate(len(new) - len(old) for _, old, new in ordered)]

    def of(self, offset: int) -> int:
        """Return the new offset of a character."""
        return offset + self._by[bisect_right(self._at, (offset, False))]


def plain(node: Node) -> Plain:
    """Return a tree without its places."""
    if type(node) is dict:
        return {key: plain(value) for key, value in pairs(node)}
    if is_scalar(node):
        return (node[0], node[1])
    return [plain(item) for item in node[2:]] if is_list(node) else None


@dataclass(frozen=True, slots=True)
class Rename:
    """A key that gets another name.

    Attributes:
        path: Of its mapping.
        entry: The key.
        new: Its name.
    """

    path: Path
    entry: Entry
    new: str

    def edits(self, text: str) -> list[Edit] | None:
        """Return the edits; None where the key is not written as plainly as it reads."""
        return _rewritten(text, self.entry.key, self.entry.name, self.new)

    def expect(self, tree: Plain) -> None:
        """Make the change in a tree."""
        mapping = _at(tree, self.path)
        mapping[self.new] = mapping.pop(self.entry.name)


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A scalar that is written in another way.

    Attributes:
        path: Of the mapping that holds it.
        entry: Its key.
        old: Its text.
        new: What it becomes.
    """

    path: Path
    entry: Entry
    old: str
    new: str

    def edits(self, text: str) -> list[Edit] | None:
        """Return the edits; None where the scalar is not written as plainly as it reads."""
        return _rewritten(text, self.entry.value, self.old, self.new)

    def expect(self, tree: Plain) -> None:
        """Make the change in a tree."""
        mapping = _at(tree, self.path)
        mapping[self.entry.name] = (self.new, mapping[self.entry.name][1])


@dataclass(frozen=True, slots=True)
class Nest:
    """Keys of a mapping, one after the other, that move into a mapping beside them.

    Attributes:
        path: Of the mapping.
        flow: It is written in braces.
        entries: The keys.
        parent: Name of the mapping that takes them.
        before: Its key, which stands right before them; None where there is none yet.
    """

    path: Path
    flow: bool
    entries: tuple[Entry, ...]
    parent: str
    before: Entry | None

    def edits(self, text: str) -> list[Edit] | None:
        """Return the edits; None where the layout leaves no place for them."""
        return self._in_braces(text) if self.flow else self._indented(text)

    def expect(self, tree: Plain) -> None:
        """Make the change in a tree."""
        mapping = _at(tree, self.path)
        known = mapping.get(self.parent)
        inner = known if isinstance(known, dict) else {}
        mapping[self.parent] = inner | {e.name: mapping.pop(e.name) for e in self.entries}

    def _in_braces(self, text: str) -> list[Edit] | None:
        start, end = self.entries[0].key.start, self.entries[-1].value.end
        if self.before is not None or "\n" in text[start:end]:
            return None
        quote = text[start] if text[start] in "\"'" else ""
        head = f"{quote}{self.parent}{quote}: {{"
        return [Edit(start, "", head), Edit(end, "", "}")]

    def _indented(self, text: str) -> list[Edit] | None:
        key = self.entries[0].key
        indent = key.column - 1
        head = text.rfind("\n", 0, key.start) + 1
        if not re.fullmatch(r" *(?:- +)*", text[head : key.start]):
            return None
        blanks = " " * self._step(key.column)
        end = _block_end(text, self.entries[-1].value.end, indent)
        inner = [Edit(at, "", blanks) for at in _line_starts(text, key.end, end)]
        if self.before is not None:
            # Comments in between come to stand inside; those that are there already stay.
            outer = re.compile(rf" {{0,{indent}}}[^ ]")
            starts = _line_starts(text, self.before.value.end, key.end)
            return [*(Edit(at, "", blanks) for at in starts if outer.match(text, at)), *inner]
        above = f"{self.parent}:{_line_end(text, key.start)}{' ' * indent}{blanks}"
        return [Edit(key.start, "", above), *inner]

    def _step(self, column: int) -> int:
        """Return by how much the text itself indents what is nested here."""
        inside = self.before.inside if self.before is not None else 0
        inside = inside or self.entries[0].inside
        return inside - column if inside else STEP


Change = Rename | Rewrite | Nest


def _rewritten(text: str, span: Span, old: str, new: str) -> list[Edit] | None:
    """Return the edit of a key or scalar, inside its quotes."""
    written = text[span.start : span.end]
    if written not in (old, f'"{old}"', f"'{old}'"):
        return None
    return [Edit(span.start + written.index(old), old, new)]


def _at(tree: Plain, path: Path) -> Plain:
    for step in path:
        tree = tree[step]
    return tree


def _line_end(text: str, at: int) -> str:
    """Return how lines end here."""
    found = re.compile("\r?\n").search(text, at) or re.search("\r?\n", text)
    return found[0] if found else "\n"


def _block_end(text: str, end: int, indent: int) -> int:
    """Return where a block ends: behind the comments that are indented as what is in it."""
    comments = re.compile(r"[^\n]*\n(?:[ \r]*\n)*( *)#[^\n]*")
    while (comment := comments.match(text, end)) and len(comment[1]) > indent:
        end = comment.end()
    return end


def _line_starts(text: str, start: int, end: int) -> Iterator[int]:
    """Yield where the lines begin between two offsets, but for blank ones."""
    lines = re.compile(r"\n(?![ \r]*(?:\n|\Z))")
    yield from (match.end() for match in lines.finditer(text, start, end))
