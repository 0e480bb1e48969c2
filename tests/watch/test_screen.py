"""The live view on a terminal of its own, as a terminal emulator shows it."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pyte
import pytest

from tests.watch.conftest import Host

PATIENCE_SEC = 60
TOP = Path(__file__).parents[2]
DOWN, ENTER, ESCAPE = b"\x1b[B", b"\r", b"\x1b"


class Terminal:
    """A program on a terminal."""

    def __init__(self, arguments: list[str], directory: Path, columns: int, rows: int) -> None:
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self._program, self._terminal = pty.fork()
        if not self._program:
            os.chdir(directory)
            # An emulator knows the terminal of Linux' own console best.
            os.environ |= {"TERM": "linux", "LC_ALL": "C.UTF-8", "PYTHONPATH": str(TOP)}
            os.execv(sys.executable, [sys.executable, "-m", "quota_advisor", *arguments])  # noqa: S606
        self.resize(columns, rows)

    def resize(self, columns: int, rows: int) -> None:
        size = struct.pack("HHHH", rows, columns, 0, 0)
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, size)
        if (self._screen.lines, self._screen.columns) != (rows, columns):
            self._screen.resize(rows, columns)

    def press(self, keys: bytes) -> None:
        os.write(self._terminal, keys)

    def signal(self, number: int) -> None:
        os.kill(self._program, number)

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in self._screen.display]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def wait(self, holds: Callable[[str], bool]) -> None:
        """Read what is drawn until something holds."""
        deadline = time.monotonic() + PATIENCE_SEC
        while not holds(self.text):
            assert time.monotonic() < deadline, self.text
            self._read()

    def _read(self) -> None:
        if select.select([self._terminal], [], [], 0.05)[0]:
            with suppress(OSError):
                self._stream.feed(os.read(self._terminal, 1 << 16))

    def end(self) -> int:
        """Return the exit code once the program has ended."""
        deadline = time.monotonic() + PATIENCE_SEC
        while time.monotonic() < deadline:
            self._read()
            found, status = os.waitpid(self._program, os.WNOHANG)
            if found:
                return os.waitstatus_to_exitcode(status)
        raise AssertionError("it does not end")

    def close(self) -> None:
        with suppress(OSError):
            os.kill(self._program, signal.SIGKILL)
            os.waitpid(self._program, 0)
        os.close(self._terminal)


Start = Callable[..., Terminal]


@pytest.fixture
def start(host: Host, tmp_path: Path) -> Iterator[Start]:
    started: list[Terminal] = []

    def begin(*more: str, columns: int = 80, rows: int = 24) -> Terminal:
        arguments = ["watch", "--root", str(host.root), "--interval", "0.1", *more]
        started.append(Terminal(arguments, tmp_path, columns, rows))
        return started[-1]

    yield begin
    for terminal in started:
        terminal.close()


def test_the_worst_stands_first_in_eighty_columns(start: Start, host: Host) -> None:
    terminal = start()
    terminal.wait(lambda text: "api.service" in text)
    host.count("system.slice/api.service", 400_000, 10, 3)
    host.count("tight.slice", 200_000, 10, 9)
    terminal.wait(lambda text: "LIMIT    NOW   PEAK   1s  10s  60s  HELD STALL" in text)
    terminal.wait(lambda text: 0 < text.find("tight.slice") < text.find("api.service"))
    assert all(len(line) <= 80 for line in terminal.lines)
    (row,) = (line for line in terminal.lines if line.startswith("inner.service"))
    assert "20%↑" in row
    terminal.press(b"q")
    assert terminal.end() == 0


def test_sorting_filtering_and_what_is_under_no_quota(start: Start) -> None:
    terminal = start()
    terminal.wait(lambda text: "3 of 3 groups, by throttled" in text)
    terminal.press(b"s")
    terminal.wait(lambda text: "by stalled" in text)
    terminal.press(b"r")
    terminal.wait(lambda text: "by stalled reversed" in text)
    terminal.press(b"a")
    terminal.wait(lambda text: "free.service" in text)
    terminal.press(b"/inn")
    terminal.wait(lambda text: "/inn" in text and "api.service" not in text)
    terminal.press(b"x" + ENTER)
    terminal.wait(lambda text: "Nothing holds this text" in text)
    terminal.press(ESCAPE)
    terminal.wait(lambda text: "api.service" in text)


def test_one_group_is_opened_with_threads_limits_and_findings(start: Start, host: Host) -> None:
    threads = host.top / "tight.slice/inner.service/cgroup.threads"
    threads.write_text("17\n")
    (host.root / "proc/17").mkdir(parents=True)
    fields = " ".join(["S", *["1"] * 50])
    (host.root / "proc/17/stat").write_text(f"17 (odd) name) {fields}\n")
    terminal = start()
    terminal.wait(lambda text: "inner.service" in text)
    terminal.press(b"/inner" + ENTER)
    terminal.wait(lambda text: "1 of 3" in text)
    terminal.press(DOWN + ENTER)
    terminal.wait(lambda text: "above       20% per 100 ms  /tight.slice" in text)
    terminal.wait(lambda text: "threads     1" in text and "17  odd) name" in text)
    assert "findings    watching 5 s" in terminal.text
    terminal.wait(lambda text: "watching" not in text)
    assert "findings    none" in terminal.text or "[" in terminal.text
    terminal.press(b"q")
    terminal.wait(lambda text: "WORKLOAD" in text)


def test_a_group_that_is_open_may_vanish(start: Start, host: Host) -> None:
    terminal = start("api")
    terminal.wait(lambda text: "api.service" in text)
    terminal.press(ENTER)
    terminal.wait(lambda text: "limit       50%" in text)
    for file in (host.top / "system.slice/api.service").iterdir():
        if file.name == "cpu.stat":
            file.write_text("")
        file.unlink()
    (host.top / "system.slice/api.service").rmdir()
    terminal.wait(lambda text: "/system.slice/api.service is gone" in text)
    terminal.press(b"q")
    terminal.wait(lambda text: "No unit, container or cgroup of this name" in text)


def test_a_pause_stands_still(start: Start, host: Host) -> None:
    terminal = start("api")
    terminal.wait(lambda text: "api.service" in text)
    terminal.press(b"p")
    terminal.wait(lambda text: "PAUSED" in text)
    host.count("system.slice/api.service", 900_000, 10, 10)
    terminal.press(b"s")
    terminal.wait(lambda text: "by stalled" in text)
    assert "▁" not in terminal.text
    terminal.press(b"p")
    terminal.wait(lambda text: "PAUSED" not in text and "█" in text)


def test_a_snapshot_is_saved_that_audit_can_judge(start: Start, tmp_path: Path) -> None:
    terminal = start()
    terminal.wait(lambda text: "api.service" in text)
    terminal.press(b"w")
    terminal.wait(lambda text: "saved " in text)
    (file,) = tmp_path.glob("quota-advisor-*.json")
    assert file.stat().st_mode & 0o077 == 0
    assert '"quota-advisor/snapshot/v1"' in file.read_text()[:200]


@pytest.mark.parametrize("size", [(120, 30), (40, 10), (20, 4), (8, 2)])
def test_it_follows_the_size_of_its_terminal(start: Start, size: tuple[int, int]) -> None:
    terminal = start()
    terminal.wait(lambda text: "api.service" in text)
    # The kernel tells the program by SIGWINCH.
    terminal.resize(*size)
    terminal.wait(lambda _text: len(terminal.lines) == size[1])
    if size[0] == 120:
        terminal.wait(lambda text: "ABOVE" in text and "20% /tight.slice" in text)
    terminal.press(b"q")
    assert terminal.end() == 0


def test_hostile_names_do_not_steer_the_terminal(start: Start, host: Host) -> None:
    host.group("evil\x1b[2J\x07 \u202e界界.service", "10000 100000")
    terminal = start()
    terminal.wait(lambda text: "\\x1b[2J" in text or "evil" in text)
    assert "api.service" in terminal.text
    terminal.press(b"q")
    assert terminal.end() == 0


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_signals_end_it_and_leave_the_terminal_as_it_was(
    start: Start, number: int, code: int
) -> None:
    terminal = start()
    terminal.wait(lambda text: "api.service" in text)
    terminal.signal(number)
    assert terminal.end() == code
    assert "Traceback" not in terminal.text
    settings = termios.tcgetattr(terminal._terminal)
    assert settings[3] & termios.ECHO
