"""Names of temporary cgroups: each tells who made it, so that an orphan can be recognised.

A process number alone is used again sooner or later; with the time at which the process started
it is not. Process numbers of another PID namespace (a container that shares the cgroup mount)
say nothing here, so the namespace is part of the name too.
"""

from __future__ import annotations

import itertools
import os
import re
from pathlib import Path

from quota_advisor.records import dataclass

PREFIX = "quota-advisor-"

_NAME = re.compile(
    rf"{PREFIX}[a-z]+-(?P<space>[0-9]+)-(?P<pid>[0-9]+)-(?P<start>[0-9]+)-[0-9]+(\.scope)?"
)
_COUNTER = itertools.count(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """The process that made a cgroup.

    Attributes:
        space: Inode of its PID namespace.
        pid: Its number there.
        start_ticks: When it started, in clock ticks since boot.
    """

    space: int
    pid: int
    start_ticks: int


def new_name(purpose: str) -> str:
    """Return a name that nobody else has or had since boot.

    Args:
        purpose: What the cgroup is for, lower-case letters only: ``probe``, ``demo``.
    """
    me = this_process()
    return f"{PREFIX}{purpose}-{me.space}-{me.pid}-{me.start_ticks}-{next(_COUNTER)}"


def owner_of(name: str) -> Owner | None:
    """Return who made the cgroup of this name, or None when its name is not one of ours."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    return Owner(space=int(match["space"]), pid=int(match["pid"]), start_ticks=int(match["start"]))


def this_process() -> Owner:
    """Return the calling process."""
    pid = os.getpid()
    start = start_ticks(pid)
    return Owner(space=_space(), pid=pid, start_ticks=0 if start is None else start)


def is_gone(owner: Owner) -> bool:
    """Whether the process has certainly ended; False where that cannot be told from here."""
    return owner.space == _space() and start_ticks(owner.pid) != owner.start_ticks


def start_ticks(pid: int) -> int | None:
    """Return when a process started, or None when there is none of this number.

    Source: field 22 of ``/proc/PID/stat``, proc_pid_stat(5). The second field is the command's
    name in parentheses and may itself hold blanks and parentheses.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        return int(text.rpartition(")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return None


def _space() -> int:
    try:
        return Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        return 0
