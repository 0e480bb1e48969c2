"""How long bandwidth control freezes busy threads: by hand, and in general."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from quota_advisor.model.limit import Bandwidth
from quota_advisor.sim.stall import Stall, worst_stall


@pytest.mark.parametrize(
    ("quota_usec", "period_usec", "threads", "cpus", "run_usec", "wait_usec"),
    [
        pytest.param(400_000, 100_000, 16, 16, 25_000, 75_000, id="16 threads on 4 cores"),
        pytest.param(200_000, 100_000, 6, 8, 33_333.3, 66_666.7, id="6 threads on 2 cores"),
        pytest.param(200_000, 100_000, 64, 8, 25_000, 75_000, id="no more run than CPUs"),
        pytest.param(200_000, 1_000_000, 1, 8, 200_000, 800_000, id="20 % per second"),
        pytest.param(20_000, 100_000, 1, 8, 20_000, 80_000, id="20 % per 100 ms"),
        pytest.param(199_999, 100_000, 2, 2, 99_999.5, 0.5, id="just below all CPUs"),
        pytest.param(1_000, 200_000, 1, 8, 1_000, 199_000, id="0.5 % as systemd clamps it"),
    ],
)
def test_threads_run_until_the_quota_is_spent_and_wait_for_the_rest(
    quota_usec: int, period_usec: int, threads: int, cpus: int, run_usec: float, wait_usec: float
) -> None:
    limit = Bandwidth(quota_usec=quota_usec, period_usec=period_usec)
    stall = worst_stall(limit, threads, cpus)
    assert stall is not None
    assert stall.run_usec == pytest.approx(run_usec, abs=0.1)
    assert stall.wait_usec == pytest.approx(wait_usec, abs=0.1)


@pytest.mark.parametrize(("threads", "cpus"), [(0, 8), (1, 8), (2, 8), (16, 2), (4, 0)], ids=str)
def test_threads_that_cannot_spend_the_quota_never_wait(threads: int, cpus: int) -> None:
    assert worst_stall(Bandwidth(quota_usec=200_000, period_usec=100_000), threads, cpus) is None


LIMITS = st.builds(
    Bandwidth,
    quota_usec=st.integers(1_000, 8_000_000),
    period_usec=st.integers(1_000, 1_000_000),
)


def stalled(limit: Bandwidth, threads: int) -> Stall:
    stall = worst_stall(limit, threads, 64)
    assume(stall is not None)
    assert stall is not None
    return stall


@given(LIMITS, st.integers(1, 64))
def test_run_and_wait_make_up_the_period_and_the_threads_spend_the_quota(
    limit: Bandwidth, threads: int
) -> None:
    stall = stalled(limit, threads)
    assert stall.run_usec + stall.wait_usec == pytest.approx(limit.period_usec)
    assert stall.run_usec * threads == pytest.approx(limit.quota_usec)
    assert stall.wait_usec > 0


@given(LIMITS, st.integers(1, 63), st.integers(1, 1_000_000))
def test_more_threads_wait_longer_and_more_quota_shorter(
    limit: Bandwidth, threads: int, more: int
) -> None:
    stall = stalled(limit, threads)
    assert stalled(limit, threads + 1).wait_usec > stall.wait_usec
    larger = Bandwidth(quota_usec=limit.quota_usec + more, period_usec=limit.period_usec)
    relieved = worst_stall(larger, threads, 64)
    assert relieved is None or relieved.wait_usec < stall.wait_usec
