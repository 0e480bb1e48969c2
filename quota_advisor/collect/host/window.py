"""Counters over a window: two readings of every cgroup, and its use sampled in between.

A counter says nothing by itself. Two readings of the same cgroup say what happened between them,
provided that it is the same cgroup: a unit that restarts gets a new one of the old name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace

from quota_advisor.collect.host.cgroup_files import (
    CounterReading,
    GroupLimit,
    GroupReading,
    GroupSettings,
    Identity,
    read_counters,
    read_group,
    read_limit,
)
from quota_advisor.collect.host.cgroup_tree import CgroupTree, list_tree
from quota_advisor.collect.host.containers import name_containers
from quota_advisor.collect.host.root import HostRoot
from quota_advisor.collect.host.sampler import Clock, Progress, Sampled, Sampler, Schedule
from quota_advisor.model.cgroup import (
    Basis,
    CgroupFacts,
    Container,
    CounterWindow,
    CpuCounters,
    Demand,
    UseTrace,
)
from quota_advisor.model.host import Observation
from quota_advisor.model.limit import Missing
from quota_advisor.model.problem import Problem
from quota_advisor.records import dataclass

DEFAULT_INTERVAL_USEC = 100_000
"""Nominal length of a sampling window: the kernel's default period."""

NO_WINDOW = Missing(reason="totals since the cgroup was created are judged, not a window")

RECREATED = Missing(reason="recreated during the window: the unit or container was restarted")
CREATED = Missing(reason="created during the window")

_INT_SPAN = 1 << 32
_DURING_CHANGE = Missing(reason="the limit changed during the window, which moves this counter")


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """Everything observed of the cgroups of one host.

    Attributes:
        observation: How.
        cgroups: Every cgroup that was there at the end, parents before children.
        problems: What could not be read.
        notes: What happened meanwhile that explains the facts.
    """

    observation: Observation
    cgroups: tuple[CgroupFacts, ...]
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]


def observe(
    root: HostRoot,
    tree: CgroupTree,
    *,
    window_sec: float,
    samples: int | None = None,
    on_progress: Progress | None = None,
    clock: Clock | None = None,
) -> Observed:
    """Observe all cgroups over a window, or their totals when the window is zero.

    Args:
        root: The host.
        tree: Its cgroups.
        window_sec: Length of the window; 0 takes one reading.
        samples: Number of sampling windows; by default as many as 100 ms give.
        on_progress: Called after each sample with the seconds gone and the seconds in all.
        clock: Time; the real one by default.
    """
    clock = clock or Clock()
    if window_sec <= 0:
        return _finish(root, tree, _TOTALS_ONLY, clock)
    window_usec = max(1, round(window_sec * 1e6))
    ticks = round(window_usec / DEFAULT_INTERVAL_USEC) if samples is None else samples
    interval = max(window_usec // max(ticks, 1), 1)
    schedule = Schedule(window_usec=window_usec, interval_usec=interval)
    first = _readings(root, tree, clock)
    limits = _limits(root, tree)
    with Sampler(root, tree.hierarchy, limits, clock) as sampler:
        sampled = sampler.run(schedule, on_progress)
    watched = _Watched(first=first, limits=limits, sampled=sampled)
    return _finish(root, list_tree(root, tree.hierarchy), watched, clock)


def count(first: CpuCounters, last: CpuCounters) -> CounterWindow:
    """Return the difference of two readings of one cgroup.

    A counter that went backwards is missing, with the reason; it is never a negative number.
    The int counters of the kernel wrap at 2³¹ and are taken modulo 2³².
    """
    return CounterWindow(
        basis=Basis.WINDOW,
        elapsed_usec=last.read_at_usec - first.read_at_usec,
        usage_usec=_rise("usage", first.usage_usec, last.usage_usec),
        periods=_int_rise("nr_periods", first.nr_periods, last.nr_periods),
        throttled_periods=_int_rise("nr_throttled", first.nr_throttled, last.nr_throttled),
        throttled_usec=_rise("throttled time", first.throttled_usec, last.throttled_usec),
        burst_periods=_int_rise("nr_bursts", first.nr_bursts, last.nr_bursts),
        burst_usec=_rise("burst time", first.burst_usec, last.burst_usec),
        local_throttled_usec=_rise(
            "throttled time in cpu.stat.local",
            first.local_throttled_usec,
            last.local_throttled_usec,
        ),
        pressure_some_usec=_rise("pressure", first.pressure_some_usec, last.pressure_some_usec),
        pressure_full_usec=_rise("pressure", first.pressure_full_usec, last.pressure_full_usec),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Watched:
    """What is known when the window ends."""

    first: Mapping[str, CounterReading]
    limits: Mapping[str, GroupLimit]
    sampled: Sampled | None


_TOTALS_ONLY = _Watched(first={}, limits={}, sampled=None)


def _readings(root: HostRoot, tree: CgroupTree, clock: Clock) -> dict[str, CounterReading]:
    found = ((p, read_counters(root, tree.hierarchy, p, clock.now_usec)) for p in tree.paths)
    return {path: reading for path, reading in found if reading is not None}


def _limits(root: HostRoot, tree: CgroupTree) -> dict[str, GroupLimit]:
    found = ((path, read_limit(root, tree.hierarchy, path)) for path in tree.paths)
    return {path: limit for path, limit in found if limit is not None}


def _finish(root: HostRoot, tree: CgroupTree, watched: _Watched, clock: Clock) -> Observed:
    """Take the last reading and put everything together."""
    read = ((p, read_group(root, tree.hierarchy, p, clock.now_usec)) for p in tree.paths)
    last = {path: group for path, group in read if group is not None}
    taken_at = clock.wall().isoformat(timespec="seconds")
    containers, unnamed = name_containers(root, last)
    groups: list[CgroupFacts] = []
    problems = [*tree.problems, *unnamed]
    for path, group in last.items():
        groups.append(_facts(tree, path, _AtEnd(group, containers.get(path)), watched))
        problems += [*group.problems, *_backwards(groups[-1])]
    return Observed(
        observation=_observation(watched, last, taken_at),
        cgroups=tuple(groups),
        problems=tuple(dict.fromkeys(problems)),
        notes=tuple(_notes(watched, last)),
    )


@dataclass(frozen=True, slots=True)
class _AtEnd:
    last: GroupReading
    container: Container | None


def _facts(tree: CgroupTree, path: str, end: _AtEnd, watched: _Watched) -> CgroupFacts:
    last, settings = end.last, end.last.settings
    return CgroupFacts(
        path=path,
        version=tree.hierarchy.version,
        limit=settings.limit,
        burst_usec=settings.burst_usec,
        weight=settings.weight,
        cpus=settings.cpus,
        processes=settings.processes,
        threads=settings.threads,
        commands=settings.commands,
        totals=last.counters,
        window=_window(path, last, watched),
        demand=_demand(path, last, watched),
        container=end.container,
        realtime_threads=settings.realtime_threads,
        trace=_trace(path, last, watched),
        ended_lives=() if watched.sampled is None else watched.sampled.ended.get(path, ()),
        sources=last.sources,
    )


def _window(path: str, last: GroupReading, watched: _Watched) -> CounterWindow | Missing:
    if watched.sampled is None:
        return last.counters.since_creation
    first = watched.first.get(path)
    if first is None:
        return CREATED
    if not _same(first.identity, last.identity):
        return RECREATED
    window = replace(
        count(first.counters, last.counters),
        throttled_correlation_ratio=watched.sampled.correlation.get(path, 0.0),
    )
    return window if not _limit_changed(path, last.settings, watched) else _without_burst(window)


def _demand(path: str, last: GroupReading, watched: _Watched) -> Demand | Missing:
    if watched.sampled is None:
        return NO_WINDOW
    first = watched.first.get(path)
    if first is None:
        return CREATED
    if not _same(first.identity, last.identity):
        return RECREATED
    return watched.sampled.demand.get(path, Missing(reason="not sampled"))


def _trace(path: str, last: GroupReading, watched: _Watched) -> UseTrace | Missing:
    demand = _demand(path, last, watched)
    if watched.sampled is None or isinstance(demand, Missing):
        return demand if isinstance(demand, Missing) else NO_WINDOW
    return watched.sampled.outlines.get(path, Missing(reason="not under a limit"))


def _same(first: Identity, last: Identity) -> bool:
    """Whether two readings saw one cgroup. One that joins a second hierarchy stays the same."""
    return all(a == b for a, b in zip(first, last, strict=True) if None not in (a, b))


def _limit_changed(path: str, settings: GroupSettings, watched: _Watched) -> bool:
    before = watched.limits.get(path)
    return before is not None and (before.limit, before.burst_usec) != (
        settings.limit,
        settings.burst_usec,
    )


def _without_burst(window: CounterWindow) -> CounterWindow:
    # Lowering a quota in mid-period counts as a burst even where none is allowed, because the
    # kernel compares with the old quota (runtime_snap in kernel/sched/fair.c).
    return replace(window, burst_periods=_DURING_CHANGE, burst_usec=_DURING_CHANGE)


def _observation(watched: _Watched, last: Mapping[str, GroupReading], taken_at: str) -> Observation:
    spans = [
        reading.counters.read_at_usec - watched.first[path].counters.read_at_usec
        for path, reading in last.items()
        if path in watched.first
    ]
    samples = 1 if watched.sampled is None else watched.sampled.samples
    window_usec = max(spans, default=0)
    return Observation(
        taken_at=taken_at,
        window_usec=window_usec,
        interval_usec=round(window_usec / (samples - 1)) if samples > 1 else 0,
        samples=samples,
    )


def _notes(watched: _Watched, last: Mapping[str, GroupReading]) -> Iterable[str]:
    """Yield what a reader of the facts should know about the window."""
    if watched.sampled is None:
        return
    sampled = watched.sampled
    gone = len(watched.first.keys() - last.keys())
    if gone:
        yield f"{_cgroups(gone)} vanished during the window: left out"
    stayed = {
        path: found
        for path, found in last.items()
        if path in watched.first and _same(watched.first[path].identity, found.identity)
    }
    remade = len(watched.first.keys() & last.keys()) - len(stayed)
    if remade:
        yield f"{_cgroups(remade)} made anew during the window: nothing to compare with"
    for path, found in stayed.items():
        if _limit_changed(path, found.settings, watched):
            yield f"{path}: its CPU limit changed during the window"
    if sampled.late:
        yield (
            f"{sampled.late} of {sampled.samples - 1} sampling windows lasted more than twice the "
            "interval because this machine is busy: they are left out of the peaks"
        )
    if sampled.unopened:
        yield (
            f"{_cgroups(sampled.unopened)} without samples, those without a limit first: "
            "too few files may be open at once (ulimit -Hn)"
        )


def _backwards(group: CgroupFacts) -> Iterable[Problem]:
    """Yield a problem for each counter that cannot be trusted."""
    window = group.window
    counters = [] if isinstance(window, Missing) else [getattr(window, f.name) for f in _FIELDS]
    for value in (*counters, group.demand):
        if isinstance(value, Missing) and _BACKWARDS in value.reason:
            yield Problem(
                subject=group.path,
                reason=value.reason,
                hint="something reset the counter; look again",
            )


_FIELDS = fields(CounterWindow)
_BACKWARDS = "went backwards"


def _rise(name: str, first: int | Missing, last: int | Missing) -> int | Missing:
    if isinstance(last, Missing):
        return last
    if isinstance(first, Missing):
        return Missing(reason=f"{name}: not known at the start of the window: {first.reason}")
    if last < first:
        return Missing(reason=f"{name} {_BACKWARDS}: from {first} to {last}")
    return last - first


def _int_rise(name: str, first: int | Missing, last: int | Missing) -> int | Missing:
    if isinstance(first, Missing) or isinstance(last, Missing):
        return _rise(name, first, last)
    rise = (last - first) % _INT_SPAN
    if rise < _INT_SPAN // 2:
        return rise
    # Half the span in one window is no progress: it is a step back.
    return Missing(reason=f"{name} {_BACKWARDS}: from {first} to {last}")


def _cgroups(number: int) -> str:
    return f"{number} cgroup{'' if number == 1 else 's'}"
