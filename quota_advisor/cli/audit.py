"""``quota-advisor audit``: a host, or a snapshot of one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import click

from quota_advisor.audit.host import audit_host
from quota_advisor.cli.options import Number, Output, output_options
from quota_advisor.cli.output import check_outputs, exit_code, load_rules, show
from quota_advisor.cli.streams import is_terminal, say
from quota_advisor.files.writing import write_file

MAX_WINDOW_SEC = 86_400


_units = click.option(
    "--unit",
    "units",
    multiple=True,
    metavar="NAME",
    help="Size this unit, container or cgroup even if it never had a quota. Repeatable.",
)


@click.group("audit")
def command() -> None:
    """Find the CPU quotas that hurt on a host, and say what they should be."""


@command.command("host")
@click.option(
    "--root",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    default="/",
    show_default=True,
    help="Read every host file below this directory: a mounted host, an image.",
)
@click.option(
    "--window",
    "window_sec",
    type=Number(0, MAX_WINDOW_SEC),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to watch. 0 judges the totals since each cgroup was created.",
)
@click.option(
    "--samples",
    type=click.IntRange(1, 1_000_000),
    help="Number of samples of CPU use in the window.  [default: one in 100 ms]",
)
@_units
@click.option("--user", is_flag=True, help="Ask the calling user's own systemd too.")
@click.option(
    "--dbus",
    "adapter",
    type=click.Choice(["auto", "dbus-fast", "pydbus"]),
    default="auto",
    show_default=True,
    help="D-Bus library.",
)
@click.option(
    "--trace",
    "traces",
    type=click.Path(path_type=Path, dir_okay=False),
    multiple=True,
    metavar="FILE",
    help="Size what was recorded in this file from it, with the simulator's say. Repeatable.",
)
@click.option(
    "--redact",
    is_flag=True,
    help="Put other names in place of those of units, containers, users and of this host.",
)
@click.option(
    "--save",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the facts to this file, for audit snapshot; without values that may be secret.",
)
@output_options
def host(  # noqa: PLR0913 - one parameter an option
    *,
    output: Output,
    root: Path,
    window_sec: float,
    samples: int | None,
    units: tuple[str, ...],
    user: bool,
    adapter: Literal["auto", "dbus-fast", "pydbus"],
    traces: tuple[Path, ...],
    redact: bool,
    save: Path | None,
) -> int:
    """Audit this host: its units, containers and cgroups, with or without systemd.

    \b
    quota-advisor audit host
    quota-advisor audit host --window 60 --wide
    quota-advisor audit host --window 60 --unit api.service
    quota-advisor audit host --window 0 --format json
    quota-advisor audit host --trace api.arrows.gz
    quota-advisor audit host --root /host --save facts.json
    quota-advisor audit host --redact --save facts.json
    """  # noqa: D301 - click's mark for lines to keep
    check_outputs(output, *([] if save is None else [save]))
    rulebook = load_rules(output)
    report = audit_host(
        root=root,
        window_sec=window_sec,
        samples=samples,
        units=units,
        user=user,
        adapter=adapter,
        redact=redact,
        traces=traces,
        rulebook=rulebook,
        on_progress=_progress if is_terminal(sys.stderr) else None,
    )
    if save is not None and report.host is not None:
        # What checks snapshots takes long to build, and few runs save one.
        from quota_advisor.audit.snapshot import snapshot_text  # noqa: PLC0415

        write_file(save, snapshot_text(report.host.facts), private=True)
    show(report, output)
    return exit_code(report, output, rulebook.config)


@command.command("snapshot")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@_units
@output_options
def snapshot(*, output: Output, file: Path, units: tuple[str, ...]) -> int:
    """Judge a snapshot that audit host --save or k8s --save wrote, here or elsewhere."""
    from quota_advisor.audit.snapshot import judge_snapshot  # noqa: PLC0415 - as above
    from quota_advisor.k8s.snapshot import (  # noqa: PLC0415 - as above
        is_cluster_snapshot,
        judge_clusters,
    )

    check_outputs(output)
    rulebook = load_rules(output)
    if is_cluster_snapshot(file):
        report = judge_clusters(file, rulebook=rulebook)
    else:
        report = judge_snapshot(file, units=units, rulebook=rulebook)
    show(report, output)
    return exit_code(report, output, rulebook.config)


def _progress(elapsed_sec: float, total_sec: float) -> None:
    """Show on the terminal how far the window is, on a line that is gone afterwards."""
    done = elapsed_sec >= total_sec
    text = "" if done else f"watching: {elapsed_sec:.0f} of {total_sec:.0f} s"
    say(f"\r{text:<40}\r" if done else f"\r{text:<40}", nl=False)
