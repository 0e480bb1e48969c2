"""The one decision about a quota: raise, keep, lower, remove, unknown."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quota_advisor.advise.decide import decide
from quota_advisor.model.advice import Advice, Decision, Need
from quota_advisor.model.cgroup import Engine
from quota_advisor.model.limit import Missing
from quota_advisor.model.workload import Workload, join
from tests.rules.facts import (
    CgroupCase,
    ContainerCase,
    DemandCase,
    NodeCase,
    WindowCase,
    host_facts_of,
)

HOUR = 36_000
"""Windows of 100 ms in an hour."""

FREE = WindowCase(periods=600, throttled_periods=0)


def workload(group: CgroupCase, cpus: int = 8) -> Workload:
    facts = host_facts_of(NodeCase(cpus=cpus), {"/system.slice/api.service": group})
    return next(w for w in join(facts).workloads if w.name == "api.service")


def advised(group: CgroupCase, cpus: int = 8) -> Advice:
    advice = decide(workload(group, cpus))
    assert isinstance(advice, Advice)
    return advice


def group(
    percent: float, p95_cores: float, *, window: WindowCase | Missing = FREE, **demand: float
) -> CgroupCase:
    seen = DemandCase.model_validate({"mean_cores": 0.01, "p95_cores": p95_cores, **demand})
    return CgroupCase(limit=f"{percent * 1000:.0f} 100000", window=window, demand=seen)


def decided(group: CgroupCase, cpus: int = 8) -> tuple[str, int | None]:
    """Return a decision with the number to set."""
    advice = advised(group, cpus)
    return advice.decision.value, None if advice.quota is None else advice.quota.percent


def test_a_quota_with_room_is_kept_and_nothing_is_there_to_set() -> None:
    advice = advised(group(200, 0.5))
    assert (advice.decision, advice.quota) == (Decision.KEEP, None)
    assert isinstance(advice.need, Need)
    assert advice.need.percent == 75
    assert advice.summary == "keep the quota: 200 % leave the peak its headroom"
    assert advice.reasons[1] == "10 s of demand were seen; lowering it takes 1 h"


def test_a_service_that_is_idle_most_of_the_time_keeps_its_quota() -> None:
    assert decided(group(200, 0.0, max_cores=1.2)) == ("keep", None)


@pytest.mark.parametrize(
    ("percent", "decision"),
    [(44, ("raise", 45)), (44.9, ("raise", 45)), (45, ("keep", None)), (45.1, ("keep", None))],
)
def test_a_quota_is_raised_below_the_peak_with_headroom(
    percent: float, decision: tuple[str, int | None]
) -> None:
    assert decided(group(percent, 0.3)) == decision


def test_a_raise_says_what_is_needed_and_what_there_is() -> None:
    advice = advised(group(50, 1.0), cpus=2)
    assert advice.summary == "CPUQuota=150% (75 % of this node)"
    assert advice.reasons == ("it needs 150 %, and the quota is 50 %",)


def test_a_quota_that_held_back_while_it_was_measured_is_raised_at_least() -> None:
    throttled = WindowCase(periods=100, throttled_periods=80)
    advice = advised(group(50, 0.5, window=throttled, censored_windows=80))
    assert advice.decision is Decision.RAISE
    assert advice.summary.startswith("CPUQuota=75% or more")
    assert "a lower bound" in advice.summary
    assert advice.reasons[1] == "it was held back in 80 of 100 windows: the need may be higher"


@pytest.mark.parametrize(
    ("throttled", "decision"),
    [(5, ("keep", None)), (6, ("keep", None)), (7, ("raise", 80))],
)
def test_above_one_percent_of_periods_the_highest_window_counts(
    throttled: int, decision: tuple[str, int | None]
) -> None:
    window = WindowCase(periods=600, throttled_periods=throttled)
    held_back = group(50, 0.04, max_cores=0.52, censored_windows=4, window=window)
    assert decided(held_back) == decision


def test_a_throttled_quota_is_never_kept_because_the_samples_missed_it() -> None:
    window = WindowCase(periods=100, throttled_periods=8)
    assert decided(group(100, 0.02, window=window)) == ("unknown", None)
    assert decided(group(44, 0.29, window=window)) == ("raise", 45)


def test_peaks_that_no_window_shows_give_no_number() -> None:
    window = WindowCase(periods=600, throttled_periods=90)
    advice = advised(group(50, 0.04, max_cores=0.1, censored_windows=4, window=window))
    assert (advice.decision, advice.quota) == (Decision.UNKNOWN, None)
    assert advice.summary == (
        "no number: the limit of 50 % cut peaks shorter than a window of 100 ms, which hides their"
        " height"
    )


def test_a_limit_further_up_says_nothing_about_this_one() -> None:
    advice = advised(group(50, 0.04, max_cores=0.52, censored_windows=4))
    assert advice.decision is Decision.KEEP
    assert advice.reasons[1] == (
        "it was held back in 4 of 100 windows, though not by this limit or too rarely to count"
    )


@pytest.mark.parametrize(
    "window",
    [
        Missing(reason="not read"),
        WindowCase(periods=600, throttled_periods=Missing(reason="not read")),
    ],
)
def test_who_held_it_back_must_be_known_to_keep_a_quota(window: WindowCase | Missing) -> None:
    advice = advised(group(100, 0.02, censored_windows=5, window=window))
    assert advice.reasons == (
        "it was held back in 5 of 100 windows, and whether by this limit is not known (not read)",
    )
    assert decided(group(44, 0.3, censored_windows=5, window=window)) == ("raise", 45)
    assert decided(group(100, 0.02, window=window)) == ("keep", None)


@pytest.mark.parametrize(
    ("windows", "decision"),
    [(HOUR - 1, ("keep", None)), (HOUR, ("lower", 75)), (HOUR + 1, ("lower", 75))],
)
def test_only_an_hour_of_demand_lowers_a_quota(
    windows: int, decision: tuple[str, int | None]
) -> None:
    assert decided(group(200, 0.3, max_cores=0.5, windows=windows)) == decision


def test_a_cut_leaves_the_highest_window_its_headroom() -> None:
    advice = advised(group(200, 0.3, max_cores=0.5, windows=HOUR))
    assert advice.summary == "CPUQuota=75% (9.38 % of this node)"
    assert advice.reasons == ("the highest window of 1 h needs 75 %, and the quota is 200 %",)
    assert isinstance(advice.need, Need)
    assert advice.need.formula.startswith("highest of 36000 windows of 100 ms = 0.5 cores")


@pytest.mark.parametrize(
    ("percent", "decision"),
    [(74, ("keep", None)), (75, ("keep", None)), (76, ("lower", 75))],
)
def test_a_quota_is_lowered_only_to_less(percent: float, decision: tuple[str, int | None]) -> None:
    assert decided(group(percent, 0.3, max_cores=0.5, windows=HOUR)) == decision


@pytest.mark.parametrize(
    ("demand", "objection"),
    [
        ({"censored_windows": 1}, "held back in 1 of 36000 windows"),
        ({"windows": 18_000, "interval_usec": 200_000}, "hide peaks within a period of 100 ms"),
        ({"p95_cores": 0.0333}, "hardly ran"),
        ({"max_cores": 1.4}, "the highest window of 1 h needs 210 %"),
    ],
)
def test_what_speaks_against_a_cut(demand: dict[str, float], objection: str) -> None:
    usual = group(200, 0.3, max_cores=0.5, windows=HOUR)
    assert decided(usual) == ("lower", 75)
    assert isinstance(usual.demand, DemandCase)
    other = usual.demand.model_copy(update=demand)
    advice = advised(usual.model_copy(update={"demand": other}))
    assert advice.decision is Decision.KEEP
    assert objection in advice.reasons[1]


@pytest.mark.parametrize(
    ("p95_cores", "decision"),
    [(0.0333, ("keep", None)), (1 / 30, ("keep", None)), (0.0334, ("lower", 75))],
)
def test_an_hour_of_sleep_is_no_demand(p95_cores: float, decision: tuple[str, int | None]) -> None:
    assert decided(group(200, p95_cores, max_cores=0.5, windows=HOUR)) == decision


@pytest.mark.parametrize(("percent", "remove"), [(199, False), (200, True), (201, True)])
def test_a_quota_of_all_cpus_goes_whatever_the_demand(percent: float, *, remove: bool) -> None:
    advice = advised(group(percent, 0.5), cpus=2)
    assert (advice.decision is Decision.REMOVE) is remove
    unmeasured = CgroupCase(limit=f"{percent * 1000:.0f} 100000", demand=Missing(reason="totals"))
    assert (advised(unmeasured, 2).decision is Decision.REMOVE) is remove
    if remove:
        assert advice.quota is None
        assert advice.summary == (
            f"no quota: the quota of {percent:g} % covers all 2 CPUs;"
            " use CPUWeight= to rank this workload"
        )


@pytest.mark.parametrize(
    ("p95_cores", "decision"),
    [(1.3, ("raise", 195)), (4 / 3, ("remove", None)), (1.4, ("remove", None))],
)
def test_a_need_of_all_cpus_takes_no_quota(
    p95_cores: float, decision: tuple[str, int | None]
) -> None:
    assert decided(group(50, p95_cores), cpus=2) == decision


def test_the_cpuset_counts_and_not_the_machine() -> None:
    pinned = group(50, 1.4).model_copy(update={"cpus": (4, 5)})
    assert advised(pinned, cpus=64).summary == (
        "no quota: the need of 210 % reaches all 2 CPUs; use CPUWeight= to rank this workload"
    )


def test_a_container_is_told_in_the_words_of_its_engine() -> None:
    path = f"/system.slice/docker-{'ab' * 32}.scope"
    container = ContainerCase(engine=Engine.DOCKER, id="ab" * 32, name="web")
    case = group(50, 1.0).model_copy(update={"container": container})
    facts = host_facts_of(NodeCase(cpus=8), {path: case})
    advice = decide(next(w for w in join(facts).workloads if w.kind == "container"))
    assert isinstance(advice, Advice)
    assert advice.summary == (
        "CPUQuota=150% (--cpus=1.5, in Kubernetes 1500m; 18.8 % of this node)"
    )


@pytest.mark.parametrize(("windows", "decision"), [(49, "unknown"), (50, "raise"), (51, "raise")])
def test_fifty_windows_are_the_fewest_to_decide_from(windows: int, decision: str) -> None:
    assert decided(group(50, 1.0, windows=windows))[0] == decision


def test_without_demand_or_cpus_nothing_is_known() -> None:
    assert advised(group(50, 1.0), cpus=0).reasons == ("the CPUs of the machine are not known",)
    unmeasured = CgroupCase(limit="50000 100000", demand=Missing(reason="totals are judged"))
    advice = advised(unmeasured)
    assert (advice.decision, advice.quota) == (Decision.UNKNOWN, None)
    assert advice.need == Missing(reason="totals are judged")


def test_without_a_quota_of_its_own_there_is_nothing_to_decide() -> None:
    demand = DemandCase(mean_cores=1, p95_cores=1)
    assert decide(workload(CgroupCase(demand=demand))) == Missing(
        reason="it has no quota of its own"
    )
    unread = CgroupCase(limit=Missing(reason="permission denied"), demand=demand)
    assert decide(workload(unread)) == Missing(reason="permission denied")


CORES = st.floats(min_value=0, max_value=10, allow_nan=False)
GROUPS = st.builds(
    lambda percent, peaks, windows, censored, throttled: group(
        percent,
        min(peaks),
        max_cores=max(peaks),
        windows=windows,
        censored_windows=min(censored, windows),
        window=WindowCase(periods=100, throttled_periods=throttled),
    ),
    st.integers(min_value=1, max_value=1_000),
    st.tuples(CORES, CORES),
    st.sampled_from([49, 100, HOUR, 10 * HOUR]),
    st.sampled_from([0, 0, 1, 50]),
    st.sampled_from([0, 1, 2, 50]),
)


@given(GROUPS)
def test_a_change_goes_the_way_that_it_says(case: CgroupCase) -> None:
    seen, advice = workload(case), advised(case)
    now_percent = float(str(case.limit).split()[0]) / 1000
    assert isinstance(case.demand, DemandCase)
    needed = math.floor(case.demand.p95_cores * 150 * 1e6) / 1e6
    if advice.decision is Decision.RAISE:
        assert advice.quota is not None
        assert advice.quota.percent > now_percent
    elif advice.decision is Decision.LOWER:
        assert advice.quota is not None
        assert needed <= advice.quota.percent < now_percent
        assert case.demand.windows >= HOUR
        assert case.demand.censored_windows == 0
    elif advice.decision is Decision.KEEP:
        assert now_percent >= needed
    assert advice.quota is None or advice.quota.cores < seen.cpus_available
    assert advice.reasons


@given(GROUPS)
def test_once_followed_the_advice_is_to_keep_it(case: CgroupCase) -> None:
    """The demand being what it is, and nothing being held back any more."""
    quota = advised(case).quota
    if quota is None:
        return
    followed = {"limit": f"{quota.percent * 1000} 100000", "window": FREE}
    assert advised(case.model_copy(update=followed)).decision is Decision.KEEP
