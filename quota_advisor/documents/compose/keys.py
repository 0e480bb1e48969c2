"""Keys about CPU that a compose service has, and where amounts stand in it."""

from __future__ import annotations

RESOURCES = "deploy.resources"
LIMITS = "deploy.resources.limits"
RESERVATIONS = "deploy.resources.reservations"

LIMIT = f"{LIMITS}.cpus"
RESERVATION = f"{RESERVATIONS}.cpus"

READ_KEYS = (
    "cpus", "cpuset", "cpu_shares", "cpu_quota", "cpu_period", "cpu_count", "cpu_percent",
)  # fmt: skip
"""The keys about CPU that are read of a service itself."""

SERVICE_KEYS = (*READ_KEYS, "cpu_rt_period", "cpu_rt_runtime")
"""The keys about CPU that a service has."""


def folded(key: str) -> str:
    """Return a key without what spellings differ in: case, dashes, underscores."""
    return key.lower().replace("_", "").replace("-", "")
