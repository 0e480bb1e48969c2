from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quota_advisor.cli import run

Audit = Callable[..., int]
Capture = pytest.CaptureFixture[str]


def findings(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(text)["findings"]
    return found


def rules(text: str) -> set[str]:
    return {finding["rule"] for finding in findings(text)}


def test_totals_are_judged_at_once_and_labelled_as_such(audit: Audit, capsys: Capture) -> None:
    assert audit() == 1
    out, err = capsys.readouterr()
    assert "totals since each group was created" in out
    assert "throttled in 121957 of 184302 periods since the group was created" in out
    assert "66.2 %, more than 25 %" in out
    assert "watching" not in err
    # The window is the whole life: there is one column for both, and none for what was not sampled.
    (headings,) = (line.split() for line in out.splitlines() if line.startswith("WORKLOAD"))
    assert "THROTTLED" in headings
    assert not {"LIFETIME", "MEAN", "PEAK"} & {*headings}


def test_a_finding_says_what_it_is_about_and_what_to_do(audit: Audit, capsys: Capture) -> None:
    audit("--format", "json")
    finding = next(f for f in findings(capsys.readouterr().out) if f["rule"] == "throttled-often")
    assert finding["severity"] == "error"
    assert finding["subject"] == {
        "kind": "service",
        "name": "api.service",
        "cgroup": "/system.slice/api.service",
    }
    assert finding["location"] == {
        "file": "/etc/systemd/system/api.service",
        "line": 3,
        "column": 10,
        "end_line": 3,
        "end_column": 14,
    }
    ratio = finding["evidence"][0]
    assert ratio["value"] == pytest.approx(0.6599, abs=1e-4)
    assert ratio["threshold"] == 0.25
    assert "nr_throttled 121957" in ratio["source"]["raw"]
    assert "window" in finding["recommendation"]["summary"]
    advice = finding["recommendation"]["advice"]
    assert (advice["decision"], advice["quota"]) == ("unknown", None)


def test_paths_never_show_the_root_they_were_read_under(
    audit: Audit, host: Path, capsys: Capture
) -> None:
    audit("--format", "json")
    assert str(host) not in capsys.readouterr().out


def test_only_findings_go_to_standard_output(audit: Audit, host: Path, capsys: Capture) -> None:
    (host / "sys/fs/cgroup/system.slice/cpu.max").write_text("garbage\n")
    assert audit("--format", "json") == 3
    out, err = capsys.readouterr()
    assert json.loads(out)["problems"]
    assert "/sys/fs/cgroup/system.slice/cpu.max" in err
    assert "garbage" in err


def test_an_unreadable_limit_is_missing_and_never_unlimited(
    audit: Audit, host: Path, capsys: Capture
) -> None:
    (host / "sys/fs/cgroup/system.slice/api.service/cpu.max").write_text("100000\n")
    assert audit("--format", "json") == 3
    out = capsys.readouterr().out
    workloads = json.loads(out)["workloads"]
    api = next(w for w in workloads if w["name"] == "api.service")
    assert api["limit"]["kind"] == "missing"
    assert not any(f["subject"]["name"] == "api.service" for f in findings(out))


def test_a_root_with_nothing_to_see_is_no_clean_host(tmp_path: Path, capsys: Capture) -> None:
    assert run(["audit", "host", "--window", "0", "--root", str(tmp_path)]) == 3
    out, err = capsys.readouterr()
    assert "- CPUs" in out
    assert "0 CPUs" not in out
    assert "nothing to judge" in err


def test_a_tree_whose_groups_tell_nothing_is_no_clean_host(tmp_path: Path, capsys: Capture) -> None:
    place = tmp_path / "sys/fs/cgroup"
    place.mkdir(parents=True)
    (place / "cgroup.controllers").write_text("cpu\n")
    assert run(["audit", "host", "--window", "0", "--root", str(tmp_path)]) == 3
    assert "nothing to judge" in capsys.readouterr().err


def test_an_image_with_unit_files_is_judged(tmp_path: Path, capsys: Capture) -> None:
    place = tmp_path / "etc/systemd/system"
    place.mkdir(parents=True)
    (place / "api.service").write_text("[Service]\nCPUQuota=50%\n")
    assert run(["audit", "host", "--window", "0", "--root", str(tmp_path)]) == 0
    assert "nothing to judge" not in capsys.readouterr().err


def test_negative_and_huge_counters_do_not_crash_or_invent(
    audit: Audit, host: Path, capsys: Capture
) -> None:
    path = host / "sys/fs/cgroup/system.slice/api.service/cpu.stat"
    path.write_text(path.read_text().replace("184302", "-2147400000").replace("121957", "-5"))
    code = audit("--format", "json", window="0.3")
    assert code in (0, 1, 3)
    document = json.loads(capsys.readouterr().out)
    assert not document["rule_errors"]
    api = next(w for w in document["workloads"] if w["name"] == "api.service")
    assert api["counters"]["periods"] == 0


def test_names_with_escapes_spaces_and_control_characters_are_shown_safely(
    audit: Audit, host: Path, capsys: Capture
) -> None:
    source = host / "sys/fs/cgroup/system.slice/api.service"
    for name in (
        b"dev-disk\\x2da.service",
        b"two words",
        b"esc\x1b[31mape",
        b"not-utf8-\xff",
        b"two\nlines",
    ):
        target = os.fsencode(source.parent) + b"/" + name
        os.mkdir(target)  # noqa: PTH102 - a name of bytes
        for file in source.iterdir():
            with open(target + b"/" + os.fsencode(file.name), "wb") as copy:  # noqa: PTH123
                copy.write(file.read_bytes())
    assert audit() == 1
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert r"dev-disk\x2da.service" in out
    assert "two words" in out
    assert r"esc\x1b[31mape" in out
    assert r"not-utf8-\xff" in out
    assert r"two\x0alines" in out


def test_a_host_without_cgroups_and_systemd_is_audited_by_its_files(
    tmp_path: Path, capsys: Capture
) -> None:
    unit = tmp_path / "etc/systemd/system/a.service"
    unit.parent.mkdir(parents=True)
    unit.write_text("[Service]\nCPUQuotaPeriodUSec=10ms\nCPUQuota=50%")
    assert run(["audit", "host", "--root", str(tmp_path), "--format", "json"]) == 1
    out, err = capsys.readouterr()
    assert rules(out) == {"unknown-cpu-key"}
    (finding,) = findings(out)
    assert finding["location"] == {
        "file": "/etc/systemd/system/a.service",
        "line": 2,
        "column": 1,
        "end_line": 2,
        "end_column": 19,
    }
    assert "CPUQuotaPeriodSec" in finding["recommendation"]["summary"]
    assert err.count("note:") >= 1


def test_a_link_out_of_the_root_is_not_followed(tmp_path: Path, capsys: Capture) -> None:
    root = tmp_path / "image"
    units = root / "etc/systemd/system"
    units.mkdir(parents=True)
    outside = tmp_path / "outside.service"
    outside.write_text("[Service]\nCPUQuota=abc\n")
    (units / "evil.service").symlink_to(outside)
    run(["audit", "host", "--root", str(root), "--format", "json"])
    assert "invalid-cpu-quota" not in rules(capsys.readouterr().out)


def test_a_named_pipe_among_the_files_does_not_hang(
    audit: Audit, host: Path, capsys: Capture
) -> None:
    os.mkfifo(host / "etc/systemd/system/pipe.service")
    assert audit("--format", "json") in (1, 3)
    assert "throttled-often" in rules(capsys.readouterr().out)


def test_a_snapshot_judged_elsewhere_gives_identical_findings(
    audit: Audit, tmp_path: Path, capsys: Capture
) -> None:
    assert audit("--save", "facts.json", "--format", "json") == 1
    live = capsys.readouterr().out
    assert run(["audit", "snapshot", str(tmp_path / "facts.json"), "--format", "json"]) == 1
    again = capsys.readouterr().out
    assert findings(again) == findings(live)
    assert json.loads(again)["workloads"] == json.loads(live)["workloads"]


def test_a_snapshot_cannot_steer_the_terminal(
    audit: Audit, tmp_path: Path, capsys: Capture
) -> None:
    audit("--save", "facts.json")
    path = tmp_path / "facts.json"
    path.write_text(path.read_text().replace("api.service", "api\\u001b[31m\\nforged.service"))
    capsys.readouterr()
    run(["audit", "snapshot", str(path)])
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert r"api\x1b[31m\x0aforged.service" in out


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "no JSON"),
        ("[]", "format None"),
        ('{"format": "quota-advisor/snapshot/v9"}', "quota-advisor/snapshot/v9"),
        ('{"format": "quota-advisor/snapshot/v1", "made_by": "x"}', "facts"),
        ("[" * 100_000, "no JSON"),
    ],
)
def test_a_file_that_is_no_snapshot_is_refused_in_one_line(
    tmp_path: Path, capsys: Capture, content: str, complaint: str
) -> None:
    path = tmp_path / "facts.json"
    path.write_text(content)
    assert run(["audit", "snapshot", str(path)]) == 3
    out, err = capsys.readouterr()
    assert not out
    assert complaint in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("fail_on", "code"), [("error", 1), ("warning", 1), ("info", 1), ("never", 0)]
)
def test_fail_on_decides_the_exit_code(audit: Audit, fail_on: str, code: int) -> None:
    assert audit("--fail-on", fail_on) == code


def test_an_error_bar_lets_warnings_pass(audit: Audit) -> None:
    assert audit("--select", "throttled-often", "--fail-on", "error") == 1
    assert audit("--ignore", "throttled-often", "--fail-on", "error") == 0


def test_the_configuration_changes_thresholds_and_severities(
    audit: Audit, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / ".quota-advisor.yaml").write_text(
        "rules:\n  throttled-often: {severity: info, options: {warning_ratio: 0.1}}\n"
    )
    audit("--select", "throttled-often", "--format", "json")
    assert [f["severity"] for f in findings(capsys.readouterr().out)] == ["info"]
    (tmp_path / ".quota-advisor.yaml").write_text(
        "rules:\n  throttled-often: {options: {warning_ratio: 0.7, error_ratio: 0.8}}\n"
    )
    assert audit("--select", "throttled-often") == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("--select", "throtled-often"),
        ("--ignore", "nothing"),
        ("--format", "jsn"),
        ("--format", "json="),
        ("--format", "json", "--format", "markdown"),
        ("--window", "-1"),
        ("--window", "nan"),
        ("--window", "inf"),
        ("--window", "0.099"),
        ("--window", "1", "--samples", "201"),
        ("--select", "throttled-often", "--ignore", "throttled-often"),
        ("--samples", "0"),
        ("--no-such-option",),
        ("--root", "/no/such/directory"),
        ("--config", "/no/such/file"),
    ],
)
def test_wrong_usage_ends_with_2_and_says_what_to_do(
    audit: Audit, capsys: Capture, arguments: tuple[str, ...]
) -> None:
    assert audit(*arguments) == 2
    out, err = capsys.readouterr()
    assert not out
    assert err.strip()
    assert "Traceback" not in err


def test_a_suppression_needs_a_reason_and_is_counted(
    audit: Audit, host: Path, capsys: Capture
) -> None:
    unit = host / "etc/systemd/system/api.service"
    text = unit.read_text()
    unit.write_text("# quota-advisor: ignore[throttled-often] sized by hand in 2025\n" + text)
    audit("--select", "throttled-often", "--format", "json")
    document = json.loads(capsys.readouterr().out)
    assert document["findings"] == []
    assert [s["reason"] for s in document["suppressed"]] == ["sized by hand in 2025"]
    unit.write_text("# quota-advisor: ignore[throttled-often]\n" + text)
    audit("--format", "json")
    assert {"throttled-often", "suppression-without-reason"} <= rules(capsys.readouterr().out)


def test_reports_go_to_files_and_standard_output_at_once(
    audit: Audit, tmp_path: Path, capsys: Capture
) -> None:
    audit("--format", "json=report.json", "--format", "markdown=report.md", "--format", "table")
    assert capsys.readouterr().out.startswith("db3: 2 CPUs")
    assert "throttled-often" in rules((tmp_path / "report.json").read_text())
    assert (tmp_path / "report.md").read_text().startswith("# quota-advisor audit host")


def test_a_device_given_as_output_file_stays_a_device(audit: Audit) -> None:
    assert audit("--format", "json=/dev/null") == 1
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)  # noqa: PTH116


def test_an_output_file_that_cannot_be_written_is_one_line(audit: Audit, capsys: Capture) -> None:
    assert audit("--format", "json=/no/such/directory/report.json") == 3
    err = capsys.readouterr().err
    assert "/no/such/directory/report.json: cannot be written: no such file" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("option", ["--save=/no/such/facts.json", "--format=json=/no/such/r.json"])
def test_an_output_file_is_tried_before_the_wait(
    audit: Audit, capsys: Capture, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quota_advisor.audit.host.collect_host", pytest.fail)
    assert audit(option) == 3
    assert "/no/such/" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["explain", "throttled-often"], ["rules", "list"]])
@pytest.mark.parametrize("stream", [">/dev/full", ">&-"])
def test_text_that_nobody_gets_is_an_error_of_one_line(command: list[str], stream: str) -> None:
    line = f'exec "$0" -m quota_advisor "$@" {stream}'
    done = subprocess.run(
        ["/bin/sh", "-c", line, sys.executable, *command],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert "standard output" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("stream", ["2>&-", "2>/dev/full"])
def test_without_standard_error_the_report_is_written(host: Path, stream: str) -> None:
    line = f'exec "$0" -m quota_advisor audit host --window 0.1 --root "$1" {stream}'
    done = subprocess.run(
        ["/bin/sh", "-c", line, sys.executable, str(host)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.startswith("db3: 2 CPUs")


def test_the_reader_of_a_pipe_may_go_away(host: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "quota_advisor", "audit", "host", "--root", host, "--window", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()
    assert process.returncode in (1, 3)


def test_a_unit_that_is_named_is_sized_without_a_quota(
    audit: Audit, host: Path, capsys: Capture
) -> None:
    group = host / "sys/fs/cgroup/free.slice"
    group.mkdir()
    for name, text in (("cgroup.procs", ""), ("cpu.max", "max 100000\n")):
        (group / name).write_text(text)
    (group / "cpu.stat").write_text("usage_usec 5\nnr_periods 0\nnr_throttled 0\n")

    def advice(*arguments: str) -> object:
        audit("--format", "json", *arguments)
        workloads = json.loads(capsys.readouterr().out)["workloads"]
        return next(w["advice"].get("decision") for w in workloads if w["name"] == "free.slice")

    assert advice() is None
    assert advice("--unit", "free.slice") == "unknown"
    assert advice("--unit", "/free.slice") == "unknown"


def test_a_unit_that_is_not_there_is_said(audit: Audit, capsys: Capture) -> None:
    assert audit("--unit", "api", "--format", "json") == 1
    capsys.readouterr()

    assert audit("--unit", "nosuch", "--format", "json") == 3
    problems = json.loads(capsys.readouterr().out)["problems"]
    assert [p["subject"] for p in problems] == ["nosuch"]
