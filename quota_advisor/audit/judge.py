"""From the facts of a host to a report."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from quota_advisor.advise.decide import decide
from quota_advisor.checks import plan
from quota_advisor.derive.host.running_quota import RunningQuota
from quota_advisor.documents.systemd.extent import UnitExtents
from quota_advisor.model.advice import Advice
from quota_advisor.model.finding import Subject
from quota_advisor.model.host import HostFacts
from quota_advisor.model.limit import Missing
from quota_advisor.model.problem import Problem
from quota_advisor.model.report import Report, Results
from quota_advisor.model.suppression import Suppression
from quota_advisor.model.unit import UnitConfig
from quota_advisor.model.workload import AdvisedWorkload, Host, Workload, join
from quota_advisor.rulebook.causes import one_a_cause
from quota_advisor.rulebook.chosen import Rulebook
from quota_advisor.rulebook.engine import Scope, run


def judge(
    facts: HostFacts, rulebook: Rulebook, command: str, units: Collection[str] = ()
) -> Report:
    """Join the facts into workloads, decide about their quotas and run the rules over them.

    Args:
        facts: What was found.
        rulebook: The rules.
        command: What the report is of.
        units: Names of units, containers or cgroups to size even if they never had a quota.
    """
    host = join(facts)
    advice = decisions(host, units)
    results = by_rule(host, advice, rulebook)
    results.findings = one_a_cause(results.findings, _subjects(host))
    return Report(
        command=command,
        host=host,
        results=results,
        advice=advice,
        notes=facts.notes,
        problems=(*facts.problems, *_unknown(host, units)),
    )


def decisions(host: Host, units: Collection[str] = ()) -> Mapping[Subject, Advice | Missing]:
    """Return what was decided about the quota of each workload, and of those that are named."""
    return {
        workload.subject: decide(workload, is_named=any(_is(workload, name) for name in units))
        for workload in host.workloads
    }


def by_rule(host: Host, advice: Mapping[Subject, Advice | Missing], rulebook: Rulebook) -> Results:
    """Return what each rule says by itself."""
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
    return run(scopes, plan(rulebook.rules), rulebook.config, _extents(host))


def _subjects(host: Host) -> Mapping[str, Subject]:
    subjects = (workload.subject for workload in host.workloads)
    return {subject.cgroup: subject for subject in subjects if subject.cgroup is not None}


def _extents(host: Host) -> UnitExtents:
    configs = (w.config for w in host.workloads if isinstance(w.config, UnitConfig))
    return UnitExtents(file for config in configs for file in config.files)


def _is(workload: Workload, name: str) -> bool:
    """Whether somebody means a workload by a name: its own, without ``.service``, or its path."""
    path = None if isinstance(workload.cgroup, Missing) else workload.cgroup.path
    return name in (workload.name, path) or f"{name}.service" == workload.name


def _unknown(host: Host, units: Collection[str]) -> Iterator[Problem]:
    for name in units:
        if not any(_is(workload, name) for workload in host.workloads):
            yield Problem(
                subject=name,
                reason="no unit, container or cgroup of this name",
                hint="audit host --all lists them",
            )


def _comments(workload: Workload) -> tuple[Suppression, ...]:
    if not isinstance(workload.config, UnitConfig):
        return ()
    return tuple(s for file in workload.config.files for s in file.suppressions)
