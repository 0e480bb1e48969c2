"""What lint judges beyond single objects: what the user told it, and what spans files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from quota_advisor.model.finding import Subject
from quota_advisor.model.manifest import LimitRange, Pod, ResourceQuota
from quota_advisor.model.source import Location
from quota_advisor.records import NamedTuple, dataclass

WHOLE_INPUT = "input"
"""Kind of subject that is no part of a file: all files together."""


DIRECTORY = "directory"
"""Kind of subject that is a directory of files, told of together."""


class LimitsPolicy(StrEnum):
    """Whether containers should have a CPU limit: a matter of house rules, not of correctness."""

    IGNORE = "ignore"
    REQUIRED = "required"
    FORBIDDEN = "forbidden"


class RequestsPolicy(StrEnum):
    """Whether containers should have a CPU request.

    Attributes:
        NOTE: One that has none is worth a note.
        REQUIRED: It is a mistake.
    """

    IGNORE = "ignore"
    NOTE = "note"
    REQUIRED = "required"


@dataclass(frozen=True, slots=True, kw_only=True)
class LintContext:
    """What is known besides the object at hand.

    Attributes:
        limits: The house rule for CPU limits.
        requests: The house rule for CPU requests.
        node_millicores: Size of the largest node, if the user told it.
        kubernetes_version: Of the cluster, if the user told it: ``(1, 33)``.
        limit_ranges: LimitRanges of the same input that are about CPU, by :func:`namespace_of`, in
            the order of their places.
        resource_quotas: ResourceQuotas likewise.
    """

    limits: LimitsPolicy = LimitsPolicy.IGNORE
    requests: RequestsPolicy = RequestsPolicy.NOTE
    node_millicores: int | None = None
    kubernetes_version: tuple[int, int] | None = None
    limit_ranges: Mapping[str, tuple[LimitRange, ...]] = field(default_factory=dict)
    resource_quotas: Mapping[str, tuple[ResourceQuota, ...]] = field(default_factory=dict)


def namespace_of(document: Pod | LimitRange | ResourceQuota) -> str:
    """Return the namespace that something names, or the directory of its file where it names none.

    What names none goes wherever somebody sends it: files of one directory mostly to the same
    namespace, others not.
    """
    return document.namespace or f"{document.file.rpartition('/')[0]}/"


class SameLimit(NamedTuple):
    """One CPU limit found on many workloads of the input.

    Attributes:
        limit: The limit as text, in its own notation.
        names: Workloads that have it, unrelated ones, sorted.
        first: Place of the first of them.
    """

    limit: str
    names: tuple[str, ...]
    first: Location

    @property
    def subject(self) -> Subject:
        """What a finding about it names."""
        return Subject(kind=WHOLE_INPUT, name=self.limit)
