"""The conditions of the rules: one generator function a rule, named after it.

Importing this package registers every check; the list below is the only one.
"""

from quota_advisor.checks import (
    bursts,
    compose,
    cpu_manager,
    demand,
    documents,
    hierarchy,
    kubelet,
    node,
    period,
    persistence,
    planned_units,
    pod_amounts,
    pods,
    quadlets,
    runtimes,
    suppressions,
    throttling,
    unit_files,
)

__all__ = [
    "bursts",
    "compose",
    "cpu_manager",
    "demand",
    "documents",
    "hierarchy",
    "kubelet",
    "node",
    "period",
    "persistence",
    "planned_units",
    "pod_amounts",
    "pods",
    "quadlets",
    "runtimes",
    "suppressions",
    "throttling",
    "unit_files",
]
