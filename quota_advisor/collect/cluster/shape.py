"""Look into decoded JSON of strangers: what is not of the expected type counts as not there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def mapping(holder: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """Return the mapping at the end of a path of keys, an empty one where there is none."""
    for key in keys:
        found = holder.get(key)
        holder = found if isinstance(found, dict) else {}
    return holder


def maps(holder: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """Return the mappings of a list."""
    found = holder.get(key)
    return [m for m in found if isinstance(m, dict)] if isinstance(found, list) else []


def text(holder: Mapping[str, Any], key: str) -> str:
    """Return a text, an empty one where there is none."""
    found = holder.get(key)
    return found if isinstance(found, str) else ""
