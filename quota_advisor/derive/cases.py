"""What rules about files judge: an object with what is known around it and what follows from both.

A case lives as long as it is judged, and so does what is derived of it. The modules that derive
something are imported when a rule first asks: lint of one small file needs few of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from quota_advisor.derive.lazy import derived
from quota_advisor.model.finding import Subject
from quota_advisor.model.lint import LintContext
from quota_advisor.model.manifest import ComposeService, Pod, Quadlet
from quota_advisor.records import dataclass

if TYPE_CHECKING:
    from quota_advisor.derive.compose_cpu import ComposeCpu
    from quota_advisor.derive.kubernetes.pod_cpu import PodCpu
    from quota_advisor.derive.units.quadlet_cpu import QuadletCpu


@dataclass(eq=False)
class PodCase:
    """A pod template with what is known around it: the subject of the Kubernetes rules."""

    pod: Pod
    context: LintContext

    @property
    def subject(self) -> Subject:
        """What a finding about the pod names."""
        return self.pod.subject

    @derived
    def cpu(self) -> PodCpu:
        """What its containers ask of the CPU."""
        from quota_advisor.derive.kubernetes.pod_cpu import derive_pod_cpu  # noqa: PLC0415

        return derive_pod_cpu(self.pod, self.context)


@dataclass(eq=False)
class ComposeCase:
    """A compose service with what is known around it: the subject of the rules about compose."""

    service: ComposeService
    context: LintContext

    @property
    def subject(self) -> Subject:
        """What a finding about the service names."""
        return self.service.subject

    @derived
    def cpu(self) -> ComposeCpu:
        """What it says of CPU, as numbers."""
        from quota_advisor.derive.compose_cpu import derive_compose_cpu  # noqa: PLC0415

        return derive_compose_cpu(self.service)


@dataclass(eq=False)
class QuadletCase:
    """A quadlet: the subject of the rules about what it asks of podman."""

    quadlet: Quadlet

    @property
    def subject(self) -> Subject:
        """What a finding about the quadlet names."""
        return self.quadlet.subject

    @derived
    def cpu(self) -> QuadletCpu:
        """What it says of CPU."""
        from quota_advisor.derive.units.quadlet_cpu import derive_quadlet_cpu  # noqa: PLC0415

        return derive_quadlet_cpu(self.quadlet)
