"""How rules about pods put amounts, their owners and what is not sure about them."""

from __future__ import annotations

from collections.abc import Iterator

from quota_advisor.derive.cases import PodCase
from quota_advisor.derive.kubernetes.namespaces import is_sure
from quota_advisor.derive.kubernetes.pod_cpu import ContainerCpu
from quota_advisor.derive.kubernetes.qos import MILLI
from quota_advisor.model.finding import Evidence
from quota_advisor.model.manifest import LimitRange, Pod, ResourceQuota
from quota_advisor.rulebook.engine import Skip


def owner(cpu: ContainerCpu | None) -> str:
    """Return how a message names the owner of a limit."""
    return "the pod" if cpu is None else cpu.label


def cpu_text(millicores: int) -> str:
    """Return an amount as Kubernetes writes it: ``1500m``, ``2``."""
    whole, rest = divmod(millicores, 1000)
    return f"{millicores}m" if rest else str(whole)


def cpus_text(millicores: int) -> str:
    """Return an amount in a sentence: ``1500m of CPU``, ``1 CPU``, ``2 CPUs``."""
    if millicores % MILLI:
        return f"{millicores}m of CPU"
    return f"{millicores // MILLI} CPU{'' if millicores == MILLI else 's'}"


def cpu_evidence(name: str, millicores: int, threshold: int | None = None) -> Evidence:
    """Return an amount as evidence."""
    return Evidence(label=name, value=millicores, unit="millicores", threshold=threshold)


def caveat(pod: Pod, setting: LimitRange | ResourceQuota) -> str:
    """Return the reservation that belongs into a message where it is not sure."""
    return "" if is_sure(pod, setting) else ", if both go to the same namespace"


def may_be_supplied(what: str, setting: LimitRange) -> Skip:
    """Return that something is not missing if a LimitRange is of the same namespace."""
    return Skip(f"LimitRange {setting.name!r} may give {what} what it does not state")


def told_by(case: PodCase, other: str) -> Iterator[Skip]:
    """Skip where another rule says what is wrong with the limit, which is going to change.

    No comment about the rule that keeps silent is called unused for it.
    """
    if case.pod.suppressions:
        yield Skip(f"{other} tells what is wrong with the limit")
