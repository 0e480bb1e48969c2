"""From the facts of a host to a report."""

from __future__ import annotations

from quota_advisor.advise.decide import decide
from quota_advisor.checks import plan
from quota_advisor.derive.host.running_quota import RunningQuota
from quota_advisor.documents.systemd.extent import UnitExtents
from quota_advisor.model.advice import Advice
from quota_advisor.model.host import HostFacts
from quota_advisor.model.report import Report
from quota_advisor.model.suppression import Suppression
from quota_advisor.model.unit import UnitConfig
from quota_advisor.model.workload import AdvisedWorkload, Host, Workload, join
from quota_advisor.rulebook.chosen import Rulebook
from quota_advisor.rulebook.engine import Scope, run


def judge(facts: HostFacts, rulebook: Rulebook, command: str) -> Report:
    """Join the facts into workloads, decide about their quotas and run the rules over them."""
    host = join(facts)
    advice = {workload.subject: decide(workload) for workload in host.workloads}
    scopes = [Scope(host, is_measured=True)]
    for workload in host.workloads:
        comments = _comments(workload)
        scopes.append(Scope(workload, comments, is_measured=True))
        decided = advice[workload.subject]
        if isinstance(decided, Advice):
            scopes.append(Scope(AdvisedWorkload(workload, decided), comments, is_measured=True))
        scopes.append(Scope(RunningQuota(workload), comments, is_measured=True))
        if isinstance(workload.config, UnitConfig):
            written = Scope(workload.config, comments, workload.subject, shares_files=True)
            scopes.append(written)
    return Report(
        command=command,
        host=host,
        results=run(scopes, plan(rulebook.rules), rulebook.config, _extents(host)),
        advice=advice,
        notes=facts.notes,
        problems=facts.problems,
    )


def _extents(host: Host) -> UnitExtents:
    configs = (w.config for w in host.workloads if isinstance(w.config, UnitConfig))
    return UnitExtents(file for config in configs for file in config.files)


def _comments(workload: Workload) -> tuple[Suppression, ...]:
    if not isinstance(workload.config, UnitConfig):
        return ()
    return tuple(s for file in workload.config.files for s in file.suppressions)
