"""What rules about files judge: an object with what is known around it and what follows from both.

A case lives as long as it is judged, and so does what is derived of it. The modules that derive
something are imported when a rule first asks: lint of one small file needs few of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from quota_advisor.derive.lazy import derived
from quota_advisor.model.finding import Subject
from quota_advisor.model.lint import LintContext
from quota_advisor.model.manifest import ComposeService, Pod

if TYPE_CHECKING:
    from quota_advisor.derive.pod_cpu import PodCpu


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
        from quota_advisor.derive.pod_cpu import derive_pod_cpu  # noqa: PLC0415

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
