"""Judge compose files that bear on each other, in one process and all of a project together."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from quota_advisor.checkout.chunks import Chunk, read_chunk
from quota_advisor.checkout.compose_projects import Project, ProjectReader
from quota_advisor.checkout.inputs import InputFile
from quota_advisor.lint.judge import Judge
from quota_advisor.lint.outcome import Outcome, count
from quota_advisor.model.finding import Finding
from quota_advisor.model.report import Results
from quota_advisor.rulebook.engine import Plan, Scope, run


def judge_projects(projects: Iterable[Project], judge: Judge, outcome: Outcome) -> None:
    """Add what the rules say of the files of each project, and of their merged services."""
    for project in projects:
        try:
            texts: dict[str, bytes] = {}
            found = _judged(_scopes(project, judge, outcome, texts), project, judge)
            if judge.may_fix(found):
                _add_fixes(project, judge, texts, found, outcome)
            outcome.results.add(found)
        except Exception as error:  # noqa: BLE001 - one project must not stop the others
            outcome.add_problem(project.files[0].path, error)


def _scopes(
    project: Project, judge: Judge, outcome: Outcome, texts: dict[str, bytes]
) -> list[Scope]:
    """Return what there is to judge: services, and whatever else is in the files.

    Args:
        project: The files.
        judge: Knows the rest of what a rule may ask.
        outcome: Takes in what cannot be read, and counts.
        texts: Takes in the files by path.
    """
    scopes: list[Scope] = []
    reader = ProjectReader(project)
    for file in project.files:
        chunk = Chunk(file, 0, file.size, 1)
        try:
            data = read_chunk(chunk)
        except OSError as error:
            outcome.add_problem(file.path, error)
        else:
            texts[file.path] = data
            scopes += judge.scopes(chunk, data, reader.read(file, data), outcome)
    for service in reader.services():
        scopes.append(judge.compose_scope(service))
        count(service, outcome.tally)
    return scopes


def _add_fixes(
    project: Project, judge: Judge, texts: Mapping[str, bytes], results: Results, outcome: Outcome
) -> None:
    """Give findings their fixes, each file changed by itself."""
    # Hardly any project gets here, and what makes fixes takes long to import.
    from quota_advisor.lint.fixable import Text, fix_manifest  # noqa: PLC0415

    def judged(file: InputFile, changed: bytes) -> Iterable[Finding]:
        other = replace(file, data=changed, size=len(changed))
        files = [other if known is file else known for known in project.files]
        again = project._replace(files=files)
        return _judged(_scopes(again, judge, Outcome(), {}), again, judge).findings

    for file in project.files:
        if file.path in texts:
            text = Text(file, 0, texts[file.path])
            fix_manifest(text, results, outcome, partial(judged, file))


def _judged(scopes: Sequence[Scope], project: Project, judge: Judge) -> Results:
    """Judge all together: a finding about one file may be left out by a comment in another.

    Each finding is one of the rules for the file that it stands in.
    """
    plans: dict[Plan, set[str]] = {}
    for path in (*(file.path for file in project.files), *project.others):
        plans.setdefault(judge.plan(path), set()).add(path)
    found = Results()
    for plan, paths in plans.items():
        found.add(_within(paths, run(scopes, plan, judge.config), found))
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
