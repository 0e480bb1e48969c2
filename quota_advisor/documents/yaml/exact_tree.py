"""The exact reader of YAML: takes whatever Kubernetes takes, as Kubernetes takes it.

Events and places come from PyYAML's parser. Merge keys, duplicate keys and aliases are settled
here, because PyYAML's own answers differ from those of the API (and between its versions).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

import yaml

from quota_advisor.documents.kubernetes.keys import OPEN_KEYS, STRONG_KEYS, WEAK_KEYS
from quota_advisor.documents.templates import TEMPLATE
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
    UnknownTag,
    Value,
    is_list,
    is_scalar,
    pairs,
)
from quota_advisor.model.manifest import Place

LOADER: type[yaml.Loader | yaml.CLoader] = getattr(yaml, "CLoader", yaml.Loader)
"""PyYAML's parser in C where it is installed; the one in Python gives the same text and places."""

_CORE = "tag:yaml.org,2002:"
_TEXT_TAGS = frozenset(("!", _CORE + "str"))
_PROPERTIES = r"(?:[&!][^\s,\[\]{}]*(?:[ \t\r\n]+(?:#[^\n]*)?)*)*"
"""Anchors and tags before a node. Compiled when first met: few files have any."""


class _Frame:
    """A collection that is still open.

    Attributes:
        pairs: Entries of a mapping so far; None for a list.
        places: Line and column of every key in ``pairs``.
        items: The list so far.
        key: Key that waits for its value; None where a key comes next.
        kept: The key that the collection itself stands under is to be kept.
        open: Every scalar in the mapping is kept.
        strong: Something in it makes everything around it worth keeping.
        anchor: Its anchor, if it has one.
        size: Number of nodes read before it.
        written: Keys of the mapping that are written in it, not merged, with their first places.
    """

    __slots__ = (
        "anchor", "column", "items", "key", "key_column", "key_line", "line", "merge", "open",
        "pairs", "places", "size", "strong", "written",
    )  # fmt: skip

    def __init__(self, line: int, column: int, *, mapping: bool) -> None:
        self.line = line
        self.column = column
        self.pairs: dict[str, Node] | None = {} if mapping else None
        self.places: dict[str, tuple[int, int]] = {}
        self.items = cast("ListNode", [line, column])
        self.key: str | None = None
        self.key_line = self.key_column = 0
        self.merge = False
        self.open = False
        self.strong = False
        self.anchor: str | None = None
        self.size = 0
        self.written: dict[str, tuple[int, int]] = {}

    def node(self) -> Value:
        if self.pairs is None:
            return self.items
        places = [self.line, self.column]
        for key in self.pairs:
            places += self.places[key]
        return cast("Mapping", {PLACES: places, **self.pairs})


class _Builder:
    def __init__(self, data: bytes, line: int, *, prune: bool, written_wins: bool) -> None:
        self.line = line
        self._data = data
        self._text: str | None = None
        self.root: Node = None
        self.duplicates: list[Duplicate] = []
        self.tags: list[UnknownTag] = []
        self._prune = prune
        self._written_wins = written_wins
        self._stack: list[_Frame] = []
        self._anchors: dict[str, tuple[Node, int, bool] | None] = {}
        self._count = 0

    def scalar(self, event: yaml.ScalarEvent) -> None:
        line, column = self._place(event)
        plain = not event.style and event.tag not in _TEXT_TAGS
        self._seen(event, line, column)
        text, plain = ("", True) if event.tag == "!reset" else (event.value, plain)
        node = cast("ScalarNode", [text, plain, line, column])
        if event.anchor is not None:
            self._anchors[event.anchor] = (node, 1, False)
        self._add(node, strong=False, line=line, column=column)

    def alias(self, event: yaml.AliasEvent) -> None:
        mark = _start(event)
        line, column = mark.line + self.line, mark.column + 1
        anchor = event.anchor or ""
        known = self._anchors.get(anchor)
        if known is None:
            inside = anchor in self._anchors
            reason = "contains itself" if inside else "is not defined above"
            raise BrokenDocumentError(f"the anchor {anchor!r} {reason}", line, column)
        node, size, strong = known
        self._grow(size, line, column)
        self._add(node, strong=strong, line=line, column=column)

    def begin(self, event: yaml.CollectionStartEvent, *, mapping: bool) -> None:
        line, column = self._place(event)
        frame = _Frame(line, column, mapping=mapping)
        frame.size = self._count
        self._seen(event, line, column)
        if len(self._stack) >= MAX_DEPTH:
            reason = f"nested more than {MAX_DEPTH} levels deep"
            raise BrokenDocumentError(reason, line, column, limit=True)
        if event.anchor is not None:
            frame.anchor = event.anchor
            self._anchors[event.anchor] = None
        parent = self._stack[-1] if self._stack else None
        if parent is not None and parent.pairs is not None:
            if parent.key is None:
                raise BrokenDocumentError("a key is a collection", line, column, template=True)
            frame.open = parent.key in OPEN_KEYS
        self._stack.append(frame)

    def end(self) -> None:
        frame = self._stack.pop()
        node = frame.node()
        if frame.anchor is not None:
            self._anchors[frame.anchor] = (node, self._count - frame.size, frame.strong)
        self._add(node, strong=frame.strong, line=frame.line, column=frame.column)

    def _place(self, event: _Begins) -> tuple[int, int]:
        """Return where a value begins: behind its anchor and tag, which the parser counts in."""
        mark = _start(event)
        line, column = mark.line + self.line, mark.column + 1
        if event.anchor is None and event.tag is None:
            return line, column
        if self._text is None:
            self._text = self._data.decode("utf-8", "replace")
        match = re.compile(_PROPERTIES).match(self._text, mark.index)
        if match is None or match.end() == len(self._text):
            return line, column
        skipped = match[0]
        if "\n" not in skipped:
            return line, column + len(skipped)
        return line + skipped.count("\n"), len(skipped) - skipped.rfind("\n")

    def _seen(self, event: _Begins, line: int, column: int) -> None:
        self._grow(1, line, column)
        tag = event.tag
        if tag is not None and tag != "!" and not tag.startswith(_CORE):
            self.tags.append(UnknownTag(tag, line, column))

    def _grow(self, size: int, line: int, column: int) -> None:
        self._count += size
        if self._count > MAX_NODES:
            reason = f"holds more than {MAX_NODES:,} values once aliases are followed"
            raise BrokenDocumentError(reason, line, column, limit=True)

    def _add(self, node: Node, *, strong: bool, line: int, column: int) -> None:
        if not self._stack:
            self.root = node
            return
        frame = self._stack[-1]
        if frame.pairs is None:
            frame.items.append(node)
            frame.strong = frame.strong or strong
        elif frame.key is None:
            self._key(frame, node, line, column)
        elif frame.merge:
            self._merge(frame, node, strong=strong)
        else:
            self._pair(frame, frame.key, node, strong=strong)

    def _key(self, frame: _Frame, node: Node, line: int, column: int) -> None:
        if not is_scalar(node):
            raise BrokenDocumentError("a key is a collection", line, column, template=True)
        frame.key, frame.key_line, frame.key_column = node[0], line, column
        frame.merge = node[0] == "<<" and node[1]
        if frame.merge:
            return
        here = (line, column)
        first = frame.written.setdefault(frame.key, here)
        if first is not here:
            self.duplicates.append(Duplicate(frame.key, line, column, Place(*first)))

    def _pair(self, frame: _Frame, key: str, node: Node, *, strong: bool) -> None:
        frame.key = None
        strong = strong or key in STRONG_KEYS
        frame.strong = frame.strong or strong
        kept = strong or key in WEAK_KEYS or (frame.open and is_scalar(node)) or not self._prune
        if frame.pairs is None:
            return
        # A value that was merged or written earlier under this key no longer counts.
        frame.pairs.pop(key, None)
        if kept and key != PLACES:
            frame.pairs[key] = node
            frame.places[key] = (frame.key_line, frame.key_column)

    def _merge(self, frame: _Frame, node: Node, *, strong: bool) -> None:
        frame.key, frame.merge = None, False
        nodes = node[2:] if is_list(node) else [node]
        sources = [source for source in nodes if type(source) is dict]
        if frame.pairs is None or len(sources) < len(nodes):
            reason = "what is merged with '<<' is not a mapping or a list of mappings"
            raise BrokenDocumentError(reason, frame.key_line, frame.key_column)
        frame.strong = frame.strong or strong
        for source in reversed(sources):
            places = source[PLACES]
            for index, (key, value) in enumerate(pairs(source), start=1):
                if self._written_wins and key in frame.written:
                    continue
                frame.pairs[key] = value
                frame.places[key] = (places[2 * index], places[2 * index + 1])


def read_yaml(data: bytes, line: int, *, prune: bool, written_wins: bool = False) -> Tree:
    """Return the tree of one document.

    Args:
        data: The document in UTF-8, :func:`~quota_advisor.documents.text.without_marks`.
        line: Number of its first line.
        prune: Leave out what no rule about pods looks at.
        written_wins: A key beside ``<<`` wins wherever it stands, as in compose files; the API lets
            the later one win.

    Raises:
        BrokenDocumentError: It is not YAML, or nothing that the API would take.
    """
    builder = _Builder(data, line, prune=prune, written_wins=written_wins)
    try:
        _feed(builder, data)
    except yaml.YAMLError as error:
        raise _broken(error, data, line) from None
    except BrokenDocumentError as error:
        if error.template and not TEMPLATE.search(data):
            error.template = False
        raise
    return Tree(builder.root, tuple(builder.duplicates), tuple(builder.tags))


_Begins = yaml.ScalarEvent | yaml.CollectionStartEvent
"""Events with which a value begins."""


def _start(event: yaml.Event) -> yaml.Mark:
    """Return where an event begins: those of a parser all say so."""
    return cast("yaml.Mark", event.start_mark)


def _feed(builder: _Builder, data: bytes) -> None:
    # The class of an event says what it has, and comparing classes is faster than isinstance.
    event: Any
    for event in yaml.parse(data, Loader=LOADER):
        kind = type(event)
        if kind is yaml.ScalarEvent:
            builder.scalar(event)
        elif kind is yaml.MappingStartEvent:
            builder.begin(event, mapping=True)
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            builder.end()
        elif kind is yaml.SequenceStartEvent:
            builder.begin(event, mapping=False)
        elif kind is yaml.AliasEvent:
            builder.alias(event)


def _broken(error: yaml.YAMLError, data: bytes, line: int) -> BrokenDocumentError:
    template = bool(TEMPLATE.search(data))
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        reason = error.problem or error.context or "not YAML"
        if mark is not None:
            return BrokenDocumentError(reason, mark.line + line, mark.column + 1, template=template)
        return BrokenDocumentError(reason, line, 1, template=template)
    reason, offset = _unreadable(data)
    before = data[:offset].decode("utf-8", "replace")
    return BrokenDocumentError(
        reason, line + before.count("\n"), len(before) - before.rfind("\n"), template=template
    )


_CONTROL = re.compile(
    "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)


def _unreadable(data: bytes) -> tuple[str, int]:
    """Return why a document is no text, and the offset of the first byte that is not."""
    try:
        decoded = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return "the text is not valid UTF-8", error.start
    match = _CONTROL.search(decoded)
    if match is None:
        return "the text cannot be read", 0
    return "control characters are not allowed", len(decoded[: match.start()].encode())


def scalar_spans(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield first and last character of every scalar of a document, counted from 0.

    Raises:
        BrokenDocumentError: It is not YAML.
    """
    try:
        for event in yaml.parse(data, Loader=LOADER):
            if isinstance(event, yaml.ScalarEvent) and event.start_mark and event.end_mark:
                yield event.start_mark.index, event.end_mark.index
    except yaml.YAMLError as error:
        raise _broken(error, data, 1) from None
