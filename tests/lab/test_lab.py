"""The guest's tests, each with its result here, from one boot with cgroup v2 and one with v1."""

from __future__ import annotations

import ast
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
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

BOOT_TIMEOUT_SEC = 900
"""A boot with all tests takes two to three minutes, twice that on a busy machine."""

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


class Boot:
    """What came back from one boot."""

    def __init__(self, result: Path, console: str) -> None:
        self.console = console
        self.cases: list[ET.Element] = []
        report = result / "junit.xml"
        if report.exists():
            self.cases = list(ET.parse(report).iter("testcase"))  # noqa: S314 - our own guest's

    def of(self, test: GuestTest) -> list[ET.Element]:
        return [case for case in self.cases if origin(case) == test]

    def figures(self) -> Iterator[str]:
        """Yield what the guest measured."""
        for case in self.cases:
            for entry in case.iter("property"):
                if entry.get("name") == "figure":
                    yield entry.get("value", "")


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
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("lab") / "project"
    subprocess.run([sys.executable, LAB / "make_project.py", directory], check=True)
    return directory


@pytest.fixture(scope="session", params=MODES)
def boot(
    request: pytest.FixtureRequest, project: Path, tmp_path_factory: pytest.TempPathFactory
) -> Boot:
    mode: str = request.param
    result = tmp_path_factory.mktemp("result") / mode
    done = subprocess.run(
        [LAB / "lab", "run", project, f"sh run-tests {mode}"],
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=BOOT_TIMEOUT_SEC,
        env={**os.environ, "LAB_RESULT": str(result), "LAB_APPEND": MODES[mode]},
    )
    return Boot(result, done.stdout)


def test_the_guest_ran_its_tests_and_no_others(
    boot: Boot, capsys: pytest.CaptureFixture[str]
) -> None:
    assert boot.cases, boot.console
    assert {origin(case) for case in boot.cases} == set(guest_tests()), boot.console
    with capsys.disabled():
        for figure in boot.figures():
            sys.stdout.write(f"\n  lab: {figure}\n")


@pytest.mark.parametrize(
    "test", list(guest_tests()), ids=lambda test: f"{test.module}-{test.function}"
)
def test_in_the_guest(boot: Boot, test: GuestTest) -> None:
    cases = boot.of(test)
    assert cases, f"no result from the guest\n{boot.console[-4000:]}"
    bad = [text for case in cases for text in failures(case)]
    if bad:
        pytest.fail("\n\n".join(bad), pytrace=False)
    skipped = [skip for case in cases for skip in case.iter("skipped")]
    if len(skipped) == len(cases):
        pytest.skip(f"in the guest: {skipped[0].get('message')}")


def failures(case: ET.Element) -> Iterator[str]:
    for kind in ("failure", "error"):
        for element in case.iter(kind):
            yield f"{case.get('name')}: {element.get('message')}\n{element.text}"
