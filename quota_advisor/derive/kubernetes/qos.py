"""Quality of service of a pod, and which of its containers can have CPUs of their own. Pure.

Source: kubernetes ``pkg/apis/core/v1/helper/qos/qos.go`` and
``pkg/kubelet/cm/cpumanager/policy_static.go``; KEP-2837 for pod-level resources.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

from quota_advisor.model.limit import DEFAULT_PERIOD_USEC, MIN_QUOTA_USEC, Bandwidth
from quota_advisor.model.manifest import Role
from quota_advisor.records import NamedTuple

MILLI = 1000
"""Thousandths of a CPU in one CPU."""

SMALLEST_MILLICORES = 10
"""A smaller limit acts as this one: the kernel takes no quota below 1 ms of its 100 ms."""


class QosClass(StrEnum):
    """The three classes, from the best protected to the least."""

    GUARANTEED = "Guaranteed"
    BURSTABLE = "Burstable"
    BEST_EFFORT = "BestEffort"


class Need(NamedTuple):
    """What a container (or a pod as a whole) asks for, the API's defaults applied.

    None and zero both mean that it asks for nothing.

    Attributes:
        who: How a message names it.
        role: None for the pod as a whole.
        cpu_request: In millicores, like the limit.
        memory_request: In thousandths of a byte, like the limit.
    """

    who: str
    role: Role | None
    cpu_request: int | None = None
    cpu_limit: int | None = None
    memory_request: int | None = None
    memory_limit: int | None = None


def is_whole(millicores: int | None) -> bool:
    """Whether an amount is a positive whole number of CPUs.

    A container of a Guaranteed pod that requests one gets exclusive CPUs from the static CPU
    manager, whatever the others of the pod request.
    """
    return millicores is not None and millicores > 0 and millicores % MILLI == 0


def qos_class(needs: Sequence[Need], pod: Need | None = None) -> QosClass:
    """Return the class of a pod.

    Args:
        needs: Of its containers; ephemeral ones do not count.
        pod: Its pod-level resources, None where it has none.
    """
    counted = _counted(needs)
    asked = (pod, *counted) if pod else counted
    if not any(any(need[2:]) for need in asked):
        return QosClass.BEST_EFFORT
    if next(guarantee_gaps(needs, pod), None) is None:
        return QosClass.GUARANTEED
    return QosClass.BURSTABLE


def guarantee_gaps(needs: Sequence[Need], pod: Need | None = None) -> Iterator[str]:
    """Yield what keeps a pod from the class Guaranteed, in words; nothing for one that has it."""
    for need in (pod,) if pod else _counted(needs):
        yield from _gaps(need)


def _counted(needs: Iterable[Need]) -> tuple[Need, ...]:
    return tuple(need for need in needs if need.role is not Role.EPHEMERAL)


def _gaps(need: Need) -> Iterator[str]:
    if not any(need[2:]):
        yield f"{need.who} has no CPU and memory limits"
        return
    for resource, request, limit in (
        ("CPU", need.cpu_request, need.cpu_limit),
        ("memory", need.memory_request, need.memory_limit),
    ):
        if not limit:
            yield f"{need.who} has no {resource} limit"
        elif request != limit:
            yield f"the {resource} request of {need.who} is not its limit"


def running_millicores(needs: Iterable[Need]) -> int:
    """Return what runs all the time asks for: app containers and sidecars together."""
    return sum(need.cpu_request or 0 for need in needs if need.role in (Role.APP, Role.SIDECAR))


def starting_millicores(needs: Iterable[Need]) -> int:
    """Return what the start asks for at most: an init container with the sidecars before it."""
    peak = sidecars = 0
    for need in needs:
        if need.role is Role.SIDECAR:
            sidecars += need.cpu_request or 0
        elif need.role is Role.INIT:
            peak = max(peak, sidecars + (need.cpu_request or 0))
    return peak


def most_millicores(needs: Sequence[Need]) -> int:
    """Return what a pod's containers ask for at most: in its life or at its start."""
    return max(running_millicores(needs), starting_millicores(needs))


def kubelet_limit(millicores: int, period_usec: int = DEFAULT_PERIOD_USEC) -> Bandwidth:
    """Return the limit that the kubelet writes for a CPU limit.

    Source: kubernetes ``pkg/kubelet/cm/helpers_linux.go`` (``MilliCPUToQuota``).
    """
    quota_usec = max(millicores * period_usec // MILLI, MIN_QUOTA_USEC)
    return Bandwidth(quota_usec=quota_usec, period_usec=period_usec)
