"""A host with a quota for every decision, and for what was decided differently before."""

from __future__ import annotations

from pathlib import Path

from quota_advisor.audit.judge import judge
from quota_advisor.model.host import HostFacts
from quota_advisor.model.report import Report
from quota_advisor.rulebook.catalogue import load_catalog
from quota_advisor.rulebook.chosen import Rulebook
from quota_advisor.rulebook.settings import Config
from tests.rules.facts import (
    CgroupCase,
    DemandCase,
    Facts,
    NodeCase,
    TotalsCase,
    UnitCase,
    WindowCase,
    host_facts,
)

HOUR = 36_000
"""Windows of 100 ms in an hour."""


def _group(limit: str, throttled: int = 0, throttled_usec: int = 0, **demand: float) -> CgroupCase:
    window = WindowCase(
        usage_usec=1_000_000,
        periods=100,
        throttled_periods=throttled,
        throttled_usec=throttled_usec,
    )
    seen = DemandCase.model_validate({"mean_cores": 0.1, **demand})
    return CgroupCase(limit=limit, window=window, demand=seen)


GROUPS = {
    # The quota of 200 % that JSON would have cut to 75 %, and the one it would have cut to 5 %.
    "roomy.service": _group("200000 100000", p95_cores=0.5),
    "mostly-idle.service": _group("200000 100000", p95_cores=0.0, max_cores=1.2),
    "small.service": _group("50000 100000", throttled=8, p95_cores=0.7, max_cores=0.9),
    "held-back.service": _group(
        "50000 100000", throttled=80, throttled_usec=6_000_000, p95_cores=0.5, censored_windows=80
    ),
    "rare-peaks.service": _group(
        "50000 100000", throttled=8, p95_cores=0.04, max_cores=0.52, censored_windows=6
    ),
    "hidden-peaks.service": _group(
        "50000 100000", throttled=8, p95_cores=0.04, max_cores=0.1, censored_windows=6
    ),
    # Many CPUs for one period: long, though too rare to speak against the quota.
    "stalled-once.service": _group(
        "200000 100000", throttled=1, throttled_usec=500_000, p95_cores=0.5, censored_windows=1
    ),
    "oversized.service": _group("200000 100000", p95_cores=0.3, max_cores=0.5, windows=HOUR),
    "whole-machine.service": _group("800000 100000", throttled=8, p95_cores=0.5),
    "needs-it-all.service": _group("700000 100000", throttled=8, p95_cores=5.5),
    "hardly-watched.service": _group("50000 100000", throttled=8, p95_cores=0.5, windows=49),
    "free.service": _group("max 100000", p95_cores=0.5),
    "lifted.service": _group("max 100000", p95_cores=0.5).model_copy(
        update={"totals": TotalsCase(periods=100, throttled_periods=80)}
    ),
}

EVERY_DECISION = Facts(
    node=NodeCase(cpus=8),
    cgroups={f"/system.slice/{name}": group for name, group in GROUPS.items()},
    units={"stopped.service": UnitCase(quota="50%", active_state="inactive")},
)


def every_decision(directory: Path) -> Report:
    """Return the report on the host with every decision, by all rules."""
    return judge_all(host_facts(EVERY_DECISION, directory))


def judge_all(facts: HostFacts) -> Report:
    """Return the report on a host by all rules."""
    return judge(facts, Rulebook(load_catalog(), Config()), "audit host")
