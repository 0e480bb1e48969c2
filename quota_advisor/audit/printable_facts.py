"""Make every text of the facts safe to print and to store."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

from quota_advisor.printable import printable

T = TypeVar("T")


def printable_facts(value: T) -> T:
    """Return facts with every unprintable character of their texts written as an escape.

    Line ends stay in the texts of files alone: in a name they would start a line of their own.

    Args:
        value: A frozen dataclass, a tuple, or a plain value; nested to any depth.
    """
    result: Any = _printable(value, "")
    return result  # type: ignore[no-any-return]


def _printable(value: Any, keep: str) -> Any:
    kind = type(value)
    # Exactly str: the members of enumerations are texts of this program.
    if kind is str:
        return printable(value, keep=keep)
    if kind in _PLAIN:
        return value
    if kind is tuple:
        return tuple(_printable(item, keep) for item in value)
    changed = {}
    for name in _FIELDS.get(kind) or _learn(kind):
        item = getattr(value, name)
        clean = _printable(item, "\n\t" if name == "raw" else "")
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
