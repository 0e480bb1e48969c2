"""Every format and every finding prints the same decision about a quota."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import pytest

from quota_advisor.model.report import Report
from quota_advisor.model.workload import AdvisedWorkload
from quota_advisor.render import render
from quota_advisor.render.view import View
from quota_advisor.rulebook.engine import CHECKS
from tests.advise.hosts import every_decision, judge_all
from tests.golden.compare import assert_golden
from tests.rules.cases import Case, cases
from tests.rules.facts import host_facts, read_facts

VIEW = View(all=True)

LEVELS = {"error": "error", "warning": "warning", "note": "info"}
"""Severity behind each level of SARIF."""

Said = Counter[tuple[str, str, str]]
"""What was recommended, how often: rule, name of the subject, text."""

DECIDED = {
    "roomy.service": "keep",
    "mostly-idle.service": "keep",
    "small.service": "≥ 105 %",
    "held-back.service": "≥ 75 %",
    "rare-peaks.service": "≥ 75 %",
    "hidden-peaks.service": "≥ 75 %",
    "stalled-once.service": "keep",
    "oversized.service": "75 %",
    "whole-machine.service": "no quota",
    "needs-it-all.service": "no quota",
    "hardly-watched.service": "-",
    "free.service": "-",
    "lifted.service": "75 %",
    "stopped.service": "-",
}


def test_what_is_decided_about_each(tmp_path: Path) -> None:
    shown = dict(in_table(render("table", every_decision(tmp_path), VIEW)))
    assert {name: shown[name] for name in DECIDED} == DECIDED


def test_every_decision_is_among_them(tmp_path: Path) -> None:
    workloads = json.loads(render("json", every_decision(tmp_path), VIEW))["workloads"]
    decisions = {w["advice"].get("decision") for w in workloads}
    assert decisions == {"set", "raise", "keep", "lower", "remove", "unknown", None}


def test_every_format_says_the_same(tmp_path: Path) -> None:
    assert_agreement(every_decision(tmp_path))


@pytest.mark.parametrize(
    "case", [c for c in cases() if c.is_host], ids=lambda case: f"{case.rule}/{case.name}"
)
def test_every_format_says_the_same_of_each_case_of_a_rule(case: Case, tmp_path: Path) -> None:
    assert_agreement(judge_all(host_facts(read_facts(case.judged), tmp_path)))


@pytest.mark.parametrize("name", ["table", "markdown", "github"])
def test_the_report_in_every_format(name: str, tmp_path: Path) -> None:
    assert_golden(f"audit.{name}", render(name, every_decision(tmp_path), VIEW))


def assert_agreement(report: Report) -> None:
    """Hold everything that a report prints about quotas against each other."""
    texts = {f: render(f, report, VIEW) for f in ("table", "markdown", "json", "sarif", "junit")}
    document = json.loads(texts["json"])
    decided = sorted(in_json(document))
    assert sorted(in_table(texts["table"])) == decided
    assert sorted(in_markdown(texts["markdown"])) == decided

    said = said_in_json(document)
    assert said_in_sarif(texts["sarif"]) == said
    assert said_in_junit(texts["junit"]) == said
    assert said_in_github(render("github", report, VIEW)) == texts_of(said)
    # Table and Markdown say once what several subjects are advised.
    advised = re.findall(r"^  → (.*)$", texts["table"], re.MULTILINE)
    assert {text for text in advised if not text.startswith("as for ")} == {*texts_of(said)}
    markdown = [
        unescaped(t) for t in re.findall(r"^  - do: (.*)$", texts["markdown"], re.MULTILINE)
    ]
    assert {text for text in markdown if not text.startswith("as for ")} == {*texts_of(said)}
    assert len(markdown) == said.total()
    assert_counts(texts, document)

    advice = {w["cgroup"]: w["advice"] for w in document["workloads"]}
    for finding in document["findings"]:
        if CHECKS[finding["rule"]][0] is AdvisedWorkload:
            assert_as_decided(finding["recommendation"], advice[finding["subject"]["cgroup"]])
        elif finding["rule"] == "quota-exceeds-host" and finding["subject"]["cgroup"]:
            assert advice[finding["subject"]["cgroup"]]["decision"] == "remove"


def assert_counts(texts: Mapping[str, str], document: Any) -> None:
    """Hold the number of findings that each format shows against the summary."""
    counted = Counter(f["severity"] for f in document["findings"] if f["part_of"] is None)
    summary = {name: document["summary"][name] for name in ("error", "warning", "info")}
    assert summary == {name: counted[name] for name in summary}
    shown = "{error} error{}, {warning} warning{}, {info} note{}"
    plural = ["" if summary[name] == 1 else "s" for name in summary]
    for name in ("table", "markdown"):
        assert texts[name].splitlines()[-1].startswith(shown.format(*plural, **summary))
    labels = re.findall(r"^  (error|warning|info) ", texts["table"], re.MULTILINE)
    assert Counter(labels) == counted
    items = re.findall(r"^- \*\*(error|warning|info)\*\* ", texts["markdown"], re.MULTILINE)
    assert Counter(items) == counted
    levels = Counter(
        result["level"]
        for run in json.loads(texts["sarif"])["runs"]
        for result in run["results"]
        if not result["suppressions"]
    )
    assert levels == Counter(
        {level: counted[name] for level, name in LEVELS.items() if counted[name]}
    )
    top = ET.fromstring(texts["junit"])  # noqa: S314 - our own
    assert top.get("failures") == str(counted["error"] + counted["warning"])


def assert_as_decided(recommendation: Any, advice: Any) -> None:
    """Hold what a finding recommends, and its very words, against the decision."""
    assert recommendation["advice"] == advice
    text, _, how_to_find_out = recommendation["summary"].partition("; for a measurement")
    quota = advice["quota"]
    assert text == advice["summary"]
    assert bool(how_to_find_out) == (advice["decision"] == "unknown")
    written = {"CPUQuota=": 1, "--cpus=": 100, "limits.cpu: ": 0.1}
    numbers = [
        round(float(number) * written[key])
        for key, number in re.findall(r"(CPUQuota=|--cpus=|limits.cpu: )([\d.]+)", text)
    ]
    assert set(numbers) <= (set() if quota is None else {quota["cpu_quota_percent"]})
    words = {"keep": "keep the quota", "remove": "no quota: ", "unknown": "no number: "}
    assert [d for d, word in words.items() if text.startswith(word)] == (
        [] if quota else [advice["decision"]]
    )


def in_json(document: Any) -> list[tuple[str, str]]:
    """Return each workload with the cell that its advice should be in a table."""
    bearers = Counter(w["name"] for w in document["workloads"])
    return [
        (w["cgroup"] if bearers[w["name"]] > 1 and w["cgroup"] else w["name"], cell(w["advice"]))
        for w in document["workloads"]
    ]


def cell(advice: Any) -> str:
    decision = advice.get("decision", "unknown")
    if decision in ("set", "raise", "lower"):
        return ("≥ " if advice["need"]["lower_bound"] else "") + (
            f"{advice['quota']['cpu_quota_percent']} %"
        )
    assert advice.get("quota") is None
    return {"keep": "keep", "remove": "no quota", "unknown": "-"}[decision]


def in_table(text: str) -> list[tuple[str, str]]:
    """Return each workload in a table with its last cell."""
    lines = iter(text.splitlines())
    if not any(re.match(r"WORKLOAD .* ADVICE$", line) for line in lines):
        return []
    rows = [re.split(r"\s{2,}", line) for line in iter(lambda: next(lines), "")]
    return [(row[0], row[-1]) for row in rows]


def in_markdown(text: str) -> list[tuple[str, str]]:
    rows = [re.split(r"(?<!\\)\|", line) for line in text.splitlines() if line.startswith("|")]
    assert not rows or rows[0][-2].strip() == "Advice"
    return [(unescaped(row[1]).strip(), unescaped(row[-2]).strip()) for row in rows[2:]]


def unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def texts_of(said: Said) -> Counter[str]:
    found: Counter[str] = Counter()
    for (_, _, text), count in said.items():
        found[text] += count
    return found


def said_in_json(document: Any) -> Said:
    return Counter(
        (f["rule"], f["subject"]["name"], f["recommendation"]["summary"])
        for f in document["findings"]
        if f["part_of"] is None
    )


def said_in_sarif(text: str) -> Said:
    (run,) = json.loads(text)["runs"]
    return Counter(
        (
            result["ruleId"],
            result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"],
            result["message"]["text"].rpartition("\n")[2],
        )
        for result in run["results"]
        if not result["suppressions"]
    )


def said_in_junit(text: str) -> Said:
    said: Said = Counter()
    for case in ET.fromstring(text).iter("testcase"):  # noqa: S314 - our own
        words = case.findtext("failure") or case.findtext("system-out")
        if words:
            first, *_, advice = words.split("\n")
            subject = first.split(" ", 1)[1].partition(": ")[0]
            said[case.get("name", "").partition(" ")[0], subject, advice] += 1
    return said


def said_in_github(text: str) -> Counter[str]:
    return Counter(unquote(t) for t in re.findall(r"%0Awhat to do: (.*)$", text, re.MULTILINE))
