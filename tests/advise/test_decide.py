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
    TotalsCase,
    WindowCase,
    host_facts_of,
)

HOUR = 36_000
"""Windows of 100 ms in an hour."""

FREE = WindowCase(periods=600, throttled_periods=0)
HELD = WindowCase(periods=100, throttled_periods=80)


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


@pytest.mark.parametrize("percent", [5, 44, 45, 100])
def test_a_quota_that_holds_nothing_back_is_kept_without_headroom_too(percent: float) -> None:
    assert decided(group(percent, 0.3)) == ("keep", None)


def test_one_busy_thread_under_a_quota_of_one_cpu_lacks_nothing() -> None:
    advice = advised(group(100, 1.0))
    assert advice.decision is Decision.KEEP
    assert advice.summary == "keep the quota: 100 % held nothing back"


def test_a_quota_that_held_back_while_it_was_measured_is_raised_at_least() -> None:
    advice = advised(group(50, 0.5, window=HELD, censored_windows=80))
    assert advice.decision is Decision.RAISE
    assert advice.summary.startswith("CPUQuota=75% or more")
    assert "a lower bound" in advice.summary
    assert advice.reasons == (
        "it needs 75 %, and the quota is 50 %",
        "it was held back in 80 of 100 windows: the need may be higher",
    )


@pytest.mark.parametrize(
    ("throttled", "decision"), [(9, ("keep", None)), (10, ("keep", None)), (11, ("raise", 75))]
)
def test_more_than_one_percent_of_periods_for_certain_are_too_many(
    throttled: int, decision: tuple[str, int | None]
) -> None:
    window = WindowCase(periods=600, throttled_periods=throttled)
    assert decided(group(50, 0.04, censored_windows=4, window=window)) == decision


def test_peaks_that_no_window_shows_are_at_least_the_quota() -> None:
    assert decided(group(50, 0.04, max_cores=0.1, window=HELD)) == ("raise", 75)
    assert decided(group(50, 0.04, burst_cores=1.2, window=HELD)) == ("raise", 135)


def in_slice(slice_percent: float, case: CgroupCase, *, throttled: int = 90) -> Advice | Missing:
    window = WindowCase(periods=100, throttled_periods=throttled)
    above = CgroupCase(limit=f"{slice_percent * 1000:.0f} 100000", window=window)
    facts = host_facts_of(
        NodeCase(cpus=8), {"/batch.slice": above, "/batch.slice/api.service": case}
    )
    return decide(next(w for w in join(facts).workloads if w.name == "api.service"))


def test_a_generous_child_of_a_throttled_slice_keeps_its_quota() -> None:
    advice = in_slice(100, group(400, 1.0, censored_windows=90))
    assert isinstance(advice, Advice)
    assert (advice.decision, advice.quota) == (Decision.KEEP, None)
    assert advice.reasons[1] == "/batch.slice above it held it back, and not this limit"


def test_a_quota_above_that_of_its_slice_is_not_cut_to_what_the_slice_let_through() -> None:
    case = group(400, 0.5, windows=HOUR)
    advice = in_slice(100, case, throttled=0)
    assert isinstance(advice, Advice)
    assert advice.reasons[1] == "/batch.slice above it allows less, and decides"
    assert decided(case) == ("lower", 75)


def test_a_raise_beyond_the_slice_names_the_slice() -> None:
    advice = in_slice(60, group(50, 0.5, window=HELD, censored_windows=80), throttled=0)
    assert isinstance(advice, Advice)
    assert advice.reasons[-1] == "/batch.slice above it allows 60 %: raise that too"


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
    assert decided(group(100, 0.02, window=window)) == ("keep", None)


def free(*, periods: int | None = None, **demand: float) -> CgroupCase:
    """Return a group without a quota; periods tell that it was under one."""
    totals = TotalsCase() if periods is None else TotalsCase(periods=periods)
    seen = DemandCase.model_validate({"mean_cores": 0.1, "p95_cores": 1.0, **demand})
    return CgroupCase(limit="max 100000", totals=totals, demand=seen)


def test_a_quota_lifted_for_a_measurement_becomes_a_number() -> None:
    advice = advised(free(periods=600))
    assert (advice.decision, advice.quota) == (Decision.SET, advice.need)
    assert (
        advice.summary
        == "CPUQuota=150% (18.8 % of this node), in a drop-in: systemctl edit api.service"
    )
    assert advice.reasons == ("it needs 150 %, and has no quota",)
    assert advised(free(periods=600), cpus=1).decision is Decision.REMOVE
    assert advised(free(periods=600, windows=20)).decision is Decision.UNKNOWN


def test_a_group_that_never_had_a_quota_is_sized_when_somebody_asks() -> None:
    assert isinstance(decide(workload(free(periods=0))), Missing)
    advice = decide(workload(free()), is_named=True)
    assert isinstance(advice, Advice)
    assert advice.decision is Decision.SET


def test_what_a_slice_held_back_is_not_sized_below_it() -> None:
    held = in_slice(100, free(periods=600, censored_windows=50))
    assert isinstance(held, Advice)
    assert held.summary == ("no number: /batch.slice above it held it back: raise that limit first")
    within = in_slice(100, free(periods=600), throttled=0)
    assert isinstance(within, Advice)
    assert within.reasons == ("/batch.slice above it allows 100 %, and it needs 150 %",)


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
    assert (
        advice.summary
        == "CPUQuota=75% (9.38 % of this node), in a drop-in: systemctl edit api.service"
    )
    assert advice.reasons == ("the highest burst in 1 h needs 75 %, and the quota is 200 %",)
    assert isinstance(advice.need, Need)
    assert advice.need.formula.startswith("highest burst in 36000 windows of 100 ms = 0.5 cores")


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
        ({"active_windows": HOUR // 20 - 1}, "hardly ran"),
        ({"max_cores": 1.4}, "the highest burst in 1 h needs 210 %"),
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
    assert decided(group(50, p95_cores, window=HELD), cpus=2) == decision


def test_the_cpuset_counts_and_not_the_machine() -> None:
    pinned = group(50, 1.4, window=HELD).model_copy(update={"cpus": (4, 5)})
    assert advised(pinned, cpus=64).summary == (
        "no quota: the need of 210 % reaches all 2 CPUs; use CPUWeight= to rank this workload"
    )


def test_a_container_is_told_in_the_words_of_its_engine() -> None:
    path = f"/system.slice/docker-{'ab' * 32}.scope"
    container = ContainerCase(engine=Engine.DOCKER, id="ab" * 32, name="web")
    case = group(50, 1.0, window=HELD).model_copy(update={"container": container})
    facts = host_facts_of(NodeCase(cpus=8), {path: case})
    advice = decide(next(w for w in join(facts).workloads if w.kind == "container"))
    assert isinstance(advice, Advice)
    assert advice.summary == (
        "--cpus=1.5 or more (18.8 % of this node), and where the container is created: an update"
        " ends with the container; a lower bound: the limit held the demand back while it was"
        " measured"
    )


@pytest.mark.parametrize(("windows", "decision"), [(49, "unknown"), (50, "raise"), (51, "raise")])
def test_five_seconds_are_the_least_to_decide_from(windows: int, decision: str) -> None:
    assert decided(group(50, 1.0, windows=windows, window=HELD))[0] == decision


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
    held = isinstance(case.window, WindowCase) and case.window.throttled_periods == 50
    if advice.decision is Decision.RAISE:
        assert advice.quota is not None
        assert advice.quota.percent > now_percent
    elif advice.decision is Decision.LOWER:
        assert advice.quota is not None
        assert needed <= advice.quota.percent < now_percent
        assert case.demand.windows >= HOUR
        assert case.demand.censored_windows == 0
    elif advice.decision is Decision.KEEP:
        assert not held
    assert (advice.decision is Decision.RAISE) <= held
    assert advice.quota is None or advice.quota.cores < seen.cpus_available
    assert advice.reasons


@given(GROUPS)
def test_once_followed_the_advice_is_to_keep_it(case: CgroupCase) -> None:
    """The demand being what it is, and nothing being held back any more.

    An hour of demand that nothing hides any more may show that a lower bound was too generous.
    """
    quota = advised(case).quota
    if quota is None:
        return
    followed = {"limit": f"{quota.percent * 1000} 100000", "window": FREE}
    afterwards = advised(case.model_copy(update=followed)).decision
    assert afterwards is Decision.KEEP or (quota.lower_bound and afterwards is Decision.LOWER)
