"""Every case of every rule about files: real files in, findings with their places out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pydantic
import pytest
import yaml

from quota_advisor.checkout.inputs import discover
from quota_advisor.lint.run import judge_inputs
from quota_advisor.model.finding import Finding, Severity
from quota_advisor.model.lint import ComposeCase, LimitsPolicy, LintContext, PodCase, SameLimit
from quota_advisor.model.manifest import DocumentNote, KubeletConfig, Quadlet
from quota_advisor.model.report import Results
from quota_advisor.rulebook.catalogue import Catalog, load_catalog
from quota_advisor.rulebook.chosen import Rulebook
from quota_advisor.rulebook.engine import CHECKS, COUNTERPARTS
from quota_advisor.rulebook.settings import Config

HERE = Path(__file__).parent
SUFFIX = ".expect.yaml"
CASES = sorted(HERE.glob(f"*/*{SUFFIX}"))
IN_PRACTICE = "met-in-practice"
"""A directory that is no rule: its cases are judged by all rules about files."""

FILE_TYPES = (PodCase, SameLimit, ComposeCase, DocumentNote, KubeletConfig, Quadlet)
ABOUT_COMMENTS = ("suppression-without-reason", "unused-suppression")
RULES = sorted(
    {name for name, (subject, _) in CHECKS.items() if subject in FILE_TYPES} | COUNTERPARTS.keys()
)


class Expected(pydantic.BaseModel):
    """One finding: the message is a part of the real one, the rest is exact.

    Attributes:
        file: Which one, where a case is a directory of several; left out, it is not compared.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    severity: Annotated[Severity, pydantic.BeforeValidator(Severity)]
    line: int
    column: int
    subject: str
    message: str
    recommendation: str = ""
    rule: str = ""
    file: str = ""


class Case(pydantic.BaseModel):
    """What a file must be told.

    Attributes:
        limits: House rule for CPU limits.
        node_cpus: Size of the largest node.
        kubernetes: Version of the cluster.
        skips: Part of the reason for which a rule cannot judge; without it, it must judge.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    limits: Annotated[LimitsPolicy, pydantic.BeforeValidator(LimitsPolicy)] = LimitsPolicy.IGNORE
    node_cpus: float | None = None
    kubernetes: str | None = None
    skips: str = ""
    expect: tuple[Expected, ...]


def read_case(path: Path) -> Case:
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# "), f"{path.name}: the first line says why the case exists"
    return Case.model_validate(yaml.safe_load(text))


def input_of(path: Path) -> Path:
    """Return the file, or the directory of files, that a case is about."""
    stem = path.name.removesuffix(SUFFIX)
    found = [p for p in path.parent.iterdir() if p != path and p.stem == stem]
    assert len(found) == 1, f"{path.name}: {[p.name for p in found]}"
    return found[0]


def judge(path: Path, case: Case, rules: Catalog) -> Results:
    version = tuple(map(int, case.kubernetes.split("."))) if case.kubernetes else None
    context = LintContext(
        limits=case.limits,
        node_millicores=None if case.node_cpus is None else round(case.node_cpus * 1000),
        kubernetes_version=None if version is None else (version[0], version[1]),
    )
    rulebook = Rulebook(rules, Config(), rules)
    inputs = discover([str(input_of(path))])
    assert inputs.files, f"{path.name}: nothing to judge"
    linted = judge_inputs(inputs, rulebook, context, jobs=1, verbose=True)
    assert not linted.report.problems
    return linted.report.results


@pytest.mark.parametrize("path", CASES, ids=lambda p: f"{p.parent.name}/{p.name[:-12]}")
def test_the_rules_say_what_the_case_expects(path: Path) -> None:
    case = read_case(path)
    name = path.parent.name
    catalog = load_catalog()
    rules = {n: catalog[n] for n in ((*RULES, *ABOUT_COMMENTS) if name == IN_PRACTICE else [name])}

    results = judge(path, case, rules)

    assert results.errors == []
    assert [_facts(f) for f in results.findings] == [_wanted(e, name) for e in case.expect]
    pairs = list(zip(results.findings, case.expect, strict=True))
    assert [f.message for f, e in pairs if e.message not in f.message] == []
    assert [_advice(f) for f, e in pairs if e.recommendation not in _advice(f)] == []
    assert [(_file(f), e.file) for f, e in pairs if e.file not in ("", _file(f))] == []
    reasons = [skipped.reason for skipped in results.skipped]
    if name != IN_PRACTICE:
        assert any(case.skips in r for r in reasons) if case.skips else reasons == []


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_has_a_case_that_fails_and_one_that_passes(rule: str) -> None:
    cases = [read_case(path) for path in CASES if path.parent.name == rule]
    assert any(case.expect for case in cases)
    assert any(not case.expect and not case.skips for case in cases)


def test_every_directory_is_a_rule_and_every_file_belongs_to_a_case() -> None:
    directories = {path.parent.name for path in CASES}
    assert directories == {*RULES, IN_PRACTICE}
    used = {input_of(path) for path in CASES} | set(CASES)
    here = {p for name in directories for p in (HERE / name).iterdir()}
    assert here == used


def test_every_finding_about_a_file_has_a_place_and_advice() -> None:
    catalog = load_catalog()
    rules = {name: catalog[name] for name in RULES}
    for path in CASES:
        for finding in judge(path, read_case(path), rules).findings:
            assert finding.location is not None, finding
            assert finding.location.line > 0, finding
            assert _advice(finding), finding
            assert "\n" not in finding.message, finding
            # The fingerprint is made of the message: paths would tie it to a working directory.
            assert str(HERE) not in finding.message, finding


def _facts(finding: Finding) -> tuple[object, ...]:
    assert finding.location is not None
    at = finding.location
    subject = finding.subject
    name = f"{subject.kind} {subject.name.removeprefix(str(HERE))}"
    if subject.kind in ("file", "KubeletConfiguration"):
        name = subject.kind
    return (finding.rule, finding.severity, name.strip(), at.line, at.column)


def _wanted(expected: Expected, rule: str) -> tuple[object, ...]:
    place = (expected.line, expected.column)
    return (expected.rule or rule, expected.severity, expected.subject, *place)


def _file(finding: Finding) -> str:
    assert finding.location is not None
    return Path(finding.location.file).name


def _advice(finding: Finding) -> str:
    return finding.recommendation.summary if finding.recommendation else ""
