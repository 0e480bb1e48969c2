"""Rules about documents as texts, and about limits that many workloads share."""

from __future__ import annotations

from quota_advisor.checks.wording import listed
from quota_advisor.model.finding import Evidence, Once, Related
from quota_advisor.model.lint import SameLimit
from quota_advisor.model.manifest import DocumentNote, NoteKind
from quota_advisor.model.source import Location
from quota_advisor.rulebook.catalogue import Rule
from quota_advisor.rulebook.engine import Hit, Skip, Verdicts, check


@check(DocumentNote)
def broken_document(note: DocumentNote, _rule: Rule) -> Verdicts:
    """Find documents that no parser can read."""
    if note.kind is NoteKind.BROKEN:
        yield Hit(message=f"cannot parse this document: {note.text}", location=note.location)


@check(DocumentNote)
def unreadable_document(note: DocumentNote, _rule: Rule) -> Verdicts:
    """Find files of which nothing could be judged."""
    if note.kind is NoteKind.SKIPPED:
        yield Skip(note.text)
    elif note.kind is NoteKind.UNREADABLE:
        yield Hit(message=f"nothing in it was judged: {note.text}", location=note.location)


@check(DocumentNote)
def render_first(note: DocumentNote, _rule: Rule) -> Verdicts:
    """Find templates: what they hold is known only once they are rendered."""
    if note.kind is NoteKind.RENDER_FIRST:
        yield Hit(
            message=f"not judged, because it is {note.text}",
            location=note.location,
            once=Once.DIRECTORY,
        )


@check(DocumentNote)
def duplicate_key(note: DocumentNote, _rule: Rule) -> Verdicts:
    """Find keys that are written twice, of which only the last counts."""
    if note.kind is NoteKind.DUPLICATE_KEY:
        first = note.first and Location(
            file=note.file, line=note.first.line, column=note.first.column
        )
        related = () if first is None else (Related(location=first, message="the first one"),)
        yield Hit(message=note.text, location=note.location, related=related)


@check(SameLimit)
def uniform_limit(same: SameLimit, rule: Rule) -> Verdicts:
    """Find one limit on many workloads that have nothing else in common."""
    least = rule.option("min_workloads")
    count = len(same.names)
    if count < least:
        return
    yield Hit(
        message=f"{count} workloads have the same CPU limit of {same.limit}: {listed(same.names)}",
        location=same.first,
        evidence=(Evidence(label="workloads", value=count, unit="workloads", threshold=least),),
    )
