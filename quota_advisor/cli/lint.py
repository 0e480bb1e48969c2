"""``quota-advisor lint``: manifests, compose files and unit files, before they are in force."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from quota_advisor.cli import EXIT_BLIND
from quota_advisor.cli.options import Output, output_options

if TYPE_CHECKING:
    from quota_advisor.checkout.ignored import Patterns
    from quota_advisor.checkout.inputs import Inputs
    from quota_advisor.lint.run import Linted
    from quota_advisor.model.lint import LintContext
    from quota_advisor.model.report import Report
    from quota_advisor.rulebook.settings import Config

MAX_JOBS = 64
DEFAULT_JOBS = 4
"""More processes than this win little and cost memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the command line asks for, besides output.

    Attributes:
        paths: Files, directories, patterns, ``-``.
        stdin_name: What to call standard input.
        exclude: Patterns of files not to read.
        jobs: Most processes to use.
        limits: House rule for CPU limits; None leaves it to the configuration.
        node_cpus: Size of the largest node; likewise.
        kubernetes_version: Of the cluster; likewise.
        baseline: File of known findings.
        write_baseline: Where to write them.
        fix: Make the changes that are certain.
        diff: Show them instead.
    """

    paths: tuple[str, ...]
    stdin_name: str
    exclude: tuple[str, ...]
    jobs: int | None
    limits: str | None
    node_cpus: float | None
    kubernetes_version: str | None
    baseline: Path | None
    write_baseline: Path | None
    fix: bool
    diff: bool


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
def command(*, output: Output, **arguments: Any) -> int:
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
    from quota_advisor.cli.output import parse_formats  # noqa: PLC0415

    parse_formats(output.formats)
    request = Request(**arguments)
    if request.fix and request.diff:
        raise click.UsageError("--diff shows what --fix would do: give one of them")
    return _Run(request, output).go()


class _Run:
    """One run of the command."""

    def __init__(self, request: Request, output: Output) -> None:
        from quota_advisor.lint.judge import Settings  # noqa: PLC0415
        from quota_advisor.rulebook.chosen import load_rulebook  # noqa: PLC0415

        self._request = request
        self._output = output
        self._incomplete = False
        rulebook = load_rulebook(output.select, output.ignore, output.config)
        self._config = rulebook.config
        self._settings = Settings(
            catalog=rulebook.chosen,
            keep=output.select,
            config=rulebook.config,
            verbose=output.verbose,
        )
        self._context = _context(request, rulebook.config)

    def go(self) -> int:
        """Lint, fix and show."""
        from quota_advisor.cli.output import exit_code, show  # noqa: PLC0415

        inputs = self._discover()
        linted = self._lint(inputs)
        if self._request.fix or self._request.diff:
            linted = self._fix(inputs, linted)
        report = self._without_known(linted.report)
        show(report, self._output, stdout=not self._request.diff)
        code = exit_code(report, self._output, self._config)
        return EXIT_BLIND if self._incomplete else code

    def _discover(self) -> Inputs:
        from quota_advisor.checkout.inputs import STDIN, discover  # noqa: PLC0415

        request = self._request
        inputs = discover(
            request.paths or (".",),
            exclude=self._excluded(),
            stdin=_read_stdin() if STDIN in request.paths else None,
            stdin_name=request.stdin_name,
        )
        if not inputs.files and not inputs.problems:
            inputs.notes.append("no file to judge here: no manifest, compose or unit file")
        return inputs

    def _excluded(self) -> list[Patterns]:
        """Return the patterns of both, each relative to where it is written."""
        from quota_advisor.checkout.ignored import Patterns  # noqa: PLC0415

        here, config = Path.cwd(), self._config
        both = ((config.lint.exclude, config.directory or here), (self._request.exclude, here))
        return [Patterns(lines, directory) for lines, directory in both if lines]

    def _lint(self, inputs: Inputs) -> Linted:
        from quota_advisor.lint.run import lint  # noqa: PLC0415

        jobs = self._request.jobs or min(len(os.sched_getaffinity(0)), DEFAULT_JOBS)
        return lint(inputs, self._settings, self._context, jobs)

    def _fix(self, inputs: Inputs, linted: Linted) -> Linted:
        """Make the certain changes and lint again; or only show them."""
        from quota_advisor.lint.fixing import changes, show_diff, write  # noqa: PLC0415

        made = changes(inputs, linted, self._lint)
        if self._request.diff:
            show_diff(made)
            return linted
        self._incomplete = not write(made)
        return self._lint(inputs) if made else linted

    def _without_known(self, report: Report) -> Report:
        """Leave out what a baseline knows, or make it known."""
        request = self._request
        if request.baseline is None and request.write_baseline is None:
            return report
        from quota_advisor.lint.known import without_known  # noqa: PLC0415

        return without_known(
            report, request.baseline, request.write_baseline, verbose=self._output.verbose
        )


def _context(request: Request, config: Config) -> LintContext:
    """Return what the command line tells, and where it is silent the configuration."""
    from quota_advisor.model.lint import LimitsPolicy, LintContext  # noqa: PLC0415
    from quota_advisor.rulebook.settings import kubernetes_version, millicores  # noqa: PLC0415

    known = config.lint
    return LintContext(
        limits=LimitsPolicy(request.limits) if request.limits else known.limits,
        node_millicores=millicores(request.node_cpus) or known.node_millicores,
        kubernetes_version=kubernetes_version(request.kubernetes_version)
        or known.kubernetes_version,
    )


def _read_stdin() -> bytes:
    from quota_advisor.checkout.inputs import read_stream  # noqa: PLC0415
    from quota_advisor.errors import CollectError  # noqa: PLC0415

    try:
        return read_stream(sys.stdin.buffer)
    except OSError as error:
        raise CollectError(f"standard input: {error.strerror}") from error


# Both are about the table of workloads, which lint has none of.
for _parameter in command.params:
    if isinstance(_parameter, click.Option) and _parameter.name in ("wide", "everything"):
        _parameter.hidden = True
