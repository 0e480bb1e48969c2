"""Remove temporary cgroups: our own, and those that a killed run left behind."""

from __future__ import annotations

import atexit
import errno
import os
import signal
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from quota_advisor.sandbox.errors import SandboxError
from quota_advisor.sandbox.names import is_gone, owner_of

BURNER = "quota-burner"
"""The program that makes load for us: in a sandbox it may be ended, and nothing else may."""

PATIENCE_SEC = 5.0
"""How long a cgroup may stay busy. A process that was throttled dies at the next period."""

_PAUSE_SEC = 0.01

_made: set[Path] = set()


def make(directory: Path) -> Path:
    """Make a cgroup, and remember it until :func:`remove` has removed it.

    Raises:
        OSError: It cannot be made.
    """
    directory.mkdir()
    _made.add(directory)
    return directory


def remove(directories: Iterable[Path]) -> None:
    """Remove cgroups. Load of ours that still runs in them is ended.

    Raises:
        SandboxError: One is still there after a while; the others are gone.
    """
    left = [directory for directory in directories if not _removed(directory)]
    if left:
        holders = ", ".join(map(str, _processes(left[0]))) or "nobody"
        raise SandboxError(
            f"{left[0]} cannot be removed (processes in it: {holders})",
            hint="end them, and remove it with rmdir",
        )


def remove_orphans(parents: Sequence[Path]) -> list[Path]:
    """Remove the cgroups of runs that were killed, and return those that had to stay.

    A cgroup is an orphan when the process in its name is gone. It is removed when it is empty or
    holds only our own load; anything else in it is somebody's, and so the cgroup stays.

    Args:
        parents: Where runs make their cgroups.
    """
    found = [child for parent in parents for child in _children(parent) if _orphaned(child)]
    return [child for child in found if not _removed(child, nested=True)]


def end_burners(directory: Path) -> bool:
    """End the load in a cgroup.

    Returns:
        False when something else is in it, too: then it is not ours to remove.
    """
    ours = [_end_burner(pid, directory) for pid in _processes(directory)]
    return all(ours)


def _orphaned(directory: Path) -> bool:
    owner = owner_of(directory.name)
    return owner is not None and is_gone(owner)


def _removed(directory: Path, *, nested: bool = False) -> bool:
    """Remove one cgroup, after its children where it has any, and tell whether it is gone."""
    children = [_removed(child) for child in _children(directory)] if nested else []
    gone = all(children)
    deadline = time.monotonic() + PATIENCE_SEC
    while gone and not _try_rmdir(directory):
        if not end_burners(directory) or time.monotonic() > deadline:
            return False
        time.sleep(_PAUSE_SEC)
    return gone


def _try_rmdir(directory: Path) -> bool:
    try:
        directory.rmdir()
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENODEV):
            return False
    _made.discard(directory)
    return True


def _children(directory: Path) -> list[Path]:
    try:
        return sorted(child for child in directory.iterdir() if child.is_dir())
    except OSError:
        return []


def _processes(directory: Path) -> list[int]:
    try:
        text = (directory / "cgroup.procs").read_text(encoding="ascii")
    except OSError:
        return []
    return [int(line) for line in text.split()]


def _end_burner(pid: int, directory: Path) -> bool:
    """End one process of a cgroup if it is our load; False when it is certainly something else."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        # The handle holds the process, so what is found out now is about the one that is ended.
        program = _program(pid)
        if program == BURNER and pid in _processes(directory):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        return program in (BURNER, None) or pid not in _processes(directory)
    except ProcessLookupError:
        return True
    finally:
        os.close(handle)


def _program(pid: int) -> str | None:
    """Return the name of the file a process runs, or None for one that is just ending."""
    try:
        target = Path(f"/proc/{pid}/exe").readlink()
    except OSError:
        return None
    return target.name.removesuffix(" (deleted)")


@atexit.register
def _last_resort() -> None:
    """Remove what an exception in the one wrong moment made us forget."""
    for directory in sorted(_made, reverse=True):
        _removed(directory)
