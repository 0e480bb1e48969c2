"""Recordings made up for tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quota_advisor.recording.schema import About
from quota_advisor.recording.writer import Row, Writer

MSEC = 1_000
CYCLE = [20.0, 10.0, *[0.0] * 13]
"""30 ms on two CPUs each 150 ms, in windows of 10 ms."""


def recording(path: Path, used_msec: Sequence[float | None], **more: Any) -> Path:
    given: dict[str, Any] = {
        "program": "test",
        "started_at": "2026-12-01T10:00:00.000+00:00",
        "subject": "api.service",
        "cgroup": "/api.service",
        "host": "web",
        "kernel": "6.18.0",
        "cgroup_version": 2,
        "cpus": 2,
        "tick_usec": 4_000,
        "interval_usec": 10 * MSEC,
    }
    throttled = more.pop("throttled_usec", {})
    with Writer(path, About(**(given | more))) as writer:
        for number, used in enumerate(used_msec):
            usec = None if used is None else round(used * MSEC)
            writer.add(Row(10 * MSEC, usec, 0, 0, throttled.get(number, 0)))
        writer.finish()
    return path
