"""Judge compose files that bear on each other, in one process and all of a project together."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from quota_advisor.checkout.chunks import Chunk, read_chunk
from quota_advisor.checkout.compose_projects import Project, ProjectReader
from quota_advisor.lint.judge import Judge
from quota_advisor.lint.outcome import Outcome, count, extend
from quota_advisor.model.report import Results
from quota_advisor.rulebook.engine import Plan, Scope, run


def judge_projects(projects: Iterable[Project], judge: Judge, outcome: Outcome) -> None:
    """Add what the rules say of the files of each project, and of their merged services."""
    for project in projects:
        try:
            scopes = _scopes(project, judge, outcome)
            extend(outcome.results, _judged(scopes, project, judge))
        except Exception as error:  # noqa: BLE001 - one project must not stop the others
            outcome.add_problem(project.files[0].path, error)


def _scopes(project: Project, judge: Judge, outcome: Outcome) -> list[Scope]:
    """Return what there is to judge: services, and whatever else is in the files."""
    scopes: list[Scope] = []
    reader = ProjectReader(project)
    for file in project.files:
        chunk = Chunk(file, 0, file.size, 1)
        try:
            data = read_chunk(chunk)
        except OSError as error:
            outcome.add_problem(file.path, error)
        else:
            scopes += judge.scopes(chunk, data, reader.read(file, data), outcome)
    for service in reader.services():
        scopes.append(judge.compose_scope(service))
        count(service, outcome.tally)
    return scopes


def _judged(scopes: Sequence[Scope], project: Project, judge: Judge) -> Results:
    """Judge all together: a finding about one file may be left out by a comment in another.

    Each finding is one of the rules for the file that it stands in.
    """
    plans: dict[Plan, set[str]] = {}
    for path in (*(file.path for file in project.files), *project.others):
        plans.setdefault(judge.plan(path), set()).add(path)
    found = Results()
    for plan, paths in plans.items():
        extend(found, _within(paths, run(scopes, plan, judge.config), found))
    # A comment may well have a use for others that read the file it stands in.
    elsewhere = {s.location for scope in scopes for s in scope.suppressions}
    elsewhere = {location for location in elsewhere if location.file in project.others}
    found.findings = [f for f in found.findings if f.location not in elsewhere]
    return found


def _within(paths: Collection[str], results: Results, known: Results) -> Results:
    """Return the findings in some files, and what else is not known yet."""
    skipped, errors = set(known.skipped), set(known.errors)
    return Results(
        findings=[f for f in results.findings if f.location and f.location.file in paths],
        suppressed=[
            s for s in results.suppressed if s.finding.location and s.finding.location.file in paths
        ],
        skipped=[skip for skip in results.skipped if skip not in skipped],
        errors=[error for error in results.errors if error not in errors],
    )
