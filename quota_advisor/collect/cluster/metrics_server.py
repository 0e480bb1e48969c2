"""Use of the last moments, as metrics-server has it: one instant, and nothing of throttling."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from quota_advisor.collect.cluster.shape import mapping, maps, text
from quota_advisor.documents.kubernetes.quantity import CpuQuantity, parse_cpu
from quota_advisor.model.cluster import Use
from quota_advisor.model.limit import Missing
from quota_advisor.model.manifest import Scalar

GROUP = "metrics.k8s.io/v1beta1"
SOURCE = "metrics-server"

NO_HISTORY = Missing(reason="metrics-server tells of one instant: name a Prometheus")
NO_COUNTERS = Missing(reason="metrics-server counts no throttling: name a Prometheus")

PodUse = tuple[str, str, Mapping[str, Use]]
"""Namespace and name of a pod, with the use of its containers by name."""


def read_pod_metrics(root: Mapping[str, Any]) -> PodUse:
    """Return what one PodMetrics says."""
    metadata = mapping(root, "metadata")
    return text(metadata, "namespace"), text(metadata, "name"), dict(_uses(root))


def _uses(root: Mapping[str, Any]) -> Iterator[tuple[str, Use]]:
    for container in maps(root, "containers"):
        amount = parse_cpu(Scalar(text(mapping(container, "usage"), "cpu"), False, 0, 0))
        if isinstance(amount, CpuQuantity):
            yield (
                text(container, "name"),
                Use(
                    source=SOURCE,
                    demand=NO_HISTORY,
                    counters=NO_COUNTERS,
                    now_cores=float(amount.cores),
                ),
            )
