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
    # Exactly str: the members of enumerations are texts of this program.
    if type(value) is str:
        return printable(value, keep=keep)
    if isinstance(value, tuple):
        return tuple(_printable(item, keep) for item in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        clean = {n: _printable(item, "\n\t" if n == "raw" else "") for n, item in fields.items()}
        if all(clean[name] is item for name, item in fields.items()):
            return value
        return type(value)(**clean)
    return value
