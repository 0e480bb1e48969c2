"""How long bandwidth control freezes a group of busy threads."""

from __future__ import annotations

from quota_advisor.model.limit import Bandwidth
from quota_advisor.records import NamedTuple


class Stall(NamedTuple):
    """One period of a group whose threads never sleep.

    Attributes:
        run_usec: Time until the quota is spent.
        wait_usec: Time frozen until the next period.
    """

    run_usec: float
    wait_usec: float


def worst_stall(limit: Bandwidth, threads: int, cpus: int) -> Stall | None:
    """Return the longest freeze in a period, or None where the quota cannot run out.

    Args:
        limit: The quota and its period.
        threads: Threads that always want to run.
        cpus: CPUs they may run on; no more threads than this run at once.

    n running threads spend the quota Q after Q/n and wait P - Q/n: sixteen threads on a quota
    of 400 ms run 25 ms and wait 75 ms.
    """
    running = min(threads, cpus)
    if running <= 0 or running * limit.period_usec <= limit.quota_usec:
        return None
    run_usec = limit.quota_usec / running
    return Stall(run_usec=run_usec, wait_usec=limit.period_usec - run_usec)
