"""The light tree that every reader of YAML and JSON makes, and how to look into it.

It is what ``json.loads`` can make without help, because the native reader answers in JSON:

- a scalar is ``[text, plain, line, column]``,
- a list is ``[line, column, item, …]``,
- a mapping is a dictionary; the key ``""`` holds ``[line, column]`` of the mapping and then line
  and column of every other key, in order; the native reader leaves out the places of keys, which
  are hardly ever wanted. A document's own empty keys are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final, Literal, SupportsIndex, TypeAlias, cast, overload

from quota_advisor.model.manifest import Place, Scalar
from quota_advisor.records import NamedTuple

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    # Faces of plain lists and dictionaries, for the type checker alone: what stands where. The
    # ignored complaints are that they promise less than a list or dictionary of anything would.

    class ScalarNode(list[object]):
        """``[text, plain, line, column]``."""

        @overload  # type: ignore[override]
        def __getitem__(self, index: Literal[0], /) -> str: ...
        @overload
        def __getitem__(self, index: Literal[1], /) -> bool: ...
        @overload
        def __getitem__(self, index: Literal[2, 3], /) -> int: ...
        def __getitem__(self, index: object, /) -> object: ...

    class ListNode(list[object]):
        """``[line, column, item, …]``."""

        @overload  # type: ignore[override]
        def __getitem__(self, index: Literal[0, 1], /) -> int: ...  # type: ignore[overload-overlap]
        @overload
        def __getitem__(self, index: SupportsIndex, /) -> Value: ...
        @overload
        def __getitem__(self, index: slice, /) -> list[Value]: ...
        def __getitem__(self, index: object, /) -> object: ...

    class Mapping(dict[str, "Value"]):
        """``{"": [line, column, …], key: value, …}``."""

        @overload
        def __getitem__(self, key: Literal[""], /) -> list[int]: ...  # type: ignore[overload-overlap]
        @overload
        def __getitem__(self, key: str, /) -> Value: ...
        def __getitem__(self, key: object, /) -> object: ...
else:
    ScalarNode = ListNode = list
    Mapping = dict

Value: TypeAlias = "ScalarNode | ListNode | Mapping"
"""A value in a document; a written null is a scalar."""

Node: TypeAlias = "Value | None"
"""The same, or None for what is not there."""

PLACES: Final = ""
"""Key of a mapping under which its places stand; no key that a rule asks for is empty."""

NULLS = frozenset(("", "~", "null", "Null", "NULL"))

MAX_DEPTH = 256
"""Deeper documents are refused. Real ones stay below 60; the API server takes 10 000."""

MAX_NODES = 300_000
"""Values in one document, aliases followed; more are refused."""


class Duplicate(NamedTuple):
    """A key that its mapping already has, and where that stands; the later value counts."""

    key: str
    line: int
    column: int
    first: Place


class UnknownTag(NamedTuple):
    """A tag that is not one of YAML's own."""

    tag: str
    line: int
    column: int


class Tree(NamedTuple):
    """One document as a tree.

    Attributes:
        root: Its value; None for a document of comments and blanks.
        duplicates: Keys written twice.
        tags: Tags that the API would refuse.
    """

    root: Node
    duplicates: tuple[Duplicate, ...] = ()
    tags: tuple[UnknownTag, ...] = ()


class BrokenDocumentError(Exception):
    """A document that cannot be read.

    Attributes:
        reason: What is wrong with it, in one line.
        line: Where.
        column: Where.
        template: It breaks off at what looks like a template.
        limit: It is too large or too deep, not malformed.
    """

    def __init__(
        self, reason: str, line: int, column: int, *, template: bool = False, limit: bool = False
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line
        self.column = column
        self.template = template
        self.limit = limit


def is_scalar(node: Node) -> TypeIs[ScalarNode]:
    """Whether a node is a scalar, null included."""
    return type(node) is list and type(node[0]) is str


def is_list(node: Node) -> TypeIs[ListNode]:
    """Whether a node is a list."""
    return type(node) is list and type(node[0]) is not str


def is_object(node: Mapping) -> bool:
    """Whether a mapping is an object of the API."""
    return "kind" in node and "apiVersion" in node and is_scalar(node["kind"])


def is_null(node: Node) -> bool:
    """Whether a node is absent or one of YAML's spellings of null, unquoted."""
    if node is None:
        return True
    return type(node) is list and node[0] in NULLS and node[1] is True


def place(node: Value) -> Place:
    """Return where a value begins."""
    if is_scalar(node):
        return Place(node[2], node[3])
    start = node if is_list(node) else node[PLACES]
    return Place(start[0], start[1])


class PlaceWantedError(Exception):
    """The place of a key was asked for, and the tree comes from a reader that leaves them out."""


def key_place(mapping: Mapping, key: str) -> Place:
    """Return where a key of a mapping stands.

    Raises:
        PlaceWantedError: The tree does not say.
    """
    if len(mapping[PLACES]) < 2 * len(mapping):
        raise PlaceWantedError
    index = 2 * next(i for i, name in enumerate(mapping) if name == key)
    return Place(*mapping[PLACES][index : index + 2])


_make_scalar: Callable[[list[object]], Scalar] = partial(tuple.__new__, Scalar)
as_scalar: Callable[[ScalarNode], Scalar] = _make_scalar
"""Make a :class:`Scalar` of a scalar node; three times as fast as the class itself."""


def scalar(node: Node) -> Scalar | None:
    """Return a scalar that has a value, else None."""
    if type(node) is list and type(node[0]) is str and not (node[1] is True and node[0] in NULLS):
        return _make_scalar(node)
    return None


def text(node: Node) -> str:
    """Return the text of a scalar that has a value, else an empty text."""
    if type(node) is list and type(node[0]) is str and not (node[1] is True and node[0] in NULLS):
        return node[0]
    return ""


EMPTY = cast("Mapping", {})
"""A mapping without entries, and without a place."""


def as_mapping(node: Node) -> Mapping:
    """Return a mapping as it is, and an empty one for anything else."""
    return node if type(node) is dict else EMPTY


def emptied(mapping: Mapping) -> Mapping:
    """Return an empty mapping at the place of another."""
    return cast("Mapping", {PLACES: mapping[PLACES]})


def pairs(mapping: Mapping) -> islice[tuple[str, Value]]:
    """Return the entries of a mapping without its places."""
    return islice(mapping.items(), 1, None)


def placed_pairs(mapping: Mapping) -> Iterator[tuple[str, Place, Value]]:
    """Yield the entries of a mapping with the places of their keys.

    Raises:
        PlaceWantedError: The tree does not say.
    """
    if len(mapping[PLACES]) < 2 * len(mapping):
        raise PlaceWantedError
    places = iter(mapping[PLACES][2:])
    for (key, node), line, column in zip(pairs(mapping), places, places, strict=True):
        yield key, Place(line, column), node


def what(node: Node) -> str:
    """Return what a node is, for people."""
    if type(node) is dict:
        return "a mapping"
    if is_null(node):
        return "nothing"
    return "a scalar" if is_scalar(node) else "a list"
