"""Lines for a pipe, a log or a dumb terminal: the worst at each tick."""

from __future__ import annotations

from collections.abc import Iterator

from quota_advisor.printable import printable
from quota_advisor.watch.groups import Watched
from quota_advisor.watch.rows import SPANS_SEC, Order, chosen, limit_text, percent, ratio_text
from quota_advisor.watch.rows import amount_text as amount

MOST = 10
"""Groups of which each tick tells, unless they were named."""


def lines(groups: list[Watched], at: str, *, named: bool) -> Iterator[str]:
    """Yield what there is to say of one moment.

    Args:
        groups: What is watched.
        at: The time of day.
        named: Whether somebody named the groups: then each gets a line.
    """
    ordered = chosen(groups, Order.THROTTLED)
    told = ordered if named else [g for g in ordered if g.history.now_cores][:MOST]
    for group in told:
        history = group.history
        throttled = " ".join(
            f"{span}s {ratio_text(history.throttled_ratio(span))}" for span in SPANS_SEC
        )
        yield (
            f"{at} {printable(group.name)}: limit {limit_text(group)}, now"
            f" {percent(history.now_cores)}, peak {percent(history.peak_cores)}, throttled"
            f" {throttled}, stalled {amount(history.stalled_msec_per_sec(1))} ms/s"
        )
    if not told:
        yield f"{at} nothing that is watched uses the CPU"
