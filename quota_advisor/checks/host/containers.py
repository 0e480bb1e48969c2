"""Rules about containers as their engine sees them."""

from __future__ import annotations

from quota_advisor.advise.words import to_write_again
from quota_advisor.checks.evidence import limit_evidence
from quota_advisor.checks.host.evidence import limit_source
from quota_advisor.model.limit import Bandwidth, Missing
from quota_advisor.model.workload import Workload
from quota_advisor.rulebook.catalogue import Rule
from quota_advisor.rulebook.engine import Hit, Verdicts, check


@check(Workload)
def container_limit_lost(workload: Workload, rule: Rule) -> Verdicts:
    """Find a container whose engine says a limit that its cgroup does not have."""
    group, live = workload.cgroup, workload.limit
    if workload.kind != "container" or isinstance(group, Missing) or group.container is None:
        return
    told = group.container.limit
    if not isinstance(told, Bandwidth) or isinstance(live, Missing):
        return
    if isinstance(live, Bandwidth):
        drift_cores = round(abs(live.cores - told.cores), 9)
        if drift_cores < rule.option("max_drift_cores"):
            return
    seen = (
        f"{live.text}: something changed it"
        if isinstance(live, Bandwidth)
        else "none: something took it away"
    )
    engine = group.container.engine
    yield Hit(
        message=(
            f"{engine} says that its limit is {told.text}, and its cgroup has {seen}"
            " after the start"
        ),
        evidence=(
            limit_evidence(told, None, label=f"limit by {engine}"),
            *(
                [limit_evidence(live, limit_source(group), label="live limit")]
                if isinstance(live, Bandwidth)
                else []
            ),
        ),
        recommendation=to_write_again(workload, told),
    )
