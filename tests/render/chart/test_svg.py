from __future__ import annotations

import itertools
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from quota_advisor.render.chart.scale import Linear, Logarithmic
from quota_advisor.render.chart.svg import (
    BOTTOM,
    LABEL_GAP,
    TOP,
    Chart,
    Panel,
    Series,
    XAxis,
    document,
    element,
)

LINE = Series(style="one", label="one", points=((1, 2.0), (2, 4.0)), ranges=((1, 1.0, 3.0),))
PANEL = Panel(left=100, right=324, title="time, ms", y=Linear(highest=4), series=(LINE,))
CHART = Chart(
    name="test",
    title="A title",
    subtitle="A subtitle",
    x=XAxis(title="quota, cores", ticks=((1, "1"), (2, "2"))),
    panels=(PANEL,),
    colours={"one": ("#111111", "#eeeeee")},
    footnotes=("lower", "upper"),
)


def drawn(chart: Chart) -> ET.Element:
    return ET.fromstring(element(chart))  # noqa: S314 - ours


def with_panel(**changes: object) -> Chart:
    return replace(CHART, panels=(replace(PANEL, **changes),))  # type: ignore[arg-type]


def found(chart: Chart, tag: str, css: str) -> list[dict[str, str]]:
    names = (e for e in drawn(chart).iter() if e.tag.rpartition("}")[2] == tag)
    return [{**e.attrib, "text": e.text or ""} for e in names if css in e.get("class", "").split()]


def test_a_line_goes_through_its_points() -> None:
    (line,) = found(CHART, "polyline", "one")
    middle = (TOP + BOTTOM) / 2

    assert line["points"] == f"200.0,{middle:.1f} 300.0,{TOP:.1f}"
    assert [(dot["cx"], dot["cy"]) for dot in found(CHART, "circle", "one")] == [
        ("200.0", f"{middle:.1f}"),
        ("300.0", f"{TOP:.1f}"),
    ]


def test_a_range_stands_at_its_value() -> None:
    (bar,) = found(CHART, "line", "range")
    height = BOTTOM - TOP

    assert (bar["x1"], bar["x2"]) == ("200.0", "200.0")
    assert float(bar["y1"]) == pytest.approx(BOTTOM - height / 4, abs=0.1)
    assert float(bar["y2"]) == pytest.approx(BOTTOM - height * 3 / 4, abs=0.1)


def test_a_point_that_the_scale_has_no_place_for_is_left_out() -> None:
    line = replace(LINE, points=((1, 0.0), (2, 10.0)), ranges=())
    chart = with_panel(y=Logarithmic(low=0, high=1), series=(line,))

    assert found(chart, "polyline", "one")[0]["points"] == f"300.0,{TOP:.1f}"


def test_names_at_the_ends_do_not_overlap_and_keep_their_order() -> None:
    lines = [replace(LINE, label=name, points=((2, 4.0),), ranges=()) for name in ("low", "high")]
    names = {
        text["text"]: float(text["y"])
        for text in found(with_panel(series=(*lines,)), "text", "one")
    }

    assert names["low"] - names["high"] == pytest.approx(LABEL_GAP)


def test_a_line_without_a_label_has_none() -> None:
    assert found(with_panel(series=(replace(LINE, label=""),)), "text", "one") == []


def test_labels_of_the_axis_that_have_no_room_are_left_out_but_the_last() -> None:
    ticks = tuple((float(n), f"{n} cores") for n in range(1, 41))
    chart = replace(CHART, x=XAxis(title="", ticks=ticks))
    shown = [text for text in found(chart, "text", "ink") if text["text"].endswith("cores")]

    assert 1 < len(shown) < len(ticks)
    assert shown[0]["text"] == "40 cores"
    gaps = [float(a["x"]) - float(b["x"]) for a, b in itertools.pairwise(shown)]
    assert min(gaps) > len("40 cores") * 6


def test_what_is_in_proportion_is_a_dashed_line_from_zero() -> None:
    assert found(CHART, "line", "ideal") == []
    (line,) = found(with_panel(proportional=(2.0, 4.0)), "line", "ideal")

    ends = [(line["x1"], line["y1"]), (line["x2"], line["y2"])]
    assert ends == [("100.0", f"{BOTTOM:.1f}"), ("300.0", f"{TOP:.1f}")]


def test_a_panel_without_a_scale_says_why() -> None:
    chart = with_panel(y=None, empty="nothing was measured")

    assert "nothing was measured" in [text["text"] for text in found(chart, "text", "soft")]
    assert found(chart, "line", "grid") == []


def test_texts_are_escaped() -> None:
    chart = replace(CHART, title="<b>", subtitle='a "quoted" <word>')

    assert drawn(chart).get("aria-label") == 'a "quoted" <word>'
    assert "<b>" not in element(chart)


def test_two_charts_on_a_page_keep_their_styles_apart() -> None:
    style = next(e.text for e in drawn(CHART).iter() if e.tag.endswith("style"))

    rules = [rule for rule in (style or "").replace("}", "}\n").splitlines() if "{" in rule]
    assert all(rule.startswith((".test ", "@media")) for rule in rules)
    assert ".test line.one,.test polyline.one{stroke:#111111}" in rules


def test_a_document_is_the_element_with_a_declaration() -> None:
    assert document(CHART).splitlines()[0] == '<?xml version="1.0" encoding="UTF-8"?>'
    assert ET.fromstring(document(CHART)).get("viewBox")  # noqa: S314 - ours
