"""Rules about limits above a workload."""

from __future__ import annotations

import posixpath

from quota_advisor.checks.host.common import bandwidth_text, limit_evidence, limit_source
from quota_advisor.model.finding import Evidence
from quota_advisor.model.limit import Bandwidth, Missing
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
            f"{len(workload.members)} workloads share {bandwidth_text(limit)} of one CPU: any of"
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


@check(Workload)
def ancestor_tighter(workload: Workload, _rule: Rule) -> Verdicts:
    """Find a limit that a smaller one further up makes void."""
    own, tightest = workload.limit, workload.tightest
    if not isinstance(own, Bandwidth) or not isinstance(tightest, tuple):
        return
    limit, group = tightest
    if isinstance(workload.cgroup, Missing) or limit.cores >= own.cores:
        return
    # What a longer period allows at once may be more than the own limit does.
    briefly = limit.period_usec > own.period_usec and limit.quota_usec > own.quota_usec
    effect = "applies for moments only" if briefly else "never applies"
    yield Hit(
        message=(
            f"its own limit of {bandwidth_text(own)} {effect}: {group.path} above it allows"
            f" {bandwidth_text(limit)} for everything inside"
        ),
        evidence=(
            limit_evidence(own, limit_source(workload.cgroup)),
            limit_evidence(limit, limit_source(group), label="limit of the ancestor"),
        ),
    )
