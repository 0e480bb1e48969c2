"""The collectors against this machine's own bandwidth control."""

from __future__ import annotations

import itertools
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from quota_advisor.collect.host.cgroup_tree import find_tree, join
from quota_advisor.collect.host.root import HostRoot
from quota_advisor.collect.host.sampler import Clock
from quota_advisor.collect.host.window import Observed, observe
from quota_advisor.model.cgroup import CgroupFacts, CounterWindow, Demand
from quota_advisor.model.limit import Bandwidth, Missing, Unlimited

pytestmark = pytest.mark.native

ROOT = HostRoot(Path("/"))
WINDOW_SEC = 3.0

SHORT_LIVES = int(os.environ.get("SHORT_LIVES", "500"))
"""cgroups that are made and removed while others are watched; a hundred thousand take minutes."""


def watch(window_sec: float = WINDOW_SEC, clock: Clock | None = None) -> Observed:
    tree = find_tree(ROOT)
    assert not isinstance(tree, Missing)
    return observe(ROOT, tree, window_sec=window_sec, clock=clock or Clock())


def facts_of(observed: Observed, path: str) -> tuple[CgroupFacts, CounterWindow, Demand]:
    facts = next(group for group in observed.cgroups if group.path == path)
    assert isinstance(facts.window, CounterWindow)
    assert isinstance(facts.demand, Demand)
    return facts, facts.window, facts.demand


def number(value: int | Missing) -> int:
    assert isinstance(value, int)
    return value


def test_two_busy_processes_under_half_a_core_are_seen_held_back(sandbox: Any) -> None:
    sandbox.limit(sandbox.name, 50_000)
    sandbox.burn_until_throttled(sandbox.name, 2, sandbox.name)

    observed = watch()

    facts, window, demand = facts_of(observed, sandbox.name)
    assert facts.limit == Bandwidth(quota_usec=50_000, period_usec=100_000)
    assert (facts.processes, facts.commands) == (2, ("sh",))
    assert number(window.throttled_periods) / number(window.periods) > 0.8
    assert number(window.usage_usec) / number(window.elapsed_usec) == pytest.approx(0.5, abs=0.05)
    assert 0.45 <= demand.mean_cores <= 0.55
    # What a busy machine lets pass is averaged, and said.
    assert demand.windows >= 20 or any("this machine is busy" in note for note in observed.notes)
    assert demand.censored_windows / demand.windows > 0.8


def test_a_child_held_back_by_its_parent_alone_is_censored(sandbox: Any) -> None:
    sandbox.hand_down(sandbox.name)
    child = sandbox.group(f"{sandbox.name}/child")
    sandbox.limit(sandbox.name, 30_000)
    sandbox.burn_until_throttled(child, 1, sandbox.name)

    observed = watch()

    facts, window, demand = facts_of(observed, child)
    assert facts.limit == Unlimited()
    assert (window.throttled_periods, window.throttled_usec) == (0, 0)
    assert demand.mean_cores == pytest.approx(0.3, abs=0.05)
    # Where periods and samples fall together, one window shows the end of two stalls, another none.
    assert demand.censored_windows / demand.windows > 0.6
    if isinstance(window.local_throttled_usec, int):
        assert window.local_throttled_usec > 1_000_000
    _, parent, _ = facts_of(observed, sandbox.name)
    assert number(parent.throttled_periods) > 0


def test_an_idle_group_under_a_limit_is_not_censored(sandbox: Any) -> None:
    sandbox.limit(sandbox.name, 50_000)

    facts, window, demand = facts_of(watch(1.0), sandbox.name)

    assert (facts.processes, window.throttled_periods) == (0, 0)
    assert (demand.max_cores, demand.censored_windows) == (0.0, 0)


def test_cgroups_that_come_and_go_leave_no_trace(sandbox: Any) -> None:
    parents = [Path(join(root, sandbox.name)) for root in sandbox.roots]
    seen_enough = threading.Event()
    made = 0

    def churn() -> None:
        nonlocal made
        while not seen_enough.is_set():
            made += 1
            number = made
            groups = [parent / f"short lived {number % 5}" for parent in parents]
            for group in groups:
                group.mkdir()
            time.sleep(0.0005)
            for group in groups:
                group.rmdir()

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        while made < SHORT_LIVES:
            observed = watch(0.25)
            assert observed.problems == ()
            assert sandbox.name in {group.path for group in observed.cgroups}
    finally:
        seen_enough.set()
        thread.join()


def test_totals_are_had_at_once(sandbox: Any) -> None:
    sandbox.limit(sandbox.name, 50_000)

    observed = watch(0, Clock(sleep=lambda _seconds: pytest.fail("somebody waits")))

    facts = next(group for group in observed.cgroups if group.path == sandbox.name)
    assert isinstance(facts.demand, Missing)
    assert isinstance(facts.window, CounterWindow)
    assert facts.window.throttled_usec == 0


def test_each_life_that_ends_in_the_window_is_counted(sandbox: Any) -> None:
    sandbox.hand_down(sandbox.name)
    unit = f"{sandbox.name}/unit"

    def live() -> None:
        sandbox.group(unit)
        sandbox.limit(unit, 20_000)
        sandbox.burn(unit, 1)
        # Several samples long, however late they are.
        sandbox.wait_for_periods(unit, 8)

    naps = itertools.count()

    def nap(seconds: float) -> None:
        if next(naps) in (10, 30):
            sandbox.end(unit)
            live()
        time.sleep(seconds)

    live()
    observed = watch(8.0, Clock(sleep=nap))

    group = next(group for group in observed.cgroups if group.path == unit)
    assert len(group.ended_lives) == 2
    for life in group.ended_lives:
        assert 0 < life.throttled_periods <= life.periods
    assert isinstance(group.window, Missing)
