"""What is in a recording."""

from __future__ import annotations

from quota_advisor.model.limit import Bandwidth
from quota_advisor.recording.reader import GAP, Recording, Track
from quota_advisor.recording.schema import About
from quota_advisor.records import dataclass
from quota_advisor.sim.use import Use, measure_use

LATE_FACTOR = 2
"""Windows longer than this many intervals are late."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackInfo:
    """One cgroup of a recording.

    Attributes:
        name: As people call it.
        track: What was recorded.
        use: Its use in windows of 100 ms.
        span_usec: Length of the recording, gaps included.
        gap_usec: How much of it nobody saw.
        late: Windows of more than twice the interval, gaps left out.
    """

    name: str
    track: Track
    use: Use
    span_usec: int
    gap_usec: int
    late: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Info:
    """A recording, described.

    Attributes:
        about: What it says of itself.
        is_cut: It has no end.
        tracks: Its cgroups, most used first.
    """

    about: About
    is_cut: bool
    tracks: tuple[TrackInfo, ...]


def describe(recording: Recording) -> Info:
    """Return what is in a recording.

    Raises:
        CollectError: The simulator's library, which measures the use, is not installed.
    """
    found = [_track(track, recording.about) for track in recording.tracks]
    found.sort(key=lambda info: (-info.use.mean_cores, info.name))
    return Info(about=recording.about, is_cut=recording.is_cut, tracks=tuple(found))


def limit_text(track: Track) -> str:
    """Return the limits in force, in their order."""
    texts = []
    for change in track.limits:
        if change.quota_usec is None or not change.period_usec:
            texts.append("none")
            continue
        limit = Bandwidth(quota_usec=change.quota_usec, period_usec=change.period_usec)
        burst = f" + {change.burst_usec / 1000:g} ms burst" if change.burst_usec else ""
        texts.append(limit.text + burst)
    return ", then ".join(texts[:MAX_LIMITS]) + (", …" if len(texts) > MAX_LIMITS else "")


MAX_LIMITS = 4
"""More changes than this are not written out."""


def _track(track: Track, about: About) -> TrackInfo:
    longest = LATE_FACTOR * about.interval_usec
    late = gap = 0
    if max(track.elapsed_usec, default=0) > longest:
        for elapsed, mark in zip(track.elapsed_usec, track.marks, strict=True):
            if mark & GAP:
                gap += elapsed
            elif elapsed > longest:
                late += 1
    return TrackInfo(
        name=about.subject or track.cgroup,
        track=track,
        use=measure_use(track.trace),
        span_usec=track.trace.span_usec,
        gap_usec=gap,
        late=late,
    )
