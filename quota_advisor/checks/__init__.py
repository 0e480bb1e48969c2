"""The conditions of the rules: one generator function a rule, named after it.

Importing this package registers every check; the list below is the only one.
"""

from quota_advisor.checks import (
    demand,
    hierarchy,
    node,
    period,
    persistence,
    suppressions,
    throttling,
    unit_files,
)

__all__ = [
    "demand",
    "hierarchy",
    "node",
    "period",
    "persistence",
    "suppressions",
    "throttling",
    "unit_files",
]
