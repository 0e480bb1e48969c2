"""JSON, written while it goes: what is long is encoded item by item and never in memory whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from typing import Any

import orjson

_INDENT = "  "
_OPTIONS = orjson.OPT_INDENT_2


class Members(dict[str, Any]):
    """An object that is written member by member, because an iterator is somewhere in it."""


def encoded(value: object, depth: int = 0) -> Iterator[str]:
    """Yield the text of a value.

    Args:
        value: Anything that JSON knows; an iterator is a list whose items are made when it is
            their turn. It stands in :class:`Members`, or in another iterator.
        depth: How far its lines are indented, but for the first.
    """
    if isinstance(value, Members):
        members = ((f"{_text(key, 0)}: ", item) for key, item in value.items())
        yield from _between("{", members, "}", depth)
    elif isinstance(value, Iterator):
        yield from _between("[", (("", item) for item in value), "]", depth)
    else:
        yield _text(value, depth)


def _between(
    opening: str, items: Iterator[tuple[str, object]], closing: str, depth: int
) -> Iterator[str]:
    first = next(items, None)
    if first is None:
        yield opening + closing
        return
    margin = "\n" + _INDENT * (depth + 1)
    mark = opening
    for name, item in chain((first,), items):
        if type(item) is dict:
            # Nearly all items are: one piece for each.
            yield f"{mark}{margin}{name}{_text(item, depth + 1)}"
        else:
            yield f"{mark}{margin}{name}"
            yield from encoded(item, depth + 1)
        mark = ","
    yield "\n" + _INDENT * depth + closing


def _text(value: object, depth: int) -> str:
    try:
        text = orjson.dumps(value, option=_OPTIONS).decode()
    except TypeError:
        # A name that is no UTF-8, or a number beyond 64 bits. Python's own writer takes both.
        text = json.dumps(value, indent=2, ensure_ascii=False)
    # A line end in a text is written as \n: all that are there are between values.
    return text.replace("\n", "\n" + _INDENT * depth) if depth else text
