"""The cells of the workload table."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from quota_advisor.model.workload import join
from quota_advisor.render.columns import COLUMNS

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.rules.facts import CgroupCase, DemandCase, NodeCase, host_facts_of


def cell(heading: str, group: CgroupCase, cpus: int = 4) -> str:
    facts = host_facts_of(NodeCase(cpus=cpus), {"/system.slice/api.service": group})
    workload = next(w for w in join(facts).workloads if w.name == "api.service")
    return next(column for column in COLUMNS if column.heading == heading).cell(workload)


@pytest.mark.parametrize(
    ("limit", "p95_cores", "censored", "advice"),
    [
        ("max 100000", 0.3, 0, "-"),
        ("100000 100000", 0.02, 0, "keep"),
        ("45000 100000", 0.3, 0, "keep"),
        ("44000 100000", 0.3, 0, "45 %"),
        ("44000 100000", 0.3, 5, "≥ 45 %"),
        ("100000 100000", 0.02, 5, "≥ 5 %"),
        ("100000 100000", 3.0, 0, "no quota"),
        ("400000 100000", 0.02, 0, "no quota"),
    ],
)
def test_advice_takes_nothing_away_that_leaves_room(
    limit: str, p95_cores: float, censored: int, advice: str
) -> None:
    demand = DemandCase(mean_cores=p95_cores, p95_cores=p95_cores, censored_windows=censored)
    assert cell("ADVICE", CgroupCase(limit=limit, demand=demand)) == advice
