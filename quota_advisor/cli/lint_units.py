"""Judge unit files and quadlets, in one process: a unit may be spread over several files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from quota_advisor.cli.lint_judge import Judge, Outcome, Tally, extend
from quota_advisor.collect.lint_inputs import FileKind, InputFile, read_input, reason
from quota_advisor.collect.lint_units import merge_units, quadlet_service, slices_above
from quota_advisor.documents.unit_file import parse_unit_file
from quota_advisor.engine import Plan, Scope, run
from quota_advisor.model.lint import UnitCase
from quota_advisor.model.manifest import Quadlet
from quota_advisor.model.problem import Problem
from quota_advisor.model.suppression import Suppression
from quota_advisor.model.unit import Assignment, UnitConfig, UnitFile


def judge_units(
    files: Sequence[InputFile], judge: Judge, outcome: Outcome
) -> tuple[UnitConfig, ...]:
    """Add what the rules say of unit files and quadlets, and return the merged units."""
    units: list[UnitConfig] = []
    for group in merge_units(_read(files, FileKind.UNIT, outcome)):
        _judge_group(group, judge, outcome)
        units += group
    for file in _read(files, FileKind.QUADLET, outcome):
        scopes = list(_quadlet_scopes(file))
        extend(outcome.results, run(scopes, judge.plan(file.path), judge.config))
    return tuple(units)


def _read(files: Sequence[InputFile], kind: FileKind, outcome: Outcome) -> Iterator[UnitFile]:
    for file in files:
        if file.kind is kind:
            try:
                yield parse_unit_file(file.path, read_input(file))
            except OSError as error:
                outcome.problems.append(Problem(subject=file.path, reason=reason(error)))


def _judge_group(units: Sequence[UnitConfig], judge: Judge, outcome: Outcome) -> None:
    """Judge the units of one tree, those with the same rules together."""
    known = {unit.name: unit for unit in units}
    groups: dict[Plan, list[Scope]] = {}
    for unit in units:
        plan = judge.plan(unit.files[-1].path if unit.files else unit.name)
        comments = tuple(s for file in unit.files for s in file.suppressions)
        case = UnitCase(unit, slices_above(unit, known))
        groups.setdefault(plan, []).extend(_scopes(case, comments))
        _count(unit, outcome.tally)
    for plan, scopes in groups.items():
        extend(outcome.results, run(scopes, plan, judge.config))


def _scopes(case: UnitCase, comments: tuple[Suppression, ...]) -> Iterator[Scope]:
    yield Scope(case.unit, comments, shares_files=True)
    yield Scope(case, comments, is_measured=True, shares_files=True)


def _quadlet_scopes(file: UnitFile) -> Iterator[Scope]:
    yield Scope(Quadlet(file.path, file), file.suppressions)
    yield from _scopes(UnitCase(quadlet_service(file), ()), file.suppressions)


def _count(unit: UnitConfig, tally: Tally) -> None:
    """Count the quota of a unit."""
    quota = unit.quota_from
    if isinstance(quota, Assignment) and quota.value:
        # Instances of one template share their quota on purpose: they count once.
        stem, at = unit.name.partition("@")[0], quota.value_location
        tally.count(f"CPUQuota={quota.value}", stem, (at.file, at.line, at.column))
