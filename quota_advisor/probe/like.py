"""A load profile out of a recording: what a unit or container really wanted, replayed here."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from quota_advisor.errors import UsageError
from quota_advisor.model.cgroup import Demand, SimulatedNeed
from quota_advisor.probe.profile import Trace as TraceProfile
from quota_advisor.recording.demand import demand_of, wanted
from quota_advisor.recording.reader import Recording, Track, read_recording
from quota_advisor.records import NamedTuple
from quota_advisor.sim.bandwidth import parallelism
from quota_advisor.sim.trace import Trace
from quota_advisor.units import format_usec

MAX_INTERVALS = 1_000_000
"""More than anybody waits for: close to three hours at 10 ms."""

TOLERANCE = 0.1
"""The counters lag: a tenth of a CPU is not another one."""


class Replay(NamedTuple):
    """A recorded demand for the load program.

    Attributes:
        profile: The load.
        length_sec: Length of the demand.
    """

    profile: TraceProfile
    length_sec: float


def replay_of(file: Path, directory: Path, cpus: int) -> Replay:
    """Return a recording as a load profile.

    Args:
        file: A recording of one cgroup.
        directory: Where the demand is written for the load program; whoever made it removes it.
        cpus: CPUs of this node.

    Raises:
        UsageError: The file is no recording, one of many cgroups, or nothing ran in it.
        CollectError: It cannot be read, or the simulator is not installed.
    """
    if not file.exists():
        raise UsageError(
            f"--like {file}: no such file",
            hint=f"record it first: quota-advisor record {file} -o {file.name}.arrows.gz",
        )
    recording = read_recording(file)
    track = _only(recording, file)
    demand = demand_of(track, recording.about, None)
    if not isinstance(demand, Demand):
        raise UsageError(f"--like {file}: {demand.reason}")
    trace = wanted(track).least
    threads = min(parallelism(trace), recording.about.cpus)
    interval_usec = recording.about.interval_usec
    cells = list(on_grid(trace, interval_usec))[:MAX_INTERVALS]
    written = directory / "demand"
    written.write_text(demand_text(cells, interval_usec, threads), encoding="ascii")
    name = recording.about.subject or track.cgroup
    length_usec = len(cells) * interval_usec
    profile = TraceProfile(
        mode="trace",
        name="recorded",
        title=f"What {name} wanted",
        description=f"{format_usec(length_usec)} recorded on {recording.about.host}, replayed.",
        threads=threads,
        tiers=_tiers(track, demand, cpus),
        trace=written,
    )
    return Replay(profile, length_usec / 1e6)


def on_grid(trace: Trace, interval_usec: int) -> Iterator[int]:
    """Yield the work of intervals of one length; a window's work is spread over those it covers."""
    begin = index = 0
    work = 0.0
    for elapsed, used in zip(trace.elapsed_usec, trace.used_usec, strict=True):
        end = begin + elapsed
        while end >= (index + 1) * interval_usec:
            edge = (index + 1) * interval_usec
            work += used * (edge - max(begin, index * interval_usec)) / max(elapsed, 1)
            yield round(work)
            work, index = 0.0, index + 1
        work += used * (end - max(begin, index * interval_usec)) / max(elapsed, 1)
        begin = end


def demand_text(cells: list[int], interval_usec: int, threads: int) -> str:
    """Return a demand as the load program reads it: work, and how many threads share it."""
    lines = [f"interval_usec {interval_usec}"]
    for work in cells:
        needed = math.ceil(work / interval_usec - TOLERANCE)
        lines.append(f"{work} {min(max(needed, 1), threads)}")
    return "\n".join(lines) + "\n"


def _only(recording: Recording, file: Path) -> Track:
    if len(recording.tracks) == 1:
        return recording.tracks[0]
    raise UsageError(
        f"--like {file}: a recording of {len(recording.tracks)} cgroups",
        hint="record the one to replay by itself",
    )


def _tiers(track: Track, demand: Demand, cpus: int) -> tuple[float, ...]:
    """Return the quotas to try: the recorded one, the smallest by simulation, all CPUs."""
    found = {float(cpus)}
    for change in track.limits[-1:]:
        if change.quota_usec and change.period_usec:
            found.add(round(change.quota_usec / change.period_usec, 3))
    simulated = demand.simulated
    if isinstance(simulated, SimulatedNeed) and isinstance(simulated.cores, float):
        found.add(round(simulated.cores, 3))
    return tuple(sorted(cores for cores in found if 0 < cores <= cpus))
