"""Reports for spreadsheets."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from quota_advisor.model.report import Report, Results
from quota_advisor.render import render
from quota_advisor.render.sheet.rows import CONTAINER_COLUMNS, FINDING_COLUMNS
from quota_advisor.render.view import View
from tests.advise.hosts import judge_all
from tests.k8s.test_judge import cluster, judged, use
from tests.render.test_table import many_units
from tests.rules.facts import CgroupCase, Facts, host_facts


def rows(report: Report) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(render("csv", report, View()))))


def test_a_cluster_has_a_row_for_each_container(tmp_path: Path) -> None:
    facts = cluster(tmp_path, {"one": {"app": use(0.4)}, "two": {"app": use(0.3, 400_000)}})
    (row,) = rows(judged(facts))
    assert tuple(row) == CONTAINER_COLUMNS
    assert (row["namespace"], row["container"], row["pods"]) == ("shop", "app", "2")
    assert row["worst_pod"] == "two"
    assert float(row["throttled_ratio"]) == pytest.approx(400_000 / 864_000, abs=1e-5)
    assert float(row["p95_cores"]) == 0.3
    assert row["request_advised_millicores"] == "300"


def test_what_was_not_measured_is_an_empty_cell(tmp_path: Path) -> None:
    (row,) = rows(judged(cluster(tmp_path, {})))
    for name in ("p95_cores", "throttled_ratio", "source", "request_advised_millicores"):
        assert row[name] == ""


def test_a_host_has_a_row_for_each_workload(tmp_path: Path) -> None:
    found = rows(many_units(tmp_path, 3))
    assert [row["kind"] for row in found] == ["slice", "service", "service", "service"]
    assert all(row["cgroup"].startswith("/") for row in found)


def test_nothing_found_is_a_table_without_rows() -> None:
    text = render("csv", Report(command="lint", host=None, results=Results()), View())
    assert text == ",".join(FINDING_COLUMNS) + "\n"


@pytest.mark.parametrize("start", ["=", "+", "-", "@"])
def test_no_name_is_a_formula(start: str, tmp_path: Path) -> None:
    name = f"{start}cmd|calc!A0"
    groups = {f"/system.slice/{name}.service": CgroupCase(limit="50000 100000")}
    found = rows(judge_all(host_facts(Facts(cgroups=groups), tmp_path)))
    (row,) = [row for row in found if "cmd" in row["workload"]]
    assert row["workload"].startswith(f"'{start}")
