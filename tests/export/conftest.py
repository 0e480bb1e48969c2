"""A host as a directory, with names that nobody would choose."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

STAT = """\
usage_usec {usage}
nr_periods {periods}
nr_throttled {throttled}
throttled_usec {usec}
nr_bursts 0
burst_usec 0
"""

UID = "0a1b2c3d-1111-2222-3333-444455556666"
POD = f"kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{UID.replace('-', '_')}.slice"
CONTAINER = "c" * 64

GROUPS = {
    "system.slice/api.service": ("50000 100000", (51_000_000, 184302, 121957, 98_421_350)),
    "system.slice/_cpu.service": ("max 100000", (7, 0, 0, 0)),
    "system.slice/api.service/worker": ("max 100000", (5, 0, 0, 0)),
    "system.slice/wrapped.service": ("1000 1000", (5, -2147483648, -2147483649, 1)),
    f"{POD}/cri-containerd-{CONTAINER}.scope": ("20000 100000", (1_500_000, 10, 1, 90_000)),
    'odd "quoted" \\ back\nslash': ("max 100000", (1, 0, 0, 0)),
}


def make_group(top: Path, path: str | bytes, limit: str, numbers: tuple[int, ...]) -> Path:
    directory = Path(os.fsdecode(os.path.join(os.fsencode(top), os.fsencode(path))))  # noqa: PTH118
    directory.mkdir(parents=True)
    usage, periods, throttled, usec = numbers
    stat = STAT.format(usage=usage, periods=periods, throttled=throttled, usec=usec)
    (directory / "cpu.stat").write_text(stat)
    (directory / "cpu.max").write_text(f"{limit}\n")
    return directory


@pytest.fixture
def host(tmp_path: Path) -> Path:
    root = tmp_path / "host"
    top = root / "sys/fs/cgroup"
    top.mkdir(parents=True)
    (top / "cgroup.controllers").write_text("cpu\n")
    (top / "cpu.stat").write_text("usage_usec 90000000\n")
    for path, (limit, numbers) in GROUPS.items():
        make_group(top, path, limit, numbers)
    pressure = "some avg10=0.00 avg60=0.00 avg300=0.00 total=5000000\n"
    full = pressure.replace("some", "full").replace("5000000", "2500000")
    (top / "cpu.pressure").write_text(pressure + full)
    (top / "system.slice/api.service/cpu.pressure").write_text(pressure + full)
    return root
