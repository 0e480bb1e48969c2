"""What is offered for other people's CI, run as far as that goes without a network."""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml

from quota_advisor.rulebook.catalogue import load_catalog
from quota_advisor.rulebook.settings_file import load_config
from tests.lint.conftest import Lint, write
from tests.lint.samples import BAD_UNIT, GOOD_UNIT, deployment

TOP = Path(__file__).parents[2]
EXAMPLES = TOP / "examples"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Make a repository with one mistake, and commands as they are on a CI machine."""
    bin_ = tmp_path / "bin"
    program = f'#!/bin/sh\nPYTHONPATH={TOP} exec {sys.executable} -m quota_advisor "$@"\n'
    write(
        bin_, {"quota-advisor": program, "pip": "#!/bin/sh\n[ \"$*\" = 'install quota-advisor' ]\n"}
    )
    for file in bin_.iterdir():
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
    top = tmp_path / "project"
    write(top, {"deploy/a.yaml": deployment(), "units/a.service": GOOD_UNIT})
    (top / ".git").mkdir()
    return top


def shell(project: Path, *lines: str) -> subprocess.CompletedProcess[str]:
    """Run lines as a CI machine does: the first that fails ends it."""
    path = f"{project.parent / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", "\n".join(lines)],
        cwd=project,
        env={"PATH": path, "HOME": str(project.parent)},
        capture_output=True,
        text=True,
        check=False,
    )


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("file", "schema"), [("github.yml", "github-workflows"), ("gitlab.yml", "gitlab-ci")]
)
def test_the_schema_of_the_service_takes_the_example(file: str, schema: str) -> None:
    # The schemas come with the program, so this needs no network.
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
    subprocess.run([*check, EXAMPLES / "ci" / file], check=True)


def test_the_github_workflow(project: Path) -> None:
    workflow = read(EXAMPLES / "ci/github.yml")
    assert workflow["permissions"] == {}
    steps = workflow["jobs"]["lint"]["steps"]
    done = shell(project, *(step["run"] for step in steps if "run" in step))
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("::error file=deploy/a.yaml,line=14,col=18,")
    (upload,) = (step for step in steps if "upload-sarif" in step.get("uses", ""))
    log = json.loads((project / upload["with"]["sarif_file"]).read_text())
    assert log["runs"][0]["results"][0]["ruleId"] == "request-exceeds-limit"
    # The upload must happen although lint failed.
    assert upload["if"] == "always()"


def test_the_gitlab_job(project: Path) -> None:
    job = read(EXAMPLES / "ci/gitlab.yml")["quota-advisor"]
    done = shell(project, *job["script"])
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("deploy/a.yaml:14:18: error: ")
    report = ET.parse(project / job["artifacts"]["reports"]["junit"])  # noqa: S314 - our own
    assert report.getroot().get("failures") == "1"
    assert job["artifacts"]["when"] == "always"


@pytest.mark.parametrize(
    ("check", "file"),
    [
        ("validate-manifest", TOP / ".pre-commit-hooks.yaml"),
        ("validate-config", EXAMPLES / "ci/pre-commit-config.yaml"),
    ],
)
def test_pre_commit_can_read_them(check: str, file: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", check, file],
        env={**os.environ, "PRE_COMMIT_HOME": str(tmp_path)},
        capture_output=True,
        check=False,
    )
    # To pre-commit, a key of a configuration that it does not know is only worth a warning.
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_the_pre_commit_hooks(project: Path) -> None:
    hooks = {hook["id"]: hook for hook in read(TOP / ".pre-commit-hooks.yaml")}
    used = read(EXAMPLES / "ci/pre-commit-config.yaml")["repos"][0]["hooks"]
    assert {hook["id"] for hook in used} <= set(hooks)
    hook = hooks["quota-advisor"]
    pattern = re.compile(hook["files"])
    write(project, {"a.service.d/1.conf": BAD_UNIT, "x.conf": "", "README.md": "", "b.timer": ""})
    files = sorted(str(p.relative_to(project)) for p in project.rglob("*") if p.is_file())
    chosen = [file for file in files if pattern.search(file)]
    assert chosen == ["a.service.d/1.conf", "deploy/a.yaml", "units/a.service"]
    done = shell(project, f"{hook['entry']} {shlex.join(chosen)}")
    assert done.returncode == 1
    assert "a.service.d/1.conf:3:10: error: " in done.stdout
    whole = shell(project, hooks["quota-advisor-all"]["entry"])
    assert whole.returncode == 1
    assert done.stdout.splitlines()[-2:] == whole.stdout.splitlines()[-2:]


def test_the_hook_takes_every_file_that_lint_would_find(lint: Lint) -> None:
    pattern = re.compile(read(TOP / ".pre-commit-hooks.yaml")[0]["files"])
    names = ("yaml", "yml", "json", "service", "slice", "scope", "socket", "mount", "swap",
             "container", "pod", "kube", "volume", "network", "build", "image")  # fmt: skip
    assert all(pattern.search(f"sub/a.{name}") for name in names)
    assert lint().code == 0


def test_the_settings_to_start_from(lint: Lint) -> None:
    config = load_config(EXAMPLES / "ci/quota-advisor.yaml", load_catalog())
    assert config.lint.kubernetes_version == (1, 33)
    assert lint("--config", str(EXAMPLES / "ci/quota-advisor.yaml")).code == 0


def test_lint_has_nothing_to_say_about_the_examples(lint: Lint) -> None:
    done = lint(str(EXAMPLES), "--node-cpus", "8", "--kubernetes-version", "1.33")
    assert (done.code, done.out) == (0, "nothing found\n")


def test_a_rendered_chart_comes_through_a_pipe(project: Path) -> None:
    render = f"cat {project / 'deploy/a.yaml'}"
    done = shell(project, f"{render} | quota-advisor lint - --stdin-name chart.yaml")
    assert done.stdout.startswith("chart.yaml:14:18: error: ")
    substituted = shell(project, f"quota-advisor lint <({render})")
    assert re.match(r"/dev/fd/\d+:14:18: error: ", substituted.stdout)
