"""What makes a finding the same finding after the lines around it moved."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Sequence

from quota_advisor.model.finding import Finding
from quota_advisor.model.lint import DIRECTORY, WHOLE_INPUT

_LINE_NUMBER = re.compile(r"\bline [0-9]+")


def fingerprints(findings: Sequence[Finding], name_of: Callable[[str], str]) -> list[str]:
    """Return one fingerprint a finding, in the order given.

    It is made of rule, file, subject and message, without line numbers; of what spans files
    only of rule and subject, because its message names and counts files. Findings that agree in all
    of these are told apart by the order of their places.

    Args:
        findings: All findings of a run, those left out among them.
        name_of: Gives a file's name independent of the working directory.
    """
    met: Counter[tuple[str, ...]] = Counter()
    made = [""] * len(findings)
    for index, finding in sorted(enumerate(findings), key=lambda item: _place(item[1])):
        identity = _identity(finding, name_of)
        met[identity] += 1
        text = "\0".join((*identity, str(met[identity])))
        made[index] = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return made


def _place(finding: Finding) -> tuple[str, int, int]:
    at = finding.location
    return ("", 0, 0) if at is None else (at.file, at.line, at.column)


def _identity(finding: Finding, name_of: Callable[[str], str]) -> tuple[str, ...]:
    file = "" if finding.location is None else finding.location.file
    subject = finding.subject.name
    if finding.subject.kind == WHOLE_INPUT:
        return (finding.rule, finding.subject.kind, subject)
    if finding.subject.kind == DIRECTORY:
        return (finding.rule, finding.subject.kind, name_of(subject))
    return (
        finding.rule,
        name_of(file) if file else "",
        finding.subject.kind,
        name_of(subject) if subject == file else subject,
        _LINE_NUMBER.sub("line", _without_paths(finding, name_of)),
    )


def _without_paths(finding: Finding, name_of: Callable[[str], str]) -> str:
    """Return the message with other files, which evidence places by path and line, by name."""
    message = finding.message
    for evidence in finding.evidence:
        path, colon, line = str(evidence.value).rpartition(":")
        if colon and line.isdecimal() and "/" in path and path in message:
            message = message.replace(path, name_of(path))
    return message
