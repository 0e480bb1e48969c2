"""Whether a LimitRange or ResourceQuota of the input is about a pod of the input."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from quota_advisor.documents.kubernetes.keys import POD_PATHS
from quota_advisor.model.lint import namespace_of
from quota_advisor.model.manifest import LimitRange, Pod, ResourceQuota

S = TypeVar("S", LimitRange, ResourceQuota)

MAX_SETTINGS = 16
"""LimitRanges of one namespace that count, and ResourceQuotas: each pod is held against all."""


def settings_for(pod: Pod, settings: Mapping[str, Sequence[S]]) -> Iterator[S]:
    """Yield those that are, or may be, about a pod.

    Where the pods of a custom resource go, its operator knows.
    """
    if settings and (not pod.partial or pod.kind in POD_PATHS):
        yield from settings.get(namespace_of(pod), ())


def is_sure(pod: Pod, setting: LimitRange | ResourceQuota) -> bool:
    """Whether both surely go to the same namespace: both name it, or they stand in one file."""
    return bool(pod.namespace) or setting.file == pod.file


def by_namespace(documents: Iterable[S]) -> dict[str, tuple[S, ...]]:
    """Return documents by :func:`namespace_of`, in the order of their places whoever found them."""
    found: dict[str, list[S]] = {}
    for document in sorted(documents, key=lambda d: (d.file, d.place)):
        found.setdefault(namespace_of(document), []).append(document)
    return {namespace: tuple(some[:MAX_SETTINGS]) for namespace, some in found.items()}
