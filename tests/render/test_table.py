"""The report for people: what stands first, and what is left out and counted."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from quota_advisor.model.report import Report
from quota_advisor.render import FORMATS, render
from quota_advisor.render.view import View
from tests.advise.hosts import judge_all
from tests.rules.facts import (
    CgroupCase,
    DemandCase,
    Facts,
    UnitCase,
    WindowCase,
    host_facts,
)

DROP_IN = "/etc/systemd/system/api.service.d/12-CPUQuota.conf"


def throttled(periods: int = 63, throttled_periods: int = 62) -> CgroupCase:
    return CgroupCase(
        limit="50000 100000",
        processes=1,
        threads=4,
        window=WindowCase(
            elapsed_usec=periods * 100_000,
            usage_usec=3_100_000,
            periods=periods,
            throttled_periods=throttled_periods,
            throttled_usec=15_000_000,
            pressure_full_usec=periods * 75_000,
        ),
        demand=DemandCase(mean_cores=0.5, p95_cores=0.6, censored_windows=62),
    )


def one_service(tmp_path: Path) -> Report:
    facts = Facts(
        cgroups={"/system.slice/api.service": throttled()},
        units={"api.service": UnitCase(quota="50%", restart="always")},
        files={
            "/etc/systemd/system/api.service": "[Service]\nExecStart=/usr/bin/api\n",
            DROP_IN: "# sized by hand\n\n[Service]\nCPUQuota=50%\n",
        },
    )
    return judge_all(host_facts(facts, tmp_path))


def many_units(tmp_path: Path, number: int = 300) -> Report:
    groups = {f"/system.slice/w{n:03}.service": throttled(400, 100 + n) for n in range(number)}
    return judge_all(host_facts(Facts(cgroups=groups), tmp_path))


def test_a_throttled_service_reads_in_one_line(tmp_path: Path) -> None:
    lines = render("table", one_service(tmp_path), View()).splitlines()
    assert (
        "api.service  62 of 63 periods throttled, stood still 75 % of the time,"
        " by 12-CPUQuota.conf:4 → raise to at least 90 %"
    ) in lines
    assert lines[-1].startswith("1 error, 0 warnings, 0 notes")


def test_verbose_shows_each_part(tmp_path: Path) -> None:
    report = one_service(tmp_path)
    (finding,) = report.results.findings
    text = render("table", report, View(verbose=True))
    short = render("table", report, View())
    for part in finding.parts:
        assert part.message in text
        assert part.message not in short
        assert part.brief in short


def test_no_line_is_wider_than_the_terminal(tmp_path: Path) -> None:
    text = render("table", one_service(tmp_path), View(width=80))
    words = [line for line in text.splitlines() if not line.lstrip().startswith(("try:", "back:"))]
    assert max(map(len, words)) <= 80


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_of_300_units_the_worst_20_are_listed_and_the_rest_counted(
    form: str, tmp_path: Path
) -> None:
    report = many_units(tmp_path)
    text = render(form, report, View())
    listed = {*re.findall(r"w\d{3}\.service", text)}
    assert listed == {f"w{n}.service" for n in range(280, 300)}
    assert "… and 280 more workloads: --all lists them" in text
    assert "… and 280 more subjects (280 errors, 0 warnings, 0 notes): --all shows them" in text
    assert text.splitlines()[-1].startswith("300 errors")
    # Markdown folds what few read away, between lines of its own.
    in_sight = re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL)
    assert len(in_sight.splitlines()) < 200


def test_all_lists_all_of_300_units(tmp_path: Path) -> None:
    text = render("table", many_units(tmp_path), View(all=True))
    assert len({*re.findall(r"w\d{3}\.service", text)}) == 300
    assert "more workloads" not in text


def test_programs_always_get_all_of_300_units(tmp_path: Path) -> None:
    document = json.loads(render("json", many_units(tmp_path), View()))
    leads = [f for f in document["findings"] if f["part_of"] is None]
    assert len(leads) == document["summary"]["error"] == 300


def test_each_part_in_json_names_the_finding_that_it_belongs_to(tmp_path: Path) -> None:
    document = json.loads(render("json", one_service(tmp_path), View()))
    lead, *parts = document["findings"]
    assert lead["part_of"] is None
    assert parts
    for part in parts:
        assert part["part_of"] == {"rule": lead["rule"], "subject": lead["subject"]}


def test_what_several_findings_share_is_said_once(tmp_path: Path) -> None:
    void = CgroupCase(limit="800000 100000", processes=1)
    groups = {f"/system.slice/w{n}.service": void for n in range(5)}
    text = render("table", judge_all(host_facts(Facts(cgroups=groups), tmp_path)), View())
    assert text.count("→ remove the quota: ") == 1
    assert text.count("→ as for w0.service") == 4


def test_other_causes_of_a_whole_machine_are_said_once(tmp_path: Path) -> None:
    assert render("table", many_units(tmp_path, 5), View()).count("CPU steal") == 1


def test_columns_without_a_value_are_left_out(tmp_path: Path) -> None:
    heading = next(
        line
        for line in render("table", many_units(tmp_path, 2), View(wide=True)).splitlines()
        if "WORKLOAD" in line
    )
    assert "CONFIGURED" not in heading
    assert "LIFETIME" not in heading
    assert "THROTTLED" in heading


@pytest.mark.parametrize("form", FORMATS)
def test_names_are_made_safe_when_they_are_printed(form: str, tmp_path: Path) -> None:
    names = ("esc\x1b[31m", "two\nlines", "not-utf8-\udcff")
    groups = {f"/system.slice/{name}.service": throttled() for name in names}
    victims = {f"/app\x1b.slice/{name}.service": CgroupCase(processes=1) for name in names}
    slices = {"/app\x1b.slice": throttled()}
    report = judge_all(host_facts(Facts(cgroups={**groups, **victims, **slices}), tmp_path))
    text = render(form, report, View(verbose=True, all=True))
    assert "\x1b" not in text
    if form in ("table", "markdown", "github"):
        assert all(line.isprintable() for line in text.splitlines())
        assert "two\nlines" not in text
