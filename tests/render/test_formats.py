from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from quota_advisor.model.finding import (
    Confidence,
    Edit,
    Evidence,
    Finding,
    Fix,
    Recommendation,
    Related,
    Severity,
    Subject,
    SuppressedFinding,
)
from quota_advisor.model.problem import Problem
from quota_advisor.model.report import Report, Results
from quota_advisor.model.source import Location, Span
from quota_advisor.render import FORMATS, render
from quota_advisor.render.view import View
from quota_advisor.rulebook.fingerprint import fingerprints
from tests.golden.compare import assert_golden
from tests.lint.conftest import Lint
from tests.lint.samples import BAD_UNIT, deployment

SCHEMA = json.loads((Path(__file__).parent / "schema/sarif-2.1.0-rtm.5.json").read_text())
VIEW = View(directory="/repo/deploy", top="/repo")


def span(line: int, column: int, end_line: int, end_column: int) -> Span:
    return Span(
        file="a b/api.service", line=line, column=column, end_line=end_line, end_column=end_column
    )


REGION, LINES, BEHIND = span(9, 10, 9, 14), span(11, 1, 12, 3), span(9, 14, 9, 14)
FIX = Fix(
    description="050% is read as 40%",
    safe=True,
    edits=(Edit(span=REGION, text="40%"), Edit(span=BEHIND, text="\n")),
)
RELATED = (
    Related(location=Location(file="/etc/o.conf", line=2, column=1), message="the one that wins"),
    Related(location=LINES, message="another"),
)


def finding(message: str, line: int = 3, **changes: Any) -> Finding:
    return Finding(
        **{
            "rule": "misread-cpu-quota",
            "severity": Severity.ERROR,
            "confidence": Confidence.HIGH,
            "message": message,
            "subject": Subject(kind="service", name="api.service"),
            "location": Location(file="a b/api.service", line=line, column=10),
            "evidence": (Evidence(label="as written", value="CPUQuota=050%"),),
            "recommendation": Recommendation(summary="write\nCPUQuota=40%"),
            **changes,
        }
    )


def report() -> Report:
    """One of everything, with signs that formats must escape."""
    warning = {"severity": Severity.WARNING, "rule": "limit-below-10m"}
    results = Results(
        findings=[
            finding("50% looks, odd: <b>&amp;</b>\r\n::error::x"),
            finding("a warning", 4, **warning),
            finding("a note", 5, severity=Severity.INFO, recommendation=None),
            finding("nowhere \x00\x1b", location=None),
            finding("fixable", location=REGION, fix=FIX, related=RELATED),
            finding("over two lines", location=LINES),
        ],
        suppressed=[
            SuppressedFinding(finding=finding("agreed", 7), reason='it\'s "fine" <so>'),
            SuppressedFinding(finding=finding("old", 8), reason="in b.json", external=True),
        ],
    )
    problem = Problem(subject="pipe.yaml", reason="it is a named pipe, not a file")
    return Report(command="lint", host=None, results=results, problems=(problem,))


def test_sarif_is_valid() -> None:
    log = json.loads(render("sarif", report(), VIEW))
    jsonschema.Draft4Validator(SCHEMA).validate(log)


def test_sarif_of_a_whole_repository_is_valid(lint: Lint, repository: Path) -> None:
    assert repository.is_dir()
    log = json.loads(lint("--format", "sarif").out)
    jsonschema.Draft4Validator(SCHEMA).validate(log)
    (run,) = log["runs"]
    assert len(run["results"]) > 20
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        place = result["locations"][0]["physicalLocation"]
        assert not place["artifactLocation"]["uri"].startswith(("/", "file:"))
        assert place["region"]["startLine"] >= 1
        region = place["region"]
        assert region["startColumn"] >= 1
        start = (region["startLine"], region["startColumn"])
        assert start <= (region["endLine"], region["endColumn"])


def test_sarif_always_has_results(lint: Lint) -> None:
    log = json.loads(lint("--format", "sarif").out)
    (run,) = log["runs"]
    assert run["results"] == []
    assert run["invocations"][0]["executionSuccessful"]


def test_paths_are_relative_to_the_top_of_the_repository(
    lint: Lint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lint(files={"deploy/sub/a.yaml": deployment()})
    monkeypatch.chdir(tmp_path / "deploy")
    absolute = str(tmp_path / "deploy/sub/a.yaml")
    for name in ("sub/a.yaml", "../deploy/sub/a.yaml", absolute):
        assert "file=deploy/sub/a.yaml," in lint(name, "--format", "github").out


def test_fingerprints_survive_a_shift_of_lines_and_tell_twins_apart(lint: Lint) -> None:
    def marks() -> list[str]:
        results = json.loads(lint("--format", "sarif").out)["runs"][0]["results"]
        return [result["partialFingerprints"]["quotaAdvisor/v1"] for result in results]

    lint(files={"a.service": BAD_UNIT})
    before = marks()
    lint(files={"a.service": "# a line\n# another\n" + BAD_UNIT})
    assert marks() == before
    twins = [finding("the same", 9), finding("the same", 5), finding("the same on line 7")]
    made = fingerprints(twins, str)
    assert len(set(made)) == 3
    assert fingerprints([twins[1], twins[0]], str) == [made[1], made[0]]
    assert fingerprints([finding("the same on line 8")], str) == made[2:]


def test_fingerprints_are_the_same_from_every_directory(
    lint: Lint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def marks() -> list[str]:
        results = json.loads(lint("--format", "sarif", str(units)).out)["runs"][0]["results"]
        return [r["partialFingerprints"]["quotaAdvisor/v1"] for r in results]

    (tmp_path / ".git").mkdir(exist_ok=True)
    files = {"10.conf": "[Service]\nCPUQuota=20%\n", "90.conf": "[Service]\nCPUQuota=80%\n"}
    units = Path("units")
    lint(files={f"units/a.service.d/{name}": text for name, text in files.items()})
    before = marks()
    assert len(before) == 1
    units = tmp_path / "units"
    assert marks() == before
    monkeypatch.chdir(units)
    units = Path()
    assert marks() == before


def test_junit_counts_and_holds_everything() -> None:
    top = ET.fromstring(render("junit", report(), VIEW))  # noqa: S314 - our own
    assert top.tag == "testsuites"
    counts = {key: top.get(key) for key in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "9", "failures": "5", "errors": "1", "skipped": "2"}
    assert {suite.tag for suite in top} == {"testsuite"}
    for suite in top:
        cases = list(suite)
        assert {case.tag for case in cases} == {"testcase"}
        assert suite.get("tests") == str(len(cases))
        assert all(case.get("name") and case.get("classname") for case in cases)


def test_junit_of_a_clean_run_has_a_case_that_passes(lint: Lint) -> None:
    top = ET.fromstring(lint("--format", "junit").out)  # noqa: S314 - our own
    assert (top.get("tests"), top.get("failures")) == ("1", "0")


def test_github_annotations_cannot_be_forged_and_keep_their_text() -> None:
    lines = render("github", report(), VIEW).splitlines()
    assert len(lines) == 7
    assert lines[0] == (
        "::error file=deploy/a b/api.service,line=3,col=10,title=misread-cpu-quota::"
        "50%25 looks, odd: <b>&amp;</b>%0D%0A::error::x%0Awhat to do: write CPUQuota=40%25"
    )
    assert lines[1].startswith("::warning ")
    assert lines[2].startswith("::notice ")
    assert "nowhere \\x00\\x1b" in lines[3]
    assert ",line=9,col=10,endLine=9,endColumn=13," in lines[4]
    # GitHub refuses columns where a region has several lines.
    assert ",line=11,endLine=12,title=" in lines[5]


def test_end_other_places_and_fix_make_no_other_finding() -> None:
    plain = finding("the same", location=REGION.start)
    whole = finding("the same", location=REGION, fix=FIX, related=RELATED)
    assert fingerprints([whole], str) == fingerprints([plain], str)


def test_the_table_says_what_can_be_fixed(lint: Lint) -> None:
    files = {"a.service": "[Service]\nCPUQuota=050%\nCPUQuotas=5%\n"}
    done = lint(files=files)
    assert done.lines[0].endswith(" [misread-cpu-quota] [fixable]")
    # As CPUQuota= it would take the place of the other one.
    assert done.lines[1].endswith(" [unknown-cpu-key]")
    assert "2 errors in 1 file, 1 fixable with --fix" in done.out.splitlines()
    clean = lint("--select", "unknown-cpu-key").out
    assert "fixable" not in clean


@pytest.mark.parametrize(
    ("notes", "listed", "more"),
    [(10, 10, ""), (11, 10, "1 more note of"), (12, 10, "2 more notes of")],
)
def test_the_table_counts_what_would_hide_the_rest(
    lint: Lint, notes: int, listed: int, more: str
) -> None:
    one = deployment("app", request="105m", limit="105m").replace(
        "        resources:", "        env: [{name: GOMAXPROCS, value: '1'}]\n        resources:"
    )
    pods = "---\n".join(one.replace("app", f"app-{n}") for n in range(notes))
    table = lint("--select", "microburst-risk", files={"a.yaml": pods})
    assert table.out.count("[microburst-risk]") == listed
    assert (f"\n\n{more} microburst-risk: --verbose lists them\n\n" in table.out) is bool(more)
    assert f"{notes} notes in 1 file" in table.out
    verbose = lint("--select", "microburst-risk", "--verbose")
    assert verbose.out.count("[microburst-risk]") == notes
    assert "--verbose lists" not in verbose.out


# A page is looked at by a browser (tests/browser): byte by byte it is mostly scripts and styles.
@pytest.mark.parametrize("name", [name for name in FORMATS if name != "html"])
def test_one_report_in_every_format(name: str) -> None:
    text = render(name, report(), VIEW)
    if name == "sarif":
        log = json.loads(text)
        log["runs"][0]["tool"]["driver"]["rules"] = []
        for result in log["runs"][0]["results"]:
            del result["ruleIndex"]
        text = json.dumps(log, indent=2) + "\n"
    assert_golden(f"lint.{name}", text)


def test_sarif_describes_the_rules_that_found_something_and_no_other() -> None:
    (run,) = json.loads(render("sarif", report(), VIEW))["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert set(rules) == {result["ruleId"] for result in run["results"]}
    assert all(rules[result["ruleIndex"]] == result["ruleId"] for result in run["results"])
    empty = Report(command="lint", host=None, results=Results())
    assert json.loads(render("sarif", empty, VIEW))["runs"][0]["tool"]["driver"]["rules"] == []


def test_gitlab_gets_what_it_requires_of_each_finding() -> None:
    entries = json.loads(render("gitlab", report(), VIEW))
    shown = report()
    assert len(entries) == len(shown.results.findings) + len(shown.problems)
    for entry in entries:
        assert entry["description"]
        assert entry["check_name"]
        assert entry["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert entry["location"]["lines"]["begin"] >= 1
        assert not entry["location"]["path"].startswith("./")
    assert len({entry["fingerprint"] for entry in entries}) == len(entries)
    sarif = json.loads(render("sarif", shown, VIEW))["runs"][0]["results"]
    prints = [result["partialFingerprints"]["quotaAdvisor/v1"] for result in sarif]
    count = len(shown.results.findings)
    assert [entry["fingerprint"] for entry in entries[:count]] == prints[:count]


def test_concise_is_one_line_a_finding(lint: Lint) -> None:
    files = {"a.service": "[Service]\nCPUQuota=050%\n"}
    assert lint("--format", "concise", files=files).out == (
        "a.service:2:10: error: CPUQuota=050% looks like 50% and is read as 40%: a leading zero"
        " makes it octal [misread-cpu-quota] [fixable]\n"
    )
    clean = {"a.service": "[Service]\nCPUQuota=50%\n"}
    assert lint("--format", "concise", files=clean).out == ""


@pytest.mark.parametrize("count", [100, 2000])
def test_markdown_fits_into_a_comment(count: int) -> None:
    found = [finding(f"message {n}", line=n + 1) for n in range(count)]
    shown = Report(command="lint", host=None, results=Results(findings=found))
    text = render("markdown", shown, View(directory="/repo", top="/repo", all=True))
    assert len(text) <= 65_536
    listed = text.count("**error**")
    assert (listed < count) is (count == 2000)
    note = f"{count - listed} more findings would not fit here."
    assert (note in text) is (listed < count)
