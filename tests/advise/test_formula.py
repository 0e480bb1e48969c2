"""The quota that a demand needs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quota_advisor.advise.formula import size_for_highest, size_for_p95, suffices
from quota_advisor.model.advice import Need
from quota_advisor.model.cgroup import Demand
from quota_advisor.model.limit import Bandwidth, Missing


def demand(
    p95_cores: float, *, windows: int = 100, censored: int = 0, max_cores: float | None = None
) -> Demand:
    return Demand(
        interval_usec=100_000,
        windows=windows,
        mean_cores=p95_cores / 2,
        p95_cores=p95_cores,
        max_cores=p95_cores if max_cores is None else max_cores,
        censored_windows=censored,
    )


def sized(p95_cores: float, cpus: int = 24, *, censored: int = 0) -> Need:
    advice = size_for_p95(demand(p95_cores, censored=censored), cpus)
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


@pytest.mark.parametrize(("censored", "lower_bound"), [(0, False), (1, True), (97, True)])
def test_a_censored_peak_makes_a_lower_bound(censored: int, *, lower_bound: bool) -> None:
    assert sized(1.0, censored=censored).lower_bound is lower_bound


def test_the_highest_window_is_sized_by_the_same_formula() -> None:
    need = size_for_highest(demand(0.04, max_cores=0.52), 8)
    assert need.percent == 80
    assert need.formula == (
        "highest of 100 windows of 100 ms = 0.52 cores × 1.5 = 78 %, rounded up to 80 %"
    )


@pytest.mark.parametrize(("windows", "enough"), [(49, False), (50, True), (51, True)])
def test_fewer_than_fifty_windows_give_no_number(windows: int, *, enough: bool) -> None:
    advice = size_for_p95(demand(1.0, windows=windows), 8)
    assert isinstance(advice, Need) is enough
    if isinstance(advice, Missing):
        assert advice.reason == "49 windows sampled, 50 needed: watch longer"


@pytest.mark.parametrize(
    ("quota_usec", "enough"), [(149_999, False), (150_000, True), (150_001, True)]
)
def test_a_limit_suffices_from_the_peak_with_headroom_on(quota_usec: int, *, enough: bool) -> None:
    limit = Bandwidth(quota_usec=quota_usec, period_usec=100_000)
    assert suffices(limit, demand(1.0)) is enough


def test_a_quota_of_what_was_advised_is_enough_whatever_floating_point_says() -> None:
    assert 2.2 * 1.5 > 3.3
    assert suffices(Bandwidth(quota_usec=330_000, period_usec=100_000), demand(2.2))


@given(st.floats(min_value=0, max_value=512))
def test_what_is_advised_suffices(p95_cores: float) -> None:
    limit = Bandwidth(quota_usec=sized(p95_cores).percent * 1_000, period_usec=100_000)
    assert suffices(limit, demand(p95_cores))
