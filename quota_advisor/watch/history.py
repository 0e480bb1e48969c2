"""The last minute of one cgroup, and what it comes to."""

from __future__ import annotations

from collections import deque

from quota_advisor.collect.host.live import Counts
from quota_advisor.records import NamedTuple

SPAN_SEC = 60
_LATE_SEC = 0.1
"""By how much a reading may be late and still stand for its second."""

_INT_SPAN = 1 << 32


class _Point(NamedTuple):
    at_sec: float
    counts: Counts


class History:
    """Readings of one cgroup: those of the last minute, and the highest use since the first.

    Attributes:
        peak_cores: Highest use between two readings; None before the second.
    """

    __slots__ = ("_points", "_uses", "peak_cores")

    def __init__(self, trend: int = 60) -> None:
        self._points: deque[_Point] = deque()
        self._uses: deque[float] = deque(maxlen=trend)
        self.peak_cores: float | None = None

    def add(self, at_sec: float, counts: Counts) -> None:
        """Take a reading; what is older than a minute is forgotten."""
        points = self._points
        if points:
            last = points[-1]
            elapsed = at_sec - last.at_sec
            used = counts.used_usec - last.counts.used_usec
            if elapsed <= 0 or used < 0:
                points.clear()
            else:
                cores = used / elapsed / 1e6
                self._uses.append(cores)
                self.peak_cores = max(self.peak_cores or 0.0, cores)
        points.append(_Point(at_sec, counts))
        # One reading at or before the start of the minute is kept, to reach back that far.
        while len(points) > 2 and at_sec - points[1].at_sec >= SPAN_SEC:  # noqa: PLR2004
            points.popleft()

    @property
    def now_cores(self) -> float | None:
        """Use between the last two readings."""
        return self._uses[-1] if self._uses and len(self._points) > 1 else None

    @property
    def uses(self) -> list[float]:
        """Use between readings, the latest last."""
        return list(self._uses)

    def throttled_ratio(self, span_sec: float) -> float | None:
        """Return the share of active periods that ended throttled in the last seconds.

        None where less was watched, where no period ran, or where the kernel counts none.
        """
        first = self._before(span_sec)
        if first is None:
            return None
        last = self._points[-1].counts
        if None in (first.periods, first.throttled, last.periods, last.throttled):
            return None
        periods = _rise(first.periods, last.periods)
        throttled = _rise(first.throttled, last.throttled)
        return throttled / periods if periods > 0 and throttled <= periods else None

    def held_msec_per_sec(self, span_sec: float) -> float | None:
        """Return CPU time held back by its own quota in each of the last seconds."""
        return self._rate(span_sec, "throttled_usec")

    def stalled_msec_per_sec(self, span_sec: float) -> float | None:
        """Return for how much of each of the last seconds all of it stood still (PSI full)."""
        return self._rate(span_sec, "stalled_usec")

    def _rate(self, span_sec: float, name: str) -> float | None:
        first = self._before(span_sec)
        if first is None:
            return None
        last = self._points[-1]
        low, high = getattr(first, name), getattr(last.counts, name)
        if low is None or high is None or high < low:
            return None
        elapsed = last.at_sec - self._start(span_sec).at_sec
        return float((high - low) / elapsed / 1000)

    def _before(self, span_sec: float) -> Counts | None:
        if len(self._points) < 2:  # noqa: PLR2004 - a difference takes two
            return None
        start = self._start(span_sec)
        # Readings come a little late: nine tenths of a span stand for it.
        watched = self._points[-1].at_sec - start.at_sec
        return start.counts if watched >= 0.9 * span_sec else None

    def _start(self, span_sec: float) -> _Point:
        """Return the latest reading that is a span or more before the last, else the first."""
        points = self._points
        end = points[-1].at_sec - span_sec + _LATE_SEC
        for index in range(len(points) - 2, -1, -1):
            if points[index].at_sec <= end:
                return points[index]
        return points[0]


def _rise(first: int | None, last: int | None) -> int:
    """Return by how much an int counter of the kernel rose, which wraps at 2³²."""
    assert first is not None  # noqa: S101 - the caller looked
    assert last is not None  # noqa: S101 - the same
    return (last - first) % _INT_SPAN
