"""Every text of the facts, changed in one walk: made printable, made anonymous."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar

from quota_advisor.printable import printable

T = TypeVar("T")

Change = Callable[[str, object, str], str]
"""Given a text, the record that it is in and the name of its field there, returns a text."""


def printable_facts(value: T) -> T:
    """Return facts with every unprintable character of their texts written as an escape.

    Line ends stay in the texts of files alone: in a name they would start a line of their own.

    Args:
        value: A frozen dataclass, a tuple, or a plain value; nested to any depth.
    """
    return with_texts(value, _printable)


def with_texts(value: T, change: Change) -> T:
    """Return facts with each text changed; what stays the same is not made anew.

    Args:
        value: As for :func:`printable_facts`.
        change: Makes another text of each.
    """
    result: Any = _changed(value, change, None, "")
    return result  # type: ignore[no-any-return]


def _printable(text: str, _owner: object, field: str) -> str:
    return printable(text, keep="\n\t" if field == "raw" else "")


def _changed(value: Any, change: Change, owner: object, field: str) -> Any:
    kind = type(value)
    # Exactly str: the members of enumerations are texts of this program.
    if kind is str:
        return change(value, owner, field)
    if kind in _PLAIN:
        return value
    if kind is tuple:
        return tuple(_changed(item, change, owner, field) for item in value)
    changed = {}
    for name in _FIELDS.get(kind) or _learn(kind):
        item = getattr(value, name)
        clean = _changed(item, change, value, name)
        if clean is not item and clean != item:
            changed[name] = clean
    return dataclasses.replace(value, **changed) if changed else value


_PLAIN = frozenset({int, float, bool, type(None)})
"""What most of the facts of a large host are: looked at no further."""


_FIELDS: dict[type, tuple[str, ...]] = {}
"""Names of the fields of each class of facts, looked up once."""


def _learn(kind: type) -> tuple[str, ...]:
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    return _FIELDS.setdefault(kind, tuple(field.name for field in fields))
