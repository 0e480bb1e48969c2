"""The conditions of the rules: one generator function a rule, named after it.

Modules are imported when the first subject that they judge is met: lint of a manifest needs
nothing of what judges a running host.
"""

from __future__ import annotations

from importlib import import_module

from quota_advisor.rulebook.catalogue import Catalog, load_catalog
from quota_advisor.rulebook.engine import Plan

MODULES = {
    "AdvisedWorkload": ("host.demand", "host.throttling"),
    "ComposeCase": ("compose.services", "compose.limits"),
    "DocumentNote": ("texts.documents",),
    "Host": ("host.demand", "host.node"),
    "KubeletConfig": ("kubernetes.kubelet",),
    "LiveCase": ("kubernetes.live",),
    "PodCase": (
        "kubernetes.admission",
        "kubernetes.amounts",
        "kubernetes.bursts",
        "kubernetes.cpu_manager",
        "kubernetes.pods",
        "kubernetes.threads",
    ),
    "QuadletCase": ("units.quadlet_limits", "units.quadlets"),
    "QuotaCase": ("units.quotas",),
    "SameLimit": ("texts.documents",),
    "SuppressionUse": ("texts.suppressions",),
    "UnitConfig": (
        "units.container_clients",
        "units.container_managers",
        "units.drop_ins",
        "units.unit_files",
    ),
    "Workload": (
        "host.containers",
        "host.demand",
        "host.enforcement",
        "host.hierarchy",
        "host.node",
        "host.period",
        "host.persistence",
        "host.restarts",
        "host.throttling",
    ),
}
"""Modules that hold checks, by the name of the type that they judge."""


def plan(catalog: Catalog) -> Plan:
    """Return rules with their checks, ready to run."""
    return Plan(catalog, load_catalog().keys(), load)


def load(judged: type) -> None:
    """Register the checks of a type of subject, and of those that it is a kind of."""
    for kind in judged.__mro__:
        for name in MODULES.get(kind.__name__, ()):
            import_module(f"{__name__}.{name}")


def load_all() -> None:
    """Register every check."""
    for names in MODULES.values():
        for name in names:
            import_module(f"{__name__}.{name}")
