"""A host whose files vanish, change and turn into something else while it is audited."""

from __future__ import annotations

import os
import random
import shutil
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from quota_advisor.cli import run
from tests.cli.conftest import FILES, THROTTLED

RUNS = int(os.environ.get("MUTATED_RUNS", "15"))

TEXTS = ("", "max 100000\n", "50000 100000\n", "usage_usec\n", "\x00\xff\n", "9" * 400, THROTTLED)
CGROUPS = "sys/fs/cgroup/system.slice"
UNITS = "etc/systemd/system"


def places(dice: random.Random) -> str:
    """Return a path of a group, a file in one, a unit or a drop-in."""
    unit = f"s{dice.randrange(8)}.service"
    name = dice.choice(["cpu.max", "cpu.stat", "cgroup.procs", "cpu.pressure", "cpuset.cpus"])
    return dice.choice(
        [
            f"{CGROUPS}/{unit}/{name}",
            f"{CGROUPS}/{unit}",
            f"{UNITS}/{unit}",
            f"{UNITS}/{unit}.d/50-quota.conf",
            dice.choice(sorted(FILES)),
        ]
    )


def mutate(top: Path, stop: threading.Event) -> None:
    """Change what lies below a directory of the test's own, nothing else, until told to stop."""
    dice = random.Random(5)  # noqa: S311 - moments, no secrets
    while not stop.is_set():
        path = top / places(dice)
        with suppress(OSError):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            match dice.randrange(7):
                case 0:
                    os.mkfifo(path)
                case 1:
                    path.symlink_to(dice.choice(["/dev/zero", "loop", "..", str(top)]))
                case 2:
                    path.mkdir()
                case 3:
                    path.write_text("[Service]\nExecStart=/bin/a\nCPUQuota=50%\n")
                case _:
                    path.write_text(dice.choice(TEXTS))


@pytest.mark.parametrize("window", ["0", "0.3"])
def test_what_changes_meanwhile_never_ends_an_audit(
    host: Path, window: str, capsys: pytest.CaptureFixture[str]
) -> None:
    stop = threading.Event()
    mutator = threading.Thread(target=mutate, args=(host, stop))
    mutator.start()
    told = ""
    try:
        for _ in range(RUNS):
            code = run(["audit", "host", "--root", str(host), "--window", window])
            said = capsys.readouterr()
            told = said.err
            assert code in (0, 1, 3), told
            assert "defect" not in told
            assert "Traceback" not in told
            if code == 3:
                assert "could not read" in told or "quota-advisor: " in told
    finally:
        stop.set()
        mutator.join()
