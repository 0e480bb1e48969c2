"""What a trace uses: percentiles over windows, and over its busiest stretch."""

from __future__ import annotations

import ctypes

from quota_advisor.records import dataclass
from quota_advisor.sim.native import NativeUse, library, pointers
from quota_advisor.sim.trace import Trace

WINDOW_USEC = 100_000
"""The kernel's default period: what matters is what comes within one."""

STRETCH_USEC = 300_000_000
"""Five minutes."""

_UCPUS = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """Use in windows of one length. Percentiles are of the active windows, precise to 0.8 %.

    Attributes:
        windows: Number of windows.
        active_windows: Those with more than 2 % of a CPU.
        mean_cores: Over the whole trace.
        p50_cores, p95_cores, p99_cores, max_cores: Of the windows.
        busiest_p95_cores: The highest p95 of any stretch of five minutes.
    """

    windows: int
    active_windows: int
    mean_cores: float
    p50_cores: float
    p95_cores: float
    p99_cores: float
    max_cores: float
    busiest_p95_cores: float


def measure_use(
    trace: Trace, window_usec: int = WINDOW_USEC, stretch_usec: int = STRETCH_USEC
) -> Use:
    """Return the use of a trace.

    Args:
        trace: The trace.
        window_usec: Length of the windows; those of the trace itself where these are longer.
        stretch_usec: Length of the stretches.

    Raises:
        CollectError: The library is not installed.
        MemoryError: Memory is short.
    """
    use = NativeUse()
    code = library().quota_sim_measure(
        ctypes.byref(pointers(trace)),
        ctypes.c_uint64(window_usec),
        ctypes.c_uint64(stretch_usec),
        ctypes.byref(use),
    )
    if code:
        raise MemoryError
    return Use(
        windows=use.windows,
        active_windows=use.active_windows,
        mean_cores=trace.mean_cores,
        p50_cores=use.p50_ucpus / _UCPUS,
        p95_cores=use.p95_ucpus / _UCPUS,
        p99_cores=use.p99_ucpus / _UCPUS,
        max_cores=use.max_ucpus / _UCPUS,
        busiest_p95_cores=use.busiest_p95_ucpus / _UCPUS,
    )
