"""Findings carry their fixes: what a report says of them is what ``--fix`` does."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quota_advisor.fix.edits import apply
from quota_advisor.lint import Linter, Request, lint
from quota_advisor.model.finding import Edit, Finding, Fix
from quota_advisor.model.source import Span
from quota_advisor.rulebook.catalogue import load_catalog
from quota_advisor.rulebook.chosen import load_rulebook
from tests.fix.test_unit_fixes import CASES
from tests.fix.test_yaml_fixes import LEFT, MADE, POD, names
from tests.lint.conftest import Lint, write
from tests.render.test_formats import SCHEMA

UNITS = [(before, after) for before, after in CASES.values() if after]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    return tmp_path


def fixable(*paths: str) -> list[Finding]:
    return [f for f in lint(*paths).results.findings if f.fix is not None]


def made_by_hand(text: str, result: Any) -> str:
    """Make the fix of a SARIF result, as an editor would."""
    (change,) = result["fixes"][0]["artifactChanges"]
    lines = text.removeprefix("\ufeff").split("\n")
    starts = [sum(len(line) + 1 for line in lines[:row]) for row in range(len(lines))]
    body = text.removeprefix("\ufeff")
    for replacement in reversed(change["replacements"]):
        region = replacement["deletedRegion"]
        start = starts[region["startLine"] - 1] + region["startColumn"] - 1
        end = starts[region["endLine"] - 1] + region["endColumn"] - 1
        body = body[:start] + replacement["insertedContent"]["text"] + body[end:]
    return text[: len(text) - len(text.removeprefix("\ufeff"))] + body


def one_at_a_time(lint: Lint, path: Path) -> None:
    """Make the first fix that a report names until it names none."""
    for _ in range(40):
        log = json.loads(lint("--format", "sarif").out)
        jsonschema.Draft4Validator(SCHEMA).validate(log)
        results = [r for r in log["runs"][0]["results"] if "fixes" in r]
        if not results:
            return
        before = path.read_bytes().decode()
        after = made_by_hand(before, results[0])
        assert after != before
        path.write_bytes(after.encode())
    raise AssertionError("there is always one more thing to fix")


@pytest.mark.parametrize("before", MADE, ids=names(MADE))
def test_an_editor_gets_from_the_report_what_fix_makes_of_manifests(
    lint: Lint, tmp_path: Path, before: Path
) -> None:
    path = tmp_path / f"a{before.suffix}"
    lint(files={path.name: before.read_bytes()})
    one_at_a_time(lint, path)
    assert (
        path.read_bytes() == before.with_name(before.name.replace(".before", ".after")).read_bytes()
    )


@pytest.mark.parametrize(("before", "after"), UNITS, ids=[k for k, (_, a) in CASES.items() if a])
def test_an_editor_gets_from_the_report_what_fix_makes_of_units(
    lint: Lint, tmp_path: Path, before: str, after: str
) -> None:
    path = tmp_path / ("a.slice" if "[Slice]" in before else "a.service")
    lint(files={path.name: before})
    one_at_a_time(lint, path)
    assert path.read_bytes().decode() == after


@pytest.mark.parametrize("path", LEFT, ids=names(LEFT))
def test_what_is_not_certain_carries_no_fix(here: Path, path: Path) -> None:
    write(here, {path.name: path.read_bytes()})
    assert not fixable()


def test_fixable_is_what_rules_say_and_no_rule_says_it_in_vain(here: Path) -> None:
    write(here, {f"{number}/a{p.suffix}": p.read_bytes() for number, p in enumerate(MADE)})
    write(here, {f"u{number}/a.service": before for number, (before, _) in enumerate(UNITS)})
    found = {finding.rule for finding in fixable()}
    assert found == {rule.id for rule in load_catalog().values() if rule.fixable}


def test_safe_is_what_keeps_in_force_what_is_in_force(here: Path) -> None:
    write(here, {"a.service": "[Service]\nCPUQuota=050%\nCPUWeigth=5\n", "a.yaml": POD})
    safe = {f.rule: f.fix.safe for f in fixable() if f.fix is not None}
    assert safe == {
        "misread-cpu-quota": True,
        "unknown-cpu-key": False,
        "resources-misplaced": False,
    }


def test_a_suppressed_finding_carries_no_fix(here: Path) -> None:
    text = "[Service]\n# quota-advisor: ignore[misread-cpu-quota] as shipped\nCPUQuota=050%\n"
    write(here, {"a.service": text})
    (suppressed,) = lint().results.suppressed
    assert suppressed.finding.fix is None


def test_what_somebody_saved_in_between_is_judged_anew(here: Path) -> None:
    unit, fixed_unit = CASES["another case"]
    fixed_pod = POD.replace("limits: {cpu: 010}", "resources:\n      limits: {cpu: 8}")
    for name, before, after in (("a.service", unit, fixed_unit), ("a.yaml", POD, fixed_pod)):
        path = here / name
        path.write_text(before)
        linter = Linter(Request(paths=(name,)), load_rulebook())
        linted = linter.judge()
        path.write_text(f"# somebody was here\n{before}")
        (change,) = linter.fix(linted).changes
        assert change.old == path.read_bytes()
        assert change.new.decode() == f"# somebody was here\n{after}"


def test_fixes_of_a_large_file_stand_in_its_own_lines(lint: Lint, tmp_path: Path) -> None:
    filler = "---\n" + f"# {'x' * 70}\n" * 20_000
    pod = POD.replace("010", "cores")
    lint("--fix", "--jobs", "1", files={"a.yaml": f"{filler}{filler}---\n{POD}---\n{pod}"})
    after = (tmp_path / "a.yaml").read_text()
    assert after.startswith(f"{filler}{filler}---\n")
    assert after.count("    resources:\n      limits: {cpu: 8}\n") == 1
    assert after.endswith(f"---\n{pod}")


# ---- making them


def span(line: int, column: int, end_column: int) -> Span:
    return Span(file="a", line=line, column=column, end_line=line, end_column=end_column)


def fix(*edits: tuple[Span, str]) -> Fix:
    return Fix(
        description="", safe=True, edits=tuple(Edit(span=at, text=text) for at, text in edits)
    )


@pytest.mark.parametrize(
    ("second", "after"),
    [
        (fix((span(1, 3, 4), "X")), "aBXd\n"),
        (fix((span(1, 1, 2), "X")), "XBcd\n"),
        (fix((span(1, 2, 2), "X")), "aXBcd\n"),
        (fix((span(1, 3, 3), "X")), "aBXcd\n"),
        (fix((span(1, 2, 4), "X")), None),
        (fix((span(1, 4, 4), "X"), (span(1, 2, 3), "Y")), None),
        (fix((span(2, 1, 1), "X"), (span(3, 1, 1), "Y")), None),
    ],
)
def test_a_fix_that_collides_or_stands_nowhere_waits_as_a_whole(
    second: Fix, after: str | None
) -> None:
    first = fix((span(1, 2, 3), "B"))
    expected = ("aBcd\n", [first]) if after is None else (after, [first, second])
    text, made = apply(b"abcd\n", [first, second])
    assert (text.decode(), made) == expected


def test_what_findings_have_in_common_is_made_once() -> None:
    one = fix((span(1, 1, 1), "X"))
    assert apply(b"a", [one, one]) == (b"Xa", [one, one])
    other = Fix(description="for another finding", safe=True, edits=one.edits)
    assert apply(b"a", [one, other]) == (b"Xa", [one, other])


def test_two_that_put_something_in_at_one_place_do_not_decide_who_comes_first() -> None:
    one, other = fix((span(1, 1, 1), "X")), fix((span(1, 1, 1), "Y"))
    assert apply(b"a", [one, other]) == (b"Xa", [one])


def ranges(fixes: Iterable[Fix]) -> Iterator[tuple[int, int]]:
    return ((e.span.column, e.span.end_column) for f in fixes for e in f.edits)


SPANS = st.tuples(st.integers(1, 12), st.integers(0, 3)).map(lambda t: span(1, t[0], sum(t)))


@given(st.lists(SPANS, max_size=8))
def test_made_fixes_do_not_overlap_and_others_would(spans: list[Span]) -> None:
    fixes = [fix((at, "-")) for at in dict.fromkeys(spans)]
    _, made = apply(b"x" * 20, fixes)
    taken = sorted(ranges(made))
    assert all(one[1] <= other[0] for one, other in pairwise(taken))
    for start, end in ranges(f for f in fixes if f not in made):
        assert any((start < b and a < end) or (a, b) == (start, end) for a, b in taken)
