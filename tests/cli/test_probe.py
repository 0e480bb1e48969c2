"""The command line of the probe, without any measurement."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from quota_advisor import cli
from quota_advisor import probe as verb
from quota_advisor.cli import probe as command
from quota_advisor.errors import UsageError
from quota_advisor.probe import session
from quota_advisor.probe.errors import BurnerError
from quota_advisor.probe.measure import Run
from quota_advisor.probe.order import Order
from quota_advisor.probe.plan import Limit
from quota_advisor.probe.progress import Progress
from quota_advisor.probe.session import in_rounds
from quota_advisor.sandbox import SandboxError
from tests.probe.conftest import MakeResult, MakeRun, order


@pytest.fixture
def ready(monkeypatch: pytest.MonkeyPatch, make_result: MakeResult) -> list[Order]:
    """Let every machine be fit, and every probe succeed at once."""
    orders: list[Order] = []

    def probe(order: Order, _show: object) -> object:
        orders.append(order)
        return make_result()

    monkeypatch.setattr(verb, "check_machine", lambda _order: None)
    monkeypatch.setattr(verb, "probe", probe)
    return orders


def test_a_probe_prints_its_table_and_ends_with_zero(
    ready: list[Order], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["probe"]) == 0

    seen = capsys.readouterr()
    assert "p99 ms" in seen.out
    assert "saturate, 2 threads: 15 runs, about 2 min 34 s" in seen.err
    assert len(ready) == 1


def test_the_command_knows_what_the_verb_knows() -> None:
    assert command.FORMATS == verb.FORMATS
    assert tuple(verb.Priority) == command.PRIORITIES
    assert tuple(verb.Knob) == command.KNOBS


def test_what_is_not_asked_for_is_the_same_for_the_command_and_for_python(
    ready: list[Order],
) -> None:
    assert cli.run(["probe"]) == 0

    assert ready == [verb.make_order(verb.Asked())]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--profile", "saturat"],
        ["--tiers", "0"],
        ["--period", "2s"],
        ["--burst", "1s"],
        ["--slo", "p98=1ms"],
        ["--slo", "p99=1ms", "--slo-for", "burst"],
        ["--slo-for", "burst", "--tiers", "1"],
        ["--format", "xml"],
        ["--format", "csv=/tmp/x", "--format", "json=/tmp/x"],
        ["--duration", "nan"],
        ["--max-load", "nan"],
        ["--rounds", "0"],
        ["--max-load", "2"],
        ["--no-such-option"],
    ],
)
def test_what_makes_no_sense_is_wrong_usage(ready: list[Order], arguments: list[str]) -> None:
    assert cli.run(["probe", *arguments]) == 2
    assert ready == []


def test_nobody_waits_for_a_report_that_cannot_be_written(
    ready: list[Order], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["probe", "--format", "csv=/nowhere/runs.csv"]) == 3
    assert ready == []
    assert capsys.readouterr().err == (
        "quota-advisor: /nowhere/runs.csv: cannot be written: no such file or directory\n"
    )


@pytest.mark.usefixtures("ready")
def test_a_report_that_fails_does_not_take_the_others_with_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    formats = [f"csv={tmp_path / 'runs.csv'}", "json=/dev/full", "table"]

    code = cli.run(["probe", *(word for name in formats for word in ("--format", name))])

    assert code == 3
    assert (tmp_path / "runs.csv").read_text().startswith("tier_cores,")
    seen = capsys.readouterr()
    assert "p99 ms" in seen.out
    assert "/dev/full: cannot be written: no space left on device" in seen.err


@pytest.mark.usefixtures("ready")
def test_standard_output_that_takes_nothing_is_an_error_without_a_defect(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdout", None)

    assert cli.run(["probe"]) == 3
    assert capsys.readouterr().err.endswith("standard output is closed\n")


class Full(io.StringIO):
    def write(self, _text: str) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.usefixtures("ready")
@pytest.mark.parametrize("stream", [None, Full()])
def test_a_probe_needs_no_standard_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], stream: Full | None
) -> None:
    monkeypatch.setattr("sys.stderr", stream)

    assert cli.run(["probe"]) == 0
    assert "p99 ms" in capsys.readouterr().out


def test_a_machine_that_cannot_be_measured_ends_with_three(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(_order: Order) -> None:
        raise SandboxError("no cgroup", hint="do this")

    monkeypatch.setattr(verb, "check_machine", refuse)

    assert cli.run(["probe"]) == 3
    assert capsys.readouterr().err == "quota-advisor: no cgroup: do this\n"


def test_without_root_it_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("quota_advisor.sandbox.place.os.geteuid", lambda: 1000)
    monkeypatch.setattr(session, "find_burner", lambda: None)

    assert cli.run(["probe", "--force"]) == 3
    error = capsys.readouterr().err
    assert "sudo" in error or "on the host itself" in error


@pytest.mark.parametrize(
    ("terminal", "options", "asked"),
    [
        (True, [], True),
        (True, ["--yes"], False),
        (False, [], False),
        (True, ["--rounds", "1"], False),
    ],
)
def test_a_person_is_asked_before_more_than_two_minutes(
    ready: list[Order],
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    *,
    terminal: bool,
    asked: bool,
) -> None:
    questions = []

    def confirm(*arguments: object, **_options: object) -> bool:
        questions.append(arguments)
        return True

    monkeypatch.setattr(command, "_at_terminal", lambda: terminal)
    monkeypatch.setattr(click, "confirm", confirm)

    assert cli.run(["probe", *options]) == 0
    assert bool(questions) is asked
    assert len(ready) == 1


def test_who_does_not_want_to_wait_is_let_go(
    ready: list[Order], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: object, **_options: object) -> bool:
        raise click.Abort

    monkeypatch.setattr(command, "_at_terminal", lambda: True)
    monkeypatch.setattr(click, "confirm", refuse)

    assert cli.run(["probe"]) == cli.EXIT_INTERRUPTED
    assert ready == []


def test_the_profiles_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["probe", "--list"]) == 0

    listed = capsys.readouterr().out
    assert [line.split()[0] for line in listed.splitlines() if not line.startswith(" ")] == [
        *("batch", "microburst", "queue", "saturate", "steady")
    ]


def test_every_round_measures_every_limit(make_run: MakeRun) -> None:
    seen = []

    def measure(limit: Limit, number: int) -> Run:
        seen.append((limit.tier_cores, number))
        return make_run()

    in_rounds(measure, order(tiers="1,2").limits, 2)

    assert seen == [(1, 1), (2, 1), (1, 2), (2, 2)]


@pytest.fixture
def shown() -> tuple[list[str], Callable[[str], None]]:
    texts: list[str] = []
    return texts, texts.append


def test_progress_counts_runs_and_the_time_that_is_left(
    shown: tuple[list[str], Callable[[str], None]],
) -> None:
    texts, write = shown
    plan = order(tiers="0.5,1", rounds=2)
    progress = Progress(plan, write)

    progress.on_run(plan.limits[0], 1)(4.0)
    progress.on_run(plan.limits[1], 1)
    progress.end()

    said = [text.strip() for text in texts]
    assert said[0] == "run 1 of 4 (0.5 cores, round 1), 41 s left"
    assert said[1] == "run 1 of 4 (0.5 cores, round 1), 37 s left"
    assert said[2] == "run 2 of 4 (1 core, round 1), 31 s left"
    assert said[3] == ""


def test_the_line_of_progress_is_gone_when_a_probe_fails(
    monkeypatch: pytest.MonkeyPatch, shown: tuple[list[str], Callable[[str], None]]
) -> None:
    texts, write = shown

    def fail() -> None:
        raise BurnerError("quota-burner is not installed")

    monkeypatch.setattr(session, "find_burner", fail)

    with pytest.raises(BurnerError):
        verb.probe(order(), write)
    assert [text.strip() for text in texts] == [""]


def test_a_knob_that_does_not_exist_is_wrong_usage() -> None:
    with pytest.raises(UsageError, match="choose from quota, burst, period"):
        verb.make_order(verb.Asked(slo="p99=1ms", slo_for="weight"))
