"""The conditions of the rules: one generator function a rule, named after it.

Modules are imported when the first subject that they judge is met: lint of a manifest needs
nothing of what judges a running host.
"""

from __future__ import annotations

from importlib import import_module

from quota_advisor.catalog import Catalog, load_catalog
from quota_advisor.engine import Plan

MODULES = {
    "ComposeCase": ("compose", "compose_limits"),
    "DocumentNote": ("documents",),
    "Host": ("demand", "node"),
    "KubeletConfig": ("kubelet",),
    "PodCase": ("admission", "bursts", "cpu_manager", "pod_amounts", "pods", "runtimes"),
    "Quadlet": ("quadlet_limits", "quadlets"),
    "SameLimit": ("documents",),
    "SuppressionUse": ("suppressions",),
    "UnitCase": ("planned_units",),
    "UnitConfig": ("container_clients", "persistence", "unit_files"),
    "Workload": ("demand", "hierarchy", "node", "period", "persistence", "throttling"),
}
"""Modules that hold checks, by the name of the type that they judge."""


def plan(catalog: Catalog) -> Plan:
    """Return rules with their checks, ready to run."""
    return Plan(catalog, load_catalog().keys(), load)


def load(judged: type) -> None:
    """Register the checks of a type of subject."""
    for name in MODULES.get(judged.__name__, ()):
        import_module(f"{__name__}.{name}")


def load_all() -> None:
    """Register every check."""
    for names in MODULES.values():
        for name in names:
            import_module(f"{__name__}.{name}")
