"""One cause, one finding: which one leads, how severe it is, and what its parts are."""

from __future__ import annotations

from pathlib import Path

import pytest

from quota_advisor.audit.judge import judge
from quota_advisor.model.finding import Evidence, Finding, Severity, Subject
from quota_advisor.model.report import Report
from quota_advisor.rulebook.catalogue import load_catalog
from quota_advisor.rulebook.causes import QUOTA_TOO_SMALL, one_a_cause
from quota_advisor.rulebook.chosen import Rulebook
from quota_advisor.rulebook.settings import Config, SuppressEntry
from tests.rules.facts import CgroupCase, DemandCase, Facts, UnitCase, WindowCase, host_facts

API, SLICE = "/system.slice/api.service", "/app.slice"


def said(rule: str, name: str = "api.service", **fields: object) -> Finding:
    values: dict[str, object] = {
        "rule": rule,
        "severity": Severity.WARNING,
        "confidence": "high",
        "message": f"what {rule} says",
        "brief": rule,
        "subject": Subject(kind="service", name=name, cgroup=f"/system.slice/{name}"),
        **fields,
    }
    return Finding(**values)  # type: ignore[arg-type]


def victim(name: str, share: float) -> Finding:
    evidence = (Evidence(label="share", value=share, unit="ratio"),)
    return said("throttled-by-ancestor", name, cause=SLICE, evidence=evidence)


SUBJECTS = {SLICE: Subject(kind="slice", name="app.slice", cgroup=SLICE)}


def test_every_rule_of_a_cause_exists() -> None:
    assert set(QUOTA_TOO_SMALL) <= set(load_catalog())


@pytest.mark.parametrize("left_out", range(len(QUOTA_TOO_SMALL)))
def test_the_first_that_is_there_leads_and_the_others_are_its_parts(left_out: int) -> None:
    rules = QUOTA_TOO_SMALL[left_out:]
    (found,) = one_a_cause(map(said, reversed(rules)), {})
    assert found.rule == rules[0]
    assert [part.rule for part in found.parts] == list(rules[1:])


def test_the_severity_is_that_of_the_worst_part_which_keeps_its_own() -> None:
    often = said("throttled-often")
    peak = said("quota-below-peak", severity=Severity.ERROR)
    (found,) = one_a_cause([often, peak], {})
    assert (found.rule, found.severity) == ("throttled-often", Severity.ERROR)
    assert found.parts == (peak,)


def test_other_causes_and_other_workloads_stay_apart() -> None:
    findings = [
        said("throttled-often"),
        said("throttled-often", "db.service"),
        said("quota-not-enforced"),
    ]
    found = one_a_cause(findings, {})
    assert sorted(f.rule for f in found) == sorted(f.rule for f in findings)
    assert not any(f.parts for f in found)


def test_ten_workloads_held_back_by_a_slice_are_one_finding_about_the_slice() -> None:
    victims = [victim(f"w{n}.service", n / 100) for n in range(10)]
    (found,) = one_a_cause(victims, SUBJECTS)
    assert found.subject == SUBJECTS[SLICE]
    assert found.message.startswith("w9.service is ")
    assert found.message.endswith("; so are 9 more")
    assert len(found.parts) == 10


def test_a_throttled_slice_and_its_victims_are_one_cause() -> None:
    subject = SUBJECTS[SLICE]
    own = said("throttled-often", severity=Severity.ERROR, subject=subject)
    (found,) = one_a_cause([victim("a.service", 0.4), own], SUBJECTS)
    assert (found.rule, found.subject) == ("throttled-often", subject)
    assert [part.subject.name for part in found.parts] == ["a.service"]


def throttled(tmp_path: Path, config: Config) -> Report:
    group = CgroupCase(
        limit="50000 100000",
        processes=1,
        window=WindowCase(usage_usec=5_000_000, periods=100, throttled_periods=90),
        demand=DemandCase(mean_cores=0.49, p95_cores=0.5, censored_windows=90),
    )
    facts = Facts(cgroups={API: group}, units={"api.service": UnitCase(quota="50%")})
    return judge(host_facts(facts, tmp_path), Rulebook(load_catalog(), config), "test")


def test_a_throttled_service_gets_one_finding(tmp_path: Path) -> None:
    (found,) = throttled(tmp_path, Config()).results.findings
    assert found.rule == "throttled-often"
    assert {part.rule for part in found.parts} >= {"quota-below-peak", "quota-at-mean-use"}


def test_where_the_leading_rule_is_suppressed_the_next_part_leads(tmp_path: Path) -> None:
    wish = SuppressEntry(rule="throttled-often", subject="api.service", reason="known")
    results = throttled(tmp_path, Config(suppress=(wish,))).results
    (found,) = results.findings
    assert found.rule == "quota-below-peak"
    assert [s.finding.rule for s in results.suppressed] == ["throttled-often"]
