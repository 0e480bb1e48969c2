"""Which series there are: name, type, meaning, and the value of each cgroup.

Names follow Prometheus' conventions: base units, counters end in ``_total``. Every series has the
label ``cgroup`` alone; whose it is stands in the labels of one info series, to be joined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from quota_advisor.export.reading import Group
from quota_advisor.model.limit import Bandwidth, Missing
from quota_advisor.records import dataclass

_INT_SPAN = 1 << 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One metric.

    Attributes:
        name: Its name; that of a counter ends in ``_total``.
        kind: Its type.
        help: What it means.
        value: Its value for a cgroup, None where the kernel does not tell: no sample then.
        labels: Names of the labels behind ``cgroup``, each an attribute of :class:`Group`.
    """

    name: str
    kind: Literal["counter", "gauge"]
    help: str
    value: Callable[[Group], float | None]
    labels: tuple[str, ...] = ()

    @property
    def label_names(self) -> tuple[str, ...]:
        """Names of all labels."""
        return ("cgroup", *self.labels)

    def samples(self, groups: tuple[Group, ...]) -> Iterator[tuple[tuple[str, ...], float]]:
        """Yield label values and value of each cgroup that has one."""
        for group in groups:
            value = self.value(group)
            if value is not None:
                yield (group.path, *(getattr(group, name) for name in self.labels)), value


def _seconds(usec: int | Missing) -> float | None:
    return None if isinstance(usec, Missing) else usec / 1e6


def _count(value: int | Missing) -> float | None:
    """Return an int counter of the kernel, which prints it negative after 2³¹."""
    return None if isinstance(value, Missing) else float(value % _INT_SPAN)


def _stalled(group: Group) -> float | None:
    # For a machine as a whole the kernel prints a zero that means nothing (kernel/sched/psi.c).
    return None if group.path == "/" else _seconds(group.counters.pressure_full_usec)


_PREFIX = "quota_advisor_cgroup"

SERIES = (
    Series(
        name=f"{_PREFIX}_cpu_usage_seconds_total",
        kind="counter",
        help="CPU time used.",
        value=lambda group: _seconds(group.counters.usage_usec),
    ),
    Series(
        name=f"{_PREFIX}_cpu_periods_total",
        kind="counter",
        help="Periods of the cgroup's own quota in which it was active.",
        value=lambda group: _count(group.counters.nr_periods),
    ),
    Series(
        name=f"{_PREFIX}_cpu_throttled_periods_total",
        kind="counter",
        help="Periods at whose end the cgroup's own quota held it back.",
        value=lambda group: _count(group.counters.nr_throttled),
    ),
    Series(
        name=f"{_PREFIX}_cpu_throttled_seconds_total",
        kind="counter",
        help="Time for which the cgroup's own quota held it back, summed over CPUs.",
        value=lambda group: _seconds(group.counters.throttled_usec),
    ),
    Series(
        name=f"{_PREFIX}_cpu_stalled_seconds_total",
        kind="counter",
        help="Wall time in which all tasks that wanted a CPU waited: full of cpu.pressure.",
        value=_stalled,
    ),
    Series(
        name=f"{_PREFIX}_cpu_quota_cores",
        kind="gauge",
        help="Quota over period of the cgroup's own limit; absent without one.",
        value=lambda g: g.limit.cores if isinstance(g.limit, Bandwidth) else None,
    ),
    Series(
        name=f"{_PREFIX}_info",
        kind="gauge",
        help="Whose the cgroup is; 1.",
        value=lambda _group: 1.0,
        labels=("unit", "container", "pod_uid"),
    ),
)
"""Every series that is exported."""
