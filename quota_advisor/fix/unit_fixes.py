"""Changes of a unit file as fixes: edits of its text, everything else left as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from quota_advisor.documents.text import Lines
from quota_advisor.fix.edits import span
from quota_advisor.fix.unit_plan import MISREAD, Move, Proposal, Replacement
from quota_advisor.model.finding import Edit, Fix
from quota_advisor.model.source import Location, span_of

_BOM = "\ufeff"


def unit_fixes(data: bytes, proposals: Sequence[Proposal]) -> dict[tuple[str, Location], Fix]:
    """Return some changes of a file as fixes, by rule and place of what they settle.

    Comments, layout, line ends, byte order mark and a missing last line end stay as they are. What
    moves, moves together: where the first of it makes a section, the rest goes there too. There is
    no fix where the text is not what the changes expect.
    """
    text = data.decode("utf-8", "surrogateescape").removeprefix(_BOM)
    if "\0" in text or re.search(r"\r(?!\n)", text):
        # Lines end here in ways that only systemd counts.
        return {}
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    if not all(_stands(lines, p) for p in proposals if isinstance(p, Replacement)):
        return {}
    found = {(p.rule, p.place): _replacing(p) for p in proposals if isinstance(p, Replacement)}
    moves = [p for p in proposals if isinstance(p, Move)]
    if moves:
        edits = (_difference(moves[0].place.file, text, lines, _moved(list(lines), moves)),)
        found |= {(m.rule, m.place): Fix(description=m.why, safe=False, edits=edits) for m in moves}
    return found


def _stands(lines: Sequence[str], change: Replacement) -> bool:
    index, at = change.place.line - 1, change.place.column - 1
    return index < len(lines) and lines[index].startswith(change.old, at)


def _replacing(change: Replacement) -> Fix:
    edit = Edit(span=span_of(change.place, change.old), text=change.new)
    return Fix(description=change.why, safe=change.rule == MISREAD, edits=(edit,))


def _difference(file: str, text: str, old: Sequence[str], new: Sequence[str]) -> Edit:
    """Return the edit that makes lines of a text into others: all from the first that differs."""
    shorter = min(len(old), len(new))
    head = next((i for i in range(shorter) if old[i] != new[i]), shorter)
    rest = shorter - head
    tail = next((i for i in range(rest) if old[-1 - i] != new[-1 - i]), rest)
    start = sum(map(len, old[:head]))
    end = len(text) - sum(map(len, old[len(old) - tail :]))
    where = span(Lines(text), file, start, end)
    return Edit(span=where, text="".join(new[head : len(new) - tail]))


def _moved(lines: list[str], moves: Sequence[Move]) -> list[str]:
    """Return the lines with some assignments in other sections, in their order."""
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
