"""The workload table, and the order of what stands below it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from quota_advisor.audit.judge import judge
from quota_advisor.model.finding import Confidence, Finding, Severity, Subject
from quota_advisor.model.host import HostFacts
from quota_advisor.model.report import Report, Results
from quota_advisor.render.columns import table_rows
from quota_advisor.render.table import render
from quota_advisor.render.view import View
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
    host_facts_of,
)


def judged(facts: HostFacts) -> Report:
    """Return the report on a host by no rule at all."""
    return judge(facts, Rulebook({}, Config()), "test")


def rows(report: Report, *, everything: bool = False) -> tuple[list[str], list[list[str]]]:
    assert report.host is not None
    headings, shown, _ = table_rows(report.host, report, wide=False, everything=everything)
    return headings, shown


def cell(heading: str, group: CgroupCase, cpus: int = 4) -> str:
    facts = host_facts_of(NodeCase(cpus=cpus), {"/system.slice/api.service": group})
    headings, shown = rows(judged(facts), everything=True)
    (row,) = (row for row in shown if row[0] == "api.service")
    return row[headings.index(heading)]


@pytest.mark.parametrize(
    ("limit", "p95_cores", "throttled", "advice"),
    [
        ("max 100000", 0.3, 0, "-"),
        ("100000 100000", 0.02, 0, "keep"),
        ("44000 100000", 0.3, 0, "keep"),
        ("44000 100000", 0.3, 50, "≥ 70 %"),
        ("100000 100000", 3.0, 50, "no quota"),
        ("400000 100000", 0.02, 0, "no quota"),
    ],
)
def test_the_advice_stands_in_the_notation_of_the_limit(
    limit: str, p95_cores: float, throttled: int, advice: str
) -> None:
    demand = DemandCase(mean_cores=p95_cores, p95_cores=p95_cores, censored_windows=throttled)
    window = WindowCase(periods=100, throttled_periods=throttled)
    assert cell("ADVICE", CgroupCase(limit=limit, window=window, demand=demand)) == advice


def test_what_held_a_group_back_must_be_known() -> None:
    demand = DemandCase(mean_cores=0.02, p95_cores=0.02, censored_windows=5)
    assert cell("ADVICE", CgroupCase(limit="100000 100000", demand=demand)) == "-"


def test_a_group_whose_quota_was_lifted_is_listed_with_its_number() -> None:
    demand = DemandCase(mean_cores=0.1, p95_cores=0.3)
    lifted = CgroupCase(totals=TotalsCase(periods=90, throttled_periods=60), demand=demand)
    assert cell("ADVICE", lifted) == "45 %"


def test_workloads_of_one_name_are_told_apart() -> None:
    group = CgroupCase(limit="50000 100000")
    paths = ("/a.slice/api.service", "/b.slice/api.service", "/b.slice/web.service")
    _, shown = rows(judged(host_facts_of(NodeCase(), dict.fromkeys(paths, group))))
    assert {row[0] for row in shown} == {
        "/a.slice/api.service",
        "/b.slice/api.service",
        "web.service",
    }


def test_findings_follow_the_order_of_the_table() -> None:
    periods = {"/a.service": 10, "/b.service": 90, "/c.service": 50}
    groups = {
        path: CgroupCase(
            limit="50000 100000", window=WindowCase(periods=100, throttled_periods=throttled)
        )
        for path, throttled in periods.items()
    }
    report = judged(host_facts_of(NodeCase(), groups))
    findings = [
        Finding(
            rule="a-rule",
            severity=Severity.WARNING,
            confidence=Confidence.HIGH,
            message=f"of {path[1:]}",
            subject=Subject(kind="service", name=path[1:], cgroup=path),
        )
        for path in periods
    ]
    text = render(replace(report, results=Results(findings=findings)), View())
    table, *blocks = (block.split() for block in text.split("\n\n")[1:5])
    assert [word for word in table if word.endswith(".service")] == [block[0] for block in blocks]
    assert [block[0] for block in blocks] == ["b.service", "c.service", "a.service"]


@pytest.mark.parametrize(
    ("live", "quota", "shown"),
    [
        ("50000 100000", "50%", False),
        ("50000 100000", "80%", True),
        ("50000 100000", "", True),
        ("max 100000", "80%", True),
        ("max 100000", "", False),
        (None, "80%", True),
        (None, "", False),
    ],
)
def test_the_configured_limit_is_shown_where_it_is_not_the_live_one(
    tmp_path: Path, live: str | None, quota: str, *, shown: bool
) -> None:
    facts = Facts(
        cgroups={} if live is None else {"/api.service": CgroupCase(limit=live)},
        units={"api.service": UnitCase(quota=quota)},
    )
    headings, _ = rows(judged(host_facts(facts, tmp_path)), everything=True)
    assert ("CONFIGURED" in headings) is shown


@pytest.mark.parametrize("width", [80, 100, 200])
def test_the_table_keeps_to_the_width_of_the_terminal(tmp_path: Path, width: int) -> None:
    demand = DemandCase(mean_cores=0.4567, p95_cores=1.2345, censored_windows=9)
    window = WindowCase(periods=3000, throttled_periods=2000)
    group = CgroupCase(limit="50000 100000", demand=demand, window=window)
    name = f"a-unit-{'of-a-long-name-' * 5}.service"
    facts = Facts(cgroups={f"/{name}": group}, units={name: UnitCase(quota="80%")})
    text = render(judged(host_facts(facts, tmp_path)), View(width=width))
    table = text.split("\n\n")[1].splitlines()
    assert "CONFIGURED" in table[0]
    assert max(map(len, table)) <= width
