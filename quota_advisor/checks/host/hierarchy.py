"""Rules about limits above a workload."""

from __future__ import annotations

import posixpath

from quota_advisor.checks.evidence import limit_evidence
from quota_advisor.checks.host.evidence import limit_source
from quota_advisor.model.finding import Evidence
from quota_advisor.model.limit import Bandwidth
from quota_advisor.model.workload import Workload
from quota_advisor.rulebook.catalogue import Rule
from quota_advisor.rulebook.engine import Hit, Verdicts, check


@check(Workload)
def shared_slice_below_one_cpu(workload: Workload, rule: Rule) -> Verdicts:
    """Find a slice in which several workloads share less than one CPU."""
    limit = workload.limit
    if workload.kind != "slice" or not isinstance(limit, Bandwidth):
        return
    enough = len(workload.members) >= rule.option("min_members")
    if not enough or limit.cores >= rule.option("min_cores"):
        return
    names = ", ".join(posixpath.basename(m.path) for m in workload.members[:8])
    yield Hit(
        message=(
            f"{len(workload.members)} workloads share {limit.text} of one CPU: any of"
            f" them can freeze all the others ({names})"
        ),
        evidence=(
            limit_evidence(limit, limit_source(workload.cgroup)),
            Evidence(
                label="members with processes",
                value=len(workload.members),
                unit="cgroups",
                threshold=rule.option("min_members"),
            ),
        ),
    )
