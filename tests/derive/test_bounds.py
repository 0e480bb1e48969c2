"""The lower bound of a share, against exact sums and known figures."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quota_advisor.derive.bounds import deflated, lower_bound_ratio


def tail(hits: int, trials: int, ratio: float) -> float:
    """Return how likely ``hits`` or more are, summed exactly."""
    return math.fsum(
        math.comb(trials, k) * ratio**k * (1 - ratio) ** (trials - k)
        for k in range(hits, trials + 1)
    )


@pytest.mark.parametrize(
    ("hits", "trials", "percent"),
    [(3, 3, 36.8), (39, 39, 92.6), (27, 32, 70), (16, 34, 32), (3, 41, 2), (6, 100, 2.6)],
)
def test_known_figures(hits: int, trials: int, percent: float) -> None:
    assert lower_bound_ratio(hits, trials) * 100 == pytest.approx(percent, abs=0.5)


@given(trials=st.integers(1, 300), data=st.data())
def test_it_is_where_so_many_would_be_a_one_in_twenty_chance(
    trials: int, data: st.DataObject
) -> None:
    hits = data.draw(st.integers(1, trials))
    bound = lower_bound_ratio(hits, trials)
    assert tail(hits, trials, bound) == pytest.approx(0.05, rel=1e-4)
    assert bound < hits / trials


def test_nothing_seen_bounds_nothing() -> None:
    assert lower_bound_ratio(0, 100) == 0
    assert lower_bound_ratio(0, 0) == 0


@pytest.mark.parametrize("trials", [10**6, 10**9, 2**31])
def test_lifetimes_of_years_are_no_matter(trials: int) -> None:
    bound = lower_bound_ratio(trials // 20, trials)
    deviation = math.sqrt(0.05 * 0.95 / trials)
    assert bound == pytest.approx(0.05 - 1.645 * deviation, abs=0.1 * deviation)


def test_runs_say_less_than_their_length() -> None:
    assert deflated(30, 100, 0.5) == pytest.approx((10, 100 / 3))
    assert deflated(30, 100, 0) == deflated(30, 100, -0.4) == (30, 100)
