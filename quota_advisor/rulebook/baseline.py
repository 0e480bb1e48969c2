"""Known findings, kept in a file so that only new ones count.

The file is JSON with one finding a line, sorted: a change of it reads well in a review. Only
the fingerprints decide; the rest of an entry is for people.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from quota_advisor.errors import ConfigError
from quota_advisor.files.reading import MAX_RECORD_BYTES, read_named
from quota_advisor.files.writing import reason
from quota_advisor.model.finding import Finding, SuppressedFinding
from quota_advisor.model.report import Results
from quota_advisor.records import dataclass
from quota_advisor.rulebook.fingerprint import fingerprints

FORMAT = "quota-advisor/baseline/v1"

NameOf = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Baseline:
    """The findings that are known.

    Attributes:
        entries: By fingerprint, what people read of each.
    """

    entries: Mapping[str, str]


def load_baseline(path: Path) -> Baseline:
    """Return the findings in a file.

    Raises:
        ConfigError: The file cannot be read or is no baseline.
    """
    try:
        return parse_baseline(read_named(path, MAX_RECORD_BYTES), path)
    except OSError as error:
        hint = "make one with --write-baseline"
        raise ConfigError(f"{path}: {reason(error)}", hint=hint) from error


def parse_baseline(text: str | bytes, path: Path) -> Baseline:
    """Return the findings in the text of a file.

    Raises:
        ConfigError: It is no baseline.
    """
    try:
        data: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: this is no baseline: no JSON") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ConfigError(f"{path}: this is no baseline: format is not {FORMAT!r}")
    try:
        return Baseline({entry["fingerprint"]: _summary(entry) for entry in data["findings"]})
    except (KeyError, TypeError) as error:
        raise ConfigError(f"{path}: an entry is no finding with a fingerprint") from error


def dump_baseline(results: Results, name_of: NameOf) -> str:
    """Return the file for the findings of a run.

    Args:
        results: Of the run.
        name_of: Gives a file's name independent of the working directory.
    """
    marked = _marked(results, name_of)
    lines = sorted(
        json.dumps(_entry(finding, fingerprint, name_of), ensure_ascii=False)
        for finding, fingerprint in zip(results.findings, marked, strict=False)
    )
    listed = ",\n    ".join(lines)
    body = f"[\n    {listed}\n  ]" if lines else "[]"
    return f'{{\n  "format": "{FORMAT}",\n  "findings": {body}\n}}\n'


def apply_baseline(results: Results, baseline: Baseline, name_of: NameOf, reason: str) -> list[str]:
    """Move known findings to those left out; return the entries that match nothing any more."""
    left = dict(baseline.entries)
    kept: list[Finding] = []
    marked = _marked(results, name_of)
    for finding, fingerprint in zip(list(results.findings), marked, strict=False):
        if left.pop(fingerprint, None) is None:
            kept.append(finding)
        else:
            entry = SuppressedFinding(finding=finding, reason=reason, external=True)
            results.suppressed.append(entry)
    results.findings[:] = kept
    return sorted(left.values())


def _marked(results: Results, name_of: NameOf) -> list[str]:
    """Return the fingerprints of the findings, then of those that are left out already."""
    return fingerprints([*results.findings, *(s.finding for s in results.suppressed)], name_of)


def _entry(finding: Finding, fingerprint: str, name_of: NameOf) -> dict[str, str]:
    file = "" if finding.location is None else name_of(finding.location.file)
    return {
        "file": file,
        "rule": finding.rule,
        "subject": finding.subject.name,
        "message": finding.message,
        "fingerprint": fingerprint,
    }


def _summary(entry: Mapping[str, str]) -> str:
    parts: Iterable[str] = (str(entry.get(key, "")) for key in ("file", "rule", "message"))
    return " ".join(part for part in parts if part)
