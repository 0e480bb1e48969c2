"""One cgroup, window by window, over restarts."""

from __future__ import annotations

from collections.abc import Iterator

from quota_advisor.collect.host.cgroup_tree import CpuHierarchy
from quota_advisor.collect.host.gauge import NOTHING, Counts, Gauge, Glance, Limit, limit_of
from quota_advisor.collect.host.root import HostRoot
from quota_advisor.recording.writer import Row

MAX_USEC = (1 << 32) - 1
"""The longest window that a row can hold; a longer gap takes several."""

INT_SPAN = 1 << 31
"""The kernel's int counters are printed signed and wrap; deltas are taken modulo this twice."""


def next_due(due_usec: int, now_usec: int, interval_usec: int) -> int:
    """Return when to read next: on the grid, and half an interval from now at least.

    A window much shorter than the others would show peaks that are none: use is accounted for at
    ticks. Where the machine was busy or slept, points of the grid are left out.
    """
    behind = max(now_usec + interval_usec // 2 - due_usec, 1)
    return due_usec + -(-behind // interval_usec) * interval_usec


class Watched:
    """One cgroup under observation. A cgroup that was removed is looked for again.

    Args:
        root: The host.
        hierarchy: Where its cgroups are.
        path: The cgroup; it may not be there yet.
        now_usec: Monotonic time at which the observation begins.
    """

    def __init__(self, root: HostRoot, hierarchy: CpuHierarchy, path: str, now_usec: int) -> None:
        self._root, self._hierarchy, self.path = root, hierarchy, path
        self._gauge: Gauge | None = None
        self._last: Counts | None = None
        self._last_glance: Glance | None = None
        self._limit: Limit = NOTHING
        self._threads: int | None = None
        self._last_usec = now_usec
        self._pending: list[tuple[int, Glance]] = []
        self.find(now_usec)

    @property
    def is_there(self) -> bool:
        """Whether the cgroup could be read when it was last looked at."""
        return self._gauge is not None

    def find(self, now_usec: int) -> Iterator[Row]:
        """Look for a cgroup that is gone; yield the gap that ends when it is found."""
        try:
            self._gauge = Gauge(self._root, self._hierarchy, self.path)
            self._last_glance = self._gauge.glance()
            self._last = self._gauge.counts(self._last_glance)
        except (OSError, ValueError):
            self.close()
            return iter(())
        self.look_up()
        return self._gap(now_usec)

    def look_up(self) -> None:
        """Look up what changes rarely: the limit and the number of threads."""
        if self._gauge is not None:
            self._limit = limit_of(self._root, self._hierarchy, self.path)
            self._threads = self._gauge.threads()

    def sample(self, now_usec: int) -> bool:
        """End a window now, to be worked out by :meth:`rows`; False when the cgroup is gone."""
        if self._gauge is None:
            return True
        try:
            self._pending.append((now_usec, self._gauge.glance()))
        except OSError:
            return False
        return True

    def rows(self) -> Iterator[Row]:
        """Yield the windows since the last call; to be called before the limit is looked up."""
        for at_usec, glance in self._pending:
            row = self._row(at_usec, glance)
            if row is None:
                yield from self._gap(at_usec)
            else:
                yield row
            self._last_usec = at_usec
        self._pending.clear()

    def end(self, now_usec: int) -> Iterator[Row]:
        """Yield what is open at the end: the gap of a cgroup that did not come back."""
        yield from self.rows()
        if self._gauge is None:
            yield from self._gap(now_usec)

    def close(self) -> None:
        """Close its files: it is gone, or nobody looks any more."""
        if self._gauge is not None:
            self._gauge.close()
        self._gauge = self._last = None

    def _gap(self, now_usec: int) -> Iterator[Row]:
        rows = []
        while self._last_usec < now_usec:
            elapsed = min(now_usec - self._last_usec, MAX_USEC)
            rows.append(Row(elapsed, None, None, None, None, None, self._threads, *self._limit))
            self._last_usec += elapsed
        return iter(rows)

    def _row(self, at_usec: int, glance: Glance) -> Row | None:
        """Return a window; None where a counter went back or makes no sense."""
        elapsed_usec, last = at_usec - self._last_usec, self._last
        if glance is self._last_glance and last is not None:
            zeros = [None if count is None else 0 for count in last]
            return Row(elapsed_usec, *[*zeros, self._threads, *self._limit])
        self._last_glance = glance
        self._last = now = self._counts(glance)
        if now is None or last is None or not 0 < elapsed_usec <= MAX_USEC:
            return None
        rises = (
            now.used_usec - last.used_usec,
            _int_rise(last.periods, now.periods),
            _int_rise(last.throttled_periods, now.throttled_periods),
            _rise(last.throttled_usec, now.throttled_usec),
            _rise(last.stalled_usec, now.stalled_usec),
        )
        if any(rise is not None and not 0 <= rise <= MAX_USEC for rise in rises):
            return None
        return Row(elapsed_usec, *[*rises, self._threads, *self._limit])

    def _counts(self, glance: Glance) -> Counts | None:
        try:
            return None if self._gauge is None else self._gauge.counts(glance)
        except ValueError:
            return None


def _rise(last: int | None, now: int | None) -> int | None:
    if last is None or now is None:
        return None
    return now - last


def _int_rise(last: int | None, now: int | None) -> int | None:
    """Return the rise of an int counter, which wraps; negative where it went back."""
    if last is None or now is None:
        return None
    rise = (now - last) % (2 * INT_SPAN)
    return rise if rise < INT_SPAN else -1
