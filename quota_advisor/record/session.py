"""A recording from its first reading to its last, however it ends."""

from __future__ import annotations

import os
import platform
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

import quota_advisor
from quota_advisor.collect.host.cgroup_tree import CgroupTree, find_tree, list_tree
from quota_advisor.collect.host.gauge import limit_of
from quota_advisor.collect.host.node import tick_hz
from quota_advisor.collect.host.root import HostRoot
from quota_advisor.collect.host.sampler import ahead_of_others
from quota_advisor.collect.host.target import Target, find_target
from quota_advisor.errors import CollectError, UsageError
from quota_advisor.model.limit import Missing
from quota_advisor.record.watch import Watched, next_due
from quota_advisor.recording.schema import About
from quota_advisor.recording.writer import Row, Writer
from quota_advisor.records import dataclass
from quota_advisor.units import format_usec

INTERVAL_USEC = 10_000
"""How often one cgroup is read by default."""

SYSTEM_INTERVAL_USEC = 100_000
"""How often every limited cgroup is read with --system."""

MIN_INTERVAL_USEC = 1_000
"""Finer than this the kernel accounts for nothing: a tick is 1 to 10 ms."""

LOOK_UP_USEC = 1_000_000
"""How often the limit, the number of threads and new cgroups are looked up."""

BLOCK_USEC = 5_000_000
"""How much of the end a kill may cost."""

RETRY_USEC = 100_000
"""How often a cgroup that is gone is looked for."""

Progress = Callable[[float, float], None]
"""Called about once a second with the seconds gone and the seconds in all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What to record.

    Attributes:
        name: Unit, container, process or cgroup; empty for every limited cgroup.
        span_usec: For how long.
        interval_usec: How often to read.
        path: Where to write.
    """

    name: str
    span_usec: int
    interval_usec: int
    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """How a recording ended.

    Attributes:
        subject: What was recorded.
        windows: Windows written.
        span_usec: Time from the first reading to the last.
        late: Windows of more than twice the interval.
        is_stopped: A signal ended it before its time.
        bytes: Size of the file.
    """

    subject: str
    windows: int
    span_usec: int
    late: int
    is_stopped: bool
    bytes: int

    @property
    def text(self) -> str:
        """The same in one line."""
        end = ", stopped early" if self.is_stopped else ""
        late = f"; {self.late} of them late: this machine is busy" if self.late else ""
        megabytes = f"{self.bytes / 1e6:.3g} MB" if self.bytes >= 1e5 else f"{self.bytes} bytes"  # noqa: PLR2004
        return (
            f"{self.subject}: {format_usec(self.span_usec)} in {self.windows} windows"
            f"{late}{end}; {megabytes}"
        )


def check(wanted: Wanted) -> None:
    """Refuse what cannot be recorded.

    Raises:
        UsageError: The interval is finer than what the kernel accounts, or the span shorter.
    """
    if wanted.interval_usec < MIN_INTERVAL_USEC:
        raise UsageError(
            f"--every {format_usec(wanted.interval_usec)} is finer than the kernel accounts",
            hint="1 ms is the least; 5 ms sees every burst that a 100 ms period can hold back",
        )
    if wanted.span_usec < wanted.interval_usec:
        raise UsageError("--for is shorter than --every: there would be no window")


def record(wanted: Wanted, on_progress: Progress | None = None) -> Recorded:
    """Record until the time is up or a signal comes.

    Raises:
        UsageError: Nothing of that name runs, or the library for such files is not installed.
        CollectError: There are no cgroups with a CPU controller, or the file cannot be written.
    """
    check(wanted)
    root = HostRoot(Path("/"))
    tree = find_tree(root)
    if isinstance(tree, Missing):
        raise CollectError(tree.reason)
    target = find_target(root, tree, wanted.name) if wanted.name else None
    with Writer(wanted.path, _about(root, tree, wanted, target)) as writer:
        session = _Session(root, tree, wanted, writer, target)
        with _until_signal() as stopped, ahead_of_others():
            session.run(stopped, on_progress)
        writer.finish()
        return session.recorded(is_stopped=bool(stopped))


def _now_usec() -> int:
    return time.monotonic_ns() // 1_000


class _Session:
    """What is watched, and what becomes of it."""

    def __init__(
        self,
        root: HostRoot,
        tree: CgroupTree,
        wanted: Wanted,
        writer: Writer,
        target: Target | None,
    ) -> None:
        self._root, self._tree, self._wanted, self._writer = root, tree, wanted, writer
        self._target = target
        self._begin = self._end = self._looked_up = self._flushed = _now_usec()
        self._chores_at = self._begin + RETRY_USEC
        self._windows = self._late = 0
        self._watched: dict[str, Watched] = {}
        if target is not None:
            self._watch(target.path)
        else:
            self._find_limited()

    def run(self, stopped: list[int], on_progress: Progress | None) -> None:
        """Read on an absolute grid: lateness does not add up."""
        interval, watched = self._wanted.interval_usec, self._watched
        due = now = self._begin
        last_due = self._begin + self._wanted.span_usec - interval
        with ExitStack() as stack:
            stack.callback(self._close)
            while due <= last_due and not stopped:
                due = next_due(due, now, interval)
                rest = due - now
                if rest > 0:
                    time.sleep(rest / 1e6)
                now = _now_usec()
                if now - self._end > 2 * interval:
                    self._late += 1
                self._end = now
                for path in watched:
                    if not watched[path].sample(now):
                        self._lose(path)
                if now >= self._chores_at:
                    self._do_chores(now, on_progress)
                    now = _now_usec()
            self._finish()

    def _do_chores(self, now: int, on_progress: Progress | None) -> None:
        """Look for what is gone; once a second work out what was read, and look up the limits."""
        self._chores_at = now + RETRY_USEC
        for path in [path for path, one in self._watched.items() if not one.is_there]:
            self._write(self._watched[path].find(now), path)
        if now - self._looked_up < LOOK_UP_USEC:
            return
        self._looked_up = now
        for path, watched in self._watched.items():
            self._write(watched.rows(), path)
            watched.look_up()
        if self._target is None:
            self._find_limited()
        if now - self._flushed >= BLOCK_USEC:
            self._flushed = now
            self._writer.flush()
        if on_progress:
            on_progress((now - self._begin) / 1e6, self._wanted.span_usec / 1e6)

    def _lose(self, path: str) -> None:
        """Write what was read of a cgroup before it went."""
        self._write(self._watched[path].rows(), path)
        self._watched[path].close()

    def _write(self, rows: Iterable[Row], path: str) -> None:
        for row in rows:
            self._writer.add(row, path)
            self._windows += 1

    def recorded(self, *, is_stopped: bool) -> Recorded:
        """Return how it ended, after the file was finished."""
        return Recorded(
            subject=self._target.subject if self._target else f"{len(self._watched)} cgroups",
            windows=self._windows,
            span_usec=self._end - self._begin,
            late=self._late,
            is_stopped=is_stopped,
            bytes=self._wanted.path.stat().st_size,
        )

    def _find_limited(self) -> None:
        self._tree = list_tree(self._root, self._tree.hierarchy)
        for path in self._tree.paths:
            if path in self._watched:
                continue
            if limit_of(self._root, self._tree.hierarchy, path).quota_usec is not None:
                self._watch(path)

    def _watch(self, path: str) -> None:
        self._watched[path] = Watched(self._root, self._tree.hierarchy, path, _now_usec())

    def _finish(self) -> None:
        now = _now_usec()
        for path, watched in self._watched.items():
            self._write(watched.end(now), path)

    def _close(self) -> None:
        for watched in self._watched.values():
            watched.close()


@contextmanager
def _until_signal() -> Iterator[list[int]]:
    """Note Ctrl-C, SIGTERM and SIGHUP instead of ending at once: the file is finished first."""
    came: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        came.append(number)

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, note) for number in numbers}
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _about(root: HostRoot, tree: CgroupTree, wanted: Wanted, target: Target | None) -> About:
    hertz = tick_hz(root)
    return About(
        program=f"quota-advisor {quota_advisor.__version__}",
        started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        subject=target.subject if target else "",
        cgroup=target.path if target else "",
        host=platform.node(),
        kernel=platform.release(),
        cgroup_version=tree.hierarchy.version,
        cpus=os.cpu_count() or 1,
        tick_usec=None if isinstance(hertz, Missing) else 1_000_000 // hertz,
        interval_usec=wanted.interval_usec,
    )
