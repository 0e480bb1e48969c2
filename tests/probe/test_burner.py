from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

import quota_advisor
from quota_advisor.probe.burner import OVERRIDE, find_burner, run_burner
from quota_advisor.probe.errors import BurnerError
from tests.probe.conftest import report


def program(directory: Path, script: str) -> Path:
    path = directory / "quota-burner"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def printing(directory: Path, **changes: object) -> Path:
    text = report(**changes).model_dump_json(by_alias=True)
    return program(directory, f"echo '{text}'")


@pytest.fixture(autouse=True)
def no_override(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(OVERRIDE, raising=False)


def test_it_is_found_in_any_directory_of_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "site" / "_native").mkdir(parents=True)
    wanted = program(tmp_path / "site" / "_native", "")
    monkeypatch.setattr(quota_advisor, "__path__", [str(tmp_path / "src"), str(tmp_path / "site")])

    assert find_burner() == wanted


def test_the_environment_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OVERRIDE, str(program(tmp_path, "")))

    assert find_burner() == tmp_path / "quota-burner"


def test_a_missing_program_is_said_to_be_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quota_advisor, "__path__", [str(tmp_path)])

    with pytest.raises(BurnerError, match="not installed") as raised:
        find_burner()
    assert raised.value.exit_code == 3
    assert "install" in raised.value.hint


def test_a_file_that_cannot_be_run_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "quota-burner").write_text("")
    monkeypatch.setenv(OVERRIDE, str(tmp_path / "quota-burner"))

    with pytest.raises(BurnerError, match="no program"):
        find_burner()


def test_its_report_is_read(tmp_path: Path) -> None:
    found = run_burner(printing(tmp_path, requests=7), ["saturate"], planned_sec=1)

    assert (found.requests, found.cpu_usec) == (7, 5_050_000)


def test_it_is_told_what_to_join_and_to_end_with_us(tmp_path: Path) -> None:
    text = report().model_dump_json(by_alias=True)
    burner = program(tmp_path, f"echo \"$@\" > {tmp_path}/arguments; echo '{text}'")

    run_burner(burner, ["burst", "--threads", "3"], join=["/a/procs", "/b/procs"], planned_sec=1)

    assert (tmp_path / "arguments").read_text().split() == [
        *("burst", "--threads", "3", "--exit-with-parent", "--parent", str(os.getpid())),
        *("--cgroup-procs", "/a/procs", "--cgroup-procs", "/b/procs"),
    ]


def test_its_complaint_becomes_ours(tmp_path: Path) -> None:
    burner = program(tmp_path, "echo 'quota-burner: cannot join X' >&2; echo 'Try' >&2; exit 2")

    with pytest.raises(BurnerError, match=r"^quota-burner: cannot join X$"):
        run_burner(burner, [], planned_sec=1)


def test_a_program_that_was_killed_is_named(tmp_path: Path) -> None:
    with pytest.raises(BurnerError, match="signal 9"):
        run_burner(program(tmp_path, "kill -9 $$"), [], planned_sec=1)


@pytest.mark.parametrize("output", ["", "{}", "nonsense", '{"schema": "quota-burner/2"}'])
def test_another_version_of_the_program_is_recognised(tmp_path: Path, output: str) -> None:
    with pytest.raises(BurnerError, match="something unknown") as raised:
        run_burner(program(tmp_path, f"echo '{output}'"), [], planned_sec=1)
    assert "reinstall" in raised.value.hint


def test_a_run_that_a_signal_cut_short_does_not_count(tmp_path: Path) -> None:
    with pytest.raises(BurnerError, match="ended early"):
        run_burner(printing(tmp_path, interrupted=True), [], planned_sec=1)


def test_whatever_is_new_in_a_report_is_passed_over(tmp_path: Path) -> None:
    document = json.loads(report().model_dump_json(by_alias=True)) | {"new": 1}

    found = run_burner(program(tmp_path, f"echo '{json.dumps(document)}'"), [], planned_sec=1)

    assert found.threads == 2


def test_the_child_is_gone_when_the_wait_is_interrupted(tmp_path: Path) -> None:
    burner = program(tmp_path, f"echo $$ > {tmp_path}/pid; exec sleep 600")

    def interrupt(_elapsed_sec: float) -> None:
        if (tmp_path / "pid").exists():
            raise KeyboardInterrupt

    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_burner(burner, [], planned_sec=600, on_tick=interrupt)

    # It did not wait for the child's own end.
    assert time.monotonic() - begin < 300
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
