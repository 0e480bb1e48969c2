"""From a value to its place on an axis: a share of the axis's length, from 0 to 1."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Self

from quota_advisor.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Linear:
    """From zero to a highest value.

    Attributes:
        highest: The value at the end of the axis; above 0.
    """

    highest: float

    @classmethod
    def up_to(cls, value: float) -> Self:
        """Return a scale that ends at or above a value, where its quarters are round numbers."""
        return cls(highest=_round_up(value or 1.0))

    def has(self, value: float) -> bool:  # noqa: ARG002 - the other scale has no place for some
        """Whether the value has a place."""
        return True

    def place(self, value: float) -> float:
        """Return where a value is, as a share of the axis."""
        return value / self.highest

    def ticks(self) -> Iterator[float]:
        """Yield the values to be written at the axis."""
        yield from (self.highest * share for share in (0.0, 0.25, 0.5, 0.75, 1.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Logarithmic:
    """From one power of ten to a higher one.

    Attributes:
        low, high: The exponents at its ends.
    """

    low: int
    high: int

    @classmethod
    def around(cls, values: Iterable[float]) -> Self | None:
        """Return the smallest scale that has room for the values above zero; None without any."""
        positive = [value for value in values if value > 0]
        if not positive:
            return None
        low = math.floor(math.log10(min(positive)))
        return cls(low=low, high=max(math.ceil(math.log10(max(positive))), low + 1))

    def has(self, value: float) -> bool:
        """Whether the value has a place: zero has none."""
        return value > 0

    def place(self, value: float) -> float:
        """Return where a value above zero is, as a share of the axis."""
        return (math.log10(value) - self.low) / (self.high - self.low)

    def ticks(self) -> Iterator[float]:
        """Yield the values to be written at the axis."""
        yield from (10.0**power for power in range(self.low, self.high + 1))


Scale = Linear | Logarithmic


def _round_up(value: float) -> float:
    """Return a number at or above a value that divides well: 1, 2, 4 or 8 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 4, 8, 10) if step * power >= value)
