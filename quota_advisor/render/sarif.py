"""The report as SARIF 2.1.0, for code scanning.

Every run has its results, even an empty list. URIs are relative to the top of the repository;
regions are those of the value, with its end where that is known; fingerprints survive a shift of
lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import quota_advisor
from quota_advisor.model.finding import Confidence, Finding, Fix, Severity, SuppressedFinding
from quota_advisor.model.report import Report, Results
from quota_advisor.model.source import Location, Span
from quota_advisor.render.encode import Members, encoded
from quota_advisor.render.parts import supporting
from quota_advisor.render.places import relative, uri
from quota_advisor.render.view import View
from quota_advisor.rulebook.catalogue import Rule, load_catalog
from quota_advisor.rulebook.fingerprint import fingerprints

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
FINGERPRINT = "quotaAdvisor/v1"

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_PRECISIONS = {Confidence.HIGH: "high", Confidence.MEDIUM: "medium", Confidence.LOW: "low"}
_ROOT = "%SRCROOT%"


def render(report: Report, view: View) -> Iterator[str]:
    """Yield the report as SARIF."""
    results = report.results
    met = {f.rule for f in (*results.findings, *(s.finding for s in results.suppressed))}
    # What each of a hundred rules is about is longer than most reports.
    rules = [rule for rule_id, rule in load_catalog().items() if rule_id in met]
    run = Members(
        tool={"driver": _driver(rules)},
        automationDetails={"id": f"quota-advisor {report.command}/"},
        columnKind="unicodeCodePoints",
        originalUriBaseIds={_ROOT: {"description": {"text": "The top of the repository."}}},
        invocations=[_invocation(report)],
        results=_results(results, [rule.id for rule in rules], view),
    )
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": iter([run])}
    yield from encoded(Members(log))
    yield "\n"


def _driver(rules: Sequence[Rule]) -> dict[str, Any]:
    return {
        "name": "quota-advisor",
        "semanticVersion": quota_advisor.__version__,
        "rules": [_rule(rule) for rule in rules],
    }


def _rule(rule: Rule) -> dict[str, Any]:
    help_text = f"{rule.fix.strip()}\n\nWhen it stays silent: {rule.silent.strip()}"
    markdown = (
        f"**Why it matters.** {rule.why.strip()}\n\n**How to fix it.** {rule.fix.strip()}\n\n"
        f"**When it stays silent.** {rule.silent.strip()}"
    )
    return {
        "id": rule.id,
        "name": "".join(word.capitalize() for word in rule.id.split("-")),
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why.strip()},
        "help": {"text": help_text, "markdown": markdown},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"precision": _PRECISIONS[rule.confidence], "tags": ["cpu-quota"]},
    }


def _invocation(report: Report) -> dict[str, Any]:
    said = [f"{p.subject}: {p.reason}" for p in report.problems]
    said += [f"rule {e.rule} failed on {e.subject.name}: {e.error}" for e in report.results.errors]
    return {
        "executionSuccessful": not said,
        "toolExecutionNotifications": [
            {"level": "error", "message": {"text": text}} for text in said
        ],
    }


def _results(results: Results, order: Sequence[str], view: View) -> Iterator[dict[str, Any]]:
    places = {rule_id: index for index, rule_id in enumerate(order)}
    findings = [*results.findings, *(s.finding for s in results.suppressed)]
    suppressions = [
        *([] for _ in results.findings),
        *([_suppression(s)] for s in results.suppressed),
    ]
    prints = fingerprints(findings, lambda file: relative(file, view))
    for finding, left_out, fingerprint in zip(findings, suppressions, prints, strict=True):
        yield {
            **_result(finding, places, view),
            "partialFingerprints": {FINGERPRINT: fingerprint},
            # An empty list says: looked for, and there is none.
            "suppressions": left_out,
        }


def _suppression(suppressed: SuppressedFinding) -> dict[str, str]:
    kind = "external" if suppressed.external else "inSource"
    return {"kind": kind, "justification": suppressed.reason}


def _result(finding: Finding, places: Mapping[str, int], view: View) -> dict[str, Any]:
    message = "\n".join([finding.message, *supporting(finding)])
    if finding.recommendation is not None:
        message += f"\n{' '.join(finding.recommendation.summary.split())}"
    result = {
        "ruleId": finding.rule,
        "ruleIndex": places[finding.rule],
        "level": _LEVELS[finding.severity],
        "message": {"text": message},
        "locations": [_location(finding, view)],
    }
    if finding.related:
        result["relatedLocations"] = [
            {
                "id": number,
                "message": {"text": other.message},
                "physicalLocation": _physical(other.location, view),
            }
            for number, other in enumerate(finding.related, start=1)
        ]
    if finding.fix is not None:
        result["fixes"] = [_fix(finding.fix, view)]
    return result


def _location(finding: Finding, view: View) -> dict[str, Any]:
    subject = {"fullyQualifiedName": finding.subject.name, "kind": finding.subject.kind}
    location: dict[str, Any] = {"logicalLocations": [subject]}
    if finding.location is not None:
        location["physicalLocation"] = _physical(finding.location, view)
    return location


def _physical(place: Location, view: View) -> dict[str, Any]:
    return {"artifactLocation": _artifact(place.file, view), "region": _region(place)}


def _artifact(file: str, view: View) -> dict[str, str]:
    target = uri(file, view)
    return {"uri": target} if "://" in target else {"uri": target, "uriBaseId": _ROOT}


def _region(place: Location) -> dict[str, int]:
    start = {"startLine": place.line, "startColumn": place.column}
    if not isinstance(place, Span):
        return start
    return start | {"endLine": place.end_line, "endColumn": place.end_column}


def _fix(fix: Fix, view: View) -> dict[str, Any]:
    """Return a fix; the format has no word for how safe it is."""
    replacements = [
        {"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.text}}
        for edit in fix.edits
    ]
    file = _artifact(fix.edits[0].span.file, view)
    return {
        "description": {"text": fix.description},
        "artifactChanges": [{"artifactLocation": file, "replacements": replacements}],
        "properties": {"safe": fix.safe},
    }
