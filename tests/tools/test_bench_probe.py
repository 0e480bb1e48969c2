"""The benchmark's judgement: what it says of figures, without measuring any."""

from __future__ import annotations

import pytest

from tests.probe.conftest import MakeResult, MakeRun
from tools import bench_probe


@pytest.fixture
def runs(make_run: MakeRun) -> list[object]:
    """Return the medians of the field report."""
    half = make_run(0.5)
    whole = make_run(
        1,
        throughput_req_per_sec=2081.11,
        lat_p99_ns=4_010_000,
        lat_p999_ns=52_510_000,
        kernel_usage_usec=10_080_000,
    )
    both = make_run(
        2,
        throughput_req_per_sec=4043.99,
        lat_p99_ns=530_000,
        lat_p999_ns=2_470_000,
        kernel_usage_usec=19_720_000,
        kernel_throttled_periods=13,
        kernel_throttled_usec=19_000,
    )
    return [half, whole, both]


def test_the_figures_of_the_field_report_have_its_shape(
    make_result: MakeResult, runs: list[object]
) -> None:
    result = make_result(runs)
    checks = list(bench_probe.shape(result))

    assert [check.what for check in checks if not check.holds] == []
    assert bench_probe.exit_code(result, checks) == 0


@pytest.mark.parametrize(
    ("doubts", "word", "code"), [((), "**fails**", 1), (("others used 1 core",), "not judged", 3)]
)
def test_a_check_is_judged_only_when_nothing_else_was_measured(
    make_result: MakeResult, doubts: tuple[str, ...], word: str, code: int
) -> None:
    result = make_result(doubts=doubts)  # three tiers with the figures of one
    checks = list(bench_probe.shape(result))

    assert bench_probe.exit_code(result, checks) == code
    assert word in bench_probe.markdown(result, checks)
