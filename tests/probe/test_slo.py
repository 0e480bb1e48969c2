from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from quota_advisor.errors import UsageError
from quota_advisor.model.limit import MIN_QUOTA_USEC
from quota_advisor.probe.measure import Run
from quota_advisor.probe.plan import Limit, limit_of
from quota_advisor.probe.report.table import answer_lines
from quota_advisor.probe.slo import (
    Answer,
    Knob,
    Search,
    Target,
    first_that,
    least_share,
    most_runs,
    parse_target,
    quota_candidates,
)
from tests.probe.conftest import MakeRun

TARGET = Target(percentile="p99", latency_usec=20_000)


@pytest.mark.parametrize(
    ("text", "percentile", "usec"),
    [("p99=20ms", "p99", 20_000), ("P99.9=1s", "p999", 10**6), ("max=500us", "max", 500)],
)
def test_a_target_is_read(text: str, percentile: str, usec: int) -> None:
    assert parse_target(text) == Target(percentile=percentile, latency_usec=usec)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("p99", "write p99=20ms"),
        ("=20ms", "no percentile"),
        ("p98=20ms", "did you mean"),
        ("p99=20", "write p99=20ms"),
        ("p99=soon", "no time span"),
        ("p99=0ms", "above zero"),
        ("p99=infinity", "above zero"),
    ],
)
def test_other_targets_are_refused(text: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        parse_target(text)


@given(st.integers(1, 200), st.integers(0, 200))
def test_the_first_that_meets_is_found_in_few_steps(count: int, first: int) -> None:
    asked = []

    def meets(number: int) -> bool:
        asked.append(number)
        return number >= first

    assert first_that(meets, count) == (first if first < count else None)
    assert len(asked) <= most_runs(count, 1)


def test_quotas_go_up_in_steps_of_five_percent() -> None:
    tiers = [limit.tier_cores for limit in quota_candidates(0.0, 2.0, 100_000)]

    assert tiers[0] == 0.05
    assert tiers[-1] == 2.0
    assert len(tiers) == 40


def test_steps_grow_with_the_machine() -> None:
    tiers = [limit.tier_cores for limit in quota_candidates(0.0, 128.0, 100_000)]

    assert len(tiers) <= 65
    assert tiers[-1] >= 128


@given(st.floats(0, 64), st.floats(0.05, 64), st.sampled_from([1_000, 5_000, 100_000, 10**6]))
def test_every_candidate_is_one_that_the_kernel_takes(
    low: float, high: float, period_usec: int
) -> None:
    assume(high * period_usec >= MIN_QUOTA_USEC)

    limits = quota_candidates(low, high, period_usec)

    assert limits
    assert limits == sorted(limits, key=lambda limit: limit.tier_cores)


Latency = Callable[[Limit, int], float]


class Machine:
    """Measures by a formula, and remembers how often."""

    def __init__(self, make_run: MakeRun, latency_msec: Latency) -> None:
        self._make_run = make_run
        self._latency_msec = latency_msec
        self.runs: list[float] = []

    def measure(self, limit: Limit, number: int) -> Run:
        self.runs.append(limit.tier_cores)
        msec = self._latency_msec(limit, number)
        return self._make_run(limit.tier_cores, number, lat_p99_ns=round(msec * 1e6))


def search(machine: Machine, rounds: int = 5) -> Answer:
    candidates = quota_candidates(0.0, 2.0, 100_000)
    return Search(machine.measure, TARGET, Knob.QUOTA, candidates, rounds).run()


def test_the_smallest_quota_that_keeps_the_target_is_found(make_run: MakeRun) -> None:
    machine = Machine(make_run, lambda limit, _: 100 * (1 - limit.tier_cores))

    answer = search(machine)

    assert answer.found is not None
    assert answer.found.limit.tier_cores == 0.8
    assert (answer.found.met, len(answer.found.runs)) == (5, 5)
    assert answer.missed_below is not None
    assert answer.missed_below.limit.tier_cores == 0.75
    assert len(machine.runs) <= most_runs(40, 5)


def test_a_candidate_is_given_up_when_most_runs_missed(make_run: MakeRun) -> None:
    machine = Machine(make_run, lambda limit, _: 100 * (1 - limit.tier_cores))

    search(machine)

    assert machine.runs.count(0.75) == 3


def test_a_candidate_that_keeps_it_now_and_then_is_not_the_answer(make_run: MakeRun) -> None:
    def latency(limit: Limit, number: int) -> float:
        lucky = limit.tier_cores == 0.8 and number != 4
        return 10 if limit.tier_cores > 0.8 or lucky else 50

    answer = search(Machine(make_run, latency))

    assert answer.found is not None
    assert answer.found.limit.tier_cores == 0.85


def test_a_target_that_nothing_keeps_has_no_answer(make_run: MakeRun) -> None:
    machine = Machine(make_run, lambda _limit, _number: 50)

    answer = search(machine)

    assert answer.found is None
    assert set(machine.runs) == {2.0}
    assert "not kept by any quota" in next(iter(answer_lines(answer)))


def test_a_run_that_left_requests_unfinished_did_not_keep_the_target(make_run: MakeRun) -> None:
    assert TARGET.is_met(make_run(lat_p99_ns=1_000))
    assert not TARGET.is_met(make_run(lat_p99_ns=1_000, requests_unfinished=1))
    assert not TARGET.is_met(make_run(lat_p99_ns=None))


@pytest.mark.parametrize(("latency_ns", "met"), [(20_000_000, True), (20_000_001, False)])
def test_a_target_is_met_at_its_latency(make_run: MakeRun, latency_ns: int, *, met: bool) -> None:
    assert TARGET.is_met(make_run(lat_p99_ns=latency_ns)) is met


def test_five_of_five_say_less_than_one_thinks() -> None:
    assert least_share(5) == pytest.approx(0.549, abs=0.001)
    assert least_share(0) == 0


def test_the_answer_says_how_sure_it_is_and_what_to_write(make_run: MakeRun) -> None:
    answer = search(Machine(make_run, lambda limit, _: 100 * (1 - limit.tier_cores)))

    lines = list(answer_lines(answer))

    assert lines[0] == "p99 ≤ 20 ms is kept from 0.8 cores: in 5 of 5 runs (p99 20 ms)"
    assert lines[1] == (
        "  with 95% confidence at least 54.9 % of such runs keep it;"
        " 0.75 cores kept it in 0 of 3 runs"
    )
    assert [line.split(maxsplit=1)[1] for line in lines[2:]] == [
        *("CPUQuota=80%", "80000 100000", "limits.cpu: 800m", 'cpus: "0.8"')
    ]


def test_too_few_requests_for_a_percentile_are_told(make_run: MakeRun) -> None:
    assert TARGET.enough_samples(make_run(lat_samples=500))
    assert not TARGET.enough_samples(make_run(lat_samples=499))


def test_a_burst_is_part_of_the_answer(make_run: MakeRun) -> None:
    limits = [limit_of(0.5, 100_000, burst) for burst in (0, 25_000, 50_000)]

    def measure(limit: Limit, number: int) -> Run:
        return make_run(0.5, number, lat_p99_ns=10**6 if limit.burst_usec else 10**8)

    answer = Search(measure, TARGET, Knob.BURST, limits, 2).run()
    lines = list(answer_lines(answer))

    assert "with a burst of 25 ms" in lines[0]
    assert "cpu.max     50000 100000, cpu.max.burst 25000" in lines[3]
