from __future__ import annotations

import pytest

from quota_advisor.errors import UsageError
from quota_advisor.model.limit import Bandwidth
from quota_advisor.probe.order import Asked, parse_tiers, parse_time
from quota_advisor.probe.plan import fit, limit_of
from quota_advisor.probe.profile import find_profile
from quota_advisor.probe.report.notations import notations
from quota_advisor.probe.slo import Knob
from tests.probe.conftest import make, order


def test_a_profile_fits_a_node_that_is_large_enough() -> None:
    load = fit(find_profile("microburst"), 16)

    assert (load.threads, load.tiers, load.fitted) == (16, (2, 4, 8), "")


def test_a_profile_shrinks_with_the_node_and_says_so() -> None:
    load = fit(find_profile("microburst"), 2)

    assert (load.threads, load.tiers) == (2, (0.25, 0.5, 1))
    assert load.fitted == (
        "microburst fitted to 2 CPUs: 2 instead of 16 threads,"
        " quotas of 0.25, 0.5, 1 instead of 2, 4, 8 cores"
    )


def test_a_quota_lasts_as_long_on_a_smaller_node() -> None:
    for cpus in (1, 2, 3, 5, 8):
        load = fit(find_profile("queue"), cpus)
        # Six threads spend 200 ms in 33 ms, and so do fewer threads with a smaller quota.
        assert load.tiers[0] * 100 / load.threads == pytest.approx(33.3, rel=0.01)


def test_what_the_user_asks_for_is_not_changed() -> None:
    load = fit(find_profile("microburst"), 2, threads=16, tiers=(4,))

    assert (load.threads, load.tiers, load.fitted) == (16, (4,), "")


def test_more_threads_than_the_profile_has_leave_its_tiers_alone() -> None:
    assert fit(find_profile("saturate"), 8, threads=8).tiers == (0.5, 1, 2)


@pytest.mark.parametrize(
    ("cores", "period_usec", "burst_usec", "complaint"),
    [
        (1, 999, 0, "period of 999 us is out of range"),
        (1, 1_000_001, 0, "out of range"),
        (0.009, 100_000, 0, "0.01 cores in a period of 100 ms is a quota of 900 us"),
        (0.5, 100_000, 50_001, "more than the quota of 50 ms"),
    ],
)
def test_a_limit_that_the_kernel_does_not_take_is_refused(
    cores: float, period_usec: int, burst_usec: int, complaint: str
) -> None:
    with pytest.raises(UsageError, match=complaint) as raised:
        limit_of(cores, period_usec, burst_usec)
    assert raised.value.hint


@pytest.mark.parametrize(("cores", "period_usec"), [(0.01, 100_000), (1, 1_000), (1, 1_000_000)])
def test_a_limit_at_the_kernels_bounds_is_taken(cores: float, period_usec: int) -> None:
    quota_usec = round(cores * period_usec)
    limit = limit_of(cores, period_usec, quota_usec)

    assert limit.bandwidth == Bandwidth(quota_usec=quota_usec, period_usec=period_usec)


def test_tiers_are_read() -> None:
    assert parse_tiers("0.5, 1,2,1") == (0.5, 1, 2)


@pytest.mark.parametrize("text", ["", "0", "-1", "a", "1,,2", "inf", "nan", "1e9", "50%"])
def test_other_tiers_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no number of cores"):
        parse_tiers(text)


def test_too_many_tiers_are_refused() -> None:
    with pytest.raises(UsageError, match="64 is the most"):
        parse_tiers(",".join(f"{number}" for number in range(1, 66)))


@pytest.mark.parametrize(("text", "usec"), [("50ms", 50_000), ("0", 0), ("0ms", 0), ("1s", 10**6)])
def test_times_are_read(text: str, usec: int) -> None:
    assert parse_time("--burst", text) == usec


@pytest.mark.parametrize("text", ["50", "0.1", "x", "", "infinity", "-1ms"])
def test_other_times_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--burst"):
        parse_time("--burst", text)


def test_the_announced_time_is_that_of_all_runs() -> None:
    found = order()

    assert found.most_runs == 15
    assert found.most_sec == pytest.approx(15 * 10.3)


def test_a_search_is_announced_with_the_most_runs_it_takes() -> None:
    found = order(slo="p99=20ms", rounds=3)

    assert len(found.limits) == 40
    assert found.most_runs == 3 * 7


def test_an_open_loop_is_not_searched_below_its_mean() -> None:
    found = order(profile="queue", slo="p99=100ms", cpus=8)

    assert min(limit.tier_cores for limit in found.limits) >= 1.6
    assert max(limit.tier_cores for limit in found.limits) == 6


def test_tiers_bound_a_search() -> None:
    found = order(slo="p99=20ms", tiers="0.5,1")

    assert [found.limits[0].tier_cores, found.limits[-1].tier_cores] == [0.5, 1]


def test_a_search_for_a_burst_goes_from_none_to_the_whole_quota() -> None:
    found = order(slo="p99=20ms", slo_for="burst", tiers="0.5")

    assert found.goal is not None
    assert found.goal.knob is Knob.BURST
    assert [found.limits[0].burst_usec, found.limits[-1].burst_usec] == [0, 50_000]


def test_a_search_for_a_period_goes_from_the_longest_to_the_shortest() -> None:
    found = order(slo="p99=20ms", slo_for="period", tiers="0.1")

    periods = [limit.bandwidth.period_usec for limit in found.limits]
    assert periods == sorted(periods, reverse=True)
    assert (periods[0], periods[-1]) == (1_000_000, 10_000)


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        (Asked(slo="p99=1s", slo_for="burst"), "needs the one quota"),
        (Asked(slo="p99=1s", slo_for="period", tiers="1,2"), "needs the one quota"),
        (Asked(slo="p99=1s", burst="10ms"), "--burst does not go with"),
        (Asked(slo="p99=1s", slo_for="period", tiers="1", burst="10ms"), "does not go with"),
    ],
)
def test_options_that_do_not_fit_together_are_refused(asked: Asked, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        make(asked)


def test_one_limit_in_everybodys_words() -> None:
    written = notations(limit_of(1.5))

    assert written.systemd == ("CPUQuota=150%",)
    assert written.cpu_max == "150000 100000"
    assert written.kubernetes == "1500m"
    assert written.compose == 'cpus: "1.5"'


def test_a_limit_that_is_not_round_is_rounded_up() -> None:
    written = notations(limit_of(0.33333, 30_000))

    assert written.systemd == ("CPUQuota=33.34%", "CPUQuotaPeriodSec=30ms")
    assert (written.cpu_max, written.kubernetes) == ("10000 30000", "334m")
