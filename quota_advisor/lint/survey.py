"""What some documents of the input say about others, found before any of them is judged."""

from __future__ import annotations

from dataclasses import field

from quota_advisor.model.manifest import LimitRange, ResourceQuota
from quota_advisor.records import dataclass


@dataclass(slots=True)
class Survey:
    """What some documents say about others.

    Attributes:
        limit_ranges: About all others of their namespace.
        resource_quotas: Likewise.
        extending: Compose files by path, each with the other files that its services extend.
        apart: Files that are judged together with those that bear on them, not by themselves.
    """

    limit_ranges: list[LimitRange] = field(default_factory=list)
    resource_quotas: list[ResourceQuota] = field(default_factory=list)
    extending: dict[str, frozenset[str]] = field(default_factory=dict)
    apart: frozenset[str] = frozenset()

    def note(self, document: object) -> None:
        """Take in a document if it is of that sort."""
        if isinstance(document, LimitRange) and document.is_about_cpu:
            self.limit_ranges.append(document)
        elif isinstance(document, ResourceQuota) and document.is_about_cpu:
            self.resource_quotas.append(document)

    def add(self, other: Survey) -> None:
        """Take in what was found elsewhere."""
        self.limit_ranges += other.limit_ranges
        self.resource_quotas += other.resource_quotas
        for file, named in other.extending.items():
            self.note_extending(file, named)

    def note_extending(self, file: str, named: frozenset[str]) -> None:
        """Take in the other files that a part of a compose file names."""
        if named:
            self.extending[file] = self.extending.get(file, frozenset()) | named
