"""Percentiles of a trace, over windows and stretches."""

from __future__ import annotations

from array import array

import pytest

from quota_advisor.sim.trace import Trace, even
from quota_advisor.sim.use import measure_use


def test_windows_gather_those_of_the_trace() -> None:
    trace = even(array("I", ([20_000] + [0] * 9) * 10), 10_000)
    use = measure_use(trace)
    assert (use.windows, use.active_windows) == (10, 10)
    assert use.mean_cores == pytest.approx(0.2)
    assert use.max_cores == pytest.approx(0.2)
    assert use.p95_cores == pytest.approx(0.2, rel=0.01)


def test_percentiles_are_of_active_windows() -> None:
    trace = even(array("I", [100_000] * 5 + [1_999] * 95), 100_000)
    use = measure_use(trace)
    assert (use.windows, use.active_windows) == (100, 5)
    assert use.p50_cores == pytest.approx(1, rel=0.01)


def test_two_percent_of_a_cpu_are_active() -> None:
    assert measure_use(even(array("I", [2_000]), 100_000)).active_windows == 1


def test_the_busiest_stretch_counts_by_itself() -> None:
    quiet, loud = [10_000] * 3_000, [150_000] * 3_000
    use = measure_use(even(array("I", quiet * 9 + loud), 100_000))
    assert use.p50_cores == pytest.approx(0.1, rel=0.01)
    assert use.busiest_p95_cores == pytest.approx(1.5, rel=0.01)


def test_windows_longer_than_asked_for_stay_as_they_are() -> None:
    trace = Trace(elapsed_usec=array("I", [250_000]), used_usec=array("I", [125_000]))
    use = measure_use(trace)
    assert (use.windows, use.max_cores) == (1, 0.5)


def test_an_empty_trace_uses_nothing() -> None:
    use = measure_use(even(array("I"), 10_000))
    assert (use.windows, use.max_cores, use.mean_cores) == (0, 0, 0)
