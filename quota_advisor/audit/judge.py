"""From the facts of a host to a report."""

from __future__ import annotations

from quota_advisor.checks import plan
from quota_advisor.model.host import HostFacts
from quota_advisor.model.report import Report
from quota_advisor.model.suppression import Suppression
from quota_advisor.model.unit import UnitConfig
from quota_advisor.model.workload import Workload, join
from quota_advisor.rulebook.chosen import Rulebook
from quota_advisor.rulebook.engine import Scope, run


def judge(facts: HostFacts, rulebook: Rulebook, command: str) -> Report:
    """Join the facts into workloads and run the rules over them."""
    host = join(facts)
    scopes = [Scope(host, is_measured=True)]
    for workload in host.workloads:
        comments = _comments(workload)
        scopes.append(Scope(workload, comments, is_measured=True))
        if isinstance(workload.config, UnitConfig):
            written = Scope(workload.config, comments, workload.subject, shares_files=True)
            scopes.append(written)
    return Report(
        command=command,
        host=host,
        results=run(scopes, plan(rulebook.rules), rulebook.config),
        notes=facts.notes,
        problems=facts.problems,
    )


def _comments(workload: Workload) -> tuple[Suppression, ...]:
    if not isinstance(workload.config, UnitConfig):
        return ()
    return tuple(s for file in workload.config.files for s in file.suppressions)
