"""``quota-advisor lint``: manifests, compose files and unit files, before they are in force."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from quota_advisor.cli import EXIT_BLIND
from quota_advisor.cli.options import Output, output_options
from quota_advisor.cli.output import exit_code, load_rules, parse_formats, present_view, show
from quota_advisor.cli.streams import say, write_bytes
from quota_advisor.errors import CollectError
from quota_advisor.lint import Linter, Request
from quota_advisor.lint.linter import DEFAULT_JOBS
from quota_advisor.lint.quiet import said_once
from quota_advisor.printable import printable
from quota_advisor.render.places import relative

if TYPE_CHECKING:
    from quota_advisor.lint.fixing import Change
    from quota_advisor.lint.run import Linted
    from quota_advisor.model.report import Report

MAX_JOBS = 64


@click.command("lint")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option(
    "--stdin-name",
    default="",
    metavar="NAME",
    help="What to call standard input (PATH -); its suffix decides how it is read.",
)
@click.option(
    "--exclude", multiple=True, metavar="PATTERN", help="Do not read these files. Repeatable."
)
@click.option(
    "--jobs",
    type=click.IntRange(1, MAX_JOBS),
    help=f"Most processes to use.  [default: one a CPU, at most {DEFAULT_JOBS}]",
)
@click.option(
    "--limits",
    type=click.Choice(["ignore", "required", "forbidden"]),
    help="House rule for CPU limits of containers.  [default: ignore]",
)
@click.option(
    "--requests",
    type=click.Choice(["ignore", "note", "required"]),
    help="House rule for CPU requests of containers.  [default: note]",
)
@click.option(
    "--node-cpus", type=click.FloatRange(min=0.001, max=8192), help="CPUs of the largest node."
)
@click.option("--kubernetes-version", metavar="VERSION", help="Of the cluster, for example 1.33.")
@click.option(
    "--baseline",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Leave out the findings in this file.",
)
@click.option(
    "--write-baseline",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the present findings to this file and leave them out.",
)
@click.option(
    "--fix", is_flag=True, help="Make the changes that are certain, then report the rest."
)
@click.option("--diff", is_flag=True, help="Show what --fix would change, and change nothing.")
@output_options
def command(
    *,
    output: Output,
    paths: tuple[str, ...],
    baseline: Path | None,
    write_baseline: Path | None,
    fix: bool,
    diff: bool,
    **asked: Any,
) -> int:
    """Find CPU quotas that hurt in files, before they are in force.

    PATH is a file, a directory, a pattern, or - for standard input; the current directory if
    there is none. Reads Kubernetes YAML and JSON, compose files, systemd units with their
    drop-ins, quadlets and kubelet configuration. Respects .gitignore.

    \b
    quota-advisor lint
    quota-advisor lint deploy/ 'units/*.service' --format sarif=lint.sarif --format table
    helm template . | quota-advisor lint - --stdin-name chart.yaml
    quota-advisor lint --diff units/
    """  # noqa: D301 - click's mark for lines to keep
    parse_formats(output.formats)
    if fix and diff:
        raise click.UsageError("--diff shows what --fix would do: give one of them")
    rulebook = load_rules(output)
    # None where it was closed from the start.
    stdin = sys.stdin.buffer if sys.stdin else None
    request = Request(paths=paths, stdin=stdin, verbose=output.verbose, **asked)
    linter = Linter(request, rulebook)
    linted, complete = linter.judge(), True
    if fix or diff:
        linted, complete = _fixed(linter, linted, diff=diff)
    report = _without_known(linted.report, baseline, write_baseline, output)
    if not output.verbose:
        report = said_once(report)
    show(report, output, stdout=not diff)
    return exit_code(report, output, rulebook.config) if complete else EXIT_BLIND


def _fixed(linter: Linter, linted: Linted, *, diff: bool) -> tuple[Linted, bool]:
    """Make the certain changes, or only show them.

    Returns:
        What is there afterwards, and whether every change could be made.
    """
    fixed = linter.fix(linted)
    if diff:
        for change in fixed.changes:
            _say_each("would fix", change.why)
            write_bytes(change.diff())
        return linted, True
    written = [_written(change) for change in fixed.changes]
    return (fixed.linted, True) if all(written) else (linter.judge(), False)


def _written(change: Change) -> bool:
    """Write one change, and say what was changed or why it could not be."""
    try:
        change.write()
    except CollectError as error:
        say(f"could not change {printable(change.file.path)}: {error.what}")
        return False
    _say_each("fixed", change.why)
    return True


def _say_each(verb: str, lines: Iterable[str]) -> None:
    for line in lines:
        say(f"{verb} {printable(line)}")


def _without_known(
    report: Report, baseline: Path | None, write_baseline: Path | None, output: Output
) -> Report:
    """Leave out what a baseline knows, or make it known."""
    if baseline is None and write_baseline is None:
        return report
    from quota_advisor.lint.known import without_known  # noqa: PLC0415

    return without_known(
        report,
        baseline,
        write_baseline,
        name_of=partial(relative, view=present_view()),
        verbose=output.verbose,
    )


# Both are about the table of workloads, which lint has none of.
for _parameter in command.params:
    if isinstance(_parameter, click.Option) and _parameter.name in ("wide", "everything"):
        _parameter.hidden = True
