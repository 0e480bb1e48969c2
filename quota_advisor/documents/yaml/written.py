"""What is written where in a YAML document: the text behind the tree, for those who change it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, TypeAlias

import yaml

from quota_advisor.documents.yaml.exact_tree import LOADER
from quota_advisor.records import NamedTuple

if TYPE_CHECKING:
    from typing_extensions import TypeIs

Path = tuple[str | int, ...]
"""Keys and indexes from the root of a document."""


class Span(NamedTuple):
    """A run of characters in a document.

    Attributes:
        start: Offset of the first, from the start of the document.
        end: Offset after the last.
        line: Line of the first in the file, from 1.
        column: Likewise.
    """

    start: int
    end: int
    line: int
    column: int


class Entry(NamedTuple):
    """A key of a mapping with its value.

    Attributes:
        name: The key, quotes and escapes resolved.
        key: Where it is written, with its quotes.
        value: Where its value is written; nothing behind its last scalar or bracket.
        inside: Column of the keys of a value that is a mapping in block style; 0 for all else.
        shared: An alias leads to the value, or to something right inside it; it may be the value.
    """

    name: str
    key: Span
    value: Span
    inside: int
    shared: bool


class Written(NamedTuple):
    """A mapping as it is written.

    Attributes:
        path: Where it is in the document.
        under: The key that it is the value of; None for an item of a list and for the root.
        flow: Written in braces.
        entries: In their order.
    """

    path: Path
    under: Entry | None
    flow: bool
    entries: tuple[Entry, ...]


Places = Collection[tuple[int, int]]
"""Lines and columns of a file, from 1."""


def written_mappings(data: bytes, line: int, places: Places) -> Iterator[Written]:
    """Yield the mappings of a document of which a key or a value begins at one of some places.

    Those that aliases and merge keys repeat are not among them.

    Args:
        data: The document. That :func:`~quota_advisor.documents.yaml.exact_tree.read_yaml` can
            read it bounds its depth and its size.
        line: Number of its first line.
        places: The places.

    Raises:
        yaml.YAMLError: It is not YAML.
    """
    root = yaml.compose(data, Loader=LOADER)
    writing = _Writing(line, _repeated(root))
    waiting: list[_Waiting] = [(None, None, root)] if root is not None else []
    while waiting:
        way, key, node = waiting.pop()
        if id(node) in writing.repeated:
            continue
        if isinstance(node, yaml.MappingNode) and writing.is_at(node, places):
            under = writing.entry(key, node) if key is not None else None
            yield Written(_path(way), under, bool(node.flow_style), writing.entries(node))
        waiting.extend(
            ((way, index if key is None else key.value), key, child)
            for index, (key, child) in enumerate(_children(node))
            if not _is_scalar(child) and (key is None or key.value != "<<")
        )


_Way: TypeAlias = "tuple[_Way, str | int] | None"
"""The way to a node: that to what holds it, and one step more. Paths would take more room."""

_Waiting = tuple[_Way, yaml.Node | None, yaml.Node]
"""The way to what holds a node, the node's key, and the node."""


def _path(way: _Way) -> Path:
    steps: list[str | int] = []
    while way is not None:
        way, step = way
        steps.append(step)
    return tuple(reversed(steps))


def _repeated(root: yaml.Node | None) -> set[int]:
    """Return the nodes that aliases lead to."""
    seen: set[int] = set()
    repeated: set[int] = set()
    waiting = [root] if root is not None else []
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            repeated.add(id(node))
            continue
        seen.add(id(node))
        waiting += [child for _, child in _children(node)]
    return repeated


def _children(node: yaml.Node) -> Iterator[tuple[yaml.Node | None, yaml.Node]]:
    """Yield what is in a collection: for a mapping each key and value, for a list None and item."""
    if isinstance(node, yaml.MappingNode):
        yield from _pairs(node)
    elif isinstance(node, yaml.SequenceNode):
        yield from ((None, item) for item in node.value)


def _pairs(mapping: yaml.MappingNode) -> Iterator[tuple[yaml.ScalarNode, yaml.Node]]:
    return ((key, value) for key, value in mapping.value if _is_scalar(key))


class _Writing(NamedTuple):
    """What places are counted from.

    Attributes:
        line: Number of the document's first line.
        repeated: Nodes that aliases lead to.
    """

    line: int
    repeated: set[int]

    def is_at(self, mapping: yaml.MappingNode, places: Places) -> bool:
        marks = (node.start_mark for pair in mapping.value for node in pair)
        return any((mark.line + self.line, mark.column + 1) in places for mark in marks)

    def entries(self, mapping: yaml.MappingNode) -> tuple[Entry, ...]:
        return tuple(self.entry(key, value) for key, value in _pairs(mapping))

    def entry(self, key: yaml.Node, value: yaml.Node) -> Entry:
        block = isinstance(value, yaml.MappingNode) and not value.flow_style
        inside = value.value[0][0].start_mark.column + 1 if block else 0
        nodes = (value, *(child for _, child in _children(value)))
        shared = any(id(node) in self.repeated for node in nodes)
        return Entry(key.value, self._span(key), self._span(value), inside, shared)

    def _span(self, node: yaml.Node) -> Span:
        start = node.start_mark
        return Span(start.index, _end(node), start.line + self.line, start.column + 1)


def _end(node: yaml.Node) -> int:
    """Return where a node ends: collections in block style end late, behind comments."""
    while isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(node, yaml.MappingNode) else last
    end: int = node.end_mark.index
    return end


def _is_scalar(node: yaml.Node) -> TypeIs[yaml.ScalarNode]:
    return isinstance(node, yaml.ScalarNode)
