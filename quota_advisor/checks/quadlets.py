"""Rules about podman quadlet files.

Source: podman ``pkg/systemd/quadlet/quadlet.go`` and the manual page podman-systemd.unit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from quota_advisor.catalog import Rule
from quota_advisor.engine import Hit, Skip, Verdicts, check
from quota_advisor.model.finding import Evidence, Recommendation, Severity
from quota_advisor.model.manifest import Quadlet
from quota_advisor.model.unit import Assignment

_SECTIONS = ("Container", "Pod", "Kube", "Build", "Volume", "Network", "Image")
"""Sections that podman reads itself; systemd gets none of their keys."""

_TAKES_CPUS = ("Container", "Pod")
"""Those among them whose PodmanArgs= reaches a command with a --cpus option."""

_CPU_KEY = re.compile(r"(?i)cpu|allowedcpus|startupcpu")
_CGROUPS = re.compile(r"--cgroups[= ](\S+)")
_QUOTA_KEYS = ("CPUQuota", "CPUQuotaPeriodSec")


@check(Quadlet)
def quadlet_cpu_key(quadlet: Quadlet, _rule: Rule) -> Verdicts:
    """Find CPU limits in quadlet files that do not reach the container."""
    for written in quadlet.unit.assignments:
        if written.section in _SECTIONS and _CPU_KEY.match(written.key):
            yield _unsupported(written)
    quotas = [
        written
        for written in quadlet.unit.assignments
        if written.section == "Service" and written.key in _QUOTA_KEYS and written.value
    ]
    if not quotas:
        return
    kind = quadlet.file.rpartition(".")[2]
    if kind != "container":
        yield Skip(f"where [Service] limits of a .{kind} file apply depends on what it starts")
        return
    mode = _cgroups_mode(quadlet)
    for written in quotas if mode != "split" else ():
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


def _cgroups_mode(quadlet: Quadlet) -> str:
    """Return the mode that counts: arguments come last; quadlet's own default is split."""
    mode = "split"
    for written in quadlet.unit.assignments:
        if written.section == "Container" and written.key == "CgroupsMode":
            mode = written.value or "split"
    for argument in _podman_arguments(quadlet):
        if match := _CGROUPS.search(argument):
            mode = match[1]
    return mode


def _podman_arguments(quadlet: Quadlet) -> Iterator[str]:
    for written in quadlet.unit.assignments:
        if written.section == "Container" and written.key == "PodmanArgs":
            yield written.value


def _as_written(written: Assignment) -> Evidence:
    return Evidence(label="as written", value=f"{written.key}={written.value}")
