"""Files of YAML and JSON with the changes made that are certain, and nothing else.

What is changed is read again before it is handed on: a document must be the old one with those
keys and amounts changed, or it stays as it is.
"""

from __future__ import annotations

import bisect
import codecs
import contextlib
import math
import re
from collections.abc import Iterable, Iterator, Sequence

import yaml

from quota_advisor.documents.templates import TEMPLATE
from quota_advisor.documents.text import Lines, to_utf8
from quota_advisor.documents.yaml.exact_tree import read_yaml
from quota_advisor.documents.yaml.split import Part, documents
from quota_advisor.documents.yaml.tree import BrokenDocumentError, Node
from quota_advisor.documents.yaml.written import written_mappings
from quota_advisor.fix.edits import Wanted, location, span
from quota_advisor.fix.yaml_changes import Edit, Rewrite, Shift, edited, plain
from quota_advisor.fix.yaml_plan import Asked, Proposal, plan
from quota_advisor.model import finding as model
from quota_advisor.model.source import Location
from quota_advisor.records import NamedTuple

MAX_FILE_BYTES = 32 << 20
"""Larger files are made by programs and changed by them."""

MAX_DOCUMENT_BYTES = 1 << 20
"""To know the place of everything in a document can take two hundred times its size."""

_OTHER_BREAKS = re.compile("[\x85\u2028\u2029]")
"""What YAML 1.1 takes for line ends, and hardly anybody else."""


class Settled(NamedTuple):
    """A finding that a change settles.

    Attributes:
        rule: Its rule.
        was: Its place in the file as it was.
        now: The same in the new one: there the rule must be silent.
        fix: The change.
    """

    rule: str
    was: Location
    now: Location
    fix: model.Fix


class Fixed(NamedTuple):
    """A file with certain changes made."""

    data: bytes
    settled: tuple[Settled, ...]


class _Document(NamedTuple):
    """One document of a file, its tree, and the findings in it by rule, line and column."""

    asked: Asked
    file: str
    line: int
    data: bytes
    text: str
    root: Node


def fix_yaml(file: str, data: bytes, wanted: Wanted, first_line: int = 1) -> Fixed | None:
    """Return a file with some findings settled; None where nothing about them is certain.

    Args:
        file: Its path as in the findings.
        data: Its content, or whole documents of it.
        wanted: The findings.
        first_line: Number of the first line of ``data``.
    """
    body = data.removeprefix(codecs.BOM_UTF8)
    if TEMPLATE.search(data) or not _is_plain_text(data, body):
        return None
    pieces = [data[: len(data) - len(body)]]
    settled: list[Settled] = []
    last = added = 0
    for document, part in _documents(file, body, wanted, first_line):
        proposals = _plan(document)
        if edits := _proven(document, proposals):
            new = edited(document.text, edits)
            settled += _settled(
                document, proposals, Shift(edits), Lines(new, document.line + added)
            )
            pieces += [body[last : part.start], new.encode()]
            last = part.end
            added += new.count("\n") - document.text.count("\n")
    new_data = b"".join([*pieces, body[last:]])
    return Fixed(new_data, tuple(sorted(settled, key=lambda s: s.was))) if settled else None


def _is_plain_text(data: bytes, body: bytes) -> bool:
    """Whether offsets in a file are those in what is read of it."""
    try:
        return to_utf8(data) == body
    except UnicodeDecodeError:
        return False


def _documents(
    file: str, body: bytes, wanted: Wanted, first_line: int
) -> Iterator[tuple[_Document, Part]]:
    """Yield the documents that findings are in."""
    found = sorted((at.line, rule, at.column) for rule, at in wanted if at.file == file)
    lines = [line for line, _, _ in found]
    parts = list(documents(body, Part(0, len(body), first_line)))
    ends = (*(float(part.line) for part in parts[1:]), math.inf)
    for part, end in zip(parts, ends, strict=False):
        first, last = bisect.bisect_left(lines, part.line), bisect.bisect_left(lines, end)
        asked = {(rule, line, column) for line, rule, column in found[first:last]}
        if asked and (document := _read(file, body, part, asked)):
            yield document, part


def _read(file: str, body: bytes, part: Part, asked: Asked) -> _Document | None:
    """Return a document, if all of it is plain enough to be changed."""
    if part.end - part.start > MAX_DOCUMENT_BYTES:
        return None
    data = body[part.start : part.end]
    try:
        text = data.decode()
        tree = read_yaml(data, part.line, prune=False)
    except (UnicodeDecodeError, BrokenDocumentError):
        return None
    if _OTHER_BREAKS.search(text):
        return None
    return _Document(asked, file, part.line, data, text, tree.root)


def _plan(document: _Document) -> list[Proposal]:
    # Two anchors of one name are fine for the API, and this parser stops at the second.
    with contextlib.suppress(yaml.YAMLError):
        places = {(line, column) for _, line, column in document.asked}
        mappings = written_mappings(document.data, document.line, places)
        proposals = plan(document.root, mappings, document.asked)
        return [p for p in proposals if p.change.edits(document.text)]
    return []


def _proven(document: _Document, proposals: Sequence[Proposal]) -> list[Edit]:
    """Return the edits of some changes, if what they make of the text is what they are to make."""
    if not proposals:
        return []
    edits = [edit for p in proposals for edit in p.change.edits(document.text) or ()]
    expected = plain(document.root)
    for proposal in proposals:
        proposal.change.expect(expected)
    try:
        tree = read_yaml(edited(document.text, edits).encode(), document.line, prune=False)
    except BrokenDocumentError:
        return []
    return edits if plain(tree.root) == expected and not tree.duplicates else []


def _settled(
    document: _Document, proposals: Iterable[Proposal], shift: Shift, new: Lines
) -> Iterator[Settled]:
    """Yield the findings with their places in the old and in the new text."""
    old, file = Lines(document.text, document.line), document.file
    for change, aims in proposals:
        edits = tuple(
            model.Edit(span=span(old, file, at, at + len(before)), text=after)
            for at, before, after in sorted(change.edits(document.text) or ())
        )
        for rule, at, why in aims:
            # Only another spelling of the same number leaves everything as it was.
            fix = model.Fix(description=why, safe=isinstance(change, Rewrite), edits=edits)
            was = location((at.line, at.column), file)
            yield Settled(rule, was, location(new.place(shift.of(at.start)), file), fix)
