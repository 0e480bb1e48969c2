"""What a group used in consecutive windows: the input of a simulation."""

from __future__ import annotations

from array import array

from quota_advisor.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Use of one group, window by window, without a pause between them.

    Eight bytes a window: a day at 10 ms is 69 MB.

    Attributes:
        elapsed_usec: Length of each window (array of type ``I``).
        used_usec: CPU time used in it, summed over CPUs; 0 where nothing is known (same type).
    """

    elapsed_usec: array[int]
    used_usec: array[int]

    def __len__(self) -> int:
        return len(self.used_usec)

    @property
    def span_usec(self) -> int:
        """Length of the whole trace."""
        return sum(self.elapsed_usec)

    @property
    def mean_cores(self) -> float:
        """Use on average; 0 for a trace without a window."""
        return sum(self.used_usec) / max(self.span_usec, 1)


def even(used_usec: array[int], interval_usec: int) -> Trace:
    """Return a trace of windows of one length."""
    return Trace(elapsed_usec=array("I", [interval_usec]) * len(used_usec), used_usec=used_usec)
