"""Give findings the fix that settles them, where that is certain."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

from quota_advisor.checkout.inputs import InputFile
from quota_advisor.fix import unit_plan
from quota_advisor.fix.unit_fixes import unit_fixes
from quota_advisor.fix.yaml_fixes import MAX_FILE_BYTES, fix_yaml
from quota_advisor.lint.outcome import Digest, Outcome
from quota_advisor.model.finding import Finding, Fix
from quota_advisor.model.report import Results
from quota_advisor.model.source import Location
from quota_advisor.model.unit import UnitConfig
from quota_advisor.records import NamedTuple


class Text(NamedTuple):
    """A part of a file that fixes are for.

    Attributes:
        file: The file.
        start: Offset of its first byte in the file.
        data: Its content.
        first_line: Number of its first line.
    """

    file: InputFile
    start: int
    data: bytes
    first_line: int = 1


def fix_manifest(
    text: Text, results: Results, outcome: Outcome, judged: Callable[[bytes], Iterable[Finding]]
) -> None:
    """Give findings in YAML or JSON their fixes, each tried out before it counts.

    Args:
        text: What they are in.
        results: The findings, those with fixes in place of those without.
        outcome: Takes in what the text was.
        judged: Returns what is found in another content of the same text.
    """
    path, data = text.file.path, text.data
    wanted = {(rule, place) for rule, place in _wanted(results.findings) if place.file == path}
    while wanted and text.file.size <= MAX_FILE_BYTES:
        fixed = fix_yaml(path, data, wanted, text.first_line)
        if fixed is None:
            return
        found = _wanted(judged(fixed.data))
        stay = {(s.rule, s.was) for s in fixed.settled if (s.rule, s.now) in found}
        if not stay:
            outcome.fixed.setdefault(path, []).append(Digest.of(data, text.start))
            _with_fixes(results, {(s.rule, s.was): s.fix for s in fixed.settled})
            return
        wanted -= stay


def fix_units(
    units: Collection[UnitConfig],
    services: Collection[UnitConfig],
    texts: Mapping[str, bytes],
    results: Results,
    outcome: Outcome,
) -> None:
    """Give findings in unit files and quadlets their fixes.

    Args:
        units: All units of the input: what they share is changed where all of them agree.
        services: What quadlets become.
        texts: Content by file.
        results: The findings, those with fixes in place of those without.
        outcome: Takes in what the texts were.
    """
    wanted = _wanted(results.findings)
    planned = unit_plan.plan(units, wanted)
    # What else sets a key of a quadlet is not known here: only what is in force stays so.
    numbers = {(rule, place) for rule, place in wanted if rule == unit_plan.MISREAD}
    planned += unit_plan.plan(services, numbers)
    by_file: dict[str, list[unit_plan.Proposal]] = {}
    for proposal in planned:
        by_file.setdefault(proposal.place.file, []).append(proposal)
    fixes: dict[_Asked, Fix] = {}
    for file, proposals in by_file.items():
        fixes |= unit_fixes(texts[file], proposals)
        outcome.fixed[file] = [Digest.of(texts[file])]
    _with_fixes(results, fixes)


_Asked = tuple[str, Location]
"""A finding by rule and place."""


def _wanted(findings: Iterable[Finding]) -> set[_Asked]:
    return {(f.rule, f.location.start) for f in findings if f.location is not None}


def _with_fixes(results: Results, fixes: Mapping[_Asked, Fix]) -> None:
    for index, finding in enumerate(results.findings):
        if finding.location is not None:
            fix = fixes.get((finding.rule, finding.location.start))
            if fix is not None:
                results.findings[index] = replace(finding, fix=fix)
