"""A rule is one file of prose, one function, one directory of cases and one page, of one name."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from quota_advisor import checks
from quota_advisor.derive.cases import ComposeCase, PodCase, QuadletCase
from quota_advisor.derive.kubernetes.live import LiveCase
from quota_advisor.derive.quota_case import QuotaCase
from quota_advisor.model.lint import SameLimit
from quota_advisor.model.manifest import DocumentNote, KubeletConfig
from quota_advisor.model.unit import UnitConfig
from quota_advisor.model.workload import AdvisedWorkload, Host, Workload
from quota_advisor.rulebook.catalogue import AppliesTo, load_catalog, rule_files
from quota_advisor.rulebook.engine import SuppressionUse
from tests.rules.cases import EXPECT, IN_PRACTICE, TREE, cases

TOP = Path(__file__).parents[2]
RULES = load_catalog()
CASES = cases()

WORDS: dict[type, set[AppliesTo]] = {
    Host: {AppliesTo.HOSTS},
    Workload: {AppliesTo.WORKLOADS},
    AdvisedWorkload: {AppliesTo.WORKLOADS},
    UnitConfig: {AppliesTo.UNITS},
    QuotaCase: {AppliesTo.WORKLOADS, AppliesTo.UNITS},
    QuadletCase: {AppliesTo.QUADLETS},
    PodCase: {AppliesTo.PODS},
    LiveCase: {AppliesTo.RUNNING_PODS},
    KubeletConfig: {AppliesTo.KUBELETS},
    ComposeCase: {AppliesTo.COMPOSE_SERVICES},
    SameLimit: {AppliesTo.PODS, AppliesTo.COMPOSE_SERVICES, AppliesTo.UNITS},
    DocumentNote: {AppliesTo.DOCUMENTS},
    SuppressionUse: {AppliesTo.SUPPRESSIONS},
}
"""What each type of subject is in the words of those who have it."""


def test_prose_functions_cases_and_pages_are_of_the_same_rules() -> None:
    prose = {path.stem for path in rule_files()}
    directories = {path.name for path in TREE.iterdir() if path.is_dir()} - {"__pycache__"}
    pages = {path.stem for path in (TOP / "docs" / "rules").glob("*.md")} - {"README"}
    assert set(functions()) == prose
    assert directories == prose | {IN_PRACTICE}
    assert pages == prose


def test_a_rule_has_one_function() -> None:
    assert [rule for rule, number in functions().items() if number > 1] == []


def functions() -> Counter[str]:
    """Return how many functions each rule has, as the sources have them."""
    return Counter(
        node.name.replace("_", "-")
        for path in Path(checks.__file__).parent.rglob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and any(map(_registers, node.decorator_list))
    )


def _registers(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(called, ast.Name) and called.id == "check"


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_has_a_case_that_fires_and_one_that_does_not(rule: str) -> None:
    for of_a_host in {case.is_host for case in CASES if case.rule == rule} or {True, False}:
        expected = [c.read() for c in CASES if c.rule == rule and c.is_host == of_a_host]
        assert any(case.expect for case in expected)
        assert any(not case.expect and not case.skips for case in expected)


@pytest.mark.parametrize("rule", [*RULES, IN_PRACTICE])
def test_no_case_is_left_to_fill_in(rule: str) -> None:
    left = [p.name for p in (TREE / rule).glob(f"*{EXPECT}") if "TODO" in p.read_text("utf-8")]
    assert left == []


def test_every_file_belongs_to_a_case() -> None:
    used = {path for case in CASES for path in (case.expect, case.judged)}
    assert {path for name in (*RULES, IN_PRACTICE) for path in (TREE / name).iterdir()} == used


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_applies_to_what_its_function_judges(rule: str) -> None:
    plan = checks.plan(RULES)
    words = [WORDS[kind] for kind in WORDS if rule in {r.id for r, _ in plan.checks_for(kind)}]
    assert set(RULES[rule].applies_to) == set().union(*words)


def test_every_type_of_subject_has_its_word() -> None:
    assert {kind.__name__ for kind in WORDS} == set(checks.MODULES)
