"""Keys about CPU that compose does not know, and where what they say belongs.

Compose refuses a file with a key that it does not know, unless that begins with ``x-``: its schema
allows nothing else in a service, nor below ``deploy``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from quota_advisor.documents.compose.keys import (
    LIMIT,
    LIMITS,
    RESERVATION,
    RESERVATIONS,
    RESOURCES,
    SERVICE_KEYS,
    folded,
)
from quota_advisor.documents.yaml.tree import Mapping, Node, pairs

MAX_UNKNOWN = 32
"""Keys of one mapping that are told; twice as many as there are right ones."""

_KNOWN = {
    "": frozenset(SERVICE_KEYS),
    LIMITS: frozenset(("cpus",)),
    RESERVATIONS: frozenset(("cpus",)),
}

_AMOUNTS = {
    "": ("cpus", LIMIT),
    LIMITS: (LIMIT,),
    RESERVATIONS: (RESERVATION,),
}
"""Where a number of CPUs belongs that stands in the service, in its limits or reservations."""

_EITHER = (LIMIT, RESERVATION)

_HOLDERS = {
    "limit": LIMITS,
    "limits": LIMITS,
    "reservation": RESERVATIONS,
    "reservations": RESERVATIONS,
    "request": RESERVATIONS,
    "requests": RESERVATIONS,
    "resource": RESOURCES,
    "resources": RESOURCES,
}
"""Names, folded, of what holds amounts, and its right place."""

_LIMIT = re.compile(r"(?:max|limits?|nano)?cpus?(?:max|limits?)?")
_RESERVATION = re.compile(r"(?:min|requests?|reservations?)?cpus?(?:min|requests?|reservations?)?")

_SPELLED = {folded(key): key for key in SERVICE_KEYS} | {
    "cpusets": "cpuset",
    "cpusetcpus": "cpuset",
    "cpushare": "cpu_shares",
    "cpuquotas": "cpu_quota",
    "cpuperiods": "cpu_period",
}


def unknown_keys(path: str, mapping: Mapping) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the keys about CPU that compose does not know, with the places they may belong in.

    Args:
        path: Of the mapping in its service: empty, or ``deploy`` and what is below.
        mapping: The mapping.
    """
    found = ((key, _belongs(path, key, node)) for key, node in pairs(mapping))
    told = ((key, belongs) for key, belongs in found if belongs is not None)
    yield from islice(told, MAX_UNKNOWN)


def _belongs(path: str, key: str, node: Node) -> tuple[str, ...] | None:
    """Return where something belongs; None for what compose knows, or is not about CPU."""
    if key in _KNOWN.get(path, ()) or key.startswith("x-"):
        return None
    plain = folded(key)
    holder = _HOLDERS.get(plain)
    if holder is not None and path in ("", "deploy", RESOURCES):
        is_right = path and holder == f"{path}.{key}"
        return (holder,) if not is_right and _is_about_cpu(node) else None
    return _amount(path, plain) if "cpu" in plain else None


def _amount(path: str, plain: str) -> tuple[str, ...]:
    if plain in _SPELLED and plain != "cpus":
        return (_SPELLED[plain],)
    if _LIMIT.fullmatch(plain):
        return _AMOUNTS.get(path, _EITHER)
    return (RESERVATION,) if _RESERVATION.fullmatch(plain) else ()


def _is_about_cpu(node: Node) -> bool:
    """Whether something about CPU stands in a mapping, or in one right inside it."""
    if type(node) is not dict:
        return False
    return any(
        "cpu" in folded(key) or (type(inner) is dict and any("cpu" in folded(k) for k in inner))
        for key, inner in pairs(node)
    )
