"""The tree of what a program decoded already: an object of the API as JSON gave it, no text."""

from __future__ import annotations

from collections.abc import Mapping as AbstractMapping
from typing import Any, cast

from quota_advisor.documents.yaml.tree import PLACES, ListNode, Mapping, ScalarNode, Value

_LITERALS = {True: "true", False: "false", None: "null"}


def tree_of(value: Any) -> Value:
    """Return decoded JSON as a tree without places: all are 0, and no text has such a line."""
    if type(value) is str:
        return cast("ScalarNode", [value, False, 0, 0])
    if type(value) is dict:
        return mapping_of(value)
    if type(value) is list:
        return cast("ListNode", [0, 0, *map(tree_of, value)])
    text = _LITERALS[value] if value is None or type(value) is bool else repr(value)
    return cast("ScalarNode", [text, True, 0, 0])


def mapping_of(value: AbstractMapping[str, Any]) -> Mapping:
    """Return a decoded object as a mapping of a tree; an empty key is left out."""
    entries = {key: tree_of(item) for key, item in value.items() if key}
    return cast("Mapping", {PLACES: [0, 0], **entries})
