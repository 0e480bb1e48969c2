from __future__ import annotations

import pytest

from quota_advisor.collect.host.live import Counts
from quota_advisor.watch.history import History


def counts(used_sec: float, periods: int | None = 0, throttled: int | None = 0) -> Counts:
    return Counts(round(used_sec * 1e6), periods, throttled, throttled, None)


def after(seconds: int, throttled_each: int = 5) -> History:
    """Return a history of half a core, ten periods a second and so many of them throttled."""
    history = History()
    for second in range(seconds + 1):
        history.add(float(second), counts(second / 2, second * 10, second * throttled_each))
    return history


def test_one_reading_says_nothing() -> None:
    history = after(0)
    assert (history.now_cores, history.peak_cores, history.throttled_ratio(1)) == (None, None, None)


def test_a_span_that_was_not_watched_has_no_ratio() -> None:
    history = after(9)
    assert history.throttled_ratio(1) == 0.5
    assert history.throttled_ratio(10) == 0.5  # nine tenths of it were watched
    assert after(8).throttled_ratio(10) is None
    assert history.throttled_ratio(60) is None
    assert after(60).throttled_ratio(60) == 0.5


def test_each_span_sees_its_own_seconds() -> None:
    history = after(60, throttled_each=0)
    for second in range(61, 66):
        history.add(float(second), counts(second / 2, second * 10, (second - 60) * 10))
    assert history.throttled_ratio(1) == 1.0
    assert history.throttled_ratio(10) == 0.5
    assert history.throttled_ratio(60) == pytest.approx(5 / 60)


def test_the_peak_is_remembered_and_use_is_that_of_the_last_interval() -> None:
    history = after(3)
    history.add(4.0, counts(3.5))
    history.add(6.0, counts(3.7))
    assert history.peak_cores == pytest.approx(2.0)
    assert history.now_cores == pytest.approx(0.1)


def test_what_the_kernel_does_not_count_is_no_zero() -> None:
    history = History()
    history.add(0.0, counts(0, None, None))
    history.add(1.0, counts(1, None, None))
    assert history.throttled_ratio(1) is None
    assert history.held_msec_per_sec(1) is None
    assert history.stalled_msec_per_sec(1) is None
    history.add(2.0, Counts(2_000_000, 7, 0, 0, 0))
    history.add(3.0, Counts(3_000_000, 7, 0, 250_000, 100_000))
    assert history.throttled_ratio(1) is None  # no period ran
    assert history.held_msec_per_sec(1) == pytest.approx(250)
    assert history.stalled_msec_per_sec(1) == pytest.approx(100)


def test_counters_that_wrap_go_on() -> None:
    history = History()
    history.add(0.0, counts(0, 2**31 - 5, 2**31 - 2))
    history.add(1.0, counts(1, -(2**31) + 5, -(2**31) + 3))
    assert history.throttled_ratio(1) == 0.5


def test_use_that_went_backwards_starts_anew() -> None:
    history = after(5)
    history.add(6.0, counts(0.1, 1, 0))
    assert history.now_cores is None
    history.add(7.0, counts(0.3, 11, 1))
    assert history.now_cores == pytest.approx(0.2)
    assert history.throttled_ratio(10) is None
