"""Lint what somebody names: find the files, judge them, work out fixes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from quota_advisor.checkout.ignored import Patterns
from quota_advisor.checkout.inputs import STDIN, Inputs, discover, read_stream
from quota_advisor.errors import CollectError, UsageError
from quota_advisor.lint.run import Linted, judge_inputs
from quota_advisor.model.lint import LimitsPolicy, LintContext, RequestsPolicy
from quota_advisor.model.report import Report
from quota_advisor.records import dataclass
from quota_advisor.rulebook.catalogue import AppliesTo
from quota_advisor.rulebook.chosen import Rulebook
from quota_advisor.rulebook.engine import unused_entries
from quota_advisor.rulebook.settings import LintSettings, kubernetes_version, millicores

if TYPE_CHECKING:
    from quota_advisor.lint.fixing import Fixed

DEFAULT_JOBS = 4
"""More processes than this win little and cost memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to lint, and what the files do not say.

    Attributes:
        paths: Files, directories, patterns, ``-`` for standard input; the current directory where
            there is none.
        stdin: What to read where a path is ``-``; None where there is nothing to read.
        stdin_name: What to call it; its suffix decides how it is read.
        exclude: Files not to read: patterns as in ``.gitignore``, relative to the current
            directory.
        jobs: Most processes to use; None for one a CPU, at most :data:`DEFAULT_JOBS`.
        limits: House rule for CPU limits, ``ignore``, ``required`` or ``forbidden``; None leaves
            it to the configuration.
        requests: House rule for CPU requests, ``ignore``, ``note`` or ``required``; likewise.
        node_cpus: Size of the largest node; likewise.
        kubernetes_version: Of the cluster, for example ``1.33``; likewise.
        verbose: Keep each thing that could not be judged, not one of a kind.
    """

    paths: tuple[str, ...] = ()
    stdin: BinaryIO | None = None
    stdin_name: str = ""
    exclude: tuple[str, ...] = ()
    jobs: int | None = None
    limits: str | None = None
    requests: str | None = None
    node_cpus: float | None = None
    kubernetes_version: str | None = None
    verbose: bool = False


class Linter:
    """Lints the files of a request, as often as their content changes.

    Raises:
        UsageError: A version is none.
        CollectError: Standard input is wanted and cannot be read.
    """

    def __init__(self, request: Request, rulebook: Rulebook) -> None:
        self._request = request
        self._rulebook = rulebook
        self._context = _context(request, rulebook.config.lint)
        self._inputs = self._discover()

    def judge(self) -> Linted:
        """Judge every file.

        Raises:
            CollectError: A worker process ended before its work was done.
        """
        linted = self._judge(self._inputs)
        report = linted.report
        notes = (*report.notes, *self._in_vain(report))
        return linted._replace(report=replace(report, notes=notes))

    def _in_vain(self, report: Report) -> Iterator[str]:
        """Yield what the configuration leaves out in vain, where everything below it was judged."""
        config = self._rulebook.config
        if config.path is None or config.directory is None or not self._sees(config.directory):
            return
        for entry in unused_entries(report.results, config):
            rule = self._rulebook.rules.get(entry.rule)
            if rule is not None and not set(rule.applies_to) <= {
                AppliesTo.HOSTS,
                AppliesTo.WORKLOADS,
            }:
                about = f"{entry.rule} of {entry.subject}"
                yield f"{os.path.relpath(config.path)}:{entry.line}: leaves nothing out: {about}"

    def _sees(self, directory: Path) -> bool:
        """Whether a directory is among what was named, or in it."""
        named = map(os.path.abspath, self._request.paths or (".",))
        return any(directory.is_relative_to(name) for name in named)

    def fix(self, linted: Linted) -> Fixed:
        """Return what the fixes of findings make of the files. Nothing is written.

        Args:
            linted: What :meth:`judge` found.
        """
        # Few runs fix anything, and what does takes long to import.
        from quota_advisor.lint.fixing import fix  # noqa: PLC0415

        return fix(self._inputs, linted, self._judge)

    def _judge(self, inputs: Inputs) -> Linted:
        request = self._request
        jobs = request.jobs or min(len(os.sched_getaffinity(0)), DEFAULT_JOBS)
        return judge_inputs(
            inputs, self._rulebook, self._context, jobs=jobs, verbose=request.verbose
        )

    def _discover(self) -> Inputs:
        request = self._request
        inputs = discover(
            request.paths or (".",),
            exclude=self._excluded(),
            stdin=_read(request.stdin) if STDIN in request.paths else None,
            stdin_name=request.stdin_name,
        )
        if not inputs.files and not inputs.problems:
            inputs.notes.append("no file to judge here: no manifest, compose or unit file")
        if request.verbose:
            inputs.notes += (f"{name}/: left out, name it to lint it" for name in inputs.of_others)
        return inputs

    def _excluded(self) -> list[Patterns]:
        """Return the patterns of both, each relative to where it is written."""
        here, config = Path.cwd(), self._rulebook.config
        both = ((config.lint.exclude, config.directory or here), (self._request.exclude, here))
        try:
            return [Patterns(lines, directory) for lines, directory in both if lines]
        except ValueError as error:
            raise UsageError(f"what is excluded: {error}") from error


def _context(request: Request, known: LintSettings) -> LintContext:
    """Return what the request tells, and where it is silent the configuration."""
    return LintContext(
        limits=LimitsPolicy(request.limits) if request.limits else known.limits,
        requests=RequestsPolicy(request.requests) if request.requests else known.requests,
        node_millicores=millicores(request.node_cpus) or known.node_millicores,
        kubernetes_version=kubernetes_version(request.kubernetes_version)
        or known.kubernetes_version,
    )


def _read(stdin: BinaryIO | None) -> bytes:
    if stdin is None:
        raise CollectError("standard input is closed")
    try:
        return read_stream(stdin)
    except OSError as error:
        raise CollectError(f"standard input: {error.strerror}") from error
