"""Recordings in place of the demand that was seen while a host was watched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from quota_advisor.model.host import HostFacts
from quota_advisor.model.limit import Bandwidth
from quota_advisor.model.problem import Problem
from quota_advisor.recording.demand import demand_of
from quota_advisor.recording.reader import Recording, read_recording
from quota_advisor.units import format_usec


def with_recordings(facts: HostFacts, files: Sequence[Path]) -> HostFacts:
    """Return facts whose demand, for what was recorded, is that of the recordings.

    Args:
        facts: What was found while the host was watched.
        files: Recordings of cgroups of this host, or of the same ones elsewhere; of two of one
            cgroup the later one counts.

    Raises:
        UsageError: A file is no recording.
        CollectError: A file cannot be read, or the simulator is not installed.
    """
    for file in files:
        facts = _with_recording(facts, file, read_recording(file))
    return facts


def _with_recording(facts: HostFacts, file: Path, recording: Recording) -> HostFacts:
    tracks = {track.cgroup: track for track in recording.tracks}
    groups, notes = [], list(facts.notes)
    for group in facts.cgroups:
        track = tracks.pop(group.path, None)
        if track is None:
            groups.append(group)
            continue
        present = group.limit if isinstance(group.limit, Bandwidth) else None
        demand = demand_of(track, recording.about, present)
        groups.append(replace(group, demand=demand))
        span = format_usec(track.trace.span_usec)
        notes.append(f"{group.path}: sized from {span} in {file}")
    unknown = [
        Problem(subject=str(file), reason=f"no cgroup {path} is here, which it is a recording of")
        for path in tracks
    ]
    return replace(
        facts,
        cgroups=tuple(groups),
        notes=tuple(notes),
        problems=(*facts.problems, *unknown),
    )
