from __future__ import annotations

from quota_advisor.render.chart.characters import MAX_WIDTH, MIN_WIDTH, Row, bars, columns, marks

SHAPES = {"p50": "o", "p99": "x"}


def test_marks_stand_on_a_logarithmic_axis() -> None:
    rows = [
        Row(label="1 core", values={"p50": 1.0, "p99": 100.0}),
        Row(label="2 cores", values={"p50": 10.0}),
    ]

    assert list(marks("ms", rows, SHAPES, 21)) == [
        "     ms  o p50  x p99",
        " 1 core │o───────────────────x",
        "2 cores │          o",
        "        └─────────────────────",
        "         1         10      100",
    ]


def test_where_two_meet_the_later_is_seen() -> None:
    lines = list(marks("ms", [Row(label="a", values={"p50": 5.0, "p99": 5.0})], SHAPES, 20))

    assert lines[1].count("x") == 1
    assert "o" not in lines[1]


def test_a_value_that_has_no_logarithm_is_left_out() -> None:
    rows = [Row(label="a", values={"p50": 0.0, "p99": 5.0})]

    assert "o" not in list(marks("ms", rows, SHAPES, 20))[1]
    assert list(marks("ms", [Row(label="a", values={"p50": 0.0})], SHAPES, 20)) == []


def test_the_longest_bar_takes_all_the_room() -> None:
    assert list(bars("req/s", [("a", 50.0), ("bb", 100.0), ("c", 0.0)], 10)) == [
        "req/s",
        " a │█████ 50.0",
        "bb │██████████ 100.0",
        " c │ 0.0",
    ]


def test_where_nothing_happened_there_are_no_bars() -> None:
    assert list(bars("req/s", [("a", 0.0)], 10)) == ["req/s", "a │ 0.0"]


def test_a_plot_fits_its_terminal_within_reason() -> None:
    assert columns(["1 core", "2 cores"], 60) == 60 - len("2 cores") - 14
    assert columns(["x"], 0) == MIN_WIDTH
    assert columns(["x"], 500) == MAX_WIDTH
