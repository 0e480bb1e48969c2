"""pre-commit itself with the shipped example: it clones, builds, installs and runs the hooks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml

from quota_advisor.cli import run
from tests.lint.conftest import write
from tests.lint.samples import BAD_UNIT, GOOD_UNIT

TOP = Path(__file__).parents[2]
EXAMPLE = (TOP / "examples/ci/pre-commit-config.yaml").read_text(encoding="utf-8")
HOOKS = yaml.safe_load(EXAMPLE)["repos"][0]

TIMEOUT_SEC = 600
"""Building and installing takes twenty seconds, more where the registry is slow."""

pytestmark = pytest.mark.registry


class Repository:
    """A git repository, and pre-commit in it."""

    def __init__(self, top: Path, environment: Mapping[str, str]) -> None:
        self.top = top
        self._environment = environment
        self.git("init", "--quiet")

    def git(self, *arguments: str) -> None:
        identity = ("-c", "user.name=test", "-c", "user.email=test@example.com")
        subprocess.run(
            ["git", *identity, *arguments], cwd=self.top, env=self._environment, check=True
        )

    def stage(self, files: Mapping[str, str]) -> None:
        write(self.top, files)
        self.git("add", "--", *files)

    def pre_commit(self, *hook: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pre_commit", "run", "--color", "never", *hook],
            cwd=self.top,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=TIMEOUT_SEC,
        )


@pytest.fixture(scope="module", autouse=True)
def registry(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skip where pip cannot have what the build begins with."""
    if shutil.which("git") is None:
        pytest.skip("needs git")
    project = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))
    download = ("download", "--quiet", "--no-deps", "--retries", "0", "--timeout", "10")
    done = subprocess.run(
        [sys.executable, "-m", "pip", *download, *project["build-system"]["requires"]],
        cwd=tmp_path_factory.mktemp("registry"),
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        pytest.skip("needs a package registry")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Give pre-commit a home for the tests here; only the settings of pip are this machine's."""
    home = tmp_path_factory.mktemp("home")
    # Whoever runs the tests from a hook of git has its variables set, and they name an index.
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    yield inherited | {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "PRE_COMMIT_HOME": str(home / "pre-commit"),
        "VIRTUALENV_OVERRIDE_APP_DATA": str(home / "virtualenv"),
    }
    shutil.rmtree(home)  # 200 MB that pytest would keep


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]) -> Path:
    """Publish the working tree, committed or not, under the tag that the example names."""
    repository = Repository(tmp_path_factory.mktemp("published"), environment)
    repository.git("--git-dir", ".git", "--work-tree", str(TOP), "add", "--all")
    repository.git("commit", "--quiet", "--message", "the working tree")
    repository.git("tag", HOOKS["rev"])
    return repository.top


@pytest.fixture
def project(tmp_path: Path, environment: dict[str, str], published: Path) -> Repository:
    """Make a repository that uses the example; only the address of the hooks differs."""
    repository = Repository(tmp_path, environment)
    repository.stage({".pre-commit-config.yaml": EXAMPLE.replace(HOOKS["repo"], str(published))})
    return repository


def test_a_finding_holds_the_commit_back(project: Repository) -> None:
    project.stage({"units/a.service": GOOD_UNIT, "units/b.service": BAD_UNIT})
    done = project.pre_commit()
    assert done.returncode == 1, done.stdout
    assert "\n- hook id: quota-advisor\n- exit code: 1\n" in done.stdout
    assert "\nunits/b.service:3:10: error: " in done.stdout
    assert "\n1 error in 1 file, 1 fixable with --fix\n" in done.stdout


def test_good_files_pass_and_others_are_not_handed_over(project: Repository) -> None:
    project.stage({"units/a.service": GOOD_UNIT, "notes.md": BAD_UNIT})
    done = project.pre_commit()
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith("Passed\n")
    # It was the hook that left the file out: lint would have judged it.
    assert run(["lint", str(project.top / "notes.md")]) == 1


def test_the_other_hook_reads_what_is_no_part_of_the_commit(project: Repository) -> None:
    both = (project.top / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    both += "      - id: quota-advisor-all\n"
    project.stage({".pre-commit-config.yaml": both, "units/b.service": BAD_UNIT})
    project.git("commit", "--quiet", "--message", "before there was a hook")
    project.stage({"units/a.service": GOOD_UNIT})
    done = project.pre_commit("quota-advisor")
    assert done.returncode == 0, done.stdout
    done = project.pre_commit("quota-advisor-all")
    assert done.returncode == 1, done.stdout
    assert "\nunits/b.service:3:10: error: " in done.stdout
    project.stage({"units/b.service": GOOD_UNIT})
    done = project.pre_commit("quota-advisor-all")
    assert done.returncode == 0, done.stdout
