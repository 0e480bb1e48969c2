"""A host to try things on: unit files, drop-ins and commands, all undone at the end."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

SYSTEM = "/etc/systemd/system"

PATIENCE_SEC = 120 + 10 * int(os.environ.get("LAB_UP_SEC", "0"))
"""How long to wait for what takes a moment, on an emulated machine that took so long to boot."""


class LabHost:
    """The machine that the test runs on. What is made through it goes when it is closed."""

    def __init__(self) -> None:
        self._undo = contextlib.ExitStack()
        self._touched_units = False

    @property
    def cgroup_version(self) -> int:
        """Hierarchy that has the cpu controller."""
        return 2 if Path("/sys/fs/cgroup/cgroup.controllers").exists() else 1

    def cpu_cgroup(self, control_group: str) -> Path:
        """Return the directory of a unit's ``ControlGroup`` in the cpu hierarchy."""
        top = "/sys/fs/cgroup" if self.cgroup_version == 2 else "/sys/fs/cgroup/cpu"
        return Path(top + control_group)

    def write(self, path: str, text: str) -> Path:
        """Write a file, with the directories it needs."""
        self._touched_units |= "/systemd/" in path
        file = Path(path)
        missing = [parent for parent in file.parents if not parent.exists()]
        file.parent.mkdir(parents=True, exist_ok=True)
        for directory in missing:
            self._undo.callback(_remove_directory, directory)
        file.write_text(text)
        self._undo.callback(file.unlink, missing_ok=True)
        return file

    def unit(self, name: str, text: str, where: str = SYSTEM) -> Path:
        """Write a unit file; nothing is loaded before :meth:`daemon_reload` or a start."""
        return self.write(f"{where}/{name}", text)

    def service(self, name: str, settings: str = "", where: str = SYSTEM) -> Path:
        """Write a service that sleeps, with further lines of ``[Service]``."""
        return self.unit(name, f"[Service]\nExecStart=/bin/sleep infinity\n{settings}\n", where)

    def drop_in(self, unit: str, file: str, text: str, where: str = SYSTEM) -> Path:
        """Write a drop-in of a unit, a template, a prefix or a type (``service``)."""
        return self.write(f"{where}/{unit}.d/{file}", text)

    def daemon_reload(self) -> None:
        """Have the manager read all files again."""
        self.run("systemctl", "daemon-reload")

    def start(self, *units: str) -> None:
        """Start units; they are stopped at the end."""
        self.stop_later(*units)
        self.run("systemctl", "start", "--", *units)

    def stop_later(self, *units: str) -> None:
        """Stop units at the end, for those that :meth:`start` did not start."""
        self._undo.callback(
            subprocess.run, ["systemctl", "stop", "--", *units], check=False, capture_output=True
        )

    def set_property(self, unit: str, *settings: str, runtime: bool = False) -> None:
        """``systemctl set-property``, undone at the end as far as files go."""
        control = "/run/systemd/system.control" if runtime else "/etc/systemd/system.control"
        self._touched_units = True
        self._undo.callback(_remove_tree, Path(f"{control}/{unit}.d"))
        mode = ["--runtime"] if runtime else []
        self.run("systemctl", "set-property", *mode, "--", unit, *settings)

    def transient(self, unit: str, *options: str) -> None:
        """Start a sleeping transient service, or with ``--scope`` a scope."""
        self.stop_later(unit)
        command = ["systemd-run", "--quiet", f"--unit={unit}", *options, "/bin/sleep", "infinity"]
        if "--scope" not in options:
            self.run(*command)
            return
        scope = subprocess.Popen(command)
        self._undo.callback(scope.wait)
        self._undo.callback(scope.terminate)
        self.wait_for(f"systemctl --quiet is-active {unit}")

    def bind_mount(self, source: str, target: str) -> None:
        """Show a directory, with what is mounted below it, at another place."""
        Path(target).mkdir(parents=True, exist_ok=True)
        # A slave: taking the copies away must not take the originals with them.
        self.run("mount", "--rbind", "--make-rslave", source, target)
        self._undo.callback(self.run, "umount", "--lazy", target)

    def show(self, unit: str, name: str) -> str:
        """Return a property as systemctl prints it."""
        return self.run("systemctl", "show", "--property", name, "--value", "--", unit).rstrip("\n")

    def wait_for(self, command: str, **environment: str) -> None:
        """Run a shell command again and again until it succeeds."""
        until = f"until {command}; do sleep 0.1; done"
        self.run("timeout", str(PATIENCE_SEC), "sh", "-c", until, **environment)

    def run(self, *command: str, **environment: str) -> str:
        """Run a command that must succeed and return its standard output."""
        done = subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SEC,
            env={**os.environ, **environment},
        )
        assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def close(self) -> None:
        """Undo everything, last first, and have the manager forget it."""
        self._undo.close()
        # Only if need be: a reload rewrites the limits of units that another fixture holds.
        if self._touched_units:
            self.daemon_reload()
            self.run("systemctl", "reset-failed")


@pytest.fixture
def host() -> Iterator[LabHost]:
    """Return the lab's host, as it was again after the test."""
    with contextlib.closing(LabHost()) as made:
        yield made


@pytest.fixture(scope="module")
def module_host() -> Iterator[LabHost]:
    """Return the lab's host, shared by the tests of a module."""
    with contextlib.closing(LabHost()) as made:
        yield made


def _remove_directory(directory: Path) -> None:
    # Not empty: somebody else uses it by now.
    with contextlib.suppress(OSError):
        directory.rmdir()


def _remove_tree(directory: Path) -> None:
    for file in sorted(directory.glob("*")):
        file.unlink()
    _remove_directory(directory)
