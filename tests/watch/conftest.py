"""A host as a directory whose counters a test moves on."""

from __future__ import annotations

from pathlib import Path

import pytest

STAT = "usage_usec {used}\nnr_periods {periods}\nnr_throttled {throttled}\nthrottled_usec {held}\n"


class Host:
    """A v2 hierarchy below a directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.top = root / "sys/fs/cgroup"
        self.top.mkdir(parents=True)
        (self.top / "cgroup.controllers").write_text("cpu\n")
        (self.top / "cpu.stat").write_text("usage_usec 1\n")

    def group(self, path: str, limit: str = "max 100000") -> None:
        (self.top / path).mkdir(parents=True, exist_ok=True)
        (self.top / path / "cpu.max").write_text(f"{limit}\n")
        (self.top / path / "cgroup.threads").write_text("")
        self.count(path)

    def count(self, path: str, used: int = 0, periods: int = 0, throttled: int = 0) -> None:
        text = STAT.format(used=used, periods=periods, throttled=throttled, held=throttled * 1000)
        file = self.top / path / "cpu.stat"
        # In place: a watcher holds the file open, as the kernel's own.
        with file.open("r+" if file.exists() else "w") as stat:
            stat.write(text.ljust(200, "\n"))


@pytest.fixture
def host(tmp_path: Path) -> Host:
    found = Host(tmp_path / "host")
    found.group("system.slice")
    found.group("system.slice/api.service", "50000 100000")
    found.group("system.slice/free.service")
    found.group("tight.slice", "20000 100000")
    found.group("tight.slice/inner.service")
    return found
