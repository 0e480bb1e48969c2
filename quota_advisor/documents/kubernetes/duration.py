"""Durations as Go reads them, which kubelet configuration has.

Source: Go ``time.ParseDuration``.
"""

from __future__ import annotations

import re

_UNIT_USEC = {
    "ns": 0.001,
    "us": 1,
    "µs": 1,
    "μs": 1,
    "ms": 1_000,
    "s": 1_000_000,
    "m": 60_000_000,
    "h": 3_600_000_000,
}
_PART = re.compile(rf"([0-9]+\.?[0-9]*|\.[0-9]+)({'|'.join(_UNIT_USEC)})")


def parse_duration(text: str) -> float | None:
    """Return a duration such as ``100ms`` or ``1m30s`` in microseconds; None for none."""
    if text == "0":
        return 0
    position, total = 0, 0.0
    while position < len(text):
        match = _PART.match(text, position)
        if match is None:
            return None
        total += float(match[1]) * _UNIT_USEC[match[2]]
        position = match.end()
    return total if text else None
