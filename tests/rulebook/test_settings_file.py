from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import jsonschema
import pytest
import yaml

from quota_advisor.errors import ConfigError
from quota_advisor.rulebook.catalogue import load_catalog
from quota_advisor.rulebook.settings_file import ConfigFile, load_config
from tests.lint.conftest import Lint
from tests.lint.samples import BAD_UNIT, deployment

BAD = deployment()
FILE = ".quota-advisor.yaml"


def test_severities_and_what_is_switched_off(lint: Lint) -> None:
    text = "rules: {request-exceeds-limit: {severity: info}, microburst-risk: {enabled: false}}"
    done = lint("--format", "json", files={"a.yaml": BAD, FILE: text})
    assert [f["severity"] for f in done.report["findings"]] == ["info"]
    assert done.code == 0


def test_options(lint: Lint) -> None:
    files = {f"{n}.yaml": deployment(f"app-{n}", request="1", limit="2") for n in range(3)}
    assert "uniform-limit" not in lint(files=files).out
    text = "rules: {uniform-limit: {options: {min_workloads: 3}}}"
    assert "uniform-limit" in lint(files={FILE: text}).out


def test_suppressions_with_a_pattern_for_the_subject(lint: Lint) -> None:
    text = "suppress: [{rule: request-exceeds-limit, subject: 'legacy-*', reason: goes away soon}]"
    files = {"a.yaml": deployment("legacy-1"), "b.yaml": deployment("new"), FILE: text}
    done = lint("-v", files=files)
    assert [line.split(":")[0] for line in done.lines] == ["b.yaml"]
    assert "a.yaml:14:18: left out: goes away soon [request-exceeds-limit]" in done.out


def test_excluded_files_relative_to_the_configuration(
    lint: Lint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "lint: {exclude: ['/theirs/', '*.gen.yaml']}"
    files = {"theirs/a.yaml": BAD, "b.gen.yaml": BAD, "sub/theirs/c.yaml": BAD, FILE: text}
    assert {line.split(":")[0] for line in lint(files=files).lines} == {"sub/theirs/c.yaml"}
    assert lint("theirs/a.yaml").code == 0
    monkeypatch.chdir(tmp_path / "theirs")
    assert lint().code == 0
    # On the command line they are relative to where it is typed.
    monkeypatch.chdir(tmp_path / "sub")
    assert lint("--exclude", "/theirs/").code == 0
    assert lint("--exclude", "/sub/theirs/").code == 1


def test_overrides_for_some_paths_add_up_and_the_last_one_wins(lint: Lint) -> None:
    text = """
rules:
  misread-cpu-quota: {severity: info}
overrides:
- paths: [prod/]
  rules:
    misread-cpu-quota: {severity: error}
- paths: ['prod/old*']
  rules:
    misread-cpu-quota: {severity: warning}
    request-exceeds-limit: {enabled: false}
"""
    names = ("dev/a.service", "prod/a.service", "prod/old.service")
    files: dict[str, str | bytes] = dict.fromkeys(names, BAD_UNIT)
    files |= {"prod/old.yaml": BAD, "prod/new.yaml": BAD, FILE: text}
    done = lint("--format", "json", files=files)
    severities = {
        f["location"]["file"]: f["severity"]
        for f in done.report["findings"]
        if f["rule"] in ("misread-cpu-quota", "request-exceeds-limit")
    }
    assert severities == {
        "dev/a.service": "info",
        "prod/a.service": "error",
        "prod/old.service": "warning",
        "prod/new.yaml": "error",
    }


def test_an_override_leaves_alone_what_it_does_not_name(lint: Lint) -> None:
    text = """
rules: {misread-cpu-quota: {enabled: false}}
overrides:
- {paths: [a/], rules: {misread-cpu-quota: {severity: info}}}
- {paths: [b/], rules: {misread-cpu-quota: {enabled: true}}}
"""
    files: dict[str, str | bytes] = {f"{name}/x.service": BAD_UNIT for name in "abc"}
    done = lint(files={**files, FILE: text})
    assert [line.split(":")[0] for line in done.lines] == ["b/x.service"]


def test_the_command_line_beats_the_configuration(lint: Lint) -> None:
    bare = deployment().split("        resources:")[0]
    files = {"a.yaml": bare, FILE: "lint: {limits: required}"}
    assert "cpu-limit-missing" in lint(files=files).out
    assert "cpu-limit-missing" not in lint("--limits", "ignore").out


def test_what_lint_should_know(lint: Lint) -> None:
    files = {"a.yaml": deployment(request="6", limit="8"), FILE: "lint: {node-cpus: 4}"}
    assert "limit-exceeds-node" in lint(files=files).out
    assert "limit-exceeds-node" not in lint("--node-cpus", "16").out


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("lints: {}", "unknown key lints; did you mean 'lint'?"),
        ("lint: {limit: required}", "unknown key lint.limit; did you mean 'limits'?"),
        ("lint: {node_cpus: 4}", "unknown key lint.node_cpus; did you mean 'node-cpus'?"),
        ("lint: {limits: sometimes}", "lint.limits: "),
        ("lint: {node-cpus: 0}", "lint.node-cpus: "),
        ("lint: {node-cpus: many}", "lint.node-cpus: "),
        ("lint: {kubernetes-version: 1.33}", "lint.kubernetes-version: a text is expected"),
        ("lint: {kubernetes-version: new}", "lint.kubernetes-version: "),
        ("overrides: [{path: [a], rules: {}}]", "unknown key overrides.0.path; did you mean"),
        ("overrides: [{paths: [], rules: {}}]", "overrides.0.paths: "),
        ("overrides: [{paths: [a], rules: {x: {}}}]", "no rule 'x'"),
        (
            "overrides: [{paths: [a], rules: {uniform-limit: {severty: info}}}]",
            "unknown key overrides.0.rules.uniform-limit.severty; did you mean 'severity'?",
        ),
        (
            "overrides: [{paths: [a], rules: {uniform-limit: {options: {min: 3}}}}]",
            "overrides.0.rules.uniform-limit: no option 'min'",
        ),
        ("rules: {uniform-limits: {}}", "no rule 'uniform-limits': did you mean 'uniform-limit'?"),
        ("suppress: [{rule: uniform-limit}]", "suppress.0.reason: it is not there"),
        ("- a", "file: "),
        ("a: [", "this is no YAML"),
    ],
)
def test_a_mistake_is_2_and_says_where(lint: Lint, text: str, complaint: str) -> None:
    done = lint(files={"a.yaml": BAD, FILE: text})
    assert done.code == 2
    assert done.out == ""
    assert complaint in done.err
    assert len(done.err.splitlines()) == 1


def test_the_example_in_the_documentation_is_one(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/lint.md").read_text()
    text = page.split("```yaml\n# .quota-advisor.yaml\n")[1].split("```")[0]
    (tmp_path / FILE).write_text(text)
    config = load_config(tmp_path / FILE, load_catalog())
    assert config.lint.kubernetes_version is not None
    assert config.overrides
    schema = ConfigFile.model_json_schema()
    jsonschema.Draft202012Validator(schema).validate(json.loads(json.dumps(yaml.safe_load(text))))


def test_a_mistyped_pattern_is_an_error_of_the_configuration(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("lint: {exclude: [7]}")
    with pytest.raises(ConfigError, match=r"lint\.exclude\.0"):
        load_config(tmp_path / FILE, load_catalog())


SECRET = "hunter2-is-the-password"  # noqa: S105 - what must not be printed


@pytest.mark.parametrize("kind", ["link", "zero", "pipe", "socket", "huge", "nowhere"])
@pytest.mark.parametrize("name", [FILE, ".gitignore", "base.json"])
def test_what_is_no_small_file_of_the_tree_gets_a_line(
    lint: Lint, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, name: str, kind: str
) -> None:
    path = tmp_path / name
    secret = tmp_path_factory.mktemp("outside") / "secret"
    secret.write_text(f"{SECRET}: [\n")
    match kind:
        case "link":
            path.symlink_to(secret)
        case "zero":
            path.symlink_to("/dev/zero")
        case "nowhere":
            path.symlink_to("/nonexistent/x")
        case "pipe":
            os.mkfifo(path)
        case "socket":
            with socket.socket(socket.AF_UNIX) as held:
                held.bind(name)
        case _:
            with path.open("wb") as file:
                file.truncate(1 << 30)
    arguments = ["--baseline", name] if name == "base.json" else []

    done = lint(*arguments, files={"a.yaml": deployment("quiet", request="1", limit="1")})

    assert done.code == (0 if name == ".gitignore" else 2)
    assert SECRET not in done.out + done.err
    lines = [line for line in done.err.splitlines() if name in line]
    assert len(lines) == 1


def test_a_configuration_of_strangers_is_left_unread(lint: Lint) -> None:
    files = {"a.yaml": BAD, FILE: "rules: {request-exceeds-limit: {enabled: false}}"}
    assert lint(files=files).code == 0
    assert lint("--no-config").code == 1
    done = lint("--no-config", "--config", FILE)
    assert (done.code, "give one of them" in done.err) == (2, True)


def test_what_strangers_leave_out_is_shown_all_the_same(lint: Lint) -> None:
    comment = "# quota-advisor: ignore[request-exceeds-limit] trust me\n"
    files = {"a.yaml": comment + BAD, "b.yaml": deployment("b")}
    files[FILE] = "suppress: [{rule: request-exceeds-limit, subject: b, reason: trust me}]"
    assert lint(files=files).code == 0
    done = lint("--ignore-suppressions")
    assert [line.split(":")[0] for line in done.lines] == ["a.yaml", "b.yaml"]
    assert "unused-suppression" not in done.out


def test_what_the_configuration_leaves_out_in_vain_is_told(lint: Lint) -> None:
    text = """
suppress:
- {rule: request-exceeds-limit, subject: legacy, reason: soon}
- {rule: request-exceeds-limit, subject: gone, reason: soon}
- {rule: throttled-often, reason: seen on hosts only}
"""
    done = lint(files={"a.yaml": deployment("legacy"), "b.yaml": BAD, FILE: text})
    told = [line for line in done.err.splitlines() if "leaves nothing out" in line]
    assert told == [f"note: {FILE}:4: leaves nothing out: request-exceeds-limit of gone"]
    # Of a part of the files nothing can be said.
    assert "leaves nothing out" not in lint("a.yaml").err
