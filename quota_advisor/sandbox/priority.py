"""Who goes first when the load and the rest of the machine want the same CPU."""

from __future__ import annotations

from enum import StrEnum


class Priority(StrEnum):
    """How the load stands against everybody else.

    A quota is measured by what it does to a load like any other, so that is what ``normal`` is.
    ``low`` spares a machine that has work to do, and the load's waiting for it is in the figures.
    ``high`` gives exact figures on such a machine, and its work has to wait.
    """

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"

    @property
    def weight(self) -> int | None:
        """``cpu.weight`` of cgroup v2, also systemd's ``CPUWeight=``; None for the default."""
        return {Priority.LOW: 1, Priority.HIGH: 10_000}.get(self)

    @property
    def shares(self) -> int | None:
        """``cpu.shares`` of cgroup v1; None for the default."""
        return {Priority.LOW: 2, Priority.HIGH: 262_144}.get(self)

    @property
    def nice(self) -> int:
        """Niceness, which counts outside the load's own cgroup: while the work is calibrated."""
        return 19 if self is Priority.LOW else 0
