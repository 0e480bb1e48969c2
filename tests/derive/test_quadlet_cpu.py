"""What a quadlet says of CPU, wherever in its files."""

from __future__ import annotations

from decimal import Decimal

import pytest

from quota_advisor.checkout.quadlets import merge_quadlets
from quota_advisor.derive.cases import QuadletCase
from quota_advisor.derive.units.quadlet_cpu import QuadletCpu, written_at
from quota_advisor.documents.systemd.unit_file import parse_unit_file


def cpu(text: str, name: str = "web.container") -> QuadletCpu:
    (quadlet,) = merge_quadlets([parse_unit_file(name, text.encode())])
    return QuadletCase(quadlet).cpu


@pytest.mark.parametrize(
    ("arguments", "cpus"),
    [
        ("--cpus=2", Decimal(2)),
        ("--cpus=2 --cpus 0.5", Decimal("0.5")),
        ("--cpus=0", None),
        ("--cpus=two", None),
        ("--cpu-quota=50000", Decimal("0.5")),
        ("--cpu-quota=50000 --cpu-period 50000", Decimal(1)),
        ("--cpu-period=50000", None),
        ("--memory=1g", None),
    ],
)
def test_the_limit_that_podman_sets(arguments: str, cpus: Decimal | None) -> None:
    own = cpu(f"[Container]\nPodmanArgs={arguments}\n").own_limit
    assert (own and own.cpus) == cpus


@pytest.mark.parametrize(
    ("mode", "tightest"), [("split", 1), ("disabled", 1), ("enabled", 2), ("no-conmon", 2)]
)
def test_the_service_holds_a_container_that_runs_in_its_cgroup(mode: str, tightest: int) -> None:
    text = f"[Container]\nPodmanArgs=--cpus=2\nCgroupsMode={mode}\n[Service]\nCPUQuota=100%\n"
    assert cpu(text).tightest == tightest


def test_arguments_decide_the_cgroups_mode() -> None:
    text = "[Container]\nPodmanArgs=--cgroups disabled\nCgroupsMode=enabled\n"
    assert cpu(text).cgroups_mode == "disabled"


def test_numbers_of_threads_know_where_they_stand() -> None:
    text = '[Container]\nEnvironment=A=1 "GOMAXPROCS=16"\nExec=gunicorn --bind :80 -w 9\n'
    places = [
        (count.setting, count.number, at.line, at.column)
        for count in cpu(text).thread_counts
        if (at := written_at(count.at)) is not None
    ]
    assert places == [("GOMAXPROCS", 16, 2, 29), ("gunicorn -w", 9, 3, 29)]
