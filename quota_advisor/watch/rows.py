"""Which groups are shown, in which order, and what stands in their columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum

from quota_advisor.model.limit import Bandwidth, Missing
from quota_advisor.printable import printable
from quota_advisor.units import format_percent
from quota_advisor.watch.groups import Watched

ABSENT = "-"
"""Shown for what was not measured; zero is shown only where zero was measured."""

SPANS_SEC = (1, 10, 60)


class Order(StrEnum):
    """What comes first."""

    THROTTLED = "throttled"
    STALLED = "stalled"
    USE = "use"
    PEAK = "peak"
    LIMIT = "limit"
    NAME = "name"

    @property
    def next(self) -> Order:
        """The order after this one."""
        orders = list(Order)
        return orders[(orders.index(self) + 1) % len(orders)]


def chosen(
    groups: Iterable[Watched], order: Order, text: str = "", *, backwards: bool = False
) -> list[Watched]:
    """Return the groups whose name or path holds a text, in an order; ties by name."""
    words = text.lower().split()
    shown = [
        group
        for group in groups
        if all(word in group.name.lower() or word in group.path.lower() for word in words)
    ]
    shown.sort(key=lambda group: (group.name, group.path))
    if order is Order.NAME:
        return shown[::-1] if backwards else shown
    key = _KEYS[order]
    return sorted(shown, key=key, reverse=not backwards)


def _throttled(group: Watched) -> tuple[float, float]:
    """Return how badly a group is held back: over ten seconds, or since there are readings."""
    history = group.history
    ratio = history.throttled_ratio(10)
    ratio = history.throttled_ratio(1) if ratio is None else ratio
    return ratio or 0.0, history.held_msec_per_sec(1) or 0.0


_KEYS: dict[Order, Callable[[Watched], tuple[float, ...]]] = {
    Order.THROTTLED: _throttled,
    Order.STALLED: lambda group: (group.history.stalled_msec_per_sec(1) or 0.0,),
    Order.USE: lambda group: (group.history.now_cores or 0.0,),
    Order.PEAK: lambda group: (group.history.peak_cores or 0.0,),
    Order.LIMIT: lambda group: (-group.in_force[0].cores if group.in_force else -1e9,),
}


def limit_text(group: Watched) -> str:
    """Return the limit in force; an arrow where a group above sets it."""
    found = group.in_force
    if found is None:
        return ABSENT if isinstance(group.limit, Missing) else "none"
    limit, whose = found
    return f"{percent(limit.cores)}{'' if whose == group.path else '↑'}"


def above_text(group: Watched) -> str:
    """Return the limits above a group, nearest first."""
    return ", ".join(f"{percent(limit.cores)} {printable(path)}" for path, limit in group.above)


def percent(cores: float | None) -> str:
    """Return a number of CPUs as systemd writes it: 100 % is one."""
    return ABSENT if cores is None else format_percent(cores * 100).replace(" ", "")


def ratio_text(ratio: float | None) -> str:
    """Return a ratio in at most four characters; neither nothing nor everything by rounding."""
    if ratio is None:
        return ABSENT
    if 0 < ratio < 0.01:  # noqa: PLR2004 - one percent
        return "<1%"
    return f"{int(ratio * 100)}%"


def amount_text(value: float | None) -> str:
    """Return a number without decimals, a trace of something never as nothing."""
    if value is None:
        return ABSENT
    return "<1" if 0 < value < 1 else f"{value:.0f}"


def limit_cores(group: Watched) -> float | None:
    """Return the limit in force as a number of CPUs."""
    found = group.in_force
    return None if found is None else found[0].cores


def sparkline(values: list[float], top: float, room: int, marks: str) -> str:
    """Return the latest values as marks of rising height; what was used at all has one."""
    shown = values[-room:]
    highest = max([top, *shown]) or 1.0
    steps = len(marks) - 1
    heights = (0 if v <= 0 else max(1, round(v / highest * steps)) for v in shown)
    return "".join(marks[height] for height in heights).rjust(room)


def own_limit(group: Watched) -> Bandwidth | None:
    """Return a group's own limit."""
    return group.limit if isinstance(group.limit, Bandwidth) else None
