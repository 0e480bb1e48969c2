"""A quota that files plan: the same questions as of one that runs, with what files can tell."""

from __future__ import annotations

import pytest

from quota_advisor import checks
from quota_advisor.derive.thread_counts import Kind
from quota_advisor.derive.units.planned_quota import PlannedQuota
from quota_advisor.documents.systemd.merge import merge_unit
from quota_advisor.documents.systemd.unit_file import parse_unit_file
from quota_advisor.model.finding import Finding
from quota_advisor.model.limit import Bandwidth
from quota_advisor.model.unit import UnitConfig
from quota_advisor.rulebook.catalogue import load_catalog
from quota_advisor.rulebook.engine import Scope, run
from quota_advisor.rulebook.settings import Config


def unit(name: str, *lines: str) -> UnitConfig:
    section = "[Slice]" if name.endswith(".slice") else "[Service]"
    return merge_unit(name, parse_unit_file(name, "\n".join([section, *lines]).encode()))


def findings(rule: str, case: PlannedQuota) -> list[Finding]:
    results = run([Scope(case)], checks.plan({rule: load_catalog()[rule]}), Config())
    assert results.errors == []
    return results.findings


def test_a_unit_without_a_quota_has_nothing_to_tell() -> None:
    case = PlannedQuota(unit("web.service", "ExecStart=gunicorn -w 9"), ())
    assert (case.limit, case.period, case.asked, case.above) == (None, None, None, None)


def test_no_machine_is_known() -> None:
    case = PlannedQuota(unit("web.service", "CPUQuota=50%"), ())
    assert (case.cpus, case.throttled_at_least(0.05), case.limit_source) == (None, None, None)


def test_a_period_is_told_as_it_is_asked_for() -> None:
    case = PlannedQuota(unit("web.service", "CPUQuota=50%", "CPUQuotaPeriodSec=5s"), ())
    assert case.period is not None
    assert case.period.asked_usec == 5_000_000
    assert case.period.limit == Bandwidth(quota_usec=500_000, period_usec=1_000_000)


def test_threads_are_those_of_values_that_stand_with_their_places() -> None:
    files = unit(
        "web.service",
        "CPUQuota=50%",
        "Environment=OMP_NUM_THREADS=64",
        "Environment=",
        "Environment='GOMAXPROCS=16' A=1",
        "ExecStart=-/usr/bin/gunicorn --workers 9",
    )
    found = PlannedQuota(files, ()).threads
    assert [(t.number, t.setting, t.kind) for t in found] == [
        (16, "GOMAXPROCS", Kind.COMPUTE),
        (9, "gunicorn --workers", Kind.WORKERS),
    ]
    assert [t.at and (t.at.file, t.at.line, t.at.column) for t in found] == [
        ("web.service", 5, 13),
        ("web.service", 6, 11),
    ]


@pytest.mark.parametrize(
    ("above", "told"),
    [
        (("CPUQuota=40%",), "never applies"),
        (("CPUQuota=40%", "CPUQuotaPeriodSec=1s"), "applies for moments only"),
    ],
)
def test_what_a_longer_period_allows_at_once_counts(above: tuple[str, ...], told: str) -> None:
    case = PlannedQuota(unit("web.service", "CPUQuota=50%"), (unit("a.slice", *above),))
    (found,) = findings("ancestor-tighter", case)
    assert told in found.message


def test_the_smallest_of_several_slices_counts() -> None:
    slices = (unit("a-b.slice", "CPUQuota=45%"), unit("a.slice", "CPUQuota=20%"))
    above = PlannedQuota(unit("web.service", "CPUQuota=50%"), slices).above
    assert above is not None
    assert (above.owner, above.owner_kind, above.set_at) == ("a.slice", "slice", "a.slice:2")


def test_a_kind_of_case_is_judged_by_the_rules_for_all_kinds() -> None:
    plan = checks.plan(load_catalog())
    assert {rule.id for rule, _ in plan.checks_for(PlannedQuota)} == {
        "ancestor-tighter",
        "period-lengthened",
        "quota-below-kernel-minimum",
        "threads-exceed-quota",
    }
