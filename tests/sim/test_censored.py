"""What was wanted behind a freeze: moved back at least, gone on at most."""

from __future__ import annotations

from array import array

import pytest

from quota_advisor.sim.censored import uncensor
from quota_advisor.sim.trace import even

MSEC = 1_000


def estimate(used_msec: list[int], held: list[int]) -> tuple[list[int], list[int]]:
    trace = even(array("I", [used * MSEC for used in used_msec]), 10 * MSEC)
    marks = bytes(index in held for index in range(len(used_msec)))
    demand = uncensor(trace, marks)
    return (
        [used // MSEC for used in demand.least.used_usec],
        [used // MSEC for used in demand.most.used_usec],
    )


def test_what_ran_after_a_freeze_was_there_when_it_began() -> None:
    least, most = estimate([20, 10, 0, 0, 0, 20, 10, 0], held=[5])
    assert least == [20, 20, 20, 0, 0, 0, 0, 0]
    assert most == [20, 20, 20, 20, 20, 20, 10, 0]


def test_without_a_freeze_use_is_demand() -> None:
    used = [0, 10, 20, 0, 5]
    assert estimate(used, held=[]) == (used, used)


def test_sleep_before_a_freeze_ends_is_not_told_from_it() -> None:
    """The freeze reaches back to the last window that ran."""
    least, _ = estimate([10, 0, 0, 10], held=[3])
    assert least == [10, 10, 0, 0]


def test_a_freeze_shorter_than_a_window_moves_within_its_neighbours() -> None:
    least, most = estimate([0, 5, 10, 0], held=[2])
    assert least == [0, 10, 5, 0]
    assert most == [0, 10, 10, 0]


def test_no_freeze_is_longer_than_the_longest_period() -> None:
    used = [10] + [0] * 200 + [10]
    least, most = estimate(used, held=[201])
    assert sum(most) <= 10 + 1000 + 10 + 10
    assert least[0] == 10
    assert sum(least) == 20


def test_the_first_window_has_nothing_before_it() -> None:
    assert estimate([10, 0], held=[0]) == ([10, 0], [10, 0])


def test_there_is_a_mark_for_each_window() -> None:
    with pytest.raises(ValueError, match="each window"):
        uncensor(even(array("I", [1, 2]), 10_000), b"\0")
