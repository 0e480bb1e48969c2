"""How far a probe is, on one line of a terminal that is gone afterwards."""

from __future__ import annotations

from collections.abc import Callable

from quota_advisor.probe.burner import Tick
from quota_advisor.probe.order import Order
from quota_advisor.probe.plan import Limit, run_sec
from quota_advisor.units import format_cores, format_usec

WIDTH = 72


class Progress:
    """Counts runs, and says how much time is left.

    Args:
        order: What is probed.
        write: Writes text to the terminal.
    """

    def __init__(self, order: Order, write: Callable[[str], None]) -> None:
        self._order = order
        self._write = write
        self._started = 0

    def on_run(self, limit: Limit, number: int) -> Tick:
        """Note that a run starts, and return what to call during it."""
        self._started += 1
        done = self._started - 1
        run = self._length_sec(limit)

        def tick(elapsed_sec: float) -> None:
            left_runs = max(self._order.most_runs - done, 1)
            left_sec = max(left_runs * run - elapsed_sec, 0.0)
            self._show(self._text(limit, number, left_sec))

        tick(0.0)
        return tick

    def end(self) -> None:
        """Clear the line."""
        self._write(f"\r{'':<{WIDTH}}\r")

    def _text(self, limit: Limit, number: int, left_sec: float) -> str:
        most = "at most " if self._order.goal else ""
        return (
            f"run {self._started} of {most}{max(self._order.most_runs, self._started)}"
            f" ({format_cores(limit.tier_cores)}, round {number}),"
            f" {most}{format_usec(max(round(left_sec), 1) * 1e6)} left"
        )

    def _show(self, text: str) -> None:
        self._write(f"\r{text[:WIDTH]:<{WIDTH}}")

    def _length_sec(self, limit: Limit) -> float:
        return run_sec(self._order.timing.duration_sec, limit.bandwidth.period_usec)
