"""Findings tell where what they are about begins and ends, and which other places matter."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quota_advisor.documents.systemd.unit_file import parse_unit_file
from quota_advisor.lint import lint
from quota_advisor.model.finding import Finding
from quota_advisor.model.source import Location, Span
from tests.lint.conftest import write

RULES = Path(__file__).parents[1] / "rules"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    return tmp_path


def covered(place: Location, text: str | None = None) -> str:
    """Return the text of a region."""
    assert isinstance(place, Span), place
    if text is None:
        text = Path(place.file).read_bytes().decode()
    lines = text.split("\n")[place.line - 1 : place.end_line]
    lines[-1] = lines[-1][: place.end_column - 1]
    lines[0] = lines[0][place.column - 1 :]
    return "\n".join(lines)


@pytest.fixture
def findings(here: Path) -> Iterator[Finding]:
    """Find what there is in the fixtures of all rules."""
    shutil.copytree(RULES, here / "rules")
    results = lint("rules", node_cpus=16, limits="required").results
    return iter([*results.findings, *(s.finding for s in results.suppressed)])


def test_every_finding_in_files_has_an_end(findings: Iterator[Finding]) -> None:
    count = 0
    for finding in findings:
        assert isinstance(finding.location, Span), finding
        assert all(isinstance(other.location, Span) for other in finding.related), finding
        count += 1
    assert count > 700


def test_the_region_of_an_amount_is_the_amount(findings: Iterator[Finding]) -> None:
    compared = 0
    for finding in findings:
        texts = [str(e.value) for e in finding.evidence if e.label == "as written"]
        for text in texts[:1]:
            region = covered(finding.location) if finding.location else ""
            name, equals, value = text.partition("=")
            expected = (value, name) if equals else (text,)
            assert region.strip("\"'") in expected, finding
            compared += 1
    assert compared > 60


KEYS = st.sampled_from(["CPUQuota", " CPUQuota ", "größe", "ExecStart"])
VALUES = st.sampled_from(
    ["50%", " 50% ", "", "a \\\n  b", "a \\\n# between\n  b  ", "\\\n 5", "é \\\n\t\\\n x"]
)


@given(st.lists(st.tuples(KEYS, VALUES), max_size=4), st.sampled_from(["", "\ufeff"]))
def test_keys_and_values_of_unit_files_end_where_they_are_written_to(
    pairs: list[tuple[str, str]], mark: str
) -> None:
    text = "".join(f"{key}={value}\n" for key, value in pairs)
    found = parse_unit_file("a.service", (mark + text).encode()).assignments
    assert len(found) == len(pairs)
    for assignment, (key, value) in zip(found, pairs, strict=True):
        assert covered(assignment.key_span, text) == key.strip()
        assert covered(assignment.value_span, text).strip(" \t\\\n") == value.strip(" \t\\\n")
        assert covered(assignment.value_span, text) == covered(assignment.value_span, text).strip()


POD = """\
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: team}
spec:
  containers:
  - name: a
    image: app
    resources: {requests: {cpu: 2}, limits: {cpu: 1500m}}
"""
RANGE = """\
apiVersion: v1
kind: LimitRange
metadata: {name: r, namespace: team}
spec: {limits: [{type: Container, max: {cpu: 1}}]}
"""
SERVICE = "services:\n  a:\n    image: a\n    cpus: 1\n    cpu_quota: 50000\n"
KUBELET = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
reservedSystemCPUs: "0"
systemReservedCgroup: /system
"""
QUADLET = "[Container]\nImage=a\nPodmanArgs=--cpus=2 --cpu-quota=50000\n"
SWALLOWED = "[Service]\nEnvironment=A=1 \\\nCPUQuota=5%\n"
UNIT = "[Service]\nSlice=a.slice\nCPUQuota=90%\nEnvironment=GOMAXPROCS=9\n"


@pytest.mark.parametrize(
    ("files", "rule", "about", "related"),
    [
        ({"a.yaml": POD}, "request-exceeds-limit", "2", [("the limit", "1500m")]),
        (
            {"a.yaml": POD.replace("cpu: 2", "cpu: 1"), "z/r.yaml": RANGE},
            "limit-range-refuses",
            "1500m",
            [("the LimitRange", "apiVersion")],
        ),
        (
            {"a.yaml": POD.replace("    image: app", "    image: a\n    image: b")},
            "duplicate-key",
            "image",
            [("the first one", "image")],
        ),
        ({"compose.yaml": SERVICE}, "compose-cpu-conflict", "50000", [("cpus beside it", "1")]),
        (
            {"kubelet.yaml": KUBELET},
            "cpu-manager-config",
            '"0"',
            [("what contradicts it", "/system")],
        ),
        ({"a.container": QUADLET}, "quadlet-cpu-conflict", "50000", [("the other limit", "2")]),
        (
            {"a.service": SWALLOWED},
            "cpu-key-swallowed",
            "CPUQuota=5%",
            [("what it became part of", "Environment")],
        ),
        (
            {"a.service": UNIT, "a.slice": "[Slice]\nCPUQuota=20%\n"},
            "ancestor-tighter",
            "90%",
            [("the tighter limit", "20%")],
        ),
        (
            {"a.service": UNIT},
            "threads-exceed-quota",
            "GOMAXPROCS=9",
            [("the quota", "90%")],
        ),
        (
            {
                "a.service.d/10.conf": "[Service]\nCPUQuota=20%\n",
                "a.service.d/90.conf": "[Service]\nCPUQuota=80%\n",
            },
            "drop-in-overridden",
            "20%",
            [("the drop-in that wins", "80%")],
        ),
    ],
)
def test_findings_name_the_other_places_that_matter(
    here: Path, files: dict[str, str], rule: str, about: str, related: list[tuple[str, str]]
) -> None:
    write(here, files)
    (finding,) = [f for f in lint().results.findings if f.rule == rule]
    assert finding.location is not None
    assert covered(finding.location) == about
    assert [(other.message, covered(other.location)) for other in finding.related] == related


def test_a_comment_and_what_only_all_files_show_have_ends_too(here: Path) -> None:
    comment = "# quota-advisor: ignore[invalid-cpu-quota]"
    files = {f"{n}.yaml": POD.replace("name: a,", f"name: a{n},") for n in range(60)}
    write(here, {**files, "a.service": f"[Service]\n  {comment} \nCPUQuota=5%\n"})
    found = {f.rule: f.location for f in lint().results.findings}
    regions = {rule: covered(at) for rule, at in found.items() if at is not None}
    assert regions["suppression-without-reason"] == comment
    assert regions["uniform-limit"] == "1500m"


@pytest.mark.parametrize("line_end", ["\x85", "\u2028"])
def test_no_end_is_told_where_lines_may_be_counted_otherwise(here: Path, line_end: str) -> None:
    write(here, {"a.yaml": f"# a{line_end}# b\n{POD}"})
    locations = [f.location for f in lint().results.findings]
    assert locations
    assert all(type(at) is Location for at in locations)
