"""Look at live clusters and judge their pods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from quota_advisor.collect.cluster.connection import IN_CLUSTER, connect
from quota_advisor.collect.cluster.facts import Part, collect
from quota_advisor.collect.cluster.prometheus import PodName, Prometheus, Server, measure
from quota_advisor.errors import CollectError, UsageError
from quota_advisor.k8s.judge import judge
from quota_advisor.k8s.patches import admission_of, patches
from quota_advisor.model.lint import LimitsPolicy
from quota_advisor.model.problem import Problem
from quota_advisor.records import dataclass
from quota_advisor.rulebook.chosen import Rulebook, load_rulebook

if TYPE_CHECKING:
    from quota_advisor.model.cluster import ClusterFacts, LiveWorkload, Use
    from quota_advisor.model.report import Report

DEFAULT_TIMEOUT_SEC = 30.0
DEFAULT_HISTORY_SEC = 7 * 24 * 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Which clusters, and which part of them.

    Attributes:
        kubeconfig: A file in place of the usual ones.
        contexts: Contexts in it, one cluster each; the current one where there is none.
        part: Which part of each cluster.
        timeout_sec: How long one answer may take to come.
        limits: House rule for CPU limits; that of the configuration where None.
        prometheus: Who measured use and throttling; nobody where None.
        history_sec: How far to look back there.
    """

    kubeconfig: Path | None = None
    contexts: tuple[str, ...] = ()
    part: Part = field(default_factory=Part)
    timeout_sec: float = DEFAULT_TIMEOUT_SEC
    limits: str | None = None
    prometheus: Server | None = None
    history_sec: int = DEFAULT_HISTORY_SEC


def audit_clusters(request: Request, *, rulebook: Rulebook | None = None) -> Report:
    """Read clusters and judge what runs in them; nothing is ever written.

    Args:
        request: Which clusters.
        rulebook: The rules to run; None for all, with the nearest configuration file.

    Returns:
        Findings by workload, with what was decided about each container. What could not be read is
        among its problems.

    Raises:
        ConfigError: The configuration file is malformed.
        UsageError: There is no such context, or the client is not installed.
        CollectError: A cluster cannot be reached.
    """
    rulebook = rulebook or load_rulebook()
    found = look(request)
    if request.prometheus is not None:
        server = Prometheus(request.prometheus)
        found = [with_use(facts, server, request.history_sec) for facts in found]
    return judge(found, rulebook, LimitsPolicy(request.limits or rulebook.config.lint.limits))


def look(request: Request) -> Sequence[ClusterFacts]:
    """Return what the clusters tell.

    Raises:
        UsageError, CollectError: As for :func:`audit_clusters`.
    """
    contexts: tuple[str | None, ...] = request.contexts or (None,)
    if len(set(contexts)) < len(contexts):
        raise UsageError("--context names one twice")
    connections = [connect(request.kubeconfig, name, request.timeout_sec) for name in contexts]
    found = [collect(connection, request.part) for connection in connections]
    if not any(facts.workloads for facts in found) and not any(f.problems for f in found):
        raise CollectError("no pods there", hint="check --namespace and --selector")
    return found


def with_use(facts: ClusterFacts, server: Prometheus, history_sec: int) -> ClusterFacts:
    """Return facts with what a Prometheus measured of their pods; what it refuses is a problem."""
    pods = [PodName(w.owner.namespace, pod.name) for w in facts.workloads for pod in w.pods]
    uses: dict[PodName, dict[str, Use]] = {}
    problems = list(facts.problems)
    try:
        for (namespace, pod, container), use in measure(server, pods, history_sec):
            uses.setdefault(PodName(namespace, pod), {})[container] = use
    except CollectError as error:
        problems.append(Problem(subject="usage", reason=error.what, hint=error.hint))
    return replace(
        facts,
        workloads=tuple(_measured(workload, uses) for workload in facts.workloads),
        problems=tuple(problems),
    )


def _measured(workload: LiveWorkload, uses: Mapping[PodName, Mapping[str, Use]]) -> LiveWorkload:
    namespace = workload.owner.namespace
    pods = (replace(pod, use=uses.get(PodName(namespace, pod.name), {})) for pod in workload.pods)
    return replace(workload, pods=tuple(pods))


def dry_run(request: Request, report: Report) -> tuple[Problem, ...]:
    """Ask the API servers whether they would take the patches; return what they would refuse.

    Nothing is changed. It takes the right to patch the workloads.
    """
    refused: list[Problem] = []
    for cluster in report.clusters:
        name = None if cluster.facts.context == IN_CLUSTER else cluster.facts.context
        connection = connect(request.kubeconfig, name, request.timeout_sec)
        for patch in patches(cluster):
            why = admission_of(connection, patch)
            if why:
                refused.append(Problem(subject=f"patch of {patch.owner.subject.name}", reason=why))
    return tuple(refused)
