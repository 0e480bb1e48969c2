"""Everything about one group: limits on the way up, what the last minute was, its threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from quota_advisor.collect.host.cgroup_tree import CpuHierarchy, join
from quota_advisor.collect.host.root import HostRoot
from quota_advisor.model.limit import Bandwidth, Missing
from quota_advisor.printable import printable
from quota_advisor.units import format_usec
from quota_advisor.watch.groups import Watched
from quota_advisor.watch.rows import ABSENT, SPANS_SEC, amount_text, percent, ratio_text

MOST_THREADS = 512
"""Threads that are looked at: reading more takes longer than anybody watches."""

_TICKS_PER_SEC = 100
"""USER_HZ, in which /proc tells the time that threads used (proc_pid_stat(5))."""


def about(group: Watched) -> Iterator[str]:
    """Yield lines about a group's limits and its last minute."""
    history = group.history
    yield printable(group.path)
    own = group.limit
    if isinstance(own, Bandwidth):
        period = format_usec(own.period_usec)
        yield f"limit       {percent(own.cores)} per {period}"
    else:
        yield f"limit       {own.reason if isinstance(own, Missing) else 'none of its own'}"
    for path, limit in group.above:
        period = format_usec(limit.period_usec)
        yield f"above       {percent(limit.cores)} per {period}  {printable(path)}"
    yield f"use         {percent(history.now_cores)} now, {percent(history.peak_cores)} at most"
    yield _spans("throttled", [ratio_text(history.throttled_ratio(s)) for s in SPANS_SEC])
    yield _spans("held back", [_per_second(history.held_msec_per_sec(s)) for s in SPANS_SEC])
    yield _spans("stood still", [_per_second(history.stalled_msec_per_sec(s)) for s in SPANS_SEC])


def _spans(name: str, values: list[str]) -> str:
    told = (f"{value} over {span} s" for value, span in zip(values, SPANS_SEC, strict=True))
    return f"{name:<12}{'   '.join(told)}"


def _per_second(value: float | None) -> str:
    text = amount_text(value)
    return text if text == ABSENT else f"{text} ms/s"


class Threads:
    """The threads of one group, busiest first between two looks.

    Args:
        root: The host.
        hierarchy: Where its cgroups are.
        path: The cgroup.
    """

    def __init__(self, root: HostRoot, hierarchy: CpuHierarchy, path: str) -> None:
        name = "tasks" if hierarchy.version == 1 else "cgroup.threads"
        self._root = root
        self._list = f"{join(hierarchy.cpu, path)}/{name}"
        self._before: dict[str, int] = {}
        self._at_sec = 0.0

    def lines(self, at_sec: float) -> Iterator[str]:
        """Yield a line for each thread, and how many there are."""
        text = self._root.try_read(self._list)
        if isinstance(text, Missing):
            yield f"threads     {text.reason}"
            return
        ids = text.split()
        found = {tid: seen for tid in ids[:MOST_THREADS] if (seen := self._look(tid)) is not None}
        elapsed = at_sec - self._at_sec
        rates = {
            tid: (ticks - self._before[tid]) / _TICKS_PER_SEC / elapsed
            for tid, (_, ticks) in found.items()
            if tid in self._before and elapsed > 0
        }
        self._before = {tid: ticks for tid, (_, ticks) in found.items()}
        self._at_sec = at_sec
        more = f", the first {MOST_THREADS} looked at" if len(ids) > MOST_THREADS else ""
        yield f"threads     {len(ids)}{more}"
        for tid in sorted(found, key=lambda t: -rates.get(t, 0.0)):
            yield f"  {percent(rates.get(tid)):>7}  {tid:>8}  {printable(found[tid][0])}"

    def _look(self, tid: str) -> tuple[str, int] | None:
        """Return a thread's name and the time that it used, None when it has ended."""
        text = self._root.try_read(f"/proc/{tid}/stat")
        if isinstance(text, str):
            name, _, rest = text.partition("(")[2].rpartition(")")
            with suppress(ValueError, IndexError):
                fields = rest.split()
                # utime and stime are fields 14 and 15; the name is field 2.
                return name, int(fields[11]) + int(fields[12])
        return None
