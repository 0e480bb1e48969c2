"""Rules that are gone break nobody's CI: their names are noted, wherever they still stand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from quota_advisor.cli import run
from quota_advisor.rulebook.catalogue import load_catalog
from quota_advisor.rulebook.removed import REMOVED_RULES
from tests.lint.conftest import Done, write
from tests.lint.samples import deployment

GONE = "limit-not-multiple-of-10m"
TOLD = f"rule {GONE} is gone: {REMOVED_RULES[GONE]}"


@pytest.fixture
def done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Done:
    """Lint a file without a finding, with a configuration full of the old name."""
    monkeypatch.chdir(tmp_path)
    text = f"""\
rules:
  {GONE}: {{severity: error, options: {{some: 1}}}}
suppress:
  - {{rule: {GONE}, reason: wanted so}}
overrides:
  - paths: [deploy/]
    rules:
      {GONE}: {{enabled: false}}
"""
    write(
        tmp_path, {".quota-advisor.yaml": text, "a.yaml": deployment(request="100m"), ".git/x": ""}
    )
    code = run(["lint", "--ignore", GONE])
    out, err = capfd.readouterr()
    return Done(code, out, err)


def test_a_configuration_and_an_option_are_noted(done: Done, tmp_path: Path) -> None:
    assert done.code == 0
    assert done.err.splitlines() == [
        *(f"note: {tmp_path}/.quota-advisor.yaml:{line}: {TOLD}" for line in (2, 4, 8)),
        f"note: --ignore: {TOLD}",
    ]


def test_a_baseline_still_works(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    entry = {"file": "a.yaml", "rule": GONE, "subject": "api", "message": "x", "fingerprint": "0"}
    known = {"format": "quota-advisor/baseline/v1", "findings": [entry]}
    write(tmp_path, {"known.json": json.dumps(known), "a.yaml": deployment(request="100m")})
    assert (
        run(["lint", "--no-config", "--baseline", str(tmp_path / "known.json"), str(tmp_path)]) == 0
    )
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("arguments", [["explain", GONE], ["lint", "--select", GONE]])
def test_whoever_wants_it_hears_why_it_is_gone(
    arguments: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    assert TOLD in capfd.readouterr().err


def test_what_is_gone_is_no_rule() -> None:
    assert not REMOVED_RULES.keys() & load_catalog().keys()
