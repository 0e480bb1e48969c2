"""However the program's surroundings fail it, it ends as it says: 0, 1, 2, 3 or 130, in words."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.lint.samples import BAD_UNIT

PROGRAM = f"{sys.executable} -m quota_advisor"

COMMANDS = {
    "help": ("--help", 0),
    "help of a command": ("lint --help", 0),
    "version": ("--version", 0),
    "rules": ("rules list", 0),
    "explain": ("explain throttled-often", 0),
    "profiles": ("probe --list", 0),
    "clean": ("lint good.service", 0),
    "findings": ("lint bad.service", 1),
    "diff": ("lint --diff bad.service", 1),
    "usage": ("lint --no-such-option", 2),
    "no rule": ("explain no-such-rule", 2),
    "snapshot": ("audit snapshot none.json", 3),
    "host": ("audit host --root $HERE/host --window 0", 0),
}

HOST = {
    "sys/fs/cgroup/cgroup.controllers": "cpu\n",
    "sys/fs/cgroup/cpu.stat": "usage_usec 5\n",
    "sys/devices/system/cpu/online": "0-1\n",
}
"""A host on which there is something to see, and nothing to find."""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "bad.service").write_text(BAD_UNIT)
    for name, text in HOST.items():
        (tmp_path / "host" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "host" / name).write_text(text)
    (tmp_path / "good.service").write_text("[Service]\nExecStart=/bin/true\n")
    return tmp_path


def bash(script: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", script],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "HERE": str(cwd)},
    )


def spoken(text: str) -> None:
    """Nothing that only a programmer understands."""
    for word in ("Traceback", "defect", "Exception", "Errno"):
        assert word not in text, text


@pytest.mark.parametrize("stream", ["closed", "full", "broken"])
@pytest.mark.parametrize("name", COMMANDS)
def test_standard_output_that_takes_nothing_is_3_in_one_line(
    here: Path, name: str, stream: str
) -> None:
    command, code = COMMANDS[name]
    to = {"closed": ">&-", "full": ">/dev/full", "broken": "> >(exec 0<&-)"}[stream]
    # A reader that goes away is only noticed by who writes afterwards.
    wait = "sleep 0.2;" if stream == "broken" else ""
    done = bash(f"exec {to}; {wait} {PROGRAM} {command}", here)
    assert done.returncode == (code if code in (2, 3) else 3)
    spoken(done.stderr)
    if stream != "broken" and code < 2:
        assert "standard output" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("stream", ["closed", "full", "broken"])
@pytest.mark.parametrize("name", COMMANDS)
def test_nobody_who_listens_to_standard_error_changes_nothing(
    here: Path, name: str, stream: str
) -> None:
    command, code = COMMANDS[name]
    to = {"closed": "2>&-", "full": "2>/dev/full", "broken": "2> >(exec 0<&-)"}[stream]
    done = bash(f"exec {to}; {PROGRAM} {command}", here)
    assert done.returncode == code
    spoken(done.stdout)


@pytest.mark.parametrize("name", COMMANDS)
def test_closed_standard_input_and_no_stream_at_all(here: Path, name: str) -> None:
    command, code = COMMANDS[name]
    done = bash(f"{PROGRAM} {command} <&-", here)
    assert done.returncode == code
    spoken(done.stderr)
    assert bash(f"{PROGRAM} {command} <&- >&- 2>&-", here).returncode == (3 if code < 2 else code)


def test_standard_input_that_is_asked_for_and_closed_is_3(here: Path) -> None:
    done = bash(f"{PROGRAM} lint - <&-", here)
    assert (done.returncode, done.stderr) == (3, "quota-advisor: standard input is closed\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_working_directory_that_is_gone(here: Path, name: str) -> None:
    command, code = COMMANDS[name]
    (here / "gone").mkdir()
    # -P, so that Python itself does not look for modules there.
    script = f"cd gone; rmdir ../gone; {sys.executable} -P -m quota_advisor {command}"
    done = bash(script, here)
    spoken(done.stderr)
    needs_it = command.startswith(("lint", "audit")) and code != 2 and "--help" not in command
    assert done.returncode == (3 if needs_it else code)


def test_an_interruption_while_importing_says_one_word(here: Path) -> None:
    for delay_msec in range(20, 220, 10):
        with subprocess.Popen(
            [sys.executable, "-c", STARTING, "rules", "list"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=here,
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(delay_msec / 1000)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate()
        assert (process.returncode, err.strip()) in (
            (130, "quota-advisor: interrupted"),
            (0, ""),
        )


STARTING = """
import quota_advisor.__main__ as start
print("started", flush=True)
start.main()
"""


NO_MOUNT = 77
"""What the script ends with where it may not mount."""


def test_no_space_left_while_a_report_is_written(here: Path) -> None:
    if os.geteuid() or not shutil.which("mount"):
        pytest.skip("needs root: mounts a small file system")
    (here / "small").mkdir()
    script = (
        f"mount -t tmpfs -o size=4k none small || exit {NO_MOUNT};"
        "head -c 4096 /dev/zero > small/full;"
        f"{PROGRAM} lint bad.service --format json=small/report; echo code $?; ls -A small"
    )
    done = subprocess.run(
        ["unshare", "-m", "bash", "-c", script],
        cwd=here,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == NO_MOUNT or "unshare" in done.stderr:
        pytest.skip("no file system can be mounted here")
    assert "small/report: cannot be written: no space left on device" in done.stderr
    assert done.stdout.splitlines()[-2:] == ["code 3", "full"]
