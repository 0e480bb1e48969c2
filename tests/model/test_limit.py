"""What systemd writes to the kernel for a configured quota and period."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quota_advisor.model.limit import Bandwidth, Missing, Unlimited, Unset, effective_limit

# systemd 252 and 262, src/core/cgroup.c; quota in microseconds per second: 10000 is 1 %.
TABLE = [
    pytest.param(500_000, Unset(), 50_000, 100_000, id="50 %"),
    pytest.param(1_500_000, Unset(), 150_000, 100_000, id="150 %"),
    pytest.param(10_000, Unset(), 1_000, 100_000, id="1 %, the last at the default period"),
    pytest.param(9_900, Unset(), 1_000, 101_010, id="0.99 %: the period grows"),
    pytest.param(5_000, Unset(), 1_000, 200_000, id="0.5 %"),
    pytest.param(1_000, Unset(), 1_000, 1_000_000, id="0.1 %, the smallest that is kept"),
    pytest.param(500, Unset(), 1_000, 1_000_000, id="0.05 % becomes 0.1 %"),
    pytest.param(100, Unset(), 1_000, 1_000_000, id="0.01 % becomes 0.1 %"),
    pytest.param(500_000, 10_000, 5_000, 10_000, id="50 % per 10 ms"),
    pytest.param(500_000, 2_000, 1_000, 2_000, id="50 % per 2 ms, the shortest for it"),
    pytest.param(500_000, 1_999, 1_000, 2_000, id="50 % per 1.999 ms: the period grows"),
    pytest.param(500_000, 0, 1_000, 2_000, id="50 % per 0: as short as both bounds allow"),
    pytest.param(4_000_000, 0, 4_000, 1_000, id="400 % per 0: no period below 1 ms"),
    pytest.param(4_000_000, 999, 4_000, 1_000, id="400 % per 999 us"),
    pytest.param(500_000, 1_000_000, 500_000, 1_000_000, id="50 % per 1 s"),
    pytest.param(500_000, 1_000_001, 500_000, 1_000_000, id="50 % per more than 1 s"),
    pytest.param(500_000, Missing(reason="not told"), 50_000, 100_000, id="period not known"),
    pytest.param(64_000_000, Unset(), 6_400_000, 100_000, id="6400 %"),
]


@pytest.mark.parametrize(("quota_per_sec_usec", "period", "quota_usec", "period_usec"), TABLE)
def test_quota_and_period_as_the_kernel_gets_them(
    quota_per_sec_usec: int, period: int | Unset | Missing, quota_usec: int, period_usec: int
) -> None:
    assert effective_limit(quota_per_sec_usec, period) == Bandwidth(
        quota_usec=quota_usec, period_usec=period_usec
    )


@pytest.mark.parametrize("period", [Unset(), 10_000, Missing(reason="not told")])
def test_unlimited_stays_unlimited_even_with_a_period(period: int | Unset | Missing) -> None:
    assert effective_limit(Unlimited(), period) == Unlimited()


def test_unknown_stays_unknown() -> None:
    unknown = Missing(reason="the bus did not answer")
    assert effective_limit(unknown, Unset()) == unknown


@given(st.integers(1, 10**12), st.integers(0, 10**8))
def test_the_kernel_takes_whatever_comes_out(quota_per_sec_usec: int, period: int) -> None:
    limit = effective_limit(quota_per_sec_usec, period)
    assert isinstance(limit, Bandwidth)
    assert limit.quota_usec >= 1_000
    assert 1_000 <= limit.period_usec <= 1_000_000


@given(st.integers(1_000, 10**10), st.integers(0, 10**8))
def test_from_a_tenth_of_a_percent_on_the_ratio_is_kept(quota: int, period: int) -> None:
    limit = effective_limit(quota, period)
    assert isinstance(limit, Bandwidth)
    # Whole microseconds: off by less than one in the quota of a period.
    assert abs(limit.quota_usec - quota * limit.period_usec / 1_000_000) < 1


def test_cores_and_percent_say_the_same() -> None:
    limit = Bandwidth(quota_usec=150_000, period_usec=100_000)
    assert (limit.cores, limit.percent) == (1.5, 150.0)
