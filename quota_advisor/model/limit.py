"""CPU limits. Limited, unlimited and missing are three types; no number stands for "none"."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from quota_advisor.records import dataclass
from quota_advisor.units import format_usec

DEFAULT_PERIOD_USEC = 100_000
"""Period of CFS bandwidth control when nobody asks for another (kernel/sched/fair.c)."""

MIN_QUOTA_USEC = 1_000
"""Smallest quota, and smallest period, that the kernel takes (kernel/sched/core.c)."""

MAX_PERIOD_USEC = 1_000_000
"""Longest period that the kernel takes (kernel/sched/core.c)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bandwidth:
    """A CFS bandwidth limit that is really set.

    Attributes:
        quota_usec: CPU time that may be used in each period, summed over CPUs.
        period_usec: Length of the period.
    """

    quota_usec: int
    period_usec: int
    kind: Literal["bandwidth"] = "bandwidth"

    @property
    def cores(self) -> float:
        """The limit as a number of CPUs."""
        return self.quota_usec / self.period_usec

    @property
    def percent(self) -> float:
        """The limit as systemd writes it: 100 is one CPU."""
        return self.quota_usec * 100 / self.period_usec

    @property
    def percent_text(self) -> str:
        """The quota as systemd writes it, for people: ``150 %``."""
        return f"{self.percent:.4g} %"

    @property
    def text(self) -> str:
        """The same with the period where it is not the default: ``150 % per 20 ms``."""
        if self.period_usec == DEFAULT_PERIOD_USEC:
            return self.percent_text
        return f"{self.percent_text} per {format_usec(self.period_usec)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlimited:
    """No bandwidth limit: ``cpu.max`` says ``max``, or the property is infinity."""

    kind: Literal["unlimited"] = "unlimited"


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A fact that could not be read, and why. Not the same as zero or unlimited."""

    reason: str
    kind: Literal["missing"] = "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unset:
    """A setting that nobody made: its default applies."""

    kind: Literal["unset"] = "unset"


CpuLimit = Bandwidth | Unlimited | Missing


@lru_cache(maxsize=4096)
def effective_limit(
    quota_per_sec_usec: int | Unlimited | Missing, period_usec: int | Unset | Missing
) -> CpuLimit:
    """Return the limit that systemd writes to the kernel for a configured quota and period.

    Args:
        quota_per_sec_usec: ``CPUQuotaPerSecUSec``, CPU time per second of wall time.
        period_usec: ``CPUQuotaPeriodUSec``; unset and unknown both count as 100 ms.

    The kernel's bounds apply: a quota below 1 ms per period lengthens the period, and what
    would still be too small becomes 1 ms. Source: systemd ``src/core/cgroup.c``
    (``cgroup_cpu_adjust_period`` and ``cgroup_apply_unified_cpu_quota``).
    """
    if not isinstance(quota_per_sec_usec, int):
        return quota_per_sec_usec
    wanted = period_usec if isinstance(period_usec, int) else DEFAULT_PERIOD_USEC
    lower = max(MIN_QUOTA_USEC, MIN_QUOTA_USEC * 1_000_000 // max(quota_per_sec_usec, 1))
    period = min(max(wanted, lower), MAX_PERIOD_USEC)
    quota = max(quota_per_sec_usec * period // 1_000_000, MIN_QUOTA_USEC)
    return Bandwidth(quota_usec=quota, period_usec=period)
