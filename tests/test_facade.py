"""What ``import quota_advisor`` offers to other programs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import quota_advisor
from quota_advisor import audit_host, judge_snapshot, lint_paths
from quota_advisor.errors import SnapshotError, UsageError
from quota_advisor.model.finding import Severity
from quota_advisor.rulebook.chosen import load_rulebook


def test_files_are_linted(tmp_path: Path) -> None:
    (tmp_path / "api.service").write_text("[Service]\nCPUQuota=050%\n", encoding="utf-8")
    report = lint_paths(str(tmp_path))
    assert [(f.rule, f.severity) for f in report.results.findings] == [
        ("misread-cpu-quota", Severity.ERROR)
    ]
    assert report.problems == ()


def test_only_the_rules_asked_for_run(tmp_path: Path) -> None:
    (tmp_path / "api.service").write_text("[Service]\nCPUQuota=050%\n", encoding="utf-8")
    rulebook = load_rulebook(select=["cpu-key-swallowed"])
    assert lint_paths(str(tmp_path), rulebook=rulebook).results.findings == []


def test_a_host_is_audited_and_its_snapshot_judged_alike(tmp_path: Path) -> None:
    root = tmp_path / "host"
    unit = root / "etc/systemd/system/api.service"
    unit.parent.mkdir(parents=True)
    unit.write_text("[Service]\nExecStart=/bin/true\nCPUQuota=050%\n", encoding="utf-8")
    live = audit_host(root=root, window_sec=0)
    assert "misread-cpu-quota" in {f.rule for f in live.results.findings}
    assert live.host is not None

    from quota_advisor.audit.snapshot_file import dump_snapshot  # noqa: PLC0415

    file = tmp_path / "facts.json"
    file.write_text(dump_snapshot(live.host.facts, quota_advisor.__version__), encoding="utf-8")
    again = judge_snapshot(file)
    assert again.results.findings == live.results.findings


def test_errors_are_those_of_the_program(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError):
        judge_snapshot(tmp_path / "none.json")
    with pytest.raises(UsageError, match="too short"):
        audit_host(root=tmp_path, window_sec=0.01)


def test_what_is_not_there_is_said_as_python_says_it() -> None:
    with pytest.raises(AttributeError, match="no attribute 'audit_moon'"):
        quota_advisor.audit_moon  # noqa: B018


def test_the_package_alone_imports_nothing_of_it() -> None:
    code = "import sys, quota_advisor; print([m for m in sys.modules if 'quota_advisor.' in m])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
