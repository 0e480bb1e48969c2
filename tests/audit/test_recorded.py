"""A recording in place of what was seen while the host was watched."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from quota_advisor.audit.host import audit_host
from quota_advisor.audit.judge import judge
from quota_advisor.audit.recorded import with_recordings
from quota_advisor.audit.snapshot_file import dump_snapshot, load_snapshot
from quota_advisor.errors import UsageError
from quota_advisor.model.advice import Advice, Decision
from quota_advisor.model.cgroup import Demand, SimulatedNeed
from quota_advisor.model.host import HostFacts
from quota_advisor.model.limit import Missing
from quota_advisor.rulebook.chosen import load_rulebook
from tests.recordings import CYCLE, recording
from tests.rules.facts import CgroupCase, DemandCase, NodeCase, WindowCase, host_facts_of

SEEN = DemandCase(mean_cores=0.2, p95_cores=0.3)
HELD = WindowCase(periods=600, throttled_periods=300)


def facts(percent: int, *, window: WindowCase = HELD) -> HostFacts:
    group = CgroupCase(limit=f"{percent * 1000} 100000", window=window, demand=SEEN)
    return host_facts_of(NodeCase(cpus=2), {"/api.service": group})


def demand_in(found: HostFacts) -> Demand:
    (group,) = [group for group in found.cgroups if group.path == "/api.service"]
    assert isinstance(group.demand, Demand)
    return group.demand


def advice_of(found: HostFacts) -> Advice:
    report = judge(found, load_rulebook(), "audit host")
    (advice,) = [a for a in report.advice.values() if isinstance(a, Advice)]
    return advice


def test_the_need_is_the_larger_of_formula_and_simulation(tmp_path: Path) -> None:
    """30 ms each 150 ms: the formula says 45 %, the simulator 35 %."""
    file = recording(tmp_path / "api", CYCLE * 400)
    found = with_recordings(facts(25), [file])
    demand = demand_in(found)
    assert isinstance(demand.simulated, SimulatedNeed)
    assert isinstance(demand.simulated.cores, float)
    assert isinstance(demand.simulated.throttled_ratio, float)
    assert demand.simulated.throttled_ratio > 0.3
    advice = advice_of(found)
    assert advice.decision is Decision.RAISE
    assert advice.quota is not None
    assert advice.quota.cores >= demand.simulated.cores
    assert "simulated, it needs" in advice.quota.formula
    assert "p95 of" in advice.quota.formula
    assert any("sized from 60 s in" in note for note in found.notes)


def test_the_simulator_raises_what_the_formula_finds_too_low(tmp_path: Path) -> None:
    demand = demand_in(with_recordings(facts(25), [recording(tmp_path / "a", CYCLE * 400)]))
    assert isinstance(demand.simulated, SimulatedNeed)
    found = facts(25)
    (group,) = [group for group in found.cgroups if group.path == "/api.service"]
    for cores, percent in ((1.2, 120), (1.21, 125), (Missing(reason="none"), None)):
        needed = replace(demand, simulated=replace(demand.simulated, cores=cores))
        changed = replace(found, cgroups=(replace(group, demand=needed),))
        advice = advice_of(changed)
        assert (advice.quota.percent if advice.quota else None) == percent
        assert (advice.decision is Decision.REMOVE) == (percent is None)


def test_a_burst_that_would_do_as_well_is_said_with_its_figures(tmp_path: Path) -> None:
    file = recording(tmp_path / "api", CYCLE * 400)
    found = with_recordings(facts(25), [file])
    demand = demand_in(found)
    assert isinstance(demand.simulated, SimulatedNeed)
    assert isinstance(demand.simulated.burst_usec, int)
    assert demand.simulated.burst_usec <= 25_000
    assert isinstance(demand.simulated.burst_throttled_ratio, float)
    assert demand.simulated.burst_throttled_ratio < 0.01
    said = [reason for reason in advice_of(found).reasons if "burst" in reason]
    assert said
    assert "→" in said[0]


def test_an_hour_counts_its_busiest_five_minutes(tmp_path: Path) -> None:
    quiet, loud = [1.0] * 30_000, [12.0] * 30_000
    file = recording(tmp_path / "api", quiet * 11 + loud)
    demand = demand_in(with_recordings(facts(200), [file]))
    assert demand.watched_usec >= 3_600_000_000
    assert demand.p95_cores == pytest.approx(1.2, rel=0.02)
    short = recording(tmp_path / "short", [*quiet[:10_000], *loud[:200]])
    assert demand_in(with_recordings(facts(200), [short])).p95_cores < 0.2


def test_what_was_held_back_stays_a_lower_bound(tmp_path: Path) -> None:
    held = dict.fromkeys(range(9, 6000, 15), 60000)
    file = recording(tmp_path / "api", CYCLE * 400, throttled_usec=held)
    found = with_recordings(facts(25), [file])
    assert demand_in(found).censored_windows > 300
    advice = advice_of(found)
    assert advice.quota is not None
    assert advice.quota.lower_bound


def test_a_snapshot_holds_the_recorded_demand(tmp_path: Path) -> None:
    found = with_recordings(facts(25), [recording(tmp_path / "api", CYCLE * 400)])
    file = tmp_path / "facts.json"
    file.write_text(dump_snapshot(found, "test"), encoding="utf-8")
    assert advice_of(load_snapshot(file)) == advice_of(found)


def test_a_recording_of_something_else_is_a_problem(tmp_path: Path) -> None:
    file = recording(tmp_path / "other", CYCLE * 9, cgroup="/other.service")
    found = with_recordings(facts(25), [file])
    assert "no cgroup /other.service is here" in found.problems[-1].reason
    assert demand_in(found) == demand_in(facts(25))


def test_who_never_ran_has_no_demand(tmp_path: Path) -> None:
    found = with_recordings(facts(25), [recording(tmp_path / "idle", [0.0] * 100)])
    (group,) = [group for group in found.cgroups if group.path == "/api.service"]
    assert group.demand == Missing(reason="it never ran while it was recorded")


def test_names_cannot_be_taken_away_from_what_a_recording_names(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--redact and --trace"):
        audit_host(redact=True, traces=[tmp_path / "any"])
