"""Unified diffs of files in which little was changed, in time that grows with the file alone.

The matcher of the standard library looks for the longest common run in all that is left, which
takes minutes for a file with thousands of changes. Fixes keep the order of lines and change few of
them at a time: behind each change the two files meet again soon, at most a few lines apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from quota_advisor.records import NamedTuple

CONTEXT = 3
"""Lines that are shown around a change."""

_MOST = 16
_APART = (0, *(apart for most in range(1, _MOST + 1) for apart in (most, -most)))
"""By how many lines the new file may be ahead where the two meet again, most usual first."""

_SURE = 2
"""Equal lines behind a change that are no chance, where the two are not side by side."""


class _Change(NamedTuple):
    """Lines that others take the place of, each as the offsets of the first and behind the last."""

    start: int
    end: int
    new_start: int
    new_end: int


def unified_diff(
    old: Sequence[str], new: Sequence[str], old_name: str, new_name: str
) -> Iterator[str]:
    """Yield the lines of a unified diff; nothing for equal files.

    Args:
        old: Lines with their ends.
        new: Lines with their ends.
        old_name: What the old file is called.
        new_name: What the new file is called.
    """
    for number, hunk in enumerate(_hunks(_changes(old, new))):
        if number == 0:
            yield f"--- {old_name}\n"
            yield f"+++ {new_name}\n"
        yield from _shown(hunk, old, new)


def _changes(old: Sequence[str], new: Sequence[str]) -> Iterator[_Change]:
    at = new_at = 0
    while at < len(old) or new_at < len(new):
        if at < len(old) and new_at < len(new) and old[at] == new[new_at]:
            at, new_at = at + 1, new_at + 1
            continue
        end, new_end = _meeting(old, new, at, new_at)
        yield _Change(at, end, new_at, new_end)
        at, new_at = end, new_end


def _meeting(old: Sequence[str], new: Sequence[str], at: int, new_at: int) -> tuple[int, int]:
    """Return where two files are equal again; their ends if they never are."""
    for end in range(at, len(old)):
        beside = new_at + end - at
        for apart in _APART:
            new_end = beside + apart
            behind = old[end : end + (_SURE if apart else 1)]
            if new_end >= new_at and behind == new[new_end : new_end + len(behind)]:
                return end, new_end
    return len(old), len(new)


def _hunks(changes: Iterator[_Change]) -> Iterator[list[_Change]]:
    """Yield changes that are shown together: what is around them would overlap or touch."""
    hunk: list[_Change] = []
    for change in changes:
        if hunk and change.start - hunk[-1].end > 2 * CONTEXT:
            yield hunk
            hunk = []
        hunk.append(change)
    if hunk:
        yield hunk


def _shown(hunk: Sequence[_Change], old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    first, last = hunk[0], hunk[-1]
    before = min(CONTEXT, first.start)
    after = min(CONTEXT, len(old) - last.end)
    old_range = _range(first.start - before, last.end + after)
    new_range = _range(first.new_start - before, last.new_end + after)
    yield f"@@ -{old_range} +{new_range} @@\n"
    at = first.start - before
    for change in hunk:
        yield from (f" {line}" for line in old[at : change.start])
        yield from (f"-{line}" for line in old[change.start : change.end])
        yield from (f"+{line}" for line in new[change.new_start : change.new_end])
        at = change.end
    yield from (f" {line}" for line in old[at : at + after])


def _range(start: int, end: int) -> str:
    """Return lines as a hunk names them: one alone without its number, none by the one before."""
    length = end - start
    if length == 1:
        return f"{start + 1}"
    return f"{start + 1 if length else start},{length}"
