"""How rules of several folders put amounts and lists into words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from quota_advisor.units import format_number

if TYPE_CHECKING:
    from decimal import Decimal

SHOWN_NAMES = 8


def number_text(value: Decimal) -> str:
    """Return a number of CPUs as a message has it."""
    return format_number(value, 3)


def cpus_text(value: Decimal) -> str:
    """Return the same with its unit."""
    return f"{number_text(value)} CPU{'' if value == 1 else 's'}"


def listed(names: Sequence[str]) -> str:
    """Return names as a message has them, many cut short."""
    more = len(names) - SHOWN_NAMES
    return ", ".join(names[:SHOWN_NAMES]) + (f" and {more} more" if more > 0 else "")
