"""The report as JUnit XML: one suite a file, one case a finding.

Errors and warnings are failures. Notes are cases that pass and say something, so that a
dashboard does not turn red where the exit code is 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from xml.etree import ElementTree as ET

from quota_advisor.model.finding import Finding, Severity, SuppressedFinding
from quota_advisor.model.report import Report
from quota_advisor.render.parts import supporting
from quota_advisor.render.places import relative
from quota_advisor.render.view import View

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: Report, view: View) -> str:
    """Return the report as JUnit XML."""
    top = ET.Element("testsuites", name=f"quota-advisor {report.command}")
    for name, cases in _suites(report, view):
        suite = ET.SubElement(top, "testsuite", name=_clean(name))
        suite.extend(cases)
        _count(suite, cases)
    _count(top, list(top.iter("testcase")))
    ET.indent(top)
    text = ET.tostring(top, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _suites(report: Report, view: View) -> Iterator[tuple[str, list[ET.Element]]]:
    results = report.results
    shown: list[Finding | SuppressedFinding] = [*results.findings, *results.suppressed]
    shown.sort(key=lambda item: _file(item, view))
    for file, items in groupby(shown, key=lambda item: _file(item, view)):
        yield file, [_case(item, file) for item in items]
    broken = [_problem(p.subject, p.reason) for p in report.problems]
    broken += [_problem(f"rule {e.rule} on {e.subject.name}", e.error) for e in results.errors]
    if broken:
        yield "could not be judged", broken
    if not shown and not broken:
        yield "quota-advisor", [_element("testcase", classname="quota-advisor", name="no findings")]


def _file(item: Finding | SuppressedFinding, view: View) -> str:
    finding = item.finding if isinstance(item, SuppressedFinding) else item
    if finding.location is None:
        return finding.subject.name
    return relative(finding.location.file, view)


def _case(item: Finding | SuppressedFinding, file: str) -> ET.Element:
    finding = item.finding if isinstance(item, SuppressedFinding) else item
    place = finding.location
    where = "" if place is None else f":{place.line}:{place.column}"
    case = _element("testcase", classname=file, name=f"{finding.rule} {file}{where}")
    if isinstance(item, SuppressedFinding):
        case.append(_element("skipped", message=item.reason))
    elif finding.severity is Severity.INFO:
        case.append(_text("system-out", _words(finding)))
    else:
        failure = _element("failure", type=finding.severity.value, message=finding.message)
        failure.text = _clean(_words(finding))
        case.append(failure)
    return case


def _words(finding: Finding) -> str:
    lines = [f"{finding.subject.kind} {finding.subject.name}: {finding.message}"]
    lines += supporting(finding)
    if finding.recommendation is not None:
        lines.append(" ".join(finding.recommendation.summary.split()))
    return "\n".join(lines)


def _problem(subject: str, reason: str) -> ET.Element:
    case = _element("testcase", classname="quota-advisor", name=subject)
    case.append(_element("error", type="could-not-look", message=reason))
    return case


def _count(element: ET.Element, cases: list[ET.Element]) -> None:
    element.set("tests", str(len(cases)))
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(attribute, str(sum(case.find(tag) is not None for case in cases)))


def _element(tag: str, **attributes: str) -> ET.Element:
    return ET.Element(tag, {key: _clean(value) for key, value in attributes.items()})


def _text(tag: str, text: str) -> ET.Element:
    element = ET.Element(tag)
    element.text = _clean(text)
    return element


def _clean(text: str) -> str:
    """Replace what XML has no way to hold, not even escaped."""
    return _NOT_XML.sub("\ufffd", text)
