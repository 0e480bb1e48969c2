"""Cases of the rules: what is judged, and beside it what the rules must say of it.

The suffix of what is judged tells how it is read: ``.facts.yaml`` holds the facts of a host in
short form, ``.cluster.yaml`` objects as an API server lists them, everything else is a file, or a
directory of files, that lint reads.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pydantic
import yaml

from quota_advisor.audit.judge import by_rule, decisions
from quota_advisor.checkout.inputs import discover
from quota_advisor.k8s.judge import judge as judge_clusters
from quota_advisor.lint.run import judge_inputs
from quota_advisor.model.finding import Evidence, Finding, Severity
from quota_advisor.model.lint import LimitsPolicy, LintContext, RequestsPolicy
from quota_advisor.model.report import Results
from quota_advisor.model.workload import join
from quota_advisor.rulebook.catalogue import Catalog
from quota_advisor.rulebook.chosen import Rulebook
from quota_advisor.rulebook.settings import Config
from tests.rules.clusters import read_cluster
from tests.rules.facts import host_facts, read_facts

TREE = Path(__file__).parent
IN_PRACTICE = "met-in-practice"
"""A directory that is no rule: its cases are judged by all rules."""

EXPECT = ".expect.yaml"
FACTS = ".facts.yaml"
CLUSTER = ".cluster.yaml"


class _Written(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class Expected(_Written):
    """One finding. Texts are whole.

    Attributes:
        rule: Where all rules judge; else the directory names it.
        subject: Kind and name.
        cgroup: Left out, it is not compared.
        file: As the finding names it; left out, the file that is judged.
        line: None where the finding has no place.
        evidence: Some of the numbers by their labels, each with unit, threshold and source.
        recommendation: Left out, it is not compared.
    """

    rule: str = ""
    severity: Severity
    subject: str
    cgroup: str | None = None
    file: str | None = None
    line: int | None = None
    column: int | None = None
    message: str
    evidence: Mapping[str, str] = {}
    recommendation: str | None = None


class Expectation(_Written):
    """What a case expects, and what the user told.

    Attributes:
        limits: House rule for CPU limits.
        requests: House rule for CPU requests.
        node_cpus: Size of the largest node.
        kubernetes: Version of the cluster.
        also: Rules that run beside the one under test; only the findings of that one count.
        skips: The reasons for which the rule cannot judge; without them, it must judge.
        example: It goes before others as the example on the page of the rule.
    """

    limits: LimitsPolicy = LimitsPolicy.IGNORE
    requests: RequestsPolicy = RequestsPolicy.NOTE
    node_cpus: float | None = None
    kubernetes: str | None = None
    also: tuple[str, ...] = ()
    skips: tuple[str, ...] = ()
    example: bool = False
    expect: tuple[Expected, ...]

    @property
    def context(self) -> LintContext:
        """What lint knows besides the files."""
        version = tuple(map(int, self.kubernetes.split("."))) if self.kubernetes else None
        return LintContext(
            limits=self.limits,
            requests=self.requests,
            node_millicores=None if self.node_cpus is None else round(self.node_cpus * 1000),
            kubernetes_version=None if version is None else (version[0], version[1]),
        )


@dataclass(frozen=True, slots=True)
class Case:
    """One case: the file that says what is expected, and what is judged."""

    expect: Path
    judged: Path

    @property
    def rule(self) -> str:
        """The rule under test, or ``met-in-practice``."""
        return self.expect.parent.name

    @property
    def name(self) -> str:
        """The case as a sentence with dashes."""
        return self.expect.name.removesuffix(EXPECT)

    @property
    def is_cluster(self) -> bool:
        """Whether the objects of a cluster are judged, not files."""
        return self.judged.name.endswith(CLUSTER)

    @property
    def is_host(self) -> bool:
        """Whether the facts of a host are judged, not files."""
        return self.judged.name.endswith(FACTS)

    def read(self) -> Expectation:
        """Return what is expected; the file opens with a comment that says why the case exists."""
        text = self.expect.read_text(encoding="utf-8")
        assert text.startswith("# "), f"{self.expect}: the first line says why the case exists"
        expectation = Expectation.model_validate(yaml.safe_load(text))
        if self.is_host:
            told = expectation.model_fields_set - {"also", "skips", "example", "expect"}
            assert not told, f"{self.expect}: {told} mean nothing to the facts of a host"
        return expectation


def cases(rule: str = "*") -> list[Case]:
    """Return the cases of a rule, or of all."""
    return [Case(path, judged(path)) for path in sorted(TREE.glob(f"{rule}/*{EXPECT}"))]


def judged(expect: Path) -> Path:
    """Return what stands beside an expectation: facts, a file, or a directory of files."""
    name = expect.name.removesuffix(EXPECT)
    beside = [path for path in expect.parent.iterdir() if path != expect]
    found = [path for path in beside if name in _stems(path)]
    assert len(found) == 1, f"{expect}: {[path.name for path in found]}"
    return found[0]


def _stems(path: Path) -> tuple[str, ...]:
    return path.stem, path.name.removesuffix(FACTS), path.name.removesuffix(CLUSTER)


def results_of(case: Case, rules: Catalog, directory: Path) -> Results:
    """Judge a case by some rules.

    Args:
        case: The case.
        rules: The rules.
        directory: Where unit files of a host are written, to be really read, and files for lint
            lie in a repository of their own: that of the project has no part in any case.
    """
    rulebook = Rulebook(rules, Config(), chosen=rules)
    if case.is_host:
        host = join(host_facts(read_facts(case.judged), directory))
        return by_rule(host, decisions(host), rulebook)
    if case.is_cluster:
        limits = case.read().limits
        return judge_clusters([read_cluster(case.judged)], rulebook, limits).results
    inputs = discover([_as_given(_in_repository(case.judged, directory))])
    assert inputs.files, f"{case.judged}: nothing to judge"
    linted = judge_inputs(inputs, rulebook, case.read().context, jobs=1, verbose=True)
    assert not linted.report.problems
    return linted.report.results


def _in_repository(path: Path, top: Path) -> Path:
    (top / ".git").mkdir(exist_ok=True)
    if path.is_dir():
        return Path(shutil.copytree(path, top / path.name))
    return Path(shutil.copy(path, top))


def _as_given(path: Path) -> str:
    """Return a path as somebody who stands in the working directory would give it."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def as_expected(finding: Finding, case: Case, wanted: Expected | None) -> dict[str, Any]:
    """Return a finding in the words of an expectation, with what this one compares.

    Args:
        finding: What was found.
        case: Where.
        wanted: What was expected in its place, None where nothing was.
    """
    place = finding.location
    alone = place is not None and case.judged.is_file() and place.file == case.judged.name
    fields: dict[str, Any] = {
        "rule": finding.rule if case.rule == IN_PRACTICE else None,
        "severity": finding.severity.value,
        "subject": f"{finding.subject.kind} {finding.subject.name}",
        "cgroup": finding.subject.cgroup if wanted and wanted.cgroup is not None else None,
        "file": place.file if place and not alone else None,
        "line": place and place.line,
        "column": place and place.column,
        "message": finding.message,
        "evidence": _named(finding, wanted.evidence) if wanted and wanted.evidence else None,
        "recommendation": advice(finding) if wanted and wanted.recommendation is not None else None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _named(finding: Finding, labels: Mapping[str, str]) -> dict[str, str]:
    """Return the numbers behind a finding that an expectation names."""
    evidence = (*finding.evidence, *finding.ruled_out)
    return {item.label: _text(item) for item in evidence if item.label in labels}


def _text(evidence: Evidence) -> str:
    where = f" [{evidence.source.locator}]" if evidence.source else ""
    against = "" if evidence.threshold is None else f" (threshold {evidence.threshold:g})"
    return f"{evidence.value} {evidence.unit}".strip() + against + where


def advice(finding: Finding) -> str:
    """Return what to do about a finding."""
    return finding.recommendation.summary if finding.recommendation else ""


def reasons(results: Results, rule: str) -> list[str]:
    """Return why a rule could not judge something, each reason once."""
    return sorted({skipped.reason for skipped in results.skipped if skipped.rule == rule})


def rewrite(case: Case, found: Sequence[dict[str, Any]], skips: Sequence[str]) -> None:
    """Write what was found in place of what was expected; the comment and the options stay."""
    text = case.expect.read_text(encoding="utf-8")
    comment, _, rest = text.partition("\n")
    data = yaml.safe_load(rest)
    data.pop("skips", None)
    data.pop("expect", None)
    data |= {"skips": list(skips)} if skips else {}
    data |= {"expect": list(found)}
    case.expect.write_text(f"{comment}\n{_dump(data)}", encoding="utf-8")


class _Dumper(yaml.SafeDumper):
    """Writes as people here do: lists deeper than their keys, texts without doubled quotes."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002 - as inherited
        super().increase_indent(flow, False)

    def text(self, text: str) -> yaml.ScalarNode:
        """Return a text in the style that needs the fewest marks."""
        style = "|" if "\n" in text else '"' if "'" in text or ": " in text else None
        return self.represent_scalar("tag:yaml.org,2002:str", text, style)


_Dumper.add_representer(str, _Dumper.text)


def _dump(data: Mapping[str, Any]) -> str:
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=2**20)
