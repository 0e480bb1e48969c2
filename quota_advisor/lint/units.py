"""Judge unit files and quadlets, in one process: a unit may be spread over several files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from quota_advisor.checkout.inputs import FileKind, InputFile, read_input, reason
from quota_advisor.checkout.quadlets import merge_quadlets
from quota_advisor.checkout.units import merge_units, slices_above
from quota_advisor.derive.cases import QuadletCase
from quota_advisor.derive.units.planned_quota import PlannedQuota
from quota_advisor.documents.systemd.extent import UnitExtents
from quota_advisor.documents.systemd.unit_file import parse_unit_file
from quota_advisor.lint.judge import Judge
from quota_advisor.lint.outcome import Outcome, Tally
from quota_advisor.model.manifest import Quadlet
from quota_advisor.model.problem import Problem
from quota_advisor.model.report import Results
from quota_advisor.model.suppression import Suppression
from quota_advisor.model.unit import Assignment, UnitConfig, UnitFile
from quota_advisor.rulebook.engine import Plan, Scope, run


def judge_units(files: Sequence[InputFile], judge: Judge, outcome: Outcome) -> None:
    """Add what the rules say of unit files and quadlets."""
    units: list[UnitConfig] = []
    texts: dict[str, bytes] = {}
    found = Results()
    empty = {file.path for file in files if file.size == 0}
    for group in merge_units(_read(files, FileKind.UNIT, texts, outcome), empty):
        known = {unit.name: unit for unit in group}
        cases = [PlannedQuota(unit, slices_above(unit, known)) for unit in group]
        _judge(((case.unit.files, _unit_scopes(case)) for case in cases), judge, found)
        for unit in group:
            _count(unit, outcome.tally)
        units += group
    quadlets = list(merge_quadlets(_read(files, FileKind.QUADLET, texts, outcome)))
    _judge(((quadlet.files, _quadlet_scopes(quadlet)) for quadlet in quadlets), judge, found)
    if judge.may_fix(found):
        # Few inputs get here, and what makes fixes takes long to import.
        from quota_advisor.lint.fixable import fix_units  # noqa: PLC0415

        services = [quadlet.service for quadlet in quadlets]
        fix_units(units, services, texts, found, outcome)
    outcome.results.add(found)


def _read(
    files: Sequence[InputFile], kind: FileKind, texts: dict[str, bytes], outcome: Outcome
) -> Iterator[UnitFile]:
    """Yield files of a kind, and keep their texts: they are what fixes are for."""
    for file in files:
        if file.kind is kind:
            try:
                data = texts[file.path] = read_input(file)
            except OSError as error:
                outcome.problems.append(Problem(subject=file.path, reason=reason(error)))
            else:
                yield parse_unit_file(file.path, data)


def _judge(
    judged: Iterable[tuple[tuple[UnitFile, ...], Iterator[Scope]]], judge: Judge, found: Results
) -> None:
    """Judge what shares files, those with the same rules together."""
    groups: dict[Plan, list[Scope]] = {}
    read: dict[str, UnitFile] = {}
    for files, scopes in judged:
        read |= {file.path: file for file in files}
        groups.setdefault(judge.plan(files[-1].path), []).extend(scopes)
    extent = UnitExtents(read.values())
    for plan, group in groups.items():
        found.add(run(group, plan, judge.config, extent))


def _unit_scopes(case: PlannedQuota) -> Iterator[Scope]:
    comments = _comments(case.unit.files)
    yield Scope(case.unit, comments, shares_files=True)
    yield Scope(case, comments, is_measured=True, shares_files=True)


def _quadlet_scopes(quadlet: Quadlet) -> Iterator[Scope]:
    yield Scope(QuadletCase(quadlet), _comments(quadlet.files), shares_files=True)
    yield from _unit_scopes(PlannedQuota(quadlet.service, ()))


def _comments(files: tuple[UnitFile, ...]) -> tuple[Suppression, ...]:
    return tuple(suppression for file in files for suppression in file.suppressions)


def _count(unit: UnitConfig, tally: Tally) -> None:
    """Count the quota of a unit."""
    quota = unit.quota_from
    if isinstance(quota, Assignment) and quota.value:
        # Instances of one template share their quota on purpose: they count once.
        stem, at = unit.name.partition("@")[0], quota.value_location
        tally.count(f"CPUQuota={quota.value}", stem, (at.file, at.line, at.column))
