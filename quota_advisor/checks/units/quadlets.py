"""Rules about podman quadlet files.

Source: podman ``pkg/systemd/quadlet/quadlet.go`` and the manual page podman-systemd.unit.
"""

from __future__ import annotations

import re

from quota_advisor.derive.cases import QuadletCase
from quota_advisor.model.finding import Evidence, Recommendation, Severity
from quota_advisor.model.manifest import QUADLET_SECTIONS
from quota_advisor.model.unit import Assignment, Outcome
from quota_advisor.rulebook.catalogue import Rule
from quota_advisor.rulebook.engine import Hit, Skip, Verdicts, check

_TAKES_CPUS = ("Container", "Pod")
"""Sections whose PodmanArgs= reaches a command with a --cpus option."""

_CPU_KEY = re.compile(r"(?i)cpu|allowedcpus|startupcpu")
_SERVICE_LIMITS = ("CPUQuota", "CPUQuotaPeriodSec", "AllowedCPUs")


@check(QuadletCase)
def quadlet_cpu_key(case: QuadletCase, _rule: Rule) -> Verdicts:
    """Find CPU limits in quadlet files that do not reach the container."""
    quadlet = case.quadlet
    for file in quadlet.files:
        for written in file.assignments:
            if written.section in QUADLET_SECTIONS and _CPU_KEY.match(written.key):
                yield _unsupported(written)
    limits = [
        judged.assignment
        for judged in quadlet.service.judged
        if judged.outcome is Outcome.APPLIED
        and judged.assignment.key in _SERVICE_LIMITS
        and judged.assignment.value
    ]
    if not limits:
        return
    if quadlet.kind != "container":
        kind = f"a .{quadlet.kind} file"
        yield Skip(f"where [Service] limits of {kind} apply depends on what it starts")
        return
    for written in () if case.cpu.is_inside else limits:
        yield _does_not_reach(written, case.cpu.cgroups_mode)


def _unsupported(written: Assignment) -> Hit:
    fix = "use PodmanArgs=--cpus= with the number of CPUs instead"
    if written.section not in _TAKES_CPUS:
        fix = "remove it"
    return Hit(
        message=(
            f"quadlet has no key {written.key}= in [{written.section}]: it generates no service"
            " from this file"
        ),
        location=written.location,
        evidence=(_as_written(written),),
        recommendation=Recommendation(summary=fix),
    )


def _does_not_reach(written: Assignment, mode: str) -> Hit:
    return Hit(
        message=(
            f"{written.key}={written.value} in [Service] limits podman and not the container,"
            f" whose cgroup is elsewhere with the cgroups mode {mode!r}"
        ),
        severity=Severity.WARNING,
        location=written.value_location,
        evidence=(_as_written(written), Evidence(label="cgroups mode", value=mode)),
    )


def _as_written(written: Assignment) -> Evidence:
    return Evidence(label="as written", value=f"{written.key}={written.value}")
