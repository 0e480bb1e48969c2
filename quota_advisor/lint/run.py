"""Lint a set of files in one process or several, with the same result."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from quota_advisor.checkout.chunks import Chunk, chunks
from quota_advisor.checkout.inputs import FileKind, InputFile, Inputs, reason
from quota_advisor.documents.compose.recognise import OVERRIDE_NAMES
from quota_advisor.lint.extents import complete
from quota_advisor.lint.judge import HELD_BYTES, Judge
from quota_advisor.lint.outcome import Digests, Outcome, one_of_a_kind
from quota_advisor.lint.survey import Survey
from quota_advisor.model.finding import Finding
from quota_advisor.model.lint import LintContext
from quota_advisor.model.problem import Problem
from quota_advisor.model.report import Report
from quota_advisor.records import NamedTuple
from quota_advisor.rulebook.chosen import Rulebook

if TYPE_CHECKING:
    from quota_advisor.checkout.compose_projects import Project

SMALL_BYTES = 400_000
"""Less than this is read sooner than another process starts."""


class Linted(NamedTuple):
    """What came of a run.

    Attributes:
        report: The report.
        fixed: The texts that fixes of its findings are for.
    """

    report: Report
    fixed: Digests


def judge_inputs(
    inputs: Inputs, rulebook: Rulebook, context: LintContext, *, jobs: int, verbose: bool = False
) -> Linted:
    """Judge every file.

    Args:
        inputs: What was found.
        rulebook: The rules to run.
        context: What the user told.
        jobs: Most processes to use; small inputs use one.
        verbose: Keep each thing that could not be judged, not one of a kind.

    Raises:
        CollectError: A worker process ended before its work was done.
    """
    outcome = Outcome()
    work = list(_cut(inputs.files, outcome))
    jobs = min(jobs, len(work)) if sum(chunk.size for chunk in work) > SMALL_BYTES else 1
    judge = Judge(rulebook, context, HELD_BYTES // max(jobs, 1), verbose=verbose)
    projects: list[Project] = []

    def settle(survey: Survey) -> None:
        projects.extend(_projects(inputs, survey))
        survey.apart = frozenset(f.path for project in projects for f in project.files)

    with _no_collector():
        if jobs > 1:
            # A small input needs no other process, nor what starts one.
            from quota_advisor.lint.pool import judge_together  # noqa: PLC0415

            outcome.add(judge_together(judge, work, jobs, settle))
        else:
            survey = judge.survey(work)
            settle(survey)
            judge.use(survey)
            outcome.add(judge.judge(work))
        _judge_projects(projects, judge, outcome)
        _judge_units(inputs.files, judge, outcome)
    judge.judge_tally(outcome)
    complete(outcome.results, inputs.files)
    return Linted(_report(inputs, outcome, verbose=verbose), outcome.fixed)


@contextlib.contextmanager
def _no_collector() -> Iterator[None]:
    """Leave the cyclic collector off: facts and findings hold no cycles, and it walks them all.

    What is there afterwards lives until the program ends, so that it is not walked then either.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()


def _cut(files: Sequence[InputFile], outcome: Outcome) -> Iterator[Chunk]:
    for chunk in chunks(files):
        if isinstance(chunk, Chunk):
            yield chunk
        else:
            file, error = chunk
            outcome.problems.append(_problem(file, error))


def _projects(inputs: Inputs, survey: Survey) -> list[Project]:
    """Return the compose files that others bear on, for all other files at the cost of a look."""
    if not survey.extending and not any(f.path.endswith(OVERRIDE_NAMES) for f in inputs.files):
        return []
    from quota_advisor.checkout.compose_projects import projects  # noqa: PLC0415

    return projects(inputs, survey.extending)


def _judge_projects(projects: Sequence[Project], judge: Judge, outcome: Outcome) -> None:
    if projects:
        from quota_advisor.lint.compose import judge_projects  # noqa: PLC0415

        judge_projects(projects, judge, outcome)


def _judge_units(files: Sequence[InputFile], judge: Judge, outcome: Outcome) -> None:
    found = [file for file in files if file.kind is not FileKind.MANIFEST]
    if found:
        # Most inputs have no unit files, and what reads and judges them takes long to import.
        from quota_advisor.lint.units import judge_units  # noqa: PLC0415

        judge_units(found, judge, outcome)


def _problem(file: InputFile, error: OSError) -> Problem:
    return Problem(subject=file.path, reason=reason(error))


def _report(inputs: Inputs, outcome: Outcome, *, verbose: bool) -> Report:
    """Return everything in the order of the files, whichever process it came from."""
    order = {file.path: index for index, file in enumerate(inputs.files)}

    def place(finding: Finding) -> tuple[object, ...]:
        at = finding.location
        where = (len(order), 0, 0) if at is None else (order.get(at.file, -1), at.line, at.column)
        return (*where, finding.rule, finding.message, finding.subject.name)

    results = outcome.results
    results.findings.sort(key=place)
    results.suppressed.sort(key=lambda s: place(s.finding))
    results.skipped.sort(key=lambda s: (s.rule, s.subject.name, s.reason))
    results.errors.sort(key=lambda e: (e.rule, e.subject.name, e.error))
    if not verbose:
        results.skipped = one_of_a_kind(results.skipped)
    problems = (*inputs.problems, *sorted(outcome.problems, key=lambda p: order[p.subject]))
    notes = (*inputs.notes, *sorted(outcome.notes))
    return Report(command="lint", host=None, results=results, notes=notes, problems=problems)
