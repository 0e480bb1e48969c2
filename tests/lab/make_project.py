"""Lay out what travels into the lab: the project as installed, its libraries, the guest's tests.

Usage: make_project.py DIR     (DIR is made; give it to `lab run`)

With LAB_FROM_SOURCE=1 the package is copied instead of built as a wheel.

The guest has no network and Debian's Python, so wheels for that Python are unpacked here and put
on its PYTHONPATH; Debian's own packages (pydbus) stay visible beside them. An image carries no
pip, and a virtual environment would tie it to the Python of the machine that builds it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

LAB = Path(__file__).resolve().parent
CHECKOUT = LAB.parents[1]
CACHE = Path(
    os.environ.get("LAB_CACHE")
    or Path(os.environ.get("XDG_CACHE_HOME") or "/var/cache") / "quota-advisor-lab"
)
GUEST_PYTHON = (3, 11)
"""Debian 12's."""

NEWEST_GLIBC = 36
"""Debian 12's, minor version: the newest wheels that it can load are for glibc 2.36."""

NOT_IN_GUEST = ("kubernetes",)
"""Large, and of no use on a host without a cluster."""

TEST_LIBRARIES = ("pytest>=8.3",)

SHARED_TESTS = ("tests/collect/host/test_systemd_bus.py",)
"""Tests of the checkout that run in the guest, too: only there does pydbus take part."""

WHEEL_INPUTS = ("quota_advisor", "native", "rules", "probes")


def main() -> None:
    """Make the directory that the command line names."""
    project = Path(sys.argv[1])
    project.mkdir(parents=True)
    libraries = [*_dependencies(), *TEST_LIBRARIES]
    shutil.copytree(_cached("libraries", repr(libraries), _Libraries(libraries)), project / "site")
    if os.environ.get("LAB_FROM_SOURCE"):
        _copy_sources(project / "app")
    else:
        shutil.copytree(_cached("project", _project_hash(), _install_project), project / "app")
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(LAB / "guest", project / "tests", ignore=ignore)
    shutil.move(project / "tests" / "run-tests", project / "run-tests")
    for name in SHARED_TESTS:
        shutil.copy2(CHECKOUT / name, project / "tests" / f"test_shared_{Path(name).name[5:]}")


class _Libraries:
    """Installs third-party wheels for the guest's Python into a directory."""

    def __init__(self, requirements: list[str]) -> None:
        self._requirements = requirements

    def __call__(self, target: Path) -> None:
        platforms = [f"manylinux_2_{minor}_x86_64" for minor in range(17, NEWEST_GLIBC + 1)]
        version = ".".join(map(str, GUEST_PYTHON))
        _pip(
            *("install", "--quiet", "--no-compile", "--target", str(target)),
            *("--implementation", "cp", "--python-version", version, "--only-binary", ":all:"),
            *(word for platform in platforms for word in ("--platform", platform)),
            *self._requirements,
        )
        _compile(target)


def _install_project(target: Path) -> None:
    wheels = target.with_suffix(".wheel")
    try:
        _pip("wheel", "--quiet", "--no-deps", "--wheel-dir", str(wheels), str(CHECKOUT))
        (wheel,) = wheels.glob("*.whl")
        _pip(
            *("install", "--quiet", "--no-deps", "--no-compile"),
            *("--target", str(target), str(wheel)),
        )
    finally:
        shutil.rmtree(wheels, ignore_errors=True)
    _compile(target)


def _copy_sources(target: Path) -> None:
    """Take the package as it stands: no build, but no native programs either."""
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(CHECKOUT / "quota_advisor", target / "quota_advisor", ignore=ignore)
    for name in ("rules", "probes"):
        shutil.copytree(CHECKOUT / name, target / "quota_advisor" / f"_{name}", ignore=ignore)


def _dependencies() -> list[str]:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["record"]]
    return [line for line in wanted if not line.startswith(NOT_IN_GUEST)]


def _project_hash() -> str:
    digest = hashlib.sha256()
    for path in _wheel_inputs():
        digest.update(f"{path.relative_to(CHECKOUT)}\0{path.stat().st_mode}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _wheel_inputs() -> Iterator[Path]:
    yield CHECKOUT / "pyproject.toml"
    yield CHECKOUT / "CMakeLists.txt"
    for name in WHEEL_INPUTS:
        for path in sorted((CHECKOUT / name).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path


def _cached(kind: str, inputs: str, make: Callable[[Path], None]) -> Path:
    """Return the directory that ``make`` fills, made once for the same inputs and recipe."""
    recipe = Path(__file__).read_bytes()
    key = hashlib.sha256(recipe + inputs.encode()).hexdigest()[:16]
    CACHE.mkdir(parents=True, exist_ok=True)
    made = CACHE / f"{kind}-{key}"
    # Two at once: the second waits and finds the first one's directory.
    with (CACHE / f"{kind}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            _forget_others(kind)
            building = CACHE / f"building-{kind}-{os.getpid()}"
            make(building)
            building.rename(made)
        os.utime(made)
    return made


def _forget_others(kind: str) -> None:
    """Remove all but the newest few: every edit of the project makes one."""
    made = sorted(CACHE.glob(f"{kind}-*"), key=lambda path: path.stat().st_mtime)
    for path in [*made[:-4], *CACHE.glob(f"building-{kind}-*")]:
        shutil.rmtree(path, ignore_errors=True)


def _pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    subprocess.run(command, check=True, env={**os.environ, "PIP_ROOT_USER_ACTION": "ignore"})


def _compile(directory: Path) -> None:
    """Compile for the guest, where it takes seconds at every start."""
    if sys.version_info[:2] == GUEST_PYTHON:
        mode = ("--invalidation-mode", "unchecked-hash")
        command = [sys.executable, "-m", "compileall", "-q", *mode, str(directory)]
        subprocess.run(command, check=False)


if __name__ == "__main__":
    main()
