"""Suppressions of findings, with their reasons: comments and annotations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

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
    return tuple(
        _suppression(file, text, line, match)
        for match in found
        if not any(first <= match.start() < last for first, last in spans)
    )


def _suppression(file: str, text: str, line: int, match: re.Match[str]) -> Suppression:
    start = match.start()
    row = line + text.count("\n", 0, start)
    column = start - text.rfind("\n", 0, start)
    ids = (part.strip() for part in match[1].split(","))
    return Suppression(
        rules=tuple(part for part in ids if part),
        reason=match[2].strip(),
        location=Location(file=file, line=row, column=column),
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
