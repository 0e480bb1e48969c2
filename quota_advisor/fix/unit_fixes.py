"""Changes to unit files that are certain, and nothing else.

Three things are certain: a key that only its spelling keeps from being one of systemd's, a key
that stands in a section without it while nothing else sets it, and a quota that reads as another
number than it looks, rewritten as the number that is in force. No number is made up. The first
two put a setting into force that was ignored; the description of the change says so.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from quota_advisor.documents.systemd.merge import CPU_KEYS, judge, unit_section
from quota_advisor.fix.spelling import is_spelling_of
from quota_advisor.model.source import Location
from quota_advisor.model.unit import Assignment, JudgedAssignment, Outcome, UnitConfig
from quota_advisor.units import misreading

UNKNOWN_KEY = "unknown-cpu-key"
WRONG_SECTION = "cpu-key-in-wrong-section"
MISREAD = "misread-cpu-quota"

Wanted = Collection[tuple[str, Location]]
"""Findings to fix, each as rule and place."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """Text of one line that becomes another text.

    Attributes:
        place: Of its first character.
        old: What stands there.
        new: What will.
        why: One line for the user.
    """

    place: Location
    old: str
    new: str
    why: str


@dataclass(frozen=True, slots=True)
class Move:
    """An assignment that moves to another section of its file.

    Attributes:
        place: Of its key.
        section: Where it goes.
        why: One line for the user.
    """

    place: Location
    section: str
    why: str


Fix = Replacement | Move


def plan(units: Iterable[UnitConfig], wanted: Wanted) -> list[Fix]:
    """Return the certain fixes of some findings, in the order of their places.

    A file that belongs to several units is changed only where all of them agree.
    """
    proposals: dict[Location, set[Fix | None]] = {}
    for unit in units:
        for judged in unit.judged:
            fix = _fix(unit, judged, wanted)
            proposals.setdefault(judged.assignment.location, set()).add(fix)
    agreed = (next(iter(fixes)) for fixes in proposals.values() if len(fixes) == 1)
    return sorted((fix for fix in agreed if fix is not None), key=lambda fix: fix.place)


def _fix(unit: UnitConfig, judged: JudgedAssignment, wanted: Wanted) -> Fix | None:
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
    # Named as D-Bus names it, a bare number meant microseconds, which here would be seconds.
    if key.endswith("Sec") and _BARE_NUMBER.search(written.value):
        return None
    verdicts = {v.outcome for v in judge(unit.name, [dataclasses.replace(written, key=key)])}
    if verdicts - {Outcome.APPLIED, Outcome.WRONG_SECTION} or not _is_only(unit, key):
        return None
    why = f"{written.key}= was ignored; as {key}={written.value} it takes effect"
    return Replacement(written.location, written.key, key, why)


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
    there = dataclasses.replace(written, section=section)
    if any(v.outcome is not Outcome.APPLIED for v in judge(unit.name, [there])):
        return None
    where = f"[{written.section}]" if written.section else "no section"
    why = f"{written.key}={written.value} was ignored in {where}; in [{section}] it takes effect"
    return Move(written.location, section, why)


def _number(written: Assignment) -> Replacement | None:
    trap = misreading(written.value)
    if trap is None:
        return None
    why = f"{written.value} is read as {trap.read_as}: written so, what is in force stays"
    return Replacement(written.value_location, written.value, trap.read_as, why)


# ---- text

_BOM = "\ufeff"


def apply(data: bytes, fixes: Sequence[Fix]) -> bytes | None:
    """Return a file with some of its fixes made; None where its text is not what they expect.

    Comments, layout, line ends, byte order mark and a missing last line end stay as they are.
    """
    text = data.decode("utf-8", "surrogateescape")
    if "\0" in text or re.search(r"\r(?!\n)", text):
        # Lines end here in ways that only systemd counts.
        return None
    # Columns do not count a byte order mark at the start of a file, and it stays there.
    mark = _BOM * text.startswith(_BOM)
    lines = re.findall(r"[^\n]*\n|[^\n]+", text.removeprefix(_BOM))
    for fix in fixes:
        if isinstance(fix, Replacement) and not _replace(lines, fix):
            return None
    lines = _moved(lines, [fix for fix in fixes if isinstance(fix, Move)])
    return "".join([mark, *lines]).encode("utf-8", "surrogateescape")


def _replace(lines: list[str], fix: Replacement) -> bool:
    index, at = fix.place.line - 1, fix.place.column - 1
    if index >= len(lines) or not lines[index].startswith(fix.old, at):
        return False
    lines[index] = lines[index][:at] + fix.new + lines[index][at + len(fix.old) :]
    return True


def _moved(lines: list[str], moves: Sequence[Move]) -> list[str]:
    """Return the lines with some assignments in other sections, in their order."""
    if not moves:
        return lines
    line_end = "\r\n" if lines[0].endswith("\r\n") else "\n"
    complete = lines[-1].endswith("\n")
    if not complete:
        lines[-1] += line_end
    ranges = [_block(lines, move.place.line - 1) for move in moves]
    leaving = {index for block in ranges for index in block}
    kept = [line for index, line in enumerate(lines) if index not in leaving]
    for move, block in zip(moves, ranges, strict=True):
        _insert(kept, move.section, [lines[index] for index in block], line_end)
    if not complete:
        kept[-1] = kept[-1].removesuffix(line_end)
    return kept


_SETTING_IN_COMMENT = re.compile(r"[#;]\s*[A-Za-z]+\s*=")


def _block(lines: Sequence[str], index: int) -> range:
    """Return an assignment's lines with the comments right above it that speak of it."""
    start = index
    while start > 0 and _is_comment(lines[start - 1]):
        if _SETTING_IN_COMMENT.match(lines[start - 1].lstrip()):
            break
        start -= 1
    return range(start, _end(lines, index))


def _insert(lines: list[str], section: str, block: list[str], line_end: str) -> None:
    """Put lines behind the last setting of a section, which is made where there is none."""
    ends = [
        end
        for end, inside in _settings(lines)
        # Behind a setting that the file leaves unfinished, the lines would become part of it.
        if inside == section and not _is_open(lines, end)
    ]
    if ends:
        lines[ends[-1] : ends[-1]] = block
        return
    gap = [line_end] if lines and lines[-1].strip() else []
    lines += [*gap, f"[{section}]{line_end}", *block]


def _settings(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield where each header and each assignment ends, with the section that it is in."""
    section, index = "", 0
    while index < len(lines):
        text = lines[index].strip(f"{_BOM} \t\r\n")
        end = index + 1 if _is_comment(lines[index]) else _end(lines, index)
        if text.startswith("[") and text.endswith("]"):
            section = text[1:-1]
        if text and not _is_comment(lines[index]):
            yield end, section
        index = end


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith(("#", ";"))


def _end(lines: Sequence[str], index: int) -> int:
    """Return the index behind the last line of what begins on a line."""
    end = index + 1
    continues = _continues(lines[index])
    while continues and end < len(lines):
        # systemd drops comments between continued lines and goes on.
        continues = _is_comment(lines[end]) or _continues(lines[end])
        end += 1
    return end


def _is_open(lines: Sequence[str], end: int) -> bool:
    """Whether the file ends before the setting that ends here does."""
    last = next((line for line in reversed(lines[:end]) if not _is_comment(line)), "")
    return end == len(lines) and _continues(last)


def _continues(line: str) -> bool:
    text = line.rstrip("\r\n")
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1
