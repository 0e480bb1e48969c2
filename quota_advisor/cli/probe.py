"""``quota-advisor probe``: measure quotas on this very node."""

from __future__ import annotations

import shutil
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from quota_advisor.cli.options import Number, format_option
from quota_advisor.cli.streams import is_terminal, say, write_report
from quota_advisor.errors import CollectError, UsageError
from quota_advisor.files.writing import check_file, write_file
from quota_advisor.render.targets import Targets, parse_formats

if TYPE_CHECKING:
    from quota_advisor.probe import Order, Result

FORMATS = ("table", "csv", "json", "svg", "html")
PRIORITIES = ("low", "normal", "high")
KNOBS = ("quota", "burst", "period")

DEFAULT_PROFILE = "saturate"
ASK_ABOVE_SEC = 120


@click.command("probe")
@click.option(
    "--profile",
    default=DEFAULT_PROFILE,
    show_default=True,
    metavar="NAME|FILE",
    help="Load to make; --list shows those that come with the program.",
)
@click.option(
    "--like",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Replay what quota-advisor record wrote into this file.",
)
@click.option("--list", "list_profiles", is_flag=True, help="List the profiles and exit.")
@click.option(
    "--tiers",
    metavar="CORES,…",
    help="Quotas to measure, in cores. With --slo the lowest and highest to try.",
)
@click.option("--period", default="100ms", show_default=True, metavar="TIME", help="Period.")
@click.option(
    "--burst", default="0ms", show_default=True, metavar="TIME", help="What may be saved up."
)
@click.option(
    "--rounds", type=click.IntRange(1, 1000), default=5, show_default=True, help="Runs of a tier."
)
@click.option(
    "--duration",
    "duration_sec",
    type=Number(0.1, 3600),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="Measured time of a run.",
)
@click.option("--threads", type=click.IntRange(1, 1024), help="Threads.  [default: the profile's]")
@click.option(
    "--slo",
    metavar="PERCENTILE=TIME",
    help="Search for what keeps this latency: p99=20ms, p999=100ms.",
)
@click.option(
    "--slo-for",
    type=click.Choice(KNOBS),
    help="What --slo may change: the smallest quota or burst, or the longest period."
    "  [default: quota]",
)
@format_option(FORMATS)
@click.option(
    "--max-load",
    type=Number(0, 1),
    default=0.5,
    show_default=True,
    metavar="SHARE",
    help="Refuse when more than this share of all CPUs is busy already.",
)
@click.option("--force", is_flag=True, help="Run however busy the machine is.")
@click.option(
    "--priority",
    type=click.Choice(PRIORITIES),
    default="normal",
    show_default=True,
    help="low spares other work, whose turns are then in the figures; high makes it wait.",
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask before long measurements.")
def command(
    *,
    list_profiles: bool,
    formats: tuple[str, ...],
    yes: bool,
    like: Path | None,
    **choices: Any,
) -> int:
    """Measure what CPU quotas do to a load on this node: real threads, real bandwidth control.

    Needs root. The load runs in a temporary cgroup that is removed afterwards.

    \b
    quota-advisor probe
    quota-advisor probe --profile microburst --tiers 0.5,1,2 --burst 50ms
    quota-advisor probe --slo p99=20ms
    quota-advisor probe --like api.arrows.gz --duration 60
    quota-advisor probe --format table --format csv=runs.csv --format html=report.html
    """  # noqa: D301 - click's mark for lines to keep
    if list_profiles:
        return _list_profiles()
    from quota_advisor import probe  # noqa: PLC0415 - --help needs nothing of it

    with tempfile.TemporaryDirectory() if like else nullcontext() as directory:
        if like is not None and directory is not None:
            choices |= _replayed(like, Path(directory), **choices)
        order = _order(**choices)
        outputs = _targets(formats)
        probe.check_machine(order)
        _announce(order, yes=yes)
        result = probe.probe(order, _show_progress if is_terminal(sys.stderr) else None)
    _write(result, outputs)
    return 0


def _order(
    *,
    priority: str,
    max_load: float,
    force: bool,
    rounds: int,
    duration_sec: float,
    **asked: Any,
) -> Order:
    """Return what the options ask for; those that shape the load are passed on as typed."""
    from quota_advisor.probe import Asked, Priority, make_order  # noqa: PLC0415

    return make_order(
        Asked(**asked),
        rounds=rounds,
        duration_sec=duration_sec,
        priority=Priority(priority),
        max_load_ratio=None if force else max_load,
    )


def _replayed(
    file: Path, directory: Path, *, profile: str, duration_sec: float, **_: object
) -> dict[str, Any]:
    """Return the choices that a recording makes: the load, and no more time than there is of it.

    Raises:
        UsageError: It cannot be replayed, or a profile is asked for too.
    """
    from quota_advisor.probe.like import replay_of  # noqa: PLC0415 - recordings alone need it
    from quota_advisor.probe.order import available_cpus  # noqa: PLC0415 - as above

    if profile != DEFAULT_PROFILE:
        raise UsageError("--like and --profile are two loads", hint="give one of them")
    replay = replay_of(file, directory, available_cpus())
    return {"profile": replay.profile, "duration_sec": min(duration_sec, replay.length_sec)}


def _list_profiles() -> int:
    import textwrap  # noqa: PLC0415

    from quota_advisor.probe import find_profile, profile_names  # noqa: PLC0415

    lines: list[str] = []
    for profile in map(find_profile, profile_names()):
        text = " ".join(profile.description.split())
        lines += (
            f"{profile.name:<12}{profile.title}",
            textwrap.indent(textwrap.fill(text, 84), " " * 12),
        )
    write_report("\n".join([*lines, ""]))
    return 0


def _announce(order: Order, *, yes: bool) -> None:
    """Say how long it will take; above two minutes a person at a terminal is asked.

    Raises:
        click.Abort: The person does not want to wait.
    """
    say(order.outline)
    if order.most_sec > ASK_ABOVE_SEC and not yes and _at_terminal():
        click.confirm("Start?", default=True, abort=True, err=True)


def _at_terminal() -> bool:
    return is_terminal(sys.stdin) and is_terminal(sys.stderr)


def _show_progress(text: str) -> None:
    say(text, nl=False)


def _write(result: Result, outputs: Targets) -> None:
    """Write what was measured wherever that is possible: it took long, and the next may differ.

    Raises:
        CollectError: A report could not be written.
    """
    problems: list[CollectError] = []
    # Files first: the reader of standard output may go away.
    for name, target in sorted(outputs, key=lambda output: output[1] is None):
        try:
            _write_one(result, name, target)
        except CollectError as error:
            problems.append(error)
    for problem in problems[1:]:
        say(f"quota-advisor: {problem}")
    if problems:
        raise problems[0]


def _write_one(result: Result, name: str, target: Path | None) -> None:
    from quota_advisor.probe import render  # noqa: PLC0415

    if target is not None:
        write_file(target, render(name, result))
        return
    width = shutil.get_terminal_size().columns if is_terminal(sys.stdout) else 0
    write_report(render(name, result, width=width))


def _targets(formats: tuple[str, ...]) -> Targets:
    """Return where reports go, after a look whether they can be written there.

    Raises:
        UsageError: A format does not exist, or two want the same place.
        CollectError: A report could not be written.
    """
    outputs = parse_formats(formats, FORMATS)
    for _, target in outputs:
        if target is not None:
            check_file(target)
    return outputs
