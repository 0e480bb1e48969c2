"""The guest's tests, each with its result here, from one boot with cgroup v2 and one with v1.

A third, short one has no cpu controller at all.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

import pytest

LAB = Path(__file__).resolve().parent
COLLECT = LAB.parent / "collect/host"

MODES = {
    "v2": "",
    "v1": "systemd.unified_cgroup_hierarchy=0 systemd.legacy_systemd_cgroup_controller=1",
}
"""Hierarchies, and what to tell the guest's kernel and systemd to get them."""

NO_CONTROLLER = "no-controller"
ON_DEMAND = {NO_CONTROLLER: "cgroup_disable=cpu"}
"""Boots for a few tests alone, after the others."""

MACHINE_MIB = 1400
"""Memory of a virtual machine, with what its emulator needs beside it."""

KEPT = LAB.parents[1] / "lab-result"
"""Where the consoles stay, for whoever has to find out why a boot failed."""

CONSOLE_TAIL = 60
"""Lines of the console that a failure shows."""

CAME_TO_ITS_END = (0, 1)
"""Exit codes of a pytest that ran all its tests: they passed, or some failed."""

MODULES = {path.stem: path for path in sorted((LAB / "guest").glob("test_*.py"))} | {
    "test_shared_systemd_bus": COLLECT / "test_systemd_bus.py"
}
"""Modules that run in the guest, by their names there (see make_project.py)."""


class GuestTest(NamedTuple):
    """A test function of the guest."""

    module: str
    function: str


def guest_tests() -> Iterator[GuestTest]:
    for name, path in MODULES.items():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield GuestTest(name, node.name)


@dataclass
class Boot:
    """What came back from one boot; ``failure`` says why nothing did."""

    console: Path
    failure: str = ""
    cases: list[ET.Element] = field(default_factory=list)
    failure_is_told: bool = False

    def must_have_ended(self) -> None:
        """Fail the first test of a boot that failed and skip the others: it is one failure."""
        if not self.failure:
            return
        if self.failure_is_told:
            pytest.skip("the boot failed")
        self.failure_is_told = True
        pytest.fail(f"{self.failure}\n{self.end_of_console()}", pytrace=False)

    def end_of_console(self) -> str:
        lines = self.console.read_text(errors="replace").splitlines()[-CONSOLE_TAIL:]
        return "\n".join([*lines, f"the whole console: {self.console}"])

    def of(self, test: GuestTest) -> list[ET.Element]:
        return [case for case in self.cases if origin(case) == test]

    def figures(self) -> Iterator[str]:
        """Yield what the guest measured."""
        for case in self.cases:
            for entry in case.iter("property"):
                if entry.get("name") == "figure":
                    yield entry.get("value", "")


class Lab:
    """The boots of a session: side by side where the machine has room for all of them."""

    def __init__(self, modes: Sequence[str], directory: Path) -> None:
        self._modes = modes
        self._directory = directory
        self._preparation = KEPT / "console-preparation"
        KEPT.mkdir(exist_ok=True)
        self._machines: dict[str, subprocess.Popen[bytes]] = {}

    def boot(self, mode: str) -> Boot:
        """Boot, or wait for what was booted beside another; the lab itself sees to the end."""
        if not self._project_is_ready:
            return Boot(self._preparation, "the project could not be laid out for the guest")
        together = mode in self._modes and has_room_for(len(self._modes))
        for name in self._modes if together else [mode]:
            if name not in self._machines:
                self._machines[name] = self._start(name)
        code = self._machines[mode].wait()
        report = self._directory / mode / "junit.xml"
        if code not in CAME_TO_ITS_END or not report.exists():
            return Boot(self._console(mode), f"the boot ended with {code} and without results")
        cases = ET.parse(report).iter("testcase")  # noqa: S314 - our own guest's
        return Boot(self._console(mode), cases=list(cases))

    def close(self) -> None:
        """End the machines that nobody waited for."""
        for machine in self._machines.values():
            machine.terminate()
            machine.wait()

    @functools.cached_property
    def _project_is_ready(self) -> bool:
        command = [sys.executable, str(LAB / "make_project.py"), str(self._directory / "project")]
        with self._preparation.open("wb") as out:
            return subprocess.run(command, check=False, stdout=out, stderr=out).returncode == 0

    def _start(self, mode: str) -> subprocess.Popen[bytes]:
        append = (MODES | ON_DEMAND)[mode]
        surroundings = {"LAB_RESULT": str(self._directory / mode), "LAB_APPEND": append}
        command = f"sh run-tests {mode}" + (f" -k {mode.replace('-', '_')}" * (mode in ON_DEMAND))
        with self._console(mode).open("wb") as console:
            return subprocess.Popen(
                [LAB / "lab", "run", self._directory / "project", command],
                stdout=console,
                stderr=console,
                env={**os.environ, **surroundings},
            )

    def _console(self, mode: str) -> Path:
        return KEPT / f"console-{mode}"


def has_room_for(machines: int) -> bool:
    """Whether each machine finds a CPU and its memory."""
    meminfo = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    available_mib = int(meminfo["MemAvailable"].split()[0]) // 1024
    return available_mib >= machines * MACHINE_MIB and len(os.sched_getaffinity(0)) >= machines


def origin(case: ET.Element) -> GuestTest:
    module = case.get("classname", "").rpartition(".")[2]
    return GuestTest(module, case.get("name", "").partition("[")[0])


def reason_not_to_boot() -> str:
    if os.geteuid() != 0:
        return "the lab needs root"
    if platform.machine() != "x86_64":
        return "the lab's virtual machine is for x86_64 only"
    if shutil.which("apt-get") is None:
        return "the lab needs Debian's package tools"
    return ""


pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(bool(reason_not_to_boot()), reason=reason_not_to_boot()),
]


@pytest.fixture(scope="session")
def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    calls = (getattr(item, "callspec", None) for item in request.session.items)
    asked_for = {call.params.get("boot") for call in calls if call}
    made = Lab([mode for mode in MODES if mode in asked_for], tmp_path_factory.mktemp("lab"))
    with contextlib.closing(made):
        yield made


@pytest.fixture(scope="session", params=MODES)
def boot(request: pytest.FixtureRequest, lab: Lab) -> Boot:
    return lab.boot(request.param)


def test_the_guest_ran_its_tests_and_no_others(
    boot: Boot, capsys: pytest.CaptureFixture[str]
) -> None:
    boot.must_have_ended()
    assert {origin(case) for case in boot.cases} == set(guest_tests()), boot.end_of_console()
    with capsys.disabled():
        for figure in boot.figures():
            sys.stdout.write(f"\n  lab: {figure}\n")


@pytest.mark.parametrize(
    "test", list(guest_tests()), ids=lambda test: f"{test.module}-{test.function}"
)
def test_in_the_guest(boot: Boot, test: GuestTest) -> None:
    boot.must_have_ended()
    cases = boot.of(test)
    assert cases, f"no result from the guest\n{boot.end_of_console()}"
    bad = [text for case in cases for text in failures(case)]
    if bad:
        pytest.fail("\n\n".join(bad), pytrace=False)
    skipped = [skip for case in cases for skip in case.iter("skipped")]
    if len(skipped) == len(cases):
        pytest.skip(f"in the guest: {skipped[0].get('message')}")


def test_without_the_cpu_controller(lab: Lab) -> None:
    boot = lab.boot(NO_CONTROLLER)
    boot.must_have_ended()
    assert boot.cases, boot.end_of_console()
    for case in boot.cases:
        assert NO_CONTROLLER.replace("-", "_") in case.get("name", "")
        assert not list(case.iter("skipped")), boot.end_of_console()
        assert list(failures(case)) == []


def failures(case: ET.Element) -> Iterator[str]:
    for kind in ("failure", "error"):
        for element in case.iter(kind):
            yield f"{case.get('name')}: {element.get('message')}\n{element.text}"
