from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from quota_advisor.probe.plan import Limit, limit_of
from quota_advisor.probe.report import FORMATS, render
from quota_advisor.probe.report.plot import plot
from tests.probe.conftest import NOT_REPORTED, MakeResult, MakeRun

PROMISED = (
    "tier_cores,round,throughput_req_per_sec,lat_p50_ns,lat_p95_ns,lat_p99_ns,lat_p999_ns,"
    "lat_max_ns,nr_periods,nr_throttled,throttled_usec,usage_usec"
)


def test_the_first_columns_of_the_csv_never_change(make_result: MakeResult) -> None:
    header = render("csv", make_result()).splitlines()[0]

    assert header.startswith(f"{PROMISED},")


def test_the_csv_has_one_row_a_run(make_result: MakeResult, make_run: MakeRun) -> None:
    runs = [make_run(tier, number) for number in (1, 2) for tier in (0.5, 1)]

    rows = list(csv.DictReader(io.StringIO(render("csv", make_result(runs)))))

    assert [(row["tier_cores"], row["round"]) for row in rows] == [
        *(("0.5", "1"), ("1", "1"), ("0.5", "2"), ("1", "2"))
    ]
    assert (rows[0]["nr_throttled"], rows[0]["throttled_usec"]) == ("101", "14940000")
    assert rows[0]["accounts_agree"] == "true"


def test_what_is_not_known_is_empty_in_the_csv_and_null_in_the_json(
    make_result: MakeResult, make_run: MakeRun
) -> None:
    result = make_result([make_run(kernel_periods=NOT_REPORTED, lat_p99_ns=None)])

    (row,) = csv.DictReader(io.StringIO(render("csv", result)))
    (run,) = json.loads(render("json", result))["runs"]

    assert (row["nr_periods"], row["lat_p99_ns"]) == ("", "")
    assert (run["kernel"]["nr_periods"], run["load"]["lat_p99_ns"]) == (None, None)


def test_the_json_has_medians_and_every_notation_of_a_limit(make_result: MakeResult) -> None:
    document = json.loads(render("json", make_result()))

    assert document["schema"] == "quota-advisor-probe/1"
    tier = document["tiers"][0]
    assert tier["limit"]["systemd"] == ["CPUQuota=50%"]
    assert tier["limit"]["kubernetes"] == "500m"
    assert tier["median"]["lat_p99_ns"] == 76_490_000


def test_the_table_is_that_of_the_field_report(make_result: MakeResult) -> None:
    lines = render("table", make_result()).splitlines()

    assert lines[0].startswith(
        "saturate: 2 threads on 2 CPUs, kernel 6.12, cgroup v2; 1 run of 10 s"
    )
    rows = {line[:20].strip(): line[20:].split() for line in lines if line}
    assert rows["p99 ms"] == ["76.49"] * 3
    assert rows["periods throttled"] == ["101", "of", "101"] * 3
    assert rows["Kubernetes"] == ["500m", "1000m", "2000m"]


def test_the_table_tells_which_accounts_do_not_agree(
    make_result: MakeResult, make_run: MakeRun
) -> None:
    odd = make_run(cpu_user_usec=1_000_000)

    text = render("table", make_result([make_run(), odd]))

    assert "agree in 1 of 2 runs" in text
    assert "0.5 cores, round 1: the load counts" in text


def test_notes_and_doubts_are_in_the_table(make_result: MakeResult) -> None:
    text = render("table", make_result(notes=("fitted",), doubts=("it was busy",)))

    assert "note: fitted" in text
    assert "warning: it was busy" in text


def test_many_tiers_are_folded_to_the_width_of_a_terminal(
    make_result: MakeResult, make_run: MakeRun
) -> None:
    result = make_result([make_run(tier / 4) for tier in range(1, 13)])

    tables = render("table", result, width=80).split("latency, ms")[0].splitlines()[1:]

    assert sum(line.startswith("p99 ms") for line in tables) == 4
    assert all(len(line) <= 80 for line in tables)


def test_wide_cells_are_folded_too(make_result: MakeResult, make_run: MakeRun) -> None:
    runs = [replace(make_run(), limit=limit_of(cores, 20_000)) for cores in (0.5, 1, 2)]

    tables = render("table", make_result(runs), width=80).split("latency, ms")[0].splitlines()[1:]

    assert sum("CPUQuotaPeriodSec=20ms" in line for line in tables) == 3
    assert all(len(line) <= 80 for line in tables)


def test_limits_that_not_everybody_can_write_are_written_as_far_as_they_can(
    make_result: MakeResult, make_run: MakeRun
) -> None:
    run = replace(make_run(), limit=limit_of(0.5, 20_000))

    text = render("table", make_result([run]))

    assert "CPUQuota=50%; CPUQuotaPeriodSec=20ms" in text
    assert "cpu_quota: 10000; cpu_period: 20000" in text


def test_a_plot_follows_on_a_terminal_and_fits_it(make_result: MakeResult) -> None:
    text = render("table", make_result(), width=80)

    assert "○ p50" in text
    assert all(len(line) <= 80 for line in plot(make_result(), 80).splitlines())


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_shows_a_run_without_requests(
    make_result: MakeResult, make_run: MakeRun, name: str
) -> None:
    nothing = dict.fromkeys(
        ("lat_p50_ns", "lat_p90_ns", "lat_p95_ns", "lat_p99_ns", "lat_p999_ns", "lat_max_ns")
    )
    result = make_result([make_run(**nothing, throughput_req_per_sec=0.0, lat_samples=0)])

    assert render(name, result, width=100)


def test_the_svg_is_one_document_that_needs_nothing_else(make_result: MakeResult) -> None:
    text = render("svg", make_result())

    assert ET.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314 - ours
    assert text.count("http") == 1
    assert "<script" not in text


@pytest.mark.parametrize(
    ("limits", "title", "label"),
    [
        ([limit_of(1), limit_of(2)], "quota, cores", "2"),
        ([limit_of(1, 50_000), limit_of(1, 20_000)], "period, at 1 core", "20 ms"),
        ([limit_of(1, 10**5, 0), limit_of(1, 10**5, 5_000)], "burst, at 1 core", "5 ms"),
    ],
)
def test_the_axis_names_what_differs(
    make_result: MakeResult, make_run: MakeRun, limits: list[Limit], title: str, label: str
) -> None:
    text = render("svg", make_result([replace(make_run(), limit=limit) for limit in limits]))

    assert f">{title}</text>" in text
    assert f">{label}</text>" in text


def test_names_from_outside_are_escaped(make_result: MakeResult) -> None:
    result = make_result(notes=("<script>alert(1)</script>",))

    assert "<script>alert" not in render("html", result)
    ET.fromstring(render("svg", result))  # noqa: S314 - ours
