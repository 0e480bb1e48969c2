"""The quota that a demand needs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quota_advisor.advise.formula import size_for_highest, size_for_peak
from quota_advisor.model.advice import Need
from quota_advisor.model.cgroup import Demand
from quota_advisor.model.limit import Bandwidth, Missing


def demand(
    p95_cores: float, *, windows: int = 100, max_cores: float | None = None, **more: Any
) -> Demand:
    return Demand(
        interval_usec=100_000,
        windows=windows,
        mean_cores=p95_cores / 2,
        p95_cores=p95_cores,
        max_cores=p95_cores if max_cores is None else max_cores,
        censored_windows=0,
        **more,
    )


def sized(p95_cores: float, cpus: int = 24) -> Need:
    advice = size_for_peak(demand(p95_cores), cpus)
    assert isinstance(advice, Need)
    return advice


def test_a_peak_of_two_point_two_cores_needs_330_percent_and_not_14() -> None:
    advice = sized(2.2, cpus=24)
    assert advice.percent == 330
    assert advice.cores == 3.3
    # The article's own division: 330 % of one core are 13.75 % of 24, shown and never written.
    assert advice.share_of_node_ratio == pytest.approx(0.1375)


@pytest.mark.parametrize(
    ("p95_cores", "percent"),
    [
        (0.0, 5),
        (0.001, 5),
        (0.0333, 5),  # 4.995 %
        (1 / 30, 5),  # 5 % exactly, whatever floating point says
        (0.0334, 10),  # 5.01 %
        (0.6, 90),
        (0.6001, 95),
        (0.7, 105),
        (2.2, 330),
        (2.2001, 335),
        (100.0, 15_000),
    ],
)
def test_the_need_is_rounded_up_to_five_percent(p95_cores: float, percent: int) -> None:
    assert sized(p95_cores).percent == percent


@given(st.floats(min_value=0.04, max_value=512))
def test_the_quota_covers_the_need_and_not_five_percent_more(p95_cores: float) -> None:
    need = p95_cores * 150
    percent = sized(p95_cores).percent
    assert percent % 5 == 0
    assert need - 1e-5 <= percent < need + 5


@given(st.floats(min_value=0, max_value=512), st.floats(min_value=0, max_value=512))
def test_more_demand_never_needs_less(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert sized(low).cores <= sized(high).cores


def test_the_number_tells_its_formula_samples_and_window() -> None:
    advice = sized(2.2)
    assert advice.formula == (
        "p95 of 100 windows of 100 ms = 2.2 cores × 1.5 = 330 %, rounded up to 330 %"
    )
    assert (advice.windows, advice.interval_usec) == (100, 100_000)


def test_the_highest_window_is_sized_with_the_same_room() -> None:
    need = size_for_highest(demand(0.04, max_cores=0.52), 8)
    assert need.percent == 80
    assert need.formula == (
        "highest burst in 100 windows of 100 ms = 0.52 cores × 1.5 = 78 %, rounded up to 80 %"
    )


def test_a_rare_burst_counts_where_the_percentile_does_not_see_it() -> None:
    need = size_for_peak(demand(0.6, max_cores=0.7, burst_cores=1.2, active_windows=5), 8)
    assert isinstance(need, Need)
    assert need.formula == (
        "highest burst in 100 windows of 100 ms = 1.2 cores × 1.1 = 132 %, rounded up to 135 %"
    )


def test_the_percentile_names_the_active_windows() -> None:
    need = size_for_peak(demand(1.0, active_windows=5), 8)
    assert isinstance(need, Need)
    assert need.formula.startswith("p95 of 5 active windows of 100 ms = 1 cores × 1.5")


def test_what_was_held_back_needs_more_than_what_held_it() -> None:
    limit = Bandwidth(quota_usec=50_000, period_usec=100_000)
    need = size_for_peak(demand(0.2), 8, held_by=limit, is_lower_bound=True)
    assert isinstance(need, Need)
    assert (need.percent, need.lower_bound) == (75, True)
    assert need.formula.startswith("the quota that held it back = 0.5 cores × 1.5 = 75 %")


@pytest.mark.parametrize(("windows", "enough"), [(49, False), (50, True), (51, True)])
def test_seconds_watched_give_a_number(windows: int, *, enough: bool) -> None:
    need = size_for_peak(demand(1.0, windows=windows), 8)
    assert isinstance(need, Need) is enough
    if isinstance(need, Missing):
        assert need.reason == "watched for 4.9 s, 5 s needed: watch longer"


@pytest.mark.parametrize(("active", "enough"), [(0, False), (1, False), (2, True), (3, True)])
def test_so_do_seconds_active(active: int, *, enough: bool) -> None:
    need = size_for_peak(demand(1.0, active_windows=active), 8)
    assert isinstance(need, Need) is enough
    if active == 1:
        assert need == Missing(reason="it ran for 100 ms of 10 s, 200 ms needed")


def test_a_quota_of_what_was_advised_is_enough_whatever_floating_point_says() -> None:
    assert 2.2 * 1.5 > 3.3
    assert sized(2.2).percent == 330
