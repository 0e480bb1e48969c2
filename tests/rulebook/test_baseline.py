from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.lint.conftest import Lint
from tests.lint.samples import BAD_UNIT, deployment


def test_what_is_known_no_longer_counts_and_what_is_new_does(lint: Lint) -> None:
    made = lint("--write-baseline", "known.json", files={"a.yaml": deployment()})
    assert made.code == 0
    assert lint("a.yaml").code == 1
    again = lint("a.yaml", "--baseline", "known.json")
    assert (again.code, again.out) == (0, "nothing found, 1 left out\n")
    done = lint("--baseline", "known.json", files={"b.service": BAD_UNIT})
    assert done.code == 1
    assert [line.split(":")[0] for line in done.lines] == ["b.service"]


def test_lines_may_move(lint: Lint) -> None:
    lint("--write-baseline", "known.json", files={"a.yaml": deployment()})
    files = {"a.yaml": "# a comment\n---\n" + deployment()}
    assert lint("a.yaml", "--baseline", "known.json", files=files).code == 0


def test_one_more_of_the_same_counts(lint: Lint) -> None:
    lint("--write-baseline", "known.json", files={"a.yaml": deployment()})
    files = {"a.yaml": deployment() + "---\n" + deployment()}
    done = lint("a.yaml", "--baseline", "known.json", files=files)
    assert len(done.lines) == 1


def test_it_does_not_matter_where_lint_is_called(
    lint: Lint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lint("--write-baseline", "known.json", files={"deploy/a.yaml": deployment()})
    monkeypatch.chdir(tmp_path / "deploy")
    assert lint("--baseline", "../known.json").code == 0
    assert lint(str(tmp_path / "deploy/a.yaml"), "--baseline", "../known.json").code == 0


def test_entries_that_match_nothing_are_named_when_asked(lint: Lint) -> None:
    lint("--write-baseline", "known.json", files={"a.yaml": deployment()})
    files = {"a.yaml": deployment(limit="600m", request="500m")}
    done = lint("a.yaml", "--baseline", "known.json", "-v", files=files)
    assert "known.json: no longer found: a.yaml request-exceeds-limit" in done.err
    assert lint("a.yaml", "--baseline", "known.json").err == ""


def test_the_file_reads_well_in_a_review(lint: Lint, tmp_path: Path) -> None:
    lint("--write-baseline", "known.json", files={"a.service": BAD_UNIT})
    text = (tmp_path / "known.json").read_text()
    assert len(text.splitlines()) == 6
    (entry,) = json.loads(text)["findings"]
    assert entry["file"] == "a.service"
    assert entry["rule"] == "misread-cpu-quota"
    lint("--write-baseline", "again.json")
    assert (tmp_path / "again.json").read_text() == text


def test_baselines_can_be_renewed(lint: Lint, tmp_path: Path) -> None:
    lint("--write-baseline", "known.json", files={"a.service": BAD_UNIT})
    done = lint(
        "--baseline", "known.json", "--write-baseline", "new.json", files={"b.service": BAD_UNIT}
    )
    assert done.code == 0
    assert len(json.loads((tmp_path / "new.json").read_text())["findings"]) == 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"format": "quota-advisor/baseline/v2", "findings": []}',
        "[" * 100_000,
        '{"format": "quota-advisor/baseline/v1"}',
        '{"format": "quota-advisor/baseline/v1", "findings": [{}]}',
        '{"format": "quota-advisor/baseline/v1", "findings": [7]}',
    ],
)
def test_a_file_that_is_no_baseline_is_2(lint: Lint, text: str) -> None:
    done = lint("--baseline", "known.json", files={"known.json": text})
    assert done.code == 2
    assert done.err.startswith("quota-advisor: known.json: ")
    assert len(done.err.splitlines()) == 1


def test_one_more_workload_with_a_known_uniform_limit_is_not_new(lint: Lint) -> None:
    few = {f"{n}.yaml": deployment(f"app-{n}", request="500m", limit="500m") for n in range(30)}
    one_more = {"0-first.yaml": deployment("first", request="500m", limit="500m")}
    arguments = ("--select", "uniform-limit", "--fail-on", "info", ".")
    made = lint(*arguments, "--write-baseline", "known.json", files=few)
    assert made.out == "nothing found, 1 left out\n"
    assert lint(*arguments, files=one_more).code == 1
    assert lint(*arguments, "--baseline", "known.json").code == 0
