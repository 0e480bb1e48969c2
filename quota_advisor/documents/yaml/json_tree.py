"""The exact reader of JSON: a YAML parser takes most of JSON, but not all of its strings."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import cast

from quota_advisor.documents.kubernetes.keys import OPEN_KEYS, STRONG_KEYS, WEAK_KEYS
from quota_advisor.documents.yaml.tree import (
    MAX_DEPTH,
    MAX_NODES,
    PLACES,
    BrokenDocumentError,
    Duplicate,
    ListNode,
    Mapping,
    Node,
    ScalarNode,
    Tree,
    Value,
    is_scalar,
)
from quota_advisor.model.manifest import Place
from quota_advisor.patterns import pattern

_TOKEN = pattern(
    r'[ \t\r\n]*(?:(?P<mark>[{}\[\],:])|(?P<string>"[^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+")'
    r"|(?P<literal>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null)"
    r"|(?P<end>\Z))"
)


class NotJsonError(Exception):
    """The text is not JSON; it may be YAML in flow style, or a template."""


class _Open:
    """A collection that is still open; ``pairs`` is None for a list."""

    __slots__ = ("items", "key", "open", "pairs", "places", "seen", "strong")

    def __init__(self, line: int, column: int, *, mapping: bool) -> None:
        self.items = cast("ListNode", [line, column])
        self.pairs: dict[str, Node] | None = {} if mapping else None
        self.places: dict[str, tuple[int, int]] = {}
        self.seen: dict[str, tuple[str, int, int]] = {}
        self.key: tuple[str, int, int] | None = None
        self.open = False
        self.strong = False

    def node(self) -> Value:
        if self.pairs is None:
            return self.items
        places = [self.items[0], self.items[1]]
        for key in self.pairs:
            places += self.places[key]
        return cast("Mapping", {PLACES: places, **self.pairs})


class _Reader:
    def __init__(self, text: str, line: int, *, prune: bool) -> None:
        self.duplicates: list[Duplicate] = []
        self.at = 0
        self._text = text
        self._line = line
        self._prune = prune
        self._breaks = [m.start() for m in re.finditer("\n", text)]
        self._count = 0

    def documents(self) -> Iterator[Tree]:
        """Yield one tree after the other; the API's tools take several in one stream."""
        while (token := self._next())[0] != "end":
            root = self._value(token)
            yield Tree(root, tuple(self.duplicates))
            self.duplicates.clear()

    def _next(self) -> tuple[str, str, int]:
        match = _TOKEN.match(self._text, self.at)
        if match is None or match.lastgroup is None:
            raise NotJsonError
        self.at = match.end()
        kind = match.lastgroup
        return kind, match[kind], match.start(kind)

    def place(self, offset: int) -> tuple[int, int]:
        row = bisect_right(self._breaks, offset - 1)
        return self._line + row, offset - (self._breaks[row - 1] if row else -1)

    def _value(self, token: tuple[str, str, int]) -> Node:
        """Read a value without recursion: the text decides how deep it is."""
        stack: list[_Open] = []
        while True:
            done, node, strong = self._step(token, stack)
            while done and stack:
                done = False
                self._attach(stack[-1], node, strong=strong)
                token = self._next()
                if token[1] in ("}", "]") and token[0] == "mark":
                    node, strong = self._close(token, stack)
                    done = True
                elif token[1] != "," or token[0] != "mark":
                    raise NotJsonError
            if done:
                return node
            token = self._next()
            if stack and stack[-1].pairs is not None and stack[-1].key is None:
                token = self._key(token, stack[-1])

    def _step(self, token: tuple[str, str, int], stack: list[_Open]) -> tuple[bool, Node, bool]:
        """Take the beginning of a value; say whether it is complete."""
        kind, written, offset = token
        line, column = self.place(offset)
        self._count += 1
        if self._count > MAX_NODES or len(stack) > MAX_DEPTH:
            raise BrokenDocumentError("too many values or levels", line, column, limit=True)
        if kind == "string":
            return True, _scalar(_string(written), line, column, plain=False), False
        if kind == "literal":
            return True, _scalar(written, line, column, plain=True), False
        if written not in ("{", "["):
            raise NotJsonError
        opened = _Open(line, column, mapping=written == "{")
        parent = stack[-1] if stack else None
        opened.open = bool(parent and parent.key and parent.key[0] in OPEN_KEYS)
        before = self.at
        closing = self._next()
        if closing[1] == ("}" if written == "{" else "]") and closing[0] == "mark":
            return True, opened.node(), False
        self.at = before
        stack.append(opened)
        return False, None, False

    def _key(self, token: tuple[str, str, int], mapping: _Open) -> tuple[str, str, int]:
        kind, written, offset = token
        if kind != "string" or self._next()[:2] != ("mark", ":"):
            raise NotJsonError
        key = (_string(written), *self.place(offset))
        first = mapping.seen.setdefault(key[0], key)
        if first is not key:
            self.duplicates.append(Duplicate(*key, Place(*first[1:])))
        mapping.key = key
        return self._next()

    def _close(self, token: tuple[str, str, int], stack: list[_Open]) -> tuple[Node, bool]:
        closed = stack.pop()
        if (token[1] == "}") != (closed.pairs is not None):
            raise NotJsonError
        return closed.node(), closed.strong

    def _attach(self, parent: _Open, node: Node, *, strong: bool) -> None:
        if parent.pairs is None:
            parent.items.append(node)
            parent.strong = parent.strong or strong
            return
        if parent.key is None:
            raise NotJsonError
        key, line, column = parent.key
        parent.key = None
        strong = strong or key in STRONG_KEYS
        parent.strong = parent.strong or strong
        parent.pairs.pop(key, None)
        kept = strong or key in WEAK_KEYS or (parent.open and is_scalar(node)) or not self._prune
        if kept and key != PLACES:
            parent.pairs[key] = node
            parent.places[key] = (line, column)


def _scalar(text: str, line: int, column: int, *, plain: bool) -> ScalarNode:
    return cast("ScalarNode", [text, plain, line, column])


def _string(written: str) -> str:
    if "\\" not in written:
        return written[1:-1]
    try:
        decoded = json.loads(written)
    except ValueError:
        raise NotJsonError from None
    return str(decoded)


def read_json(text: str, *, prune: bool) -> Iterator[Tree]:
    """Yield the trees of a text of JSON values.

    Raises:
        NotJsonError: From here on it is no JSON.
        BrokenDocumentError: It is too large or too deep.
    """
    yield from _Reader(text, 1, prune=prune).documents()
