"""What a compose service says of CPU, as numbers, and how messages put it."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from decimal import Decimal

from quota_advisor.documents.compose.values import CPU_KEYS, USEC_KEYS, Value, read_setting
from quota_advisor.model.manifest import ComposeService, Scalar
from quota_advisor.units import parse_cpu_list

_KEYS = frozenset((*CPU_KEYS, *USEC_KEYS))


def amounts(service: ComposeService) -> dict[str, Value]:
    """Return the CPU settings that are written down."""
    return {
        key: read_setting(key, value) for key, value in service.settings.items() if key in _KEYS
    }


def number(values: dict[str, Value], key: str) -> Decimal | None:
    """Return a setting that is a number above zero."""
    value = values.get(key)
    return value if isinstance(value, Decimal) and value > 0 else None


def cpuset(service: ComposeService) -> tuple[int, ...]:
    """Return the CPUs of the service's set; none where they are not known."""
    written = service.settings.get("cpuset")
    try:
        return parse_cpu_list(written.text) if written is not None else ()
    except ValueError:
        return ()


def elsewhere(service: ComposeService, at: Scalar, keys: Iterable[str]) -> str:
    """Return where settings stand that are not in the file of a value."""
    values = ((key, service.settings.get(key)) for key in keys)
    found = ((key, service.at(value)) for key, value in values if value is not None)
    # Without the directory: a message is the same wherever lint is called.
    places = [
        f"{key}: line {place.line} of {posixpath.basename(place.file)}"
        for key, place in found
        if place.file != service.at(at).file
    ]
    return f" ({', '.join(places)})" if places else ""


def text(value: Decimal) -> str:
    """Return a number of CPUs as a message has it."""
    return f"{value:.3f}".rstrip("0").rstrip(".") or "0"


def cpus_text(value: Decimal) -> str:
    """Return the same with its unit."""
    return f"{text(value)} CPU{'' if value == 1 else 's'}"
