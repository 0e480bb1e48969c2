"""Lint as a user would call it, in a directory of its own."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from quota_advisor.cli import run

HERE = Path(__file__).parent
REPOSITORY = HERE / "repository"

# The tests share samples: "tests" is found from the top of the checkout.


@dataclass(frozen=True)
class Done:
    """What one call of lint left behind."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """Findings of the table: everything that begins with a place."""
        return [
            line for line in self.out.splitlines() if ": error: " in line or ": warning: " in line
        ]

    @property
    def report(self) -> Any:
        return json.loads(self.out)

    def found(self) -> list[tuple[str, int, int, str]]:
        """File, line, column and rule of every finding of a JSON report."""
        return [
            (f["location"]["file"], f["location"]["line"], f["location"]["column"], f["rule"])
            for f in self.report["findings"]
        ]


Lint = Callable[..., Done]


@pytest.fixture
def lint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Lint:
    """Lint in an empty directory; ``files`` are written there first."""
    monkeypatch.chdir(tmp_path)
    # A repository of its own: no .gitignore and no configuration from around it counts.
    (tmp_path / ".git").mkdir(exist_ok=True)

    def call(*arguments: str, files: Mapping[str, str | bytes] | None = None) -> Done:
        write(tmp_path, files or {})
        capfd.readouterr()
        code = run(["lint", *arguments])
        out, err = capfd.readouterr()
        return Done(code, out, err)

    return call


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Copy the repository of public-style manifests to the directory of ``lint``."""
    shutil.copytree(REPOSITORY, tmp_path, dirs_exist_ok=True)
    return tmp_path


def write(top: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files, with the directories that they need."""
    for name, content in files.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
