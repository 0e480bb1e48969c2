"""Everything seen on one host, and the workloads that the facts join into."""

from __future__ import annotations

from quota_advisor.model.cgroup import CgroupFacts
from quota_advisor.model.node import NodeFacts
from quota_advisor.model.problem import Problem
from quota_advisor.model.unit import UnitFacts
from quota_advisor.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """How the counters were observed.

    Attributes:
        taken_at: Wall-clock time of the last reading, ISO 8601 in UTC.
        window_usec: Wall time between the first and the last reading; 0 judges lifetime totals.
        interval_usec: Time between two samples of usage, on average.
        samples: Readings taken.
    """

    taken_at: str
    window_usec: int
    interval_usec: int
    samples: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFacts:
    """All facts of one host.

    Attributes:
        hostname: Name of the host.
        observation: How the counters were observed.
        node: The machine.
        cgroups: Every cgroup of the CPU hierarchy, parents before children.
        units: Units known to a manager or found as files.
        notes: What was not looked at although nothing failed (no systemd, no bus).
        problems: What was asked for and could not be read.
    """

    hostname: str
    observation: Observation
    node: NodeFacts
    cgroups: tuple[CgroupFacts, ...]
    units: tuple[UnitFacts, ...]
    notes: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
