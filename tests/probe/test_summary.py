from __future__ import annotations

import pytest

from quota_advisor.model.limit import Missing
from quota_advisor.probe.guard import doubts, why_busy
from quota_advisor.probe.measure import MachineUse
from quota_advisor.probe.reconcile import reconcile
from quota_advisor.probe.summary import Figure, figure, summarise
from tests.probe.conftest import NOT_REPORTED, MakeRun


def test_a_figure_is_the_median_with_its_spread() -> None:
    assert figure([3, 1, 2]) == Figure(median=2, spread_ratio=1.0)


def test_one_round_has_no_spread() -> None:
    assert figure([5.0]) == Figure(median=5, spread_ratio=0)


def test_nothing_but_zeros_has_no_spread() -> None:
    assert figure([0, 0]) == Figure(median=0, spread_ratio=0)


def test_one_missing_round_makes_a_figure_missing() -> None:
    assert figure([1, NOT_REPORTED, 2]) == NOT_REPORTED


def test_no_round_at_all_is_missing() -> None:
    assert isinstance(figure([]), Missing)


def test_rounds_are_brought_together_by_their_limit(make_run: MakeRun) -> None:
    runs = [make_run(tier, number) for number in (1, 2, 3) for tier in (0.5, 1)]

    tiers = summarise(runs)

    assert [tier.limit.tier_cores for tier in tiers] == [0.5, 1]
    assert [len(tier.runs) for tier in tiers] == [3, 3]


def test_a_run_without_a_finished_request_has_no_latency(make_run: MakeRun) -> None:
    (tier,) = summarise([make_run(lat_p99_ns=None)])

    assert isinstance(tier.figures["lat_p99_ns"], Missing)


# ---- the two accounts


def test_accounts_of_a_field_report_agree(make_run: MakeRun) -> None:
    verdict = reconcile(make_run(), 2, 2, closed_loop=True)

    assert verdict.agree
    assert verdict.quota_used_ratio == pytest.approx(1.01)


@pytest.mark.parametrize(
    ("changes", "remark"),
    [
        ({"cpu_user_usec": 4_000_000}, "something else ran in the cgroup"),
        ({"kernel_usage_usec": 6_000_000, "cpu_user_usec": 5_990_000}, "the quota was changed"),
        ({"kernel_usage_usec": 4_000_000, "cpu_user_usec": 3_990_000}, "only 80 % of quota × time"),
        ({"kernel_throttled_usec": 19_000_000}, "this kernel counts idle CPUs too"),
        ({"kernel_throttled_usec": NOT_REPORTED}, "not reported"),
        ({"kernel_usage_usec": NOT_REPORTED}, "not reported"),
    ],
)
def test_accounts_that_do_not_fit_are_told(
    make_run: MakeRun, changes: dict[str, object], remark: str
) -> None:
    verdict = reconcile(make_run(**changes), 2, 2, closed_loop=True)

    assert not verdict.agree
    assert any(remark in text for text in verdict.remarks)


@pytest.mark.parametrize(("usage_usec", "agree"), [(4_830_000, True), (4_820_000, False)])
def test_three_percent_and_a_tick_are_tolerated(
    make_run: MakeRun, usage_usec: int, *, agree: bool
) -> None:
    run = make_run(kernel_usage_usec=usage_usec, cpu_user_usec=usage_usec - 10_000)

    assert reconcile(run, 2, 2, closed_loop=True).agree is agree


def test_an_open_loop_may_use_less_than_its_quota(make_run: MakeRun) -> None:
    run = make_run(kernel_usage_usec=1_000_000, cpu_user_usec=990_000)

    assert reconcile(run, 2, 2, closed_loop=False).agree


def test_a_quota_beyond_the_threads_is_not_expected_to_be_used(make_run: MakeRun) -> None:
    run = make_run(
        4, kernel_usage_usec=19_800_000, cpu_user_usec=19_790_000, kernel_throttled_usec=0
    )

    assert reconcile(run, 2, 8, closed_loop=True).agree


# ---- the machine


def use(busy_cores: float, stolen_cores: float = 0.0) -> MachineUse:
    return MachineUse(elapsed_sec=1.0, busy_cores=busy_cores, stolen_cores=stolen_cores)


@pytest.mark.parametrize(
    ("busy", "stolen", "refused"),
    [(1.99, 0, False), (2, 0, False), (2.01, 0, True), (1, 1.1, True)],
)
def test_a_machine_that_is_half_busy_is_busy(busy: float, stolen: float, *, refused: bool) -> None:
    assert bool(why_busy(use(busy, stolen), 4, 0.5, 0.1)) is refused


def test_a_machine_of_which_nothing_is_known_counts_as_busy() -> None:
    assert "cannot be told" in why_busy(NOT_REPORTED, 4, 0.5, 0.1)


def test_a_quiet_measurement_leaves_no_doubt(make_run: MakeRun) -> None:
    assert list(doubts([make_run()], 2, (400_000, 399_000))) == []


@pytest.mark.parametrize(
    ("machine", "speeds", "doubt"),
    [
        (MachineUse(elapsed_sec=10, busy_cores=1.2, stolen_cores=0), (1, 1), "others used up to"),
        (MachineUse(elapsed_sec=10, busy_cores=0.5, stolen_cores=0.3), (1, 1), "hypervisor took"),
        (use(0.5), (400_000, 300_000), "changed their speed by 25 %"),
        (NOT_REPORTED, (1, 1), "not known what else"),
    ],
)
def test_what_disturbed_a_measurement_is_told(
    make_run: MakeRun, machine: object, speeds: tuple[int, int], doubt: str
) -> None:
    (found,) = doubts([make_run(machine=machine)], 2, speeds)

    assert doubt in found
