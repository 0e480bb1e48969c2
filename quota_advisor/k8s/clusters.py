"""Look at live clusters and judge their pods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from quota_advisor.collect.cluster.connection import connect
from quota_advisor.collect.cluster.facts import Part, collect
from quota_advisor.errors import CollectError, UsageError
from quota_advisor.k8s.judge import judge
from quota_advisor.model.lint import LimitsPolicy
from quota_advisor.records import dataclass
from quota_advisor.rulebook.chosen import Rulebook, load_rulebook

if TYPE_CHECKING:
    from quota_advisor.model.cluster import ClusterFacts
    from quota_advisor.model.report import Report

DEFAULT_TIMEOUT_SEC = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Which clusters, and which part of them.

    Attributes:
        kubeconfig: A file in place of the usual ones.
        contexts: Contexts in it, one cluster each; the current one where there is none.
        part: Which part of each cluster.
        timeout_sec: How long one answer may take to come.
        limits: House rule for CPU limits; that of the configuration where None.
    """

    kubeconfig: Path | None = None
    contexts: tuple[str, ...] = ()
    part: Part = field(default_factory=Part)
    timeout_sec: float = DEFAULT_TIMEOUT_SEC
    limits: str | None = None


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
    return judge(
        look(request), rulebook, LimitsPolicy(request.limits or rulebook.config.lint.limits)
    )


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
