"""The outcome of one run: what was looked at and what was concluded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from quota_advisor.model.finding import (
    Finding,
    InternalError,
    Severity,
    Skipped,
    Subject,
    SuppressedFinding,
)
from quota_advisor.model.problem import Problem
from quota_advisor.records import dataclass

if TYPE_CHECKING:
    from quota_advisor.model.advice import Advice
    from quota_advisor.model.cluster import Cluster
    from quota_advisor.model.limit import Missing
    from quota_advisor.model.workload import Host


@dataclass(slots=True)
class Results:
    """What the engine concluded; findings are sorted worst first.

    Attributes:
        findings: What counts.
        suppressed: What a comment or the configuration left out, with the reason.
        skipped: What a rule could not judge.
        errors: Rules that failed.
    """

    findings: list[Finding] = field(default_factory=list)
    suppressed: list[SuppressedFinding] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    errors: list[InternalError] = field(default_factory=list)

    def add(self, more: Results) -> None:
        """Take in what was concluded elsewhere; the findings are as sorted as the two were."""
        self.findings += more.findings
        self.suppressed += more.suppressed
        self.skipped += more.skipped
        self.errors += more.errors

    def count(self, severity: Severity) -> int:
        """Return the number of findings of one severity."""
        return sum(f.severity is severity for f in self.findings)

    def worst(self) -> Severity | None:
        """Return the highest severity found, or None where nothing was."""
        return max((f.severity for f in self.findings), key=lambda s: s.rank, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything a renderer may show of a run.

    Attributes:
        command: The command that made it, for example ``audit host``.
        host: Facts and workloads; None where files were linted, or clusters looked at.
        clusters: Clusters with their containers, where they were looked at.
        results: What was concluded.
        advice: The one decision about each workload's quota; missing where it has none.
        notes: What was not looked at although nothing failed.
        problems: What was asked for and could not be read.
    """

    command: str
    host: Host | None
    results: Results
    advice: Mapping[Subject, Advice | Missing] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    clusters: tuple[Cluster, ...] = ()
