"""Every case of every rule: facts or files in, findings out.

``REWRITE_FIXTURES=1`` writes what was found into the cases; read the difference before it is
committed.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from quota_advisor.rulebook.catalogue import load_catalog
from tests.rules.cases import (
    IN_PRACTICE,
    Case,
    Expected,
    advice,
    as_expected,
    cases,
    reasons,
    results_of,
    rewrite,
)

CASES = cases()
RULES = load_catalog()


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.rule}/{case.name}")
def test_the_rule_says_what_the_case_expects(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    expectation = case.read()
    everything = case.rule == IN_PRACTICE
    names = sorted(RULES if everything else {case.rule, *expectation.also})

    results = results_of(case, {name: RULES[name] for name in names}, tmp_path)

    assert results.errors == []
    findings = [f for f in results.findings if everything or f.rule == case.rule]
    wanted: list[Expected | None] = [*expectation.expect, *[None] * len(findings)]
    found = [as_expected(f, case, w) for f, w in zip(findings, wanted, strict=False)]
    skips = [] if everything else reasons(results, case.rule)
    if os.environ.get("REWRITE_FIXTURES"):
        rewrite(case, found, skips)
        expectation = case.read()
    assert found == [e.model_dump(mode="json", exclude_unset=True) for e in expectation.expect]
    assert skips == sorted(expectation.skips)


def test_every_finding_about_a_file_has_a_place_and_advice(tmp_path: Path) -> None:
    for case in CASES:
        if case.is_host or case.is_cluster:
            continue
        directory = tmp_path / case.rule / case.name
        directory.mkdir(parents=True)
        for finding in results_of(case, RULES, directory).findings:
            assert finding.location is not None, finding
            assert finding.location.line > 0, finding
            assert advice(finding), finding
            assert "\n" not in finding.message, finding
            # The fingerprint is made of the message: paths would tie it to a working directory.
            assert str(tmp_path) not in finding.message, finding
