"""A repository of manifests as people write them: exactly these findings, exactly there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.compare import assert_golden
from tests.lint.conftest import Lint


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_the_repository_gives_exactly_the_expected_findings(
    lint: Lint, repository: Path, jobs: str
) -> None:
    assert (repository / "chart/templates/deployment.yaml").is_file()
    done = lint("--format", "json", "--jobs", jobs)
    assert done.code == 1
    lines = [f"{place(finding)} {finding['rule']}" for finding in done.report["findings"]]
    lines += [
        f"{place(entry['finding'])} {entry['finding']['rule']}, left out: {entry['reason']}"
        for entry in done.report["suppressed"]
    ]
    assert_golden("lint-repository.txt", "".join(f"{line}\n" for line in lines))


def place(finding: dict[str, object]) -> str:
    """Return place and severity as the golden file has them."""
    at = finding["location"]
    assert isinstance(at, dict)
    return f"{at['file']}:{at['line']}:{at['column']} {finding['severity']}"


def test_every_place_is_that_of_something_written(lint: Lint, repository: Path) -> None:
    for file, line, column, rule in lint("--format", "json").found():
        text = (repository / file).read_text().splitlines()[line - 1]
        assert text[column - 1 : column].strip(), f"{file}:{line}:{column} {rule}: {text!r}"


def test_a_chart_is_judged_once_it_is_rendered(lint: Lint, repository: Path) -> None:
    chart = repository / "chart/templates/deployment.yaml"
    rendered = (
        chart.read_text()
        .replace("{{ .Release.Name }}", "shop")
        .replace("{{ .Values.replicas }}", "2")
        .replace("{{ .Chart.AppVersion }}", "1")
        .replace("{{- toYaml .Values.resources | nindent 10 }}", "limits: {cpu: 5m}")
    )
    (repository / "rendered.yaml").write_text(rendered)
    assert "render-first" in lint("chart").out
    assert "rendered.yaml:13:25: warning: " in lint("rendered.yaml").out
