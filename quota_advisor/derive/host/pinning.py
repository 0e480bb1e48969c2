"""CPUs that a workload is pinned to, and whether it has them to itself."""

from __future__ import annotations

from quota_advisor.model.cgroup import CgroupFacts, Engine
from quota_advisor.model.limit import Bandwidth, Missing
from quota_advisor.model.workload import Workload

_SHARED_CLASSES = ("kubepods-burstable", "kubepods-besteffort", "burstable", "besteffort")
"""Groups of the kubelet whose pods never get exclusive CPUs."""


def has_cpus_to_itself(workload: Workload) -> bool:
    """Whether a workload is pinned to CPUs that nobody else is pinned to.

    A node with a static CPU manager pins every other container to the pool that it shares.
    """
    group = workload.cgroup
    if isinstance(group, Missing) or not workload.is_pinned or workload.shares_cpus:
        return False
    return not in_kubernetes(group) or _may_be_exclusive(group)


def is_exclusive_container(workload: Workload) -> bool:
    """Whether a container of Kubernetes has CPUs of its own, as many as its limit says.

    The static CPU manager gives them for a whole limit equal to the request: without it they
    are lost.
    """
    group, limit = workload.cgroup, workload.limit
    if isinstance(group, Missing) or not isinstance(limit, Bandwidth):
        return False
    return in_kubernetes(group) and group.container is not None and has_cpus_to_itself(workload)


def in_kubernetes(group: CgroupFacts) -> bool:
    """Whether a cgroup lies below those of the kubelet."""
    of_pod = group.container is not None and group.container.engine is Engine.KUBERNETES
    return of_pod or any(part.startswith("kubepods") for part in group.path.split("/"))


def _may_be_exclusive(group: CgroupFacts) -> bool:
    parts = [part.removesuffix(".slice") for part in group.path.split("/")]
    if any(part in _SHARED_CLASSES for part in parts):
        return False
    # The pool may have any size; CPUs of one's own are as many as the limit, where it is kept.
    limit, cpus = group.limit, group.cpus
    if isinstance(limit, Bandwidth) and isinstance(cpus, tuple):
        return limit.quota_usec == len(cpus) * limit.period_usec
    return True
