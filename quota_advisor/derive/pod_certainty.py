"""What is not sure about a pod, because it cannot be read."""

from __future__ import annotations

from quota_advisor.derive.pod_cpu import ContainerCpu, PodCpu
from quota_advisor.model.manifest import WrongShape

_MAY_BE_EMPTY = (".resources", ".limits", ".requests")


def has_pod_level_cpu(pod: PodCpu) -> bool:
    """Whether the pod as a whole has a request, its own or from its limit."""
    return pod.pod_request is not None or pod.pod_limit is not None


def is_unknown(pod: PodCpu, cpu: ContainerCpu) -> bool:
    """Whether something stands there that cannot be read, which other rules tell."""
    path = f"{cpu.container.path}.resources"
    for wrong in pod.pod.wrong_shapes:
        if wrong.path.startswith(path) and not is_harmless(wrong):
            return True
    return any(bad.at in (cpu.limit_at, cpu.request_at) for bad in pod.bad)


def is_harmless(wrong: WrongShape) -> bool:
    """Whether the API takes an empty key for one that is not there."""
    return wrong.found == "nothing" and wrong.path.endswith(_MAY_BE_EMPTY)
