"""The share of periods that ended throttled, by two readings and by totals since creation."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from quota_advisor.model.cgroup import Basis, CounterWindow, CpuCounters
from quota_advisor.model.limit import Missing

NOT_READ = Missing(reason="not read")
Count = int | Missing


def window(periods: Count, throttled: Count) -> CounterWindow:
    return CounterWindow(
        basis=Basis.WINDOW,
        elapsed_usec=10_000_000,
        usage_usec=NOT_READ,
        periods=periods,
        throttled_periods=throttled,
        throttled_usec=NOT_READ,
        burst_periods=NOT_READ,
        burst_usec=NOT_READ,
        local_throttled_usec=NOT_READ,
        pressure_some_usec=NOT_READ,
        pressure_full_usec=NOT_READ,
    )


def totals(periods: Count, throttled: Count) -> CpuCounters:
    return CpuCounters(
        read_at_usec=0,
        usage_usec=NOT_READ,
        nr_periods=periods,
        nr_throttled=throttled,
        throttled_usec=NOT_READ,
        nr_bursts=NOT_READ,
        burst_usec=NOT_READ,
        local_throttled_usec=NOT_READ,
        pressure_some_usec=NOT_READ,
        pressure_full_usec=NOT_READ,
    )


@pytest.mark.parametrize("counters", [window, totals])
@pytest.mark.parametrize(
    ("periods", "throttled", "ratio"), [(100, 25, 0.25), (100, 0, 0.0), (100, 100, 1.0)]
)
def test_the_ratio_is_the_share_of_periods(
    counters: Callable[[Count, Count], CounterWindow | CpuCounters],
    periods: int,
    throttled: int,
    ratio: float,
) -> None:
    assert counters(periods, throttled).throttled_ratio == ratio


@pytest.mark.parametrize("counters", [window, totals])
@pytest.mark.parametrize(
    ("periods", "throttled", "reason"),
    [
        (0, 0, "no period ran"),
        (NOT_READ, 5, "not read"),
        (5, NOT_READ, "not read"),
        (-100, 5, "wrapped"),
        (100, -5, "wrapped"),
        (100, 101, "wrapped"),
    ],
)
def test_there_is_no_ratio_of_counters_that_say_nothing(
    counters: Callable[[Count, Count], CounterWindow | CpuCounters],
    periods: Count,
    throttled: Count,
    reason: str,
) -> None:
    ratio = counters(periods, throttled).throttled_ratio
    assert isinstance(ratio, Missing)
    assert reason in ratio.reason
