"""Durations as Go reads them."""

from __future__ import annotations

import pytest

from quota_advisor.documents.kubernetes.duration import parse_duration


@pytest.mark.parametrize(
    ("text", "usec"),
    [
        ("0", 0),
        ("100ms", 100_000),
        ("1h1ms", 3_600_001_000),
        ("1.5s", 1_500_000),
        (".5s", 500_000),
        ("1.s", 1_000_000),
        ("20µs", 20),
        ("20μs", 20),
        ("500ns", 0.5),
        ("", None),
        ("100", None),
        ("100 ms", None),
        ("ms", None),
        ("1d", None),
        ("1s2", None),
    ],
)
def test_a_duration_is_read_in_microseconds(text: str, usec: float | None) -> None:
    assert parse_duration(text) == usec
