"""Rules about podman quadlet files.

Source: podman ``pkg/systemd/quadlet/quadlet.go`` and the manual page podman-systemd.unit.
"""

from __future__ import annotations

import re

from quota_advisor.derive.podman_options import podman_options
from quota_advisor.model.finding import Evidence, Recommendation, Severity
from quota_advisor.model.manifest import QUADLET_SECTIONS, Quadlet
from quota_advisor.model.unit import Assignment, Outcome, standing
from quota_advisor.rulebook.catalogue import Rule
from quota_advisor.rulebook.engine import Hit, Skip, Verdicts, check

_TAKES_CPUS = ("Container", "Pod")
"""Sections whose PodmanArgs= reaches a command with a --cpus option."""

_CPU_KEY = re.compile(r"(?i)cpu|allowedcpus|startupcpu")
_SERVICE_LIMITS = ("CPUQuota", "CPUQuotaPeriodSec", "AllowedCPUs")
INSIDE = ("split", "disabled")
"""Cgroups modes that leave the container in the cgroup of the service."""


@check(Quadlet)
def quadlet_cpu_key(quadlet: Quadlet, _rule: Rule) -> Verdicts:
    """Find CPU limits in quadlet files that do not reach the container."""
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
    mode = cgroups_mode(quadlet)
    for written in limits if mode not in INSIDE else ():
        yield _does_not_reach(written, mode)


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


def cgroups_mode(quadlet: Quadlet) -> str:
    """Return the mode that counts: arguments come last; quadlet's own default is split."""
    chosen = standing(quadlet.files, "Container", "CgroupsMode")
    mode = chosen[-1].value if chosen else "split"
    return next((o.value for o in reversed(podman_options(quadlet, "--cgroups"))), mode)


def _as_written(written: Assignment) -> Evidence:
    return Evidence(label="as written", value=f"{written.key}={written.value}")
