"""What to simulate, as asked for on the command line."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from quota_advisor.errors import UsageError
from quota_advisor.model.limit import (
    DEFAULT_PERIOD_USEC,
    MAX_PERIOD_USEC,
    MIN_QUOTA_USEC,
    Bandwidth,
    Unlimited,
)
from quota_advisor.records import dataclass
from quota_advisor.sim.bandwidth import Kernel
from quota_advisor.sim.sweep import Target
from quota_advisor.units import format_usec, parse_time_span

MAX_CANDIDATES = 10_000
MAX_BURST_USEC = 4096 * MAX_PERIOD_USEC
"""As much as the quota of the largest machine."""

KERNELS = {"4.18": Kernel.EXPIRING, "5.4": Kernel.PER_CPU, "6.18": Kernel.PER_TASK}
"""The first kernel of each kind of rules."""

NO_QUOTA = ("none", "max", "infinity")


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What to simulate.

    Attributes:
        cores: Quotas to try; None is no quota. Empty with ``sweep``.
        periods_usec: Periods to try each of them with.
        bursts_usec: Bursts to try each of them with.
        cpus: CPUs that the group may run on; None for those of the recording.
        threads: Threads that can run at once; None for what the recording shows.
        tick_usec: The scheduler's tick; None for that of the recording.
        kernel: Whose rules; None for those of the recording's.
        sweep: Look for the smallest quota for each period and burst.
        target: What a quota has to keep.
        seed: Chooses where in its period the timer stands at the beginning.
        cgroup: Which one of a recording of many; empty for the only one.
    """

    cores: tuple[float | None, ...]
    periods_usec: tuple[int, ...] = (DEFAULT_PERIOD_USEC,)
    bursts_usec: tuple[int, ...] = (0,)
    cpus: int | None = None
    threads: int | None = None
    tick_usec: int | None = None
    kernel: Kernel | None = None
    sweep: bool = False
    target: Target = Target()
    seed: int = 0
    cgroup: str = ""

    def limits(self) -> Iterator[tuple[Bandwidth | Unlimited, int]]:
        """Yield every quota, period and burst together; what no kernel takes is refused.

        Raises:
            UsageError: A quota is below the kernel's minimum, or a burst above its quota.
        """
        if len(self.cores) * len(self.periods_usec) * len(self.bursts_usec) > MAX_CANDIDATES:
            raise UsageError(f"more than {MAX_CANDIDATES} candidates", hint="try fewer at a time")
        for cores, period, burst in itertools.product(
            self.cores, self.periods_usec, self.bursts_usec
        ):
            if cores is None:
                yield Unlimited(), 0
                continue
            yield _bandwidth(cores, period, burst), burst


def _bandwidth(cores: float, period_usec: int, burst_usec: int) -> Bandwidth:
    quota_usec = round(cores * period_usec)
    named = f"{cores * 100:g} % of {format_usec(period_usec)}"
    if quota_usec < MIN_QUOTA_USEC:
        least = f"{MIN_QUOTA_USEC * 100 / period_usec:g} %"
        raise UsageError(
            f"{named} is {format_usec(quota_usec)}: the kernel takes no quota below 1 ms",
            hint=f"with this period the least is {least}",
        )
    if burst_usec > quota_usec:
        raise UsageError(
            f"a burst of {format_usec(burst_usec)} is more than the quota, {named}",
            hint="the kernel takes no burst above the quota",
        )
    return Bandwidth(quota_usec=quota_usec, period_usec=period_usec)


def parse_cores(text: str) -> float | None:
    """Return a quota in cores: ``150%``, ``1.5``, ``1500m``; None for ``none``.

    Raises:
        UsageError: It is none of these.
    """
    word = text.strip().lower()
    if word in NO_QUOTA:
        return None
    divisor = {"%": 100.0, "m": 1000.0}.get(word[-1:], 1.0)
    number = word[:-1] if divisor > 1 else word
    try:
        cores = float(number) / divisor
    except ValueError:
        cores = 0.0
    if not 0 < cores < float("inf"):
        raise UsageError(f"--quota {text!r}", hint="give 150%, 1.5 (cores), 1500m or none")
    return cores


def parse_times(option: str, text: str, *, least: int, most: int) -> tuple[int, ...]:
    """Return times in microseconds: ``100ms,20ms``.

    Raises:
        UsageError: One is malformed or out of range.
    """
    found = []
    for word in text.split(","):
        try:
            span = 0 if word.strip() == "0" else parse_time_span(word.strip())
        except ValueError as error:
            raise UsageError(f"{option} {text!r}: {error}") from error
        if not isinstance(span, int) or not least <= span <= most:
            bounds = f"{format_usec(least)} to {format_usec(most)}"
            raise UsageError(f"{option} {word.strip()}", hint=f"the kernel takes {bounds}")
        found.append(span)
    return tuple(dict.fromkeys(found))


def parse_periods(text: str) -> tuple[int, ...]:
    """Return the periods to try.

    Raises:
        UsageError: One is malformed, or one that the kernel does not take.
    """
    return parse_times("--period", text, least=MIN_QUOTA_USEC, most=MAX_PERIOD_USEC)


def parse_target(text: str) -> Target:
    """Return ``throttled=1%,p99=10ms``; what is left out keeps its default.

    Raises:
        UsageError: Something else was typed.
    """
    target = Target()
    throttled_ratio, p99_usec = target.throttled_ratio, target.p99_usec
    for word in filter(None, text.split(",")):
        name, _, value = word.strip().partition("=")
        try:
            if name == "throttled" and value.endswith("%"):
                throttled_ratio = float(value[:-1]) / 100
                continue
            span = parse_time_span(value) if name == "p99" else 0
        except ValueError:
            span = 0
        if not isinstance(span, int) or span <= 0:
            raise UsageError(f"--target {word!r}", hint="give throttled=1%,p99=10ms")
        p99_usec = span
    if not 0 < throttled_ratio <= 1:
        raise UsageError(f"--target {text!r}", hint="give a share of the periods, as throttled=1%")
    return Target(throttled_ratio=throttled_ratio, p99_usec=p99_usec)
