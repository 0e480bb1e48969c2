"""Make every text of the facts safe to print and to store.

Names of cgroups and the content of files are chosen by whoever runs on the host: they may hold
bytes that are no UTF-8, and control characters that would steer a terminal.
"""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

T = TypeVar("T")


def legible(value: T) -> T:
    """Return facts with every unprintable character of their texts written as an escape.

    Args:
        value: A frozen dataclass, a tuple, or a plain value; nested to any depth.
    """
    result: Any = _legible(value)
    return result  # type: ignore[no-any-return]


def legible_text(text: str) -> str:
    """Return a text with control characters and stray bytes escaped; line ends stay."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else _escape(c) for c in text)


def _legible(value: Any) -> Any:
    # Exactly str: the members of enumerations are texts of this program.
    if type(value) is str:
        return legible_text(value)
    if isinstance(value, tuple):
        return tuple(_legible(item) for item in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        clean = {name: _legible(item) for name, item in fields.items()}
        if all(clean[name] is item for name, item in fields.items()):
            return value
        return type(value)(**clean)
    return value


def _escape(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # noqa: PLR2004 - a byte that surrogateescape kept
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}"  # noqa: PLR2004
