"""Counters and demand over a window, on trees whose files change as time goes by."""

from __future__ import annotations

import contextlib
import itertools
import os
import resource
import shutil
from array import array
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quota_advisor.collect.host import sampler as sampler_module
from quota_advisor.collect.host.cgroup_tree import find_tree
from quota_advisor.collect.host.demand import (
    TOO_LATE,
    Above,
    Samples,
    Trace,
    censored,
    correlation_of_runs,
    measure,
    trace,
)
from quota_advisor.collect.host.root import HostRoot
from quota_advisor.collect.host.sampler import Clock, Schedule
from quota_advisor.collect.host.window import Observed, count, observe
from quota_advisor.model.cgroup import Basis, CgroupFacts, CounterWindow, CpuCounters, Demand
from quota_advisor.model.limit import Missing

V2 = "sys/fs/cgroup"
MSEC = 1_000_000

ZERO = CpuCounters(
    read_at_usec=0,
    usage_usec=0,
    nr_periods=0,
    nr_throttled=0,
    throttled_usec=0,
    nr_bursts=0,
    burst_usec=0,
    local_throttled_usec=0,
    pressure_some_usec=0,
    pressure_full_usec=0,
)


# ---- differences


@pytest.mark.parametrize(
    ("first", "last", "rise"),
    [
        (100, 150, 50),
        (2**31 - 1, -(2**31), 1),
        (-5, 3, 8),
        (-10, -4, 6),
        (0, 2**31 - 1, 2**31 - 1),
    ],
)
def test_int_counters_wrap_at_two_to_the_31(first: int, last: int, rise: int) -> None:
    window = count(
        replace(ZERO, nr_periods=first, nr_throttled=first, nr_bursts=first),
        replace(ZERO, nr_periods=last, nr_throttled=last, nr_bursts=last),
    )

    assert (window.periods, window.throttled_periods, window.burst_periods) == (rise,) * 3


@pytest.mark.parametrize(("first", "last"), [(100, 50), (-(2**31), 2**31 - 1), (1, 0)])
def test_an_int_counter_that_steps_back_is_missing(first: int, last: int) -> None:
    window = count(replace(ZERO, nr_periods=first), replace(ZERO, nr_periods=last))

    assert isinstance(window.periods, Missing)
    assert "went backwards" in window.periods.reason


def test_a_time_that_goes_back_is_missing_and_never_negative() -> None:
    window = count(replace(ZERO, usage_usec=10), replace(ZERO, usage_usec=9))

    assert isinstance(window.usage_usec, Missing)
    assert window.throttled_usec == 0


def test_what_was_missing_at_either_end_stays_missing() -> None:
    gone = Missing(reason="no such file")

    window = count(replace(ZERO, burst_usec=gone), replace(ZERO, nr_bursts=gone))

    assert isinstance(window.burst_usec, Missing)
    assert window.burst_periods == gone


@given(first=st.integers(-(2**31), 2**31 - 1), last=st.integers(-(2**31), 2**31 - 1))
def test_a_difference_is_never_negative(first: int, last: int) -> None:
    window = count(
        replace(ZERO, nr_throttled=first, throttled_usec=first + 2**31),
        replace(ZERO, nr_throttled=last, throttled_usec=last + 2**31),
    )

    for field in fields(CounterWindow):
        value = getattr(window, field.name)
        assert not isinstance(value, int) or value >= 0


def test_totals_show_wrapped_counts_as_what_they_stand_for() -> None:
    window = replace(ZERO, nr_periods=-(2**31), nr_throttled=7).since_creation

    assert (window.basis, window.periods, window.throttled_periods) == (
        Basis.LIFETIME,
        2**31,
        7,
    )
    assert isinstance(window.elapsed_usec, Missing)


def test_totals_that_contradict_each_other_tell_nothing() -> None:
    window = replace(ZERO, nr_periods=5, nr_throttled=70).since_creation

    assert isinstance(window.periods, Missing)
    assert isinstance(window.throttled_periods, Missing)


# ---- demand


HALF = Above(period_usec=100_000)
SLOW = Above(period_usec=1_000_000)


def windows(*used_msec: int, stalled: tuple[int, ...] = (), each_msec: int = 100) -> Trace:
    held = stalled or (0,) * len(used_msec)
    return Trace(
        [each_msec * MSEC] * len(used_msec),
        [used * MSEC for used in used_msec],
        [time * MSEC for time in held],
        [1] * len(used_msec),
        [int(time > 0) for time in held],
    )


def found_in(seen: Trace) -> Demand:
    found = measure(seen, 100_000, Above())
    assert isinstance(found, Demand)
    return found


def test_demand_is_taken_by_nearest_rank() -> None:
    found = found_in(windows(*range(3, 103)))

    assert (found.p95_cores, found.max_cores, found.windows) == (0.97, 1.02, 100)
    assert found.mean_cores == pytest.approx(0.525)
    assert (found.active_windows, found.censored_windows) == (100, 0)


def test_the_percentile_is_that_of_the_active_windows() -> None:
    found = found_in(windows(*[1] * 98, 110, 90))

    assert (found.p95_cores, found.active_windows, found.windows) == (1.1, 2, 100)


def test_of_a_group_that_only_sleeps_all_windows_count() -> None:
    found = found_in(windows(*[1] * 99, 0))

    assert (found.p95_cores, found.active_windows) == (0.01, 0)


def test_each_window_weighs_what_it_lasted() -> None:
    elapsed = [190 * MSEC] * 9 + [10 * MSEC] * 4
    long_and_low = Trace(elapsed, [19 * MSEC] * 9 + [9 * MSEC] * 4, [0] * 13)

    assert found_in(long_and_low).p95_cores == 0.1


@pytest.mark.parametrize(("length", "kept"), [(199, 3), (200, 3), (201, 2)])
def test_a_window_far_too_long_is_left_out_of_the_peaks(length: int, kept: int) -> None:
    seen = Trace([100 * MSEC, 100 * MSEC, length * MSEC], [50 * MSEC] * 3, [0] * 3)

    found = found_in(seen)

    assert found.windows == kept
    assert found.mean_cores == pytest.approx(150 / (200 + length))


def test_a_machine_too_busy_to_sample_gives_no_demand() -> None:
    seen = Trace([300 * MSEC] * 3, [90 * MSEC] * 3, [0] * 3)

    assert measure(seen, 100_000, Above()) == Missing(reason=TOO_LATE)


@pytest.mark.parametrize(
    ("used", "burst_cores"),
    [
        ((0, 60, 60, 0), 1.2),  # 2 threads × 60 ms, in two windows
        ((0, 120, 0, 0), 1.2),
        ((0, 60, 60, 60, 0), 0.6),  # three windows are no burst of one period
        ((60, 60, 0, 0), 0.6),  # nobody knows what was before
        ((0, 60, 60, 2), 0.6),  # no silence behind it
        ((0, 60, 60, 1), 1.2),
    ],
)
def test_a_burst_in_two_windows_may_have_come_within_one(
    used: tuple[int, ...], burst_cores: float
) -> None:
    assert found_in(windows(*used)).burst_cores == burst_cores


def test_a_window_in_which_throttled_time_rose_is_censored() -> None:
    seen = windows(20, 20, 20, stalled=(0, 30, 0))

    assert censored(seen, HALF) == [False, True, False]


def test_use_at_the_limit_is_no_sign_of_being_held_back() -> None:
    assert censored(windows(48, 49, 50, 80), HALF) == [False] * 4


def test_stalled_time_without_a_throttled_period_holds_nobody_back() -> None:
    seen = replace(windows(20, 20, stalled=(1, 1)), throttled=[0, 0])

    assert censored(seen, HALF) == [False, False]
    told = Above(period_usec=100_000, traces=[windows(20, 20, stalled=(5, 5))], is_told=True)
    assert censored(seen, told) == [True, True]


def test_a_long_stall_covers_the_windows_in_which_the_group_stood_still() -> None:
    seen = windows(50, 100, 50, 0, 0, 0, 100, stalled=(0, 0, 0, 0, 0, 0, 350))

    assert censored(seen, SLOW) == [False, False, False, False, True, True, True]


def test_without_stat_local_a_throttled_parent_holds_back_only_who_runs() -> None:
    parent = windows(50, 50, 50, stalled=(10, 10, 10))

    above = Above(period_usec=100_000, traces=[parent])

    assert censored(windows(10, 0, 0), above) == [True, True, False]


def runs(*counts: tuple[int, int]) -> float:
    """Return the correlation where each window had so many periods, so many of them throttled."""
    nothing = [0] * len(counts)
    periods, throttled = [p for p, _ in counts], [t for _, t in counts]
    return correlation_of_runs(Trace(nothing, nothing, nothing, periods, throttled))


def test_throttled_periods_that_come_in_runs_are_correlated() -> None:
    in_two_runs = [(1, 1)] * 10 + [(1, 0)] * 10
    assert runs(*in_two_runs) == pytest.approx(0.85)
    assert runs((10, 10), (0, 0), (10, 0)) == pytest.approx(0.85)
    assert runs((20, 10)) == pytest.approx(0.85)
    assert runs(*[(1, 1), (1, 0)] * 10) == 0
    assert runs(*[(1, 1)] * 10) == 0
    assert runs(*[(1, 0)] * 10) == 0
    assert runs() == 0


@given(st.lists(st.booleans(), min_size=2, max_size=60))
def test_the_correlation_is_that_of_the_textbook(outcomes: list[bool]) -> None:
    mean = sum(outcomes) / len(outcomes)
    spread = sum((outcome - mean) ** 2 for outcome in outcomes)
    pairs = itertools.pairwise(outcomes)
    together = sum((before - mean) * (after - mean) for before, after in pairs)
    expected = max(together / spread, 0.0) if spread else 0.0
    assert runs(*[(1, int(outcome)) for outcome in outcomes]) == pytest.approx(expected)


def test_usage_that_goes_back_gives_no_demand() -> None:
    samples = Samples(1, array("q", [0, 100, 200]), array("q", [5, 9, 2]), array("q", [0, 0, 0]))

    assert isinstance(measure(trace(samples), 100_000, Above()), Missing)


def test_no_window_gives_no_demand() -> None:
    assert isinstance(measure(trace(Samples(1)), 100_000, Above()), Missing)


def test_a_late_window_is_measured_by_its_real_length() -> None:
    samples = Samples(
        1000,
        array("q", [0, 100 * MSEC, 450 * MSEC]),
        array("q", [0, 50_000, 225_000]),
        array("q", [0, 0, 0]),
    )

    assert trace(samples).cores == [0.5, 0.5]


def test_the_interval_gives_way_to_the_window() -> None:
    schedule = Schedule(window_usec=1_040_000, interval_usec=100_000)

    assert schedule.ticks == 10
    assert [schedule.at_usec(t) for t in (0, 1, 10)] == [0, 104_000, 1_040_000]
    assert Schedule(window_usec=50, interval_usec=100).ticks == 1


# ---- whole observations


class Machine:
    """A v2 host below a directory, with a clock that runs only while somebody sleeps."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.now_nsec = 10**12
        self.naps: list[float] = []
        self.on_sleep: Callable[[int], None] = lambda _tick: None
        self.oversleep: dict[int, float] = {}
        self.put("cgroup.controllers", "cpu\n")
        self.put("cpu.stat", "usage_usec 0\n")

    def put(self, name: str, text: str) -> None:
        path = self.top / V2 / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def stat(self, group: str, usage: int, **more: int) -> None:
        lines = [f"usage_usec {usage}", *(f"{key} {value}" for key, value in more.items())]
        self.put(f"{group}/cpu.stat", "\n".join(lines) + "\n")

    def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        self.now_nsec += round((seconds + self.oversleep.get(len(self.naps), 0)) * 1e9)
        self.on_sleep(len(self.naps))

    @property
    def clock(self) -> Clock:
        moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
        return Clock(monotonic_nsec=lambda: self.now_nsec, sleep=self.sleep, wall=lambda: moment)

    def observe(self, window_sec: float = 1.0, samples: int | None = None) -> Observed:
        root = HostRoot(self.top)
        tree = find_tree(root)
        assert not isinstance(tree, Missing)
        return observe(root, tree, window_sec=window_sec, samples=samples, clock=self.clock)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture(autouse=True)
def _no_file_is_left_open() -> Iterator[None]:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - only their number is wanted
    yield
    # Fewer is what the collector took meanwhile of somebody else's.
    assert len(os.listdir("/proc/self/fd")) <= before  # noqa: PTH208


def group_of(observed: Observed, path: str) -> CgroupFacts:
    return next(group for group in observed.cgroups if group.path == path)


def throttled(machine: Machine, tick: int) -> None:
    machine.stat(
        "api.service",
        50_000 * tick,
        nr_periods=tick,
        nr_throttled=tick,
        throttled_usec=50_000 * tick,
    )


def test_a_throttled_group_is_measured(machine: Machine) -> None:
    machine.put("api.service/cpu.max", "50000 100000\n")
    throttled(machine, 0)
    machine.on_sleep = lambda tick: throttled(machine, tick)

    observed = machine.observe()

    group = group_of(observed, "/api.service")
    assert isinstance(group.window, CounterWindow)
    assert (group.window.periods, group.window.throttled_periods) == (10, 10)
    assert group.window.elapsed_usec == 1_000_000
    assert isinstance(group.demand, Demand)
    assert (group.demand.windows, group.demand.censored_windows) == (10, 10)
    assert group.demand.mean_cores == pytest.approx(0.5)
    assert observed.observation.taken_at == "2026-01-02T03:04:05+00:00"
    assert observed.observation.samples == 11
    assert observed.problems == ()


def test_a_child_is_censored_by_what_stat_local_tells(machine: Machine) -> None:
    def tick(number: int) -> None:
        machine.stat("p.slice/c.service", 30_000 * number)
        machine.put("p.slice/c.service/cpu.stat.local", f"throttled_usec {70_000 * number}\n")
        machine.stat(
            "p.slice",
            30_000 * number,
            nr_periods=number,
            nr_throttled=number,
            throttled_usec=70_000 * number,
        )

    machine.put("p.slice/cpu.max", "60000 100000\n")
    tick(0)
    machine.on_sleep = tick

    demand = group_of(machine.observe(), "/p.slice/c.service").demand

    assert isinstance(demand, Demand)
    assert demand.censored_windows == 10


def test_a_child_without_stat_local_is_censored_by_its_parent(machine: Machine) -> None:
    def tick(number: int) -> None:
        machine.stat("p.slice/c.service", 30_000 * number)
        machine.stat("p.slice/idle.service", 0)
        machine.stat(
            "p.slice",
            30_000 * number,
            nr_periods=number,
            nr_throttled=number,
            throttled_usec=70_000 * number,
        )

    machine.put("p.slice/cpu.max", "60000 100000\n")
    tick(0)
    machine.on_sleep = tick

    observed = machine.observe()

    busy = group_of(observed, "/p.slice/c.service").demand
    idle = group_of(observed, "/p.slice/idle.service").demand
    assert isinstance(busy, Demand)
    assert isinstance(idle, Demand)
    assert (busy.censored_windows, idle.censored_windows) == (10, 0)


def test_v1_is_sampled_in_nanoseconds(tmp_path: Path) -> None:
    machine = Machine(tmp_path)

    def tick(number: int) -> None:
        machine.put("cpuacct/a/cpuacct.usage", f"{50_000_000 * number}\n")
        text = f"nr_periods {number}\nnr_throttled {number}\nthrottled_time {number * 10**7}\n"
        machine.put("cpu/a/cpu.stat", text)

    for path in ("", "/a"):
        machine.put(f"cpu{path}/cpu.cfs_quota_us", "50000\n" if path else "-1\n")
        machine.put(f"cpu{path}/cpu.cfs_period_us", "100000\n")
        machine.put(f"cpu{path}/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n")
        machine.put(f"cpuacct{path}/cpuacct.usage", "0\n")
    tick(0)
    machine.on_sleep = tick

    group = group_of(machine.observe(), "/a")

    assert isinstance(group.window, CounterWindow)
    assert (group.window.usage_usec, group.window.throttled_usec) == (500_000, 100_000)
    assert isinstance(group.demand, Demand)
    assert group.demand.mean_cores == pytest.approx(0.5)
    assert group.demand.censored_windows == 10


def test_a_recreated_cgroup_has_no_window(machine: Machine) -> None:
    machine.stat("a.service", 900)

    def restart(tick: int) -> None:
        if tick == 5:
            base = machine.top / V2
            (base / "a.service").rename(base.parent / "old")
            machine.stat("a.service", 5)

    machine.on_sleep = restart

    group = group_of(machine.observe(), "/a.service")

    assert isinstance(group.window, Missing)
    assert "recreated during the window" in group.window.reason
    assert isinstance(group.demand, Missing)
    assert group.totals.usage_usec == 5


def test_a_cgroup_that_lasts_has_no_ended_lives(machine: Machine) -> None:
    machine.stat("a.service", 900)

    assert group_of(machine.observe(), "/a.service").ended_lives == ()


def test_a_recreated_cgroup_is_noted_as_such_and_not_as_a_changed_limit(machine: Machine) -> None:
    machine.stat("a.service", 900)
    machine.put("a.service/cpu.max", "50000 100000\n")

    def restart(tick: int) -> None:
        if tick == 5:
            base = machine.top / V2
            (base / "a.service").rename(base.parent / "old")
            machine.stat("a.service", 5)
            machine.put("a.service/cpu.max", "max 100000\n")

    machine.on_sleep = restart

    assert machine.observe().notes == (
        "1 cgroup made anew during the window: nothing to compare with",
    )


def test_a_vanished_cgroup_is_left_out_and_counted(machine: Machine) -> None:
    machine.stat("a.service", 900)
    machine.on_sleep = lambda tick: (
        shutil.rmtree(machine.top / V2 / "a.service") if tick == 5 else None
    )

    observed = machine.observe()

    assert [group.path for group in observed.cgroups] == ["/"]
    assert observed.notes == ("1 cgroup vanished during the window: left out",)
    assert observed.problems == ()


def test_a_cgroup_that_appears_has_totals_but_no_window(machine: Machine) -> None:
    machine.on_sleep = lambda tick: machine.stat("new.service", tick)

    group = group_of(machine.observe(), "/new.service")

    assert group.window == Missing(reason="created during the window")
    assert group.totals.usage_usec == 10


def test_a_counter_that_goes_back_is_a_problem(machine: Machine) -> None:
    machine.stat("a.service", 900)
    machine.on_sleep = lambda tick: machine.stat("a.service", 900 - tick)

    observed = machine.observe()

    group = group_of(observed, "/a.service")
    assert isinstance(group.window, CounterWindow)
    assert isinstance(group.window.usage_usec, Missing)
    assert isinstance(group.demand, Missing)
    assert {problem.subject for problem in observed.problems} == {"/a.service"}
    assert all("went backwards" in problem.reason for problem in observed.problems)


def test_burst_counters_are_not_read_across_a_change_of_the_limit(machine: Machine) -> None:
    machine.put("a.service/cpu.max", "50000 100000\n")
    machine.stat("a.service", 0, nr_bursts=0, burst_usec=0)

    def lower(_tick: int) -> None:
        machine.put("a.service/cpu.max", "40000 100000\n")
        machine.stat("a.service", 0, nr_bursts=3, burst_usec=1_190_000)

    machine.on_sleep = lower

    observed = machine.observe()

    window = group_of(observed, "/a.service").window
    assert isinstance(window, CounterWindow)
    assert isinstance(window.burst_periods, Missing)
    assert observed.notes == ("/a.service: its CPU limit changed during the window",)


def test_without_a_window_totals_are_judged_at_once(machine: Machine) -> None:
    throttled(machine, 66)

    observed = machine.observe(window_sec=0)

    group = group_of(observed, "/api.service")
    assert machine.naps == []
    assert isinstance(group.window, CounterWindow)
    assert (group.window.basis, group.window.throttled_periods) == (Basis.LIFETIME, 66)
    assert isinstance(group.demand, Missing)
    assert (observed.observation.window_usec, observed.observation.samples) == (0, 1)


def test_the_number_of_samples_sets_the_interval(machine: Machine) -> None:
    observed = machine.observe(window_sec=2, samples=4)

    assert observed.observation.interval_usec == 500_000
    assert observed.observation.samples == 5
    assert machine.naps == [0.5] * 4


@pytest.mark.parametrize(
    ("window_sec", "interval_usec"), [(0.05, 50_000), (0.25, 125_000), (1.04, 104_000)]
)
def test_the_interval_told_is_the_one_that_was_kept(
    machine: Machine, window_sec: float, interval_usec: int
) -> None:
    assert machine.observe(window_sec=window_sec).observation.interval_usec == interval_usec


def test_lateness_does_not_add_up(machine: Machine) -> None:
    machine.oversleep = {1: 0.03, 2: 0.03}

    machine.observe()

    assert machine.naps[:4] == pytest.approx([0.1, 0.07, 0.07, 0.1])
    assert machine.now_nsec == 10**12 + 10**9


def test_a_very_late_sample_gives_way_to_the_next_and_is_noted(machine: Machine) -> None:
    machine.stat("a.service", 0)
    start = machine.now_nsec

    def steady(_tick: int) -> None:
        machine.stat("a.service", (machine.now_nsec - start) // 2000)

    machine.on_sleep = steady
    machine.oversleep = {3: 0.18}

    observed = machine.observe()

    demand = group_of(observed, "/a.service").demand
    assert isinstance(demand, Demand)
    assert demand.windows == 7
    assert demand.max_cores == pytest.approx(0.5)
    assert observed.notes[0].startswith("1 of 8 sampling windows")


@pytest.mark.parametrize("end", [None, KeyboardInterrupt])
def test_the_sampler_goes_first_only_while_it_samples(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, end: type[BaseException] | None
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(os, "getpriority", lambda _which, _who: 3)
    monkeypatch.setattr(os, "setpriority", lambda _which, _who, niceness: asked.append(niceness))
    seen: list[list[int]] = []

    def sleep(_tick: int) -> None:
        seen.append(list(asked))
        if end is not None:
            raise end

    machine.on_sleep = sleep
    with contextlib.suppress(KeyboardInterrupt):
        machine.observe()

    assert seen[0] == [sampler_module.NICENESS]
    assert asked == [sampler_module.NICENESS, 3]


def test_without_the_right_to_go_first_sampling_goes_on(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "setpriority", refuse)

    assert machine.observe().observation.samples == 11


def test_the_interval_shown_is_the_one_that_was_kept(machine: Machine) -> None:
    machine.oversleep = dict.fromkeys(range(2, 6), 0.08)

    seen = machine.observe().observation

    assert seen.samples < 11
    assert seen.interval_usec == round(seen.window_usec / (seen.samples - 1)) > 100_000


def test_ctrl_c_closes_the_files(machine: Machine) -> None:
    machine.stat("a.service", 0)

    def interrupt(_tick: int) -> None:
        raise KeyboardInterrupt

    machine.on_sleep = interrupt

    with pytest.raises(KeyboardInterrupt):
        machine.observe()


def test_progress_is_told(machine: Machine) -> None:
    told: list[tuple[float, float]] = []
    root = HostRoot(machine.top)
    tree = find_tree(root)
    assert not isinstance(tree, Missing)

    observe(
        root,
        tree,
        window_sec=1,
        samples=2,
        on_progress=lambda gone, of: told.append((gone, of)),
        clock=machine.clock,
    )

    assert told == [(0.5, 1.0), (1.0, 1.0)]


def test_what_does_not_fit_into_the_file_limit_is_left_out_and_said(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        machine.stat(f"{number}.service", 0)
    machine.put("5.service/cpu.max", "50000 100000\n")
    machine.stat("5.service", 0, nr_periods=0, nr_throttled=0, throttled_usec=0)
    monkeypatch.setattr(sampler_module, "raise_file_limit", lambda: 1003)
    monkeypatch.setattr(sampler_module, "_open_files", lambda: 1000 - sampler_module.SPARE_FILES)

    observed = machine.observe()

    sampled = [group.path for group in observed.cgroups if isinstance(group.demand, Demand)]
    assert sampled == ["/", "/0.service", "/5.service"]
    assert observed.notes[0].startswith("4 cgroups without samples")


def test_the_file_limit_is_raised_to_its_hard_bound() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, soft), hard))
    try:
        assert sampler_module.raise_file_limit() in (hard, 1 << 20)
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_malformed_usage_file_costs_only_its_own_demand(machine: Machine) -> None:
    machine.put("a.service/cpu.stat", "nonsense\n")
    machine.stat("b.service", 0)

    observed = machine.observe()

    assert isinstance(group_of(observed, "/a.service").demand, Missing)
    assert isinstance(group_of(observed, "/b.service").demand, Demand)
