"""What is certain about the findings of units, and nothing else.

Three things are certain: a key that only its spelling keeps from being one of systemd's, a key
that stands in a section without it while nothing else sets it, and a quota that reads as another
number than it looks, rewritten as the number that is in force. No number is made up. The first
two put a setting into force that was ignored; the description of the change says so.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Iterable

from quota_advisor.documents.systemd.merge import CPU_KEYS, judge, unit_section
from quota_advisor.fix.edits import Wanted
from quota_advisor.fix.spelling import is_spelling_of
from quota_advisor.model.source import Location
from quota_advisor.model.unit import Assignment, JudgedAssignment, Outcome, UnitConfig
from quota_advisor.records import dataclass
from quota_advisor.units import misreading

UNKNOWN_KEY = "unknown-cpu-key"
WRONG_SECTION = "cpu-key-in-wrong-section"
MISREAD = "misread-cpu-quota"


@dataclass(frozen=True, slots=True)
class Replacement:
    """Text of one line that becomes another text.

    Attributes:
        rule: Whose finding it settles.
        place: Of its first character.
        old: What stands there.
        new: What will.
        why: One line for the user.
    """

    rule: str
    place: Location
    old: str
    new: str
    why: str


@dataclass(frozen=True, slots=True)
class Move:
    """An assignment that moves to another section of its file.

    Attributes:
        rule: Whose finding it settles.
        place: Of its key.
        section: Where it goes.
        why: One line for the user.
    """

    rule: str
    place: Location
    section: str
    why: str


Proposal = Replacement | Move


def plan(units: Iterable[UnitConfig], wanted: Wanted) -> list[Proposal]:
    """Return the certain changes for some findings, in the order of their places.

    A file that belongs to several units is changed only where all of them agree.
    """
    proposals: dict[Location, set[Proposal | None]] = {}
    for unit in units:
        for judged in unit.judged:
            proposal = _proposal(unit, judged, wanted)
            proposals.setdefault(judged.assignment.location, set()).add(proposal)
    agreed = (next(iter(some)) for some in proposals.values() if len(some) == 1)
    return sorted((one for one in agreed if one is not None), key=lambda one: one.place)


def _proposal(unit: UnitConfig, judged: JudgedAssignment, wanted: Wanted) -> Proposal | None:
    written = judged.assignment
    if judged.outcome is Outcome.UNKNOWN_KEY and (UNKNOWN_KEY, written.location) in wanted:
        return _spelling(unit, judged)
    if judged.outcome is Outcome.WRONG_SECTION and (WRONG_SECTION, written.location) in wanted:
        return _move(unit, judged)
    if (MISREAD, written.value_location) in wanted:
        return _number(written)
    return None


# ---- keys

_BARE_NUMBER = re.compile(r"[0-9.](?![0-9.]|[ \t]*[A-Za-zµμ])")


def _spelling(unit: UnitConfig, judged: JudgedAssignment) -> Replacement | None:
    written, key = judged.assignment, judged.suggestion
    if key not in CPU_KEYS or not _is_spelling_of(written.key, key) or not written.value:
        return None
    if _would_mislead(written):
        return None
    # Named as D-Bus names it, a bare number meant microseconds, which here would be seconds.
    if key.endswith("Sec") and _BARE_NUMBER.search(written.value):
        return None
    verdicts = {v.outcome for v in judge(unit.name, [dataclasses.replace(written, key=key)])}
    if verdicts - {Outcome.APPLIED, Outcome.WRONG_SECTION} or not _is_only(unit, key):
        return None
    why = f"{written.key}= was ignored; as {key}={written.value} it takes effect"
    return Replacement(UNKNOWN_KEY, written.location, written.key, key, why)


def _is_spelling_of(written: str, key: str) -> bool:
    """Whether two keys differ by little, or as the names of D-Bus differ from those of files."""
    folded, known = written.lower().replace(" ", ""), key.lower()
    if folded.endswith("usec") and known.endswith("sec") and folded[:-4] == known[:-3]:
        return True
    return is_spelling_of(written, key)


def _is_only(unit: UnitConfig, key: str) -> bool:
    """Whether one assignment alone sets, or means to set, a key: nothing else may win or lose."""
    meant = Counter(v.suggestion or v.assignment.key for v in unit.judged)
    return meant[key] == 1


def _move(unit: UnitConfig, judged: JudgedAssignment) -> Move | None:
    written, section = judged.assignment, unit_section(unit.name)
    if not section or written.section == section or not _is_only(unit, written.key):
        return None
    if _would_mislead(written):
        return None
    there = dataclasses.replace(written, section=section)
    if any(v.outcome is not Outcome.APPLIED for v in judge(unit.name, [there])):
        return None
    where = f"[{written.section}]" if written.section else "no section"
    why = f"{written.key}={written.value} was ignored in {where}; in [{section}] it takes effect"
    return Move(WRONG_SECTION, written.location, section, why)


def _would_mislead(written: Assignment) -> bool:
    """Whether what is ignored now would be another number in force than its author wrote."""
    return misreading(written.value) is not None


def _number(written: Assignment) -> Replacement | None:
    trap = misreading(written.value)
    if trap is None:
        return None
    why = f"{written.value} is read as {trap.read_as}: written so, what is in force stays"
    return Replacement(MISREAD, written.value_location, written.value, trap.read_as, why)
