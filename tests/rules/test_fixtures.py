"""Every case of every rule: facts in, findings out."""

from __future__ import annotations

from pathlib import Path

import pytest

from quota_advisor.audit.judge import judge
from quota_advisor.model.finding import Evidence, Finding
from quota_advisor.model.unit import UnitConfig
from quota_advisor.model.workload import Host, Workload
from quota_advisor.rulebook.catalogue import load_catalog
from quota_advisor.rulebook.chosen import Rulebook
from quota_advisor.rulebook.engine import CHECKS, SuppressionUse
from quota_advisor.rulebook.settings import Config
from tests.rules.facts import Expected, host_facts, read_case

HERE = Path(__file__).parent


SUBJECTS = (Host, Workload, UnitConfig, SuppressionUse)
"""What the facts of a host consist of; rules about other documents have cases of another form."""

RULES = [id_ for id_ in sorted(load_catalog()) if CHECKS[id_][0] in SUBJECTS]
CASES = [path for rule in RULES for path in sorted(HERE.glob(f"{rule}/*.yaml"))]


@pytest.mark.parametrize("path", CASES, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_the_rule_says_what_the_case_expects(path: Path, tmp_path: Path) -> None:
    case = read_case(path)
    rule = path.parent.name
    catalog = load_catalog()
    rules = {name: catalog[name] for name in sorted({rule, *case.also})}

    report = judge(host_facts(case, tmp_path), Rulebook(rules, Config()), "test")

    found = [f for f in report.results.findings if f.rule == rule]
    skipped = [s for s in report.results.skipped if s.rule == rule]
    assert report.results.errors == []
    compared = zip(found, case.expect, strict=False)
    assert [text for pair in compared for text in _differences(*pair)] == []
    assert [f.message for f in found][len(case.expect) :] == [], "more findings than expected"
    assert len(found) == len(case.expect)
    assert bool(skipped) == case.skips, skipped


def test_every_directory_has_a_rule() -> None:
    directories = {path.parent.name for path in HERE.glob("*/*.yaml")}
    assert directories - set(load_catalog()) == set()


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_has_a_case_that_fails_and_one_that_passes(rule: str) -> None:
    cases = [read_case(path) for path in CASES if path.parent.name == rule]
    assert any(case.expect for case in cases)
    assert any(not case.expect and not case.skips for case in cases)


def _differences(finding: Finding, expected: Expected) -> list[str]:
    """Return where a finding is not what the case expects of it."""
    place = finding.location
    advice = finding.recommendation.summary if finding.recommendation else ""
    evidence = "\n".join(map(_evidence_text, (*finding.evidence, *finding.ruled_out)))
    exact = {
        "severity": (finding.severity, expected.severity),
        "subject": (finding.subject.name, expected.subject),
        "cgroup": (finding.subject.cgroup, expected.cgroup),
        "file": (place and place.file, expected.file),
        "line": (place and place.line, expected.line),
        "column": (place and place.column, expected.column),
    }
    partly = {
        "message": (finding.message, expected.message),
        "evidence": (evidence, expected.evidence),
        "recommendation": (advice, expected.recommendation),
    }
    return [
        f"{name}: {real!r}, expected {wanted!r}"
        for name, (real, wanted) in exact.items()
        if wanted is not None and real != wanted
    ] + [
        f"{name}: {real!r} lacks {wanted!r}"
        for name, (real, wanted) in partly.items()
        if wanted is not None and wanted not in real
    ]


def _evidence_text(evidence: Evidence) -> str:
    where = f" [{evidence.source.locator}]" if evidence.source else ""
    against = "" if evidence.threshold is None else f" (threshold {evidence.threshold:g})"
    return f"{evidence.label}: {evidence.value} {evidence.unit}".strip() + against + where
