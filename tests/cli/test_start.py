from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from quota_advisor import cli
from quota_advisor.rulebook import catalogue as catalog

HEAVY = ("pydantic", "yaml", "kubernetes", "dbus_fast", "pydbus", "tabulate", "asyncio")


@pytest.mark.parametrize("arguments", ["--version", "--help", "explain throttled-often"])
def test_no_command_pays_for_what_it_does_not_use(arguments: str) -> None:
    code = (
        "import sys; from quota_advisor.cli import run; run(sys.argv[1:]);"
        f"print([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments.split()],
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stderr.strip() == "[]"


def test_lint_of_a_plain_manifest_needs_no_parser_and_no_host(tmp_path: Path) -> None:
    pod = "kind: Pod\napiVersion: v1\nspec: {containers: [{name: a, image: b}]}\n"
    (tmp_path / "pod.yaml").write_text(pod, encoding="utf-8")
    model = [f"quota_advisor.model.{name}" for name in ("host", "cgroup", "node", "unit")]
    code = (
        "import sys; from quota_advisor.cli import run; run(['lint', sys.argv[1]]);"
        f"print([m for m in {[*HEAVY, *model]!r} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], check=True, capture_output=True, text=True
    )
    assert "cpu-request-missing" in done.stdout
    assert done.stderr.strip() == "[]"


def test_lint_of_a_unit_file_needs_no_checks_of_hosts(tmp_path: Path) -> None:
    unit = "[Service]\nCPUQuota=20%\nCPUQuotaPeriodSec=1s\nExecStart=/bin/true\n"
    (tmp_path / "web.service").write_text(unit, encoding="utf-8")
    live = [f"quota_advisor.{name}" for name in ("checks.host", "advise", "model.workload")]
    code = (
        "import sys; from quota_advisor.cli import run; run(['lint', sys.argv[1]]);"
        f"print([m for m in {live!r} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], check=True, capture_output=True, text=True
    )
    assert "period-lengthened" in done.stdout
    assert done.stderr.strip() == "[]"


def test_auditing_a_host_never_imports_kubernetes() -> None:
    code = (
        "import sys; from quota_advisor.cli import run;"
        "run(['audit', 'host', '--root', '/var/empty-or-not', '--window', '0']);"
        "assert 'kubernetes' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_an_unknown_command_is_wrong_usage_and_gets_a_suggestion() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "quota_advisor", "audti"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "audit" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_defect_is_one_line_that_asks_for_a_report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> None:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(catalog, "load_catalog", broken)
    monkeypatch.delitem(sys.modules, "quota_advisor.cli.rules", raising=False)
    assert cli.run(["rules", "list"]) == 3
    out, err = capsys.readouterr()
    assert not out
    assert "defect in quota-advisor, please report: ZeroDivisionError: planted" in err
    assert len(err.splitlines()) == 1


def test_an_interruption_is_no_defect(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(catalog, "load_catalog", interrupted)
    monkeypatch.delitem(sys.modules, "quota_advisor.cli.rules", raising=False)
    assert cli.run(["rules", "list"]) == 130
    assert capsys.readouterr().err.strip() == "quota-advisor: interrupted"


@pytest.mark.parametrize("arguments", [["--version"], ["no-such-command"]])
def test_what_asked_to_be_called_at_the_end_is_called(arguments: list[str]) -> None:
    # The probe's last resort against a cgroup left behind is such a call.
    code = (
        "import atexit, sys; from quota_advisor.cli import main;"
        "atexit.register(lambda: print('called at the end'));"
        f"sys.argv[1:] = {arguments!r}; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1:] == ["called at the end"]
    assert done.returncode == (0 if arguments == ["--version"] else 2)
