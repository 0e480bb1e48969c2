"""What was wanted where a quota held a group back: a lower and an upper estimate.

Use measured without throttling is demand. Under throttling it is censored: between a freeze and the
refill that ends it work waits, and how much more came is not known.
"""

from __future__ import annotations

import ctypes
from array import array

from quota_advisor.records import NamedTuple
from quota_advisor.sim.native import library, pointers
from quota_advisor.sim.trace import Trace


class Demand(NamedTuple):
    """What a group wanted.

    Attributes:
        least: At least: what ran right after a freeze was there when it began.
        most: At most: without the freeze the group would have gone on through all of it.
    """

    least: Trace
    most: Trace


def uncensor(trace: Trace, held: bytes) -> Demand:
    """Return the estimates of the demand behind a trace.

    Args:
        trace: What was used.
        held: Of each window, whether a freeze ended in it: a byte, 0 for no.

    Raises:
        CollectError: The library is not installed.
        ValueError: There is not one byte for each window.
    """
    if len(held) != len(trace):
        raise ValueError("a byte for each window tells whether it was held back")
    least, most = (array("I", bytes(4 * len(trace))) for _ in range(2))
    library().quota_sim_uncensor(
        ctypes.byref(pointers(trace)),
        ctypes.c_char_p(held),
        ctypes.c_void_p(least.buffer_info()[0]),
        ctypes.c_void_p(most.buffer_info()[0]),
    )
    elapsed = trace.elapsed_usec
    return Demand(
        Trace(elapsed_usec=elapsed, used_usec=least), Trace(elapsed_usec=elapsed, used_usec=most)
    )
