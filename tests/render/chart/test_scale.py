from __future__ import annotations

import pytest

from quota_advisor.render.chart.scale import Linear, Logarithmic


@pytest.mark.parametrize(
    ("value", "highest"),
    [(0.0, 1.0), (1.0, 1.0), (1.01, 2.0), (39.0, 40.0), (41.0, 80.0), (81.0, 100.0), (0.03, 0.04)],
)
def test_a_linear_scale_ends_at_a_number_that_divides_well(value: float, highest: float) -> None:
    assert Linear.up_to(value).highest == pytest.approx(highest)


def test_a_linear_scale_is_written_at_its_quarters() -> None:
    assert list(Linear(highest=8).ticks()) == [0, 2, 4, 6, 8]
    assert Linear(highest=8).place(2) == 0.25


@pytest.mark.parametrize(
    ("values", "ends"),
    [
        ([0.5, 76.0], (-1, 2)),
        ([0.0, 3.0], (0, 1)),
        ([10.0], (1, 2)),
        ([10.0, 100.0], (1, 2)),
        ([10.0, 100.1], (1, 3)),
    ],
)
def test_a_logarithmic_scale_has_whole_decades(values: list[float], ends: tuple[int, int]) -> None:
    scale = Logarithmic.around(values)

    assert scale is not None
    assert (scale.low, scale.high) == ends
    assert list(scale.ticks())[:: ends[1] - ends[0]] == [10.0 ** ends[0], 10.0 ** ends[1]]


def test_each_decade_is_as_long_as_the_next() -> None:
    scale = Logarithmic(low=-1, high=3)

    assert [scale.place(10.0**power) for power in range(-1, 4)] == [0, 0.25, 0.5, 0.75, 1]
    assert not scale.has(0.0)


def test_without_a_value_above_zero_there_is_no_logarithmic_scale() -> None:
    assert Logarithmic.around([0.0, -1.0]) is None
