"""A transient scope with delegation: where systemd owns the cgroups, it is asked for one.

A scope needs a process to start with and lives as long as one is in it. That is neither this
program, which stays where it was started, nor the load, which comes and goes: it is a helper
that waits for the end of its input. The input ends when this program does, however it ends, and
then systemd removes the empty scope by itself.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from quota_advisor.collect.host.root import HostRoot
from quota_advisor.collect.host.systemd.address import find_buses
from quota_advisor.collect.host.systemd.bus import (
    MANAGER_INTERFACE,
    MANAGER_PATH,
    SYSTEMD_NAME,
    TIMEOUT_SEC,
    BusAddress,
    BusError,
)
from quota_advisor.model.limit import Missing
from quota_advisor.sandbox.errors import SandboxError
from quota_advisor.sandbox.priority import Priority

BOOTED = Path("/run/systemd/system")
"""Exists exactly where systemd is the init system: sd_booted(3)."""

START_SEC = 10.0
"""How long systemd may take to put the helper into the scope, and to remove the empty scope."""

_POLL_SEC = 0.01
_WAIT_FOR_END = "import sys; sys.stdin.buffer.read()"


def find_manager() -> BusAddress | None:
    """Return how to reach the systemd that owns the cgroups, or None where none does."""
    if not BOOTED.is_dir():
        return None
    ways = find_buses(HostRoot(Path("/")), "system", {}, 0)
    return None if isinstance(ways, Missing) else ways[0]


@contextmanager
def transient_scope(
    address: BusAddress, name: str, controller: str, priority: Priority
) -> Iterator[tuple[str, int]]:
    """Have systemd make a delegated scope, and let it go afterwards.

    To be used under a shield, see :mod:`quota_advisor.sandbox.signals`.

    Args:
        address: The manager.
        name: Name of the scope, without suffix.
        controller: The line of ``/proc/PID/cgroup`` to wait for: ``cpu``, or empty for v2.
        priority: Decides the CPU weight of the scope.

    Yields:
        Path of its cgroup, and the number of the one process in it.

    Raises:
        SandboxError: systemd refuses, or does not get it done.
    """
    unit = f"{name}.scope"
    helper = _start_helper()
    try:
        _start_unit(address, unit, helper.pid, priority)
        yield _wait_for_cgroup(helper.pid, unit, controller), helper.pid
    finally:
        _end_helper(helper)


def wait_until_gone(directory: Path, address: BusAddress, name: str) -> None:
    """Wait until systemd has removed the empty scope; ask for it when that takes too long."""
    for deadline in (time.monotonic() + START_SEC / 2, time.monotonic() + START_SEC):
        while time.monotonic() < deadline:
            if not directory.exists():
                return
            time.sleep(_POLL_SEC)
        stop_unit(address, f"{name}.scope")


def stop_unit(address: BusAddress, unit: str) -> None:
    """Have systemd stop a unit, as far as that is possible."""
    with suppress(BusError):
        _call(address, "StopUnit", "ss", unit, "replace")


def _start_helper() -> subprocess.Popen[bytes]:
    # -I -S: nothing of the environment or of site-packages is loaded into it.
    command = [sys.executable, "-I", "-S", "-c", _WAIT_FOR_END]
    return subprocess.Popen(  # noqa: S603 - our own interpreter
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        process_group=0,
    )


def _end_helper(helper: subprocess.Popen[bytes]) -> None:
    if helper.poll() is None:
        helper.kill()
    helper.wait()
    if helper.stdin is not None:
        helper.stdin.close()


def _start_unit(address: BusAddress, unit: str, pid: int, priority: Priority) -> None:
    from dbus_fast import Variant  # noqa: PLC0415 - only where there is a systemd to talk to

    properties = [
        ["Description", Variant("s", "quota-advisor: load that is measured under a CPU quota")],
        ["PIDs", Variant("au", [pid])],
        ["Delegate", Variant("b", True)],
        ["CollectMode", Variant("s", "inactive-or-failed")],
    ]
    if priority.weight is not None:
        properties.append(["CPUWeight", Variant("t", priority.weight)])
    try:
        _call(address, "StartTransientUnit", "ssa(sv)a(sa(sv))", unit, "fail", properties, [])
    except BusError as error:
        raise SandboxError(
            f"systemd does not start {unit}: {error.what}", hint=error.hint or "run as root"
        ) from error


def _call(address: BusAddress, member: str, signature: str, *arguments: object) -> None:
    """Call a method of the manager and wait for its answer.

    Raises:
        BusError: The answer is an error, or there is none.
    """
    from dbus_fast import Message  # noqa: PLC0415

    from quota_advisor.collect.host.systemd.bus_dbus_fast import DbusFastBus  # noqa: PLC0415

    class CallingBus(DbusFastBus):
        """A bus whose manager is also told what to do."""

        def call(self, message: Message) -> None:
            self._runner.run(self._answer(message))

    message = Message(
        destination=SYSTEMD_NAME,
        path=MANAGER_PATH,
        interface=MANAGER_INTERFACE,
        member=member,
        signature=signature,
        body=list(arguments),
    )
    with CallingBus(address, TIMEOUT_SEC) as bus:
        bus.call(message)


def _wait_for_cgroup(pid: int, unit: str, controller: str) -> str:
    """Wait until the kernel shows the helper in the scope, and return the scope's path."""
    deadline = time.monotonic() + START_SEC
    while time.monotonic() < deadline:
        path = cgroup_path(pid, controller)
        if path is not None and path.rpartition("/")[2] == unit:
            return path
        time.sleep(_POLL_SEC)
    raise SandboxError(
        f"systemd did not put a process into {unit} within {START_SEC:.0f} s",
        hint="see whether `systemctl list-jobs` answers, then run again",
    )


def cgroup_path(pid: int, controller: str) -> str | None:
    """Return the cgroup of a process in the hierarchy with a controller, v2's where it is empty.

    Source: cgroups(7), ``/proc/PID/cgroup``.
    """
    try:
        text = Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            return path
    return None
