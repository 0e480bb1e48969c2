"""From the facts of clusters to a report: the rules about pods, on what runs."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from quota_advisor.advise.decide import decide
from quota_advisor.advise.requests import advise_request
from quota_advisor.checks import plan
from quota_advisor.derive.cases import PodCase
from quota_advisor.derive.kubernetes.live import LiveCase
from quota_advisor.derive.kubernetes.namespaces import by_namespace
from quota_advisor.derive.kubernetes.running import (
    Replica,
    pods_as_a_whole,
    replicas,
    workload_of,
    worst,
)
from quota_advisor.model.advice import Advice
from quota_advisor.model.cgroup import Demand
from quota_advisor.model.cluster import (
    AdvisedContainer,
    Cluster,
    ClusterFacts,
    LiveWorkload,
    RequestAdvice,
)
from quota_advisor.model.finding import Finding, Subject
from quota_advisor.model.limit import Missing
from quota_advisor.model.lint import LimitsPolicy, LintContext, RequestsPolicy, SameLimit
from quota_advisor.model.manifest import KubeletConfig, Place, Pod, Role, Scalar
from quota_advisor.model.report import Report, Results
from quota_advisor.model.source import Location
from quota_advisor.model.workload import AdvisedWorkload, Workload
from quota_advisor.records import NamedTuple
from quota_advisor.rulebook.causes import one_a_cause
from quota_advisor.rulebook.chosen import Rulebook
from quota_advisor.rulebook.engine import Scope, run

COMMAND = "k8s"


def judge(clusters: Sequence[ClusterFacts], rulebook: Rulebook, limits: LimitsPolicy) -> Report:
    """Decide about the containers of clusters and run the rules over their workloads.

    Args:
        clusters: What was read of each.
        rulebook: The rules.
        limits: The house rule for CPU limits.
    """
    judged = [_Judged.of(facts, rulebook, limits) for facts in clusters]
    results = Results()
    for one in judged:
        results.add(one.results)
    return Report(
        command=COMMAND,
        host=None,
        clusters=tuple(one.cluster for one in judged),
        results=results,
        problems=tuple(problem for facts in clusters for problem in facts.problems),
    )


class _Judged(NamedTuple):
    cluster: Cluster
    results: Results

    @classmethod
    def of(cls, facts: ClusterFacts, rulebook: Rulebook, limits: LimitsPolicy) -> _Judged:
        context = _context(facts, rulebook.config.lint.requests, limits)
        scopes: list[Scope] = []
        containers: list[AdvisedContainer] = []
        for workload in facts.workloads:
            scopes += _pod_scopes(workload, context)
            scopes.append(_live_scope(workload, facts))
            for running in _running(workload, facts):
                containers.append(running.row)
                scopes += running.scopes()
        scopes += _same_limits(facts)
        scopes += _kubelet_scopes(facts)
        results = run(scopes, plan(rulebook.rules), rulebook.config)
        results.findings = one_a_cause(_once(results.findings), {})
        return cls(Cluster(facts=facts, containers=tuple(containers)), results)


def _context(facts: ClusterFacts, requests: RequestsPolicy, limits: LimitsPolicy) -> LintContext:
    """Return what is known around the pods: the largest node, the oldest kubelet."""
    nodes = [] if isinstance(facts.nodes, Missing) else list(facts.nodes.values())
    machines = [node for node in nodes if not node.is_virtual and node.os != "windows"]
    sizes = [n.capacity_millicores for n in machines if isinstance(n.capacity_millicores, int)]
    versions = [node.kubelet for node in machines if isinstance(node.kubelet, tuple)]
    if isinstance(facts.version, tuple):
        versions.append(facts.version)
    return LintContext(
        limits=limits,
        requests=requests,
        node_millicores=max(sizes, default=None),
        kubernetes_version=min(versions, default=None),
        limit_ranges=by_namespace(facts.limit_ranges),
        resource_quotas=by_namespace(facts.resource_quotas),
    )


def _pod_scopes(workload: LiveWorkload, context: LintContext) -> Iterator[Scope]:
    """Yield each spec that the pods of a workload have, once."""
    subject = workload.owner.subject
    specs: dict[int, Pod] = {id(live.pod): live.pod for live in workload.pods}
    for pod in specs.values():
        yield Scope(PodCase(pod, context), pod.suppressions, live=subject, is_measured=True)


def _live_scope(workload: LiveWorkload, facts: ClusterFacts) -> Scope:
    suppressions = workload.pods[0].pod.suppressions
    return Scope(LiveCase(workload, facts), suppressions, is_measured=True)


def _same_limits(facts: ClusterFacts) -> Iterator[Scope]:
    """Yield each limit with the workloads that have it."""
    names: defaultdict[str, set[str]] = defaultdict(set)
    for workload in facts.workloads:
        for container in workload.pods[0].pod.containers:
            written = container.resources.limits.get("cpu")
            if written is not None:
                names[written.text].add(workload.owner.subject.name)
    nowhere = Location(file="", line=0, column=0)
    for limit, some in sorted(names.items()):
        yield Scope(SameLimit(limit, tuple(sorted(some)), nowhere), is_measured=True)


def _kubelet_scopes(facts: ClusterFacts) -> Iterator[Scope]:
    """Yield the settings of kubelets, those of nodes that are set alike once."""
    nodes = {} if isinstance(facts.nodes, Missing) else facts.nodes
    alike: defaultdict[tuple[tuple[str, str], ...], list[str]] = defaultdict(list)
    for node in nodes.values():
        if not isinstance(node.configuration, Missing) and node.os != "windows":
            alike[tuple(sorted(node.configuration.by_path.items()))].append(node.name)
    for settings, names in alike.items():
        others = f" and {len(names) - 1} more" if names[1:] else ""
        written = {path: Scalar(value, True, 0, 0) for path, value in settings}
        config = KubeletConfig(names[0], written, (), Place(0, 0))
        live = Subject(kind="Node", name=f"{min(names)}{others}")
        yield Scope(config, live=live, is_measured=True)


class _Running(NamedTuple):
    """One container of a workload with what was decided about it."""

    row: AdvisedContainer
    workload: Workload
    advice: Advice | Missing
    pod: Pod

    def scopes(self) -> Iterator[Scope]:
        """Yield it for the rules about running workloads, where it was measured."""
        if isinstance(self.advice, Advice) and not isinstance(self.row.use, Missing):
            case = AdvisedWorkload(self.workload, self.advice)
            live = Subject(kind="container", name=self.workload.name)
            yield Scope(case, self.pod.suppressions, live=live, is_measured=True)


def _running(workload: LiveWorkload, facts: ClusterFacts) -> Iterator[_Running]:
    names = dict.fromkeys(
        container.name
        for live in workload.pods
        for container in live.pod.containers
        if container.role in (Role.APP, Role.SIDECAR)
    )
    for name in names:
        yield _decided(workload, list(replicas(workload.pods, name)), facts)
    whole = list(pods_as_a_whole(workload.pods))
    if whole:
        yield _decided(workload, whole, facts)


def _decided(workload: LiveWorkload, found: Sequence[Replica], facts: ClusterFacts) -> _Running:
    owner, replica = workload.owner, worst(found)
    named = f"{owner.subject.name}/{replica.name}"
    if len(found) > 1:
        named += f" (worst of {len(found)}: {replica.pod.name})"
    as_workload = workload_of(replica, named, facts)
    measured = replica.use if isinstance(replica.use, Missing) else replica.use.demand
    row = AdvisedContainer(
        owner=owner,
        name=replica.name,
        pods=len(found),
        request_millicores=replica.applied.request_millicores,
        limit_millicores=replica.applied.limit_millicores,
        worst_pod="" if isinstance(replica.use, Missing) else replica.pod.name,
        use=replica.use,
        request=_request(replica, measured),
        limit=decide(as_workload),
    )
    return _Running(row, as_workload, row.limit, replica.pod.pod)


def _request(replica: Replica, measured: Demand | Missing) -> RequestAdvice | Missing:
    if isinstance(measured, Missing):
        return measured
    return advise_request(replica.applied.request_millicores, measured)


def _once(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield findings without places, for what runs has no file; replicas are told of once."""
    seen: set[tuple[str, Subject, str]] = set()
    for finding in findings:
        key = (finding.rule, finding.subject, finding.message)
        if key not in seen:
            seen.add(key)
            yield dataclasses.replace(finding, location=None, related=())
