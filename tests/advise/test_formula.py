"""The quota that a demand needs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quota_advisor.advise.formula import needs_no_quota, recommend, size_quota, suffices
from quota_advisor.model.cgroup import Demand, Engine
from quota_advisor.model.finding import QuotaAdvice, Recommendation
from quota_advisor.model.limit import Bandwidth, Missing
from quota_advisor.model.workload import Workload, join
from tests.rules.facts import (
    CgroupCase,
    ContainerCase,
    DemandCase,
    NodeCase,
    WindowCase,
    host_facts_of,
)


def demand(p95_cores: float, *, windows: int = 100, censored: int = 0) -> Demand:
    return Demand(
        interval_usec=100_000,
        windows=windows,
        mean_cores=p95_cores / 2,
        p95_cores=p95_cores,
        max_cores=p95_cores,
        censored_windows=censored,
    )


def sized(p95_cores: float, cpus: int = 24, *, censored: int = 0) -> QuotaAdvice:
    advice = size_quota(demand(p95_cores, censored=censored), cpus)
    assert isinstance(advice, QuotaAdvice)
    return advice


def advised(p95_cores: float, *, cpus: int, pinned: tuple[int, ...] = ()) -> Recommendation:
    group = CgroupCase(
        limit="50000 100000",
        cpus=pinned or Missing(reason="none"),
        demand=DemandCase(mean_cores=p95_cores, p95_cores=p95_cores),
    )
    advice = recommend(workload(group, cpus))
    assert isinstance(advice, Recommendation)
    return advice


def workload(group: CgroupCase, cpus: int) -> Workload:
    facts = host_facts_of(NodeCase(cpus=cpus), {"/system.slice/api.service": group})
    return next(w for w in join(facts).workloads if w.name == "api.service")


def test_a_peak_of_two_point_two_cores_needs_330_percent_and_not_14() -> None:
    advice = sized(2.2, cpus=24)
    assert advice.cpu_quota_percent == 330
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
    assert sized(p95_cores).cpu_quota_percent == percent


@given(st.floats(min_value=0.04, max_value=512))
def test_the_quota_covers_the_need_and_not_five_percent_more(p95_cores: float) -> None:
    need = p95_cores * 150
    percent = sized(p95_cores).cpu_quota_percent
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


@pytest.mark.parametrize(("windows", "enough"), [(49, False), (50, True), (51, True)])
def test_fewer_than_fifty_windows_give_no_number(windows: int, *, enough: bool) -> None:
    advice = size_quota(demand(1.0, windows=windows), 8)
    assert isinstance(advice, QuotaAdvice) is enough
    if isinstance(advice, Missing):
        assert advice.reason == "49 windows sampled, 50 needed: watch longer"


def held_back(p95_cores: float, max_cores: float, throttled_periods: int = 90) -> CgroupCase:
    return CgroupCase(
        limit="50000 100000",
        window=WindowCase(periods=600, throttled_periods=throttled_periods),
        demand=DemandCase(
            mean_cores=0.02, p95_cores=p95_cores, max_cores=max_cores, censored_windows=4
        ),
    )


def test_a_limit_that_held_back_rare_peaks_is_never_advised_down() -> None:
    advice = recommend(workload(held_back(0.04, 0.52), 8))
    assert isinstance(advice, Recommendation)
    assert advice.summary.startswith("CPUQuota=80% or more")
    assert advice.quota is not None
    assert advice.quota.formula == (
        "highest of 100 windows of 100 ms = 0.52 cores × 1.5 = 78 %, rounded up to 80 %"
    )


def test_peaks_that_no_window_shows_give_no_number() -> None:
    advice = recommend(workload(held_back(0.04, 0.1), 8))
    assert isinstance(advice, Missing)
    assert "the limit of 50 % cut peaks shorter than a window of 100 ms" in advice.reason


def test_a_limit_further_up_says_nothing_about_this_one() -> None:
    advice = recommend(workload(held_back(0.04, 0.52, throttled_periods=0), 8))
    assert isinstance(advice, Recommendation)
    assert advice.summary.startswith("CPUQuota=10% or more")


@pytest.mark.parametrize(("throttled", "percent"), [(5, 10), (6, 10), (7, 80)])
def test_the_highest_window_counts_above_one_percent_of_periods(
    throttled: int, percent: int
) -> None:
    advice = recommend(workload(held_back(0.04, 0.52, throttled_periods=throttled), 8))
    assert isinstance(advice, Recommendation)
    assert advice.summary.startswith(f"CPUQuota={percent}% or more")


@pytest.mark.parametrize(
    ("quota_usec", "enough"), [(149_999, False), (150_000, True), (150_001, True)]
)
def test_a_limit_suffices_from_the_peak_with_headroom_on(quota_usec: int, *, enough: bool) -> None:
    limit = Bandwidth(quota_usec=quota_usec, period_usec=100_000)
    assert suffices(limit, demand(1.0)) is enough


def test_a_quota_below_all_cpus_is_advised_as_systemd_writes_it() -> None:
    assert advised(1.0, cpus=2).summary == "CPUQuota=150% (75 % of this node)"


@pytest.mark.parametrize("p95_cores", [4 / 3, 1.4, 2.0])
def test_at_or_above_all_cpus_the_advice_is_no_quota(p95_cores: float) -> None:
    advice = advised(p95_cores, cpus=2)
    assert advice.summary.startswith("no quota: ")
    assert "CPUWeight=" in advice.summary
    assert "CPUQuota=" not in advice.summary
    assert advice.quota is not None
    assert needs_no_quota(advice.quota, 2)


def test_a_container_is_told_in_the_words_of_its_engine() -> None:
    path = f"/system.slice/docker-{'ab' * 32}.scope"
    group = CgroupCase(
        limit="50000 100000",
        container=ContainerCase(engine=Engine.DOCKER, id="ab" * 32, name="web"),
        demand=DemandCase(mean_cores=0.5, p95_cores=1.0),
    )
    facts = host_facts_of(NodeCase(cpus=8), {path: group})
    advice = recommend(next(w for w in join(facts).workloads if w.kind == "container"))
    assert isinstance(advice, Recommendation)
    assert advice.summary == (
        "CPUQuota=150% (--cpus=1.5, in Kubernetes 1500m; 18.8 % of this node)"
    )


def test_the_cpuset_counts_and_not_the_machine() -> None:
    advice = advised(1.4, cpus=64, pinned=(4, 5))
    assert advice.summary.startswith("no quota: the need of 210 % reaches all 2 CPUs")


def test_without_a_cgroup_demand_or_cpus_there_is_no_number() -> None:
    group = CgroupCase(demand=DemandCase(mean_cores=1, p95_cores=1))
    assert recommend(workload(group, 0)) == Missing(reason="the CPUs of the machine are not known")
    unmeasured = CgroupCase(demand=Missing(reason="totals are judged"))
    assert recommend(workload(unmeasured, 8)) == Missing(reason="totals are judged")
