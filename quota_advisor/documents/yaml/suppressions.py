"""Suppressions of findings, with their reasons: comments and annotations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from quota_advisor.model.manifest import Scalar
from quota_advisor.model.source import Location
from quota_advisor.model.suppression import Suppression
from quota_advisor.patterns import pattern

MARK = b"quota-advisor:"
"""Only a document that contains this can have such comments."""

ANNOTATION = "quota-advisor.io/ignore."

_COMMENT = pattern(
    r"(?:(?<=[ \t\n])|\A)#\s*quota-advisor:[ \t]*ignore\[([^\]\n]*)\]([^\n]*)", re.MULTILINE
)


def from_comments(file: str, data: bytes, line: int) -> tuple[Suppression, ...]:
    """Return the suppressions in the comments of a YAML document that can be parsed.

    Args:
        file: Path as given by the user.
        data: The document in UTF-8.
        line: Number of its first line.

    Raises:
        BrokenDocumentError: It cannot.
    """
    text = data.decode("utf-8", "replace")
    found = list(_COMMENT.finditer(text))
    if not found:
        return ()
    # Few files have such comments. Importing the parser takes longer than reading most of them.
    from quota_advisor.documents.yaml.exact_tree import scalar_spans  # noqa: PLC0415

    spans = [(first, last) for first, last in scalar_spans(data) if last - first > 1]
    return tuple(_suppressions(file, text, line, _outside(found, spans)))


def _outside(
    found: Iterable[re.Match[str]], spans: Iterable[tuple[int, int]]
) -> Iterator[re.Match[str]]:
    """Yield what is in none of some spans; both are in the order of the text."""
    ahead = iter(spans)
    first = last = 0
    for match in found:
        start = match.start()
        while last <= start and (span := next(ahead, None)):
            first, last = span
        if not first <= start < last:
            yield match


def _suppressions(
    file: str, text: str, line: int, found: Iterable[re.Match[str]]
) -> Iterator[Suppression]:
    counted = 0
    for match in found:
        start = match.start()
        line += text.count("\n", counted, start)
        counted = start
        ids = (part.strip() for part in match[1].split(","))
        yield Suppression(
            rules=tuple(part for part in ids if part),
            reason=match[2].strip(),
            location=Location(file=file, line=line, column=start - text.rfind("\n", 0, start)),
        )


def from_annotations(file: str, annotations: Mapping[str, Scalar]) -> Iterator[Suppression]:
    """Yield the suppressions among the annotations of an object or a pod template."""
    for key, value in annotations.items():
        if key.startswith(ANNOTATION):
            yield Suppression(
                rules=(key.removeprefix(ANNOTATION),),
                reason=value.text.strip(),
                location=Location(file=file, line=value.line, column=value.column),
            )
