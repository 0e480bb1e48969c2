"""A recording as text, JSON and a picture."""

from __future__ import annotations

import json
from collections.abc import Iterator

import tabulate

from quota_advisor.record.info import Info, TrackInfo, limit_text
from quota_advisor.record.picture import demand_chart
from quota_advisor.render.chart import svg
from quota_advisor.units import format_cores, format_ratio, format_usec

SCHEMA = "quota-advisor-recording-info/1"


def as_table(info: Info) -> str:
    """Return the recording as text."""
    about = info.about
    what = about.subject or f"{len(info.tracks)} cgroups with a quota"
    head = (
        f"{what} on {about.host}, {about.started_at}: every {format_usec(about.interval_usec)},"
        f" {about.cpus} CPUs, kernel {about.kernel}, cgroup v{about.cgroup_version}"
    )
    rows = [_row(track) for track in info.tracks]
    lines = [head, "", tabulate.tabulate(rows, headers="keys", tablefmt="plain"), ""]
    if info.is_cut:
        lines.append("note: the file has no end; its last seconds may be missing")
    lines += [f"note: {note}" for track in info.tracks for note in notes(track)]
    return "\n".join(lines).rstrip() + "\n"


def notes(info: TrackInfo) -> Iterator[str]:
    """Yield what a reader of the numbers should know."""
    track = info.track
    prefix = f"{info.name}: "
    if info.gap_usec:
        gone = format_usec(info.gap_usec)
        yield f"{prefix}nobody saw {gone} of it: it was restarted, or gone"
    if info.late:
        late = "1 window was" if info.late == 1 else f"{info.late} windows were"
        yield f"{prefix}{late} late: peaks in them are averages"
    if track.held:
        share = format_ratio(track.held / len(track.marks))
        yield (
            f"{prefix}a quota held it back in {share} of the windows: what it wanted then is not"
            " known; lift the quota and record again to see it"
        )
    if not any(track.used_usec):
        yield f"{prefix}it never ran"


def _row(info: TrackInfo) -> dict[str, str]:
    track, use = info.track, info.use
    return {
        "NAME": info.name,
        "SPAN": format_usec(info.span_usec),
        "WINDOWS": str(len(track.marks)),
        "MEAN": format_cores(use.mean_cores),
        "P95": format_cores(use.p95_cores),
        "HIGHEST": format_cores(use.max_cores),
        "QUOTA": limit_text(track),
        "THROTTLED": _throttled(info),
        "THREADS": "-" if track.threads is None else str(track.threads),
    }


def _throttled(info: TrackInfo) -> str:
    track = info.track
    if not track.periods or track.throttled_periods is None:
        return "-"
    ratio = format_ratio(track.throttled_periods / track.periods)
    return f"{ratio} of {track.periods} periods"


def as_json(info: Info) -> str:
    """Return the recording's description as one JSON document; unknown values are null."""
    document = {
        "schema": SCHEMA,
        "about": info.about.model_dump(mode="json"),
        "is_cut": info.is_cut,
        "tracks": [_track(track) for track in info.tracks],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _track(info: TrackInfo) -> dict[str, object]:
    track, use = info.track, info.use
    return {
        "name": info.name,
        "cgroup": track.cgroup,
        "span_usec": info.span_usec,
        "windows": len(track.marks),
        "gap_usec": info.gap_usec,
        "late_windows": info.late,
        "held_windows": track.held,
        "mean_cores": round(use.mean_cores, 6),
        "p95_cores": use.p95_cores,
        "p99_cores": use.p99_cores,
        "max_cores": use.max_cores,
        "busiest_p95_cores": use.busiest_p95_cores,
        "periods": track.periods,
        "throttled_periods": track.throttled_periods,
        "throttled_usec": track.throttled_usec,
        "threads": track.threads,
        "limits": [
            {
                "window": change.window,
                "quota_usec": change.quota_usec,
                "period_usec": change.period_usec,
                "burst_usec": change.burst_usec,
            }
            for change in track.limits
        ],
        "notes": list(notes(info)),
    }


def as_svg(info: Info) -> str:
    """Return the demand of the busiest cgroup as a picture."""
    first = info.tracks[0]
    return svg.document(demand_chart(first, info))


RENDERERS = {"table": as_table, "json": as_json, "svg": as_svg}
