"""Six repositories as strangers have them: what lint says there is what a person said before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.lint.conftest import Done, Lint
from tests.lint.noise.archive import HERE, NAMES, repository

VERDICTS: dict[str, dict[str, list[str]]] = yaml.safe_load((HERE / "verdicts.yaml").read_text())

FILES_A_LINE = 10
LEAST_FILES = 200


def findings(done: Done) -> list[str]:
    """Return the findings of a JSON report as ``verdicts.yaml`` has them."""
    return [f"{f['location']['file']} {f['severity']} {f['rule']}" for f in done.report["findings"]]


@pytest.mark.parametrize("name", NAMES)
def test_nothing_but_the_verdicts_is_said_of_a_repository_as_it_is(lint: Lint, name: str) -> None:
    files = repository(name, planted=False)
    assert len(files) >= LEAST_FILES
    done = lint("--format", "json", files=files)
    assert sorted(findings(done)) == sorted(VERDICTS[name]["as-it-is"])
    assert done.code == 0
    assert len(findings(done)) * FILES_A_LINE <= len(files)
    assert not done.report["problems"]
    assert not done.report["rule_errors"]


@pytest.mark.parametrize("name", NAMES)
def test_every_planted_fault_is_found_and_nothing_else(lint: Lint, name: str) -> None:
    found = findings(lint("--format", "json", files=repository(name, planted=True)))
    faults = [line for line in found if " info " not in line]
    assert sorted(faults) == sorted(VERDICTS[name]["planted"])
    notes = {line.split()[-1] for line in found if " info " in line}
    assert notes == {line.split()[-1] for line in VERDICTS[name]["as-it-is"]}


POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: web
    resources:
      requests: {cpu: 2}
      limits: {cpu: 1}
"""


def related(finding: dict[str, Any]) -> list[str]:
    return [place["location"]["file"] for place in finding["related"]]


def test_identical_copies_of_an_object_are_told_once_and_counted(lint: Lint) -> None:
    other = POD.replace("image: web", "image: web:2")
    files = {"a.yaml": POD, "b.yaml": f"{POD}---\n# more\n{other}", "c.yaml": POD}
    first, changed = lint("--format", "json", files=files).report["findings"]
    assert first["location"]["file"] == "a.yaml"
    assert first["message"].endswith("(and in 2 identical copies)")
    assert related(first)[-2:] == ["b.yaml", "c.yaml"]
    assert (changed["location"]["file"], changed["location"]["line"]) == ("b.yaml", 21)
    assert "copies" not in changed["message"]


def test_templates_are_told_of_once_a_chart_and_once_a_directory_elsewhere(lint: Lint) -> None:
    pod = POD.replace("cpu: 2", "cpu: {{ .Values.cpu }}")
    files = {
        "web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
        "web/templates/a.yaml": pod,
        "web/templates/tests/b.yaml": pod,
        "web/charts/db/Chart.yaml": "apiVersion: v2\nname: db\nversion: 1.0.0\n",
        "web/charts/db/templates/c.yaml": pod,
        "roles/x/templates/d.yaml": pod,
        "roles/y/templates/e.yaml": pod,
        "roles/y/templates/f.yaml": pod,
    }
    found = lint("--format", "json", files=files).report["findings"]
    told = [(f["location"]["file"], f["subject"]["name"], related(f)) for f in found]
    assert sorted(told) == [
        ("roles/x/templates/d.yaml", "roles/x/templates/d.yaml", []),
        ("roles/y/templates/e.yaml", "roles/y/templates", ["roles/y/templates/f.yaml"]),
        ("web/charts/db/templates/c.yaml", "web/charts/db/templates/c.yaml", []),
        ("web/templates/a.yaml", "web", ["web/templates/tests/b.yaml"]),
    ]


def test_a_baseline_knows_each_place_of_what_is_told_once(lint: Lint, tmp_path: Path) -> None:
    pod = POD.replace("    resources:\n      requests: {cpu: 2}\n      limits: {cpu: 1}\n", "")
    files = {f"{name}.yaml": pod.replace("name: web}", f"name: {name}}}") for name in "abc"}
    lint("--write-baseline", "known.json", files=files)
    (tmp_path / "d.yaml").write_text(pod.replace("name: web}", "name: d}"))
    report = lint("--baseline", "known.json", "--format", "json").report
    assert [f["location"]["file"] for f in report["findings"]] == ["d.yaml"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".vscode/settings.json", '{\n  // cpu: limits\n  "containers": "resources",\n}\n'),
        ("tsconfig.json", '{"compilerOptions": {/* containers: */ "resources": true,},}\n'),
        ("notes.yaml", "containers: [\nresources: cpu: limits\n"),
        ("ci.yml", "services:\n  x: {limits: cpu: [}\n"),
    ],
)
def test_a_dialect_of_others_is_silent_and_listed_with_v(lint: Lint, name: str, text: str) -> None:
    assert lint(files={name: text}).out == "nothing found\n"
    assert f"{name}: not judged: it cannot be parsed" in lint("-v").out


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pod.yaml", "apiVersion: v1\nkind: Pod\nspec: {containers: [{resources: {cpu: [}]}\n"),
        ("pod.json", '{"apiVersion": "v1", "kind": "Pod", "containers": [{"resources": ]}\n'),
        ("compose.yaml", "services:\n  web: {cpus: [}\n"),
        ("stack.yml", "services:\n  web:\n    image: web\n    cpus: [}\n"),
    ],
)
def test_what_is_ours_and_broken_is_an_error(lint: Lint, name: str, text: str) -> None:
    assert "[broken-document]" in lint(files={name: text}).out


VALUES_WITH_SERVICES = """\
services:
  api:
    image: {repository: shop/api, tag: "1.0"}
    cpu_limit: 2
    resources:
      requests: {cpu: 500m}
      limits: {cpu: 250m}
"""


def test_values_of_a_chart_are_no_compose_file_though_they_have_services(lint: Lint) -> None:
    listed = "services:\n- name: webhook\nresources: {requests: {cpu: 800m}, limits: {cpu: 500m}}\n"
    files = {
        "shop/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 0.1.0\n",
        "shop/values.yaml": VALUES_WITH_SERVICES,
        "list/values-prod.yaml": listed,
    }
    assert lint("--format", "json", files=files).found() == [
        ("list/values-prod.yaml", 3, 29, "request-exceeds-limit"),
        ("shop/values.yaml", 6, 23, "request-exceeds-limit"),
    ]


def test_services_of_another_program_are_silent_unless_the_file_is_named_as_compose(
    lint: Lint,
) -> None:
    okteto = "services:\n  web:\n    build: .\n    cpu_limit: 2\n    resources: {cpu: 500m}\n"
    of_chart = VALUES_WITH_SERVICES.replace("    resources:", "    rest:")
    files = {"okteto.yml": okteto, "shop.yaml": of_chart}
    assert lint(files=files).out == "nothing found\n"
    shaped = okteto.replace("{cpu: 500m}", "{limits: {cpu: 1}}")
    assert "[compose-unknown-cpu-key]" in lint("a.yml", files={"a.yml": shaped}).out
    out = lint("named", files={"named/docker-compose.dev.yml": okteto}).out
    assert "[compose-unknown-cpu-key]" in out
