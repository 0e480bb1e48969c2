"""Our merge against the recorded answers of systemd, and against the systemd of this machine."""

from __future__ import annotations

import os
import pwd
import random
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from quota_advisor.collect.host.root import HostRoot
from quota_advisor.collect.host.unit_files import UnitFileReader
from quota_advisor.model.limit import Missing
from quota_advisor.model.unit import UnitConfig
from quota_advisor.units import TimeSpan, parse_time_span

ORACLE = Path(__file__).parents[2] / "unit_oracle"
SEARCH = ("ectl", "rctl", "etc", "local", "lib")
SYSTEMD = Path("/lib/systemd/systemd")
OLDEST = 252

Limits = tuple[TimeSpan, TimeSpan]
"""Quota and period in microseconds."""


def recorded() -> dict[str, Limits]:
    rows = [line.split("\t") for line in (ORACLE / "expected.tsv").read_text("utf-8").splitlines()]
    return {unit: limits(quota, period) for unit, quota, period in rows}


def limits(quota: str, period: str) -> Limits:
    return (
        parse_time_span(quota.removeprefix("quota=")),
        parse_time_span(period.removeprefix("period=")),
    )


def merged(config: UnitConfig) -> Limits:
    quota, period = config.quota_per_sec_usec, config.period_usec
    return (
        quota if isinstance(quota, int) else "infinity",
        period if isinstance(period, int) else "infinity",
    )


def reader(tree: Path) -> UnitFileReader:
    return UnitFileReader(HostRoot(Path("/")), [str(tree / name) for name in SEARCH])


@pytest.fixture(scope="module")
def ours() -> UnitFileReader:
    return reader(ORACLE)


@pytest.mark.parametrize(("unit", "expected"), recorded().items())
def test_merge_equals_the_recorded_answer(
    ours: UnitFileReader, unit: str, expected: Limits
) -> None:
    assert merged(ours.read(unit)) == expected


def test_merge_is_the_same_below_a_root() -> None:
    below = UnitFileReader(HostRoot(ORACLE), [f"/{name}" for name in SEARCH])
    assert {unit: merged(below.read(unit)) for unit in recorded()} == recorded()


def test_oracle_is_read_without_problems(ours: UnitFileReader) -> None:
    for name in ours.names():
        ours.read(name)
    assert ours.problems == ()


# ---- the systemd of this machine


def _no_systemd() -> str:
    if not SYSTEMD.exists():
        return f"{SYSTEMD} is not installed"
    shown = subprocess.run([SYSTEMD, "--version"], capture_output=True, text=True, check=False)
    version = re.search(r"systemd (\d+)", shown.stdout)
    if version is None or int(version[1]) < OLDEST:
        return f"systemd is older than {OLDEST}"
    return ""


NO_SYSTEMD = _no_systemd()
needs_systemd = pytest.mark.skipif(bool(NO_SYSTEMD), reason=NO_SYSTEMD)


@dataclass
class Dumped:
    """What systemd says of one unit."""

    quota: str = "infinity"
    period: str = "infinity"
    fragment: str = ""
    drop_ins: list[str] = field(default_factory=list)


class RealSystemd:
    """Runs systemd's own test mode on a copy of a tree that an unprivileged user can read."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def tree(self, name: str) -> Path:
        return self._directory / name

    def copy(self, source: Path, name: str) -> Path:
        target = self.tree(name)
        shutil.copytree(source, target, symlinks=True)
        return target

    def run(self, script: Path, *args: str) -> str:
        subprocess.run(["chmod", "-R", "a+rX", script.parent], check=True)
        runtime = Path(tempfile.mkdtemp(dir=self._directory))
        nobody = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        if nobody:
            os.chown(runtime, nobody.pw_uid, nobody.pw_gid)
        done = subprocess.run(
            ["/bin/bash", str(script), *args],
            env={"PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(runtime)},
            capture_output=True,
            text=True,
            cwd="/",
            check=False,
            user=nobody.pw_uid if nobody else None,
            group=nobody.pw_gid if nobody else None,
            extra_groups=[] if nobody else None,
        )
        if done.returncode and "cgroup v1" in done.stderr:
            pytest.skip("this systemd does not run on a host with cgroup v1")
        assert done.returncode == 0, done.stderr
        return done.stdout

    def dump(self, tree: Path) -> dict[str, Dumped]:
        units: dict[str, Dumped] = {}
        unit = Dumped()
        for line in self.run(tree / "run.sh", "--dump").splitlines():
            key, _, value = line.strip().partition(": ")
            if key.startswith("-> Unit "):
                unit = units.setdefault(key.removeprefix("-> Unit ").rstrip(":"), Dumped())
            elif key == "CPUQuotaPerSecSec":
                unit.quota = value
            elif key == "CPUQuotaPeriodSec":
                unit.period = value
            elif key == "Fragment Path":
                unit.fragment = value
            elif key == "DropIn Path":
                unit.drop_ins.append(value)
        return units


@pytest.fixture(scope="module")
def real() -> Iterator[RealSystemd]:
    # pytest's own directories are closed to other users.
    with tempfile.TemporaryDirectory(prefix="unit-oracle-") as name:
        directory = Path(name)
        directory.chmod(0o755)
        yield RealSystemd(directory)


@needs_systemd
def test_systemd_here_gives_the_recorded_answers(real: RealSystemd) -> None:
    tree = real.copy(ORACLE, "recorded")
    rows = (line.split("\t") for line in real.run(tree / "run.sh").splitlines())
    assert {unit: limits(quota, period) for unit, quota, period in rows} == recorded()


@needs_systemd
def test_systemd_here_takes_the_same_files_in_the_same_order(real: RealSystemd) -> None:
    tree = real.copy(ORACLE, "order")
    dumped = real.dump(tree)
    ours = reader(tree)
    for unit in recorded():
        config = ours.read(unit)
        fragment = "" if isinstance(config.fragment, Missing) else config.fragment.path
        assert (unit, fragment) == (unit, dumped[unit].fragment)
        assert [f.path for f in config.drop_ins] == dumped[unit].drop_ins, unit


# ---- seeded fuzzing: one start of systemd judges hundreds of files

NUMBERS = ("5", "50", "050", "08", "0", "00", "0x1f", "0X", "0b11", "0B2", "0o17", "0o", "21474836",
           "21474837", "214748364", "2147483647", "2147483648", "99999999999999999999", "1e2", "",
           "-1", "-0", "+7", "+-7", " 9", "9 ", "\v9", "²", "5_0",
           "0b 1", "0x 1", "0o+7", "0b-1")  # fmt: skip
DECIMALS = ("", "", "", ".", ".0", ".00", ".000", ".5", ".25", ".47", ".48", ".99", ".1.2", ".x",
            ",5", ".-5", ".+5", ". 5")  # fmt: skip
SUFFIXES = ("%", "%", "%", "%", "‰", "‱", "", " %", "%%", "% ", "percent", "%\\")  # fmt: skip
TIME_NUMBERS = ("0", "1", "10", "007", "0x5", "+3", "-3", "-0", ".5", "1.5", "1.", "2.000001", "",
                "3.1415926535", "1.2.3", "9223372036854775807", "9223372036854775808",
                "1e3")  # fmt: skip
TIME_UNITS = ("", "", "us", "µs", "μs", "usec", "ms", "msec", "s", "sec", "second", "seconds", "m",
              "min", "minutes", "h", "hr", "hours", "d", "w", "M", "month", "y", "S", "Ms", "ns",
              "foo", "infinity")  # fmt: skip
GAPS = ("", "", " ", "  ", "\t", ",", "\v")
LINES = (b"CPUQuota=50%", b"CPUQuota=60%\\", b"CPUQuota=\\", b"CPUQuota=", b"CPUQuota=bad",
         b"CPUQuotaPeriodSec=20ms", b"CPUQuotaPeriodSec=", b"Environment=A=b \\", b"[Service]",
         b"[Unit]", b"[Install]", b"[X-Mine]", b"[service]", b"[Service] # no", b"[Service",
         b" [Service]  ", b"# comment", b"; comment \\", b"  # comment", b"", b"  ", b"\\", b" \\ ",
         b"70%", b"=80%", b"CPUQuota", b"CPUQuota = 90%", b"\xef\xbb\xbf[Service]",
         b"\xef\xbb\xbfCPUQuota=11%", b"\xef\xbb\xbf# note \\", b"Environment=\xff", b"# \xff",
         b"cpuquota=12%", b"CPUQuota=13%\\\\", b"CPUQuota=14% ;",
         b"Description=\xc3\xa9")  # fmt: skip
ENDS = (b"\n", b"\n", b"\n", b"\n", b"\r\n", b"\r", b"\n\r", b"\0", b"\r\n\0", b"\n\n")


def random_quota(chance: random.Random) -> str:
    return "".join(chance.choice(part) for part in (NUMBERS, DECIMALS, SUFFIXES))


def random_span(chance: random.Random) -> str:
    parts = (TIME_NUMBERS, GAPS, TIME_UNITS, GAPS) * chance.randint(1, 3)
    return "".join(chance.choice(part) for part in parts)


def random_file(chance: random.Random) -> bytes:
    count = chance.randint(1, 14)
    body = b"".join(chance.choice(LINES) + chance.choice(ENDS) for _ in range(count))
    return chance.choice((b"[Service]\n", b"")) + body.rstrip(chance.choice((b"", b"\n")))


def write_tree(tree: Path, drop_ins: list[bytes]) -> None:
    etc = tree / "etc"
    etc.mkdir(parents=True)
    shutil.copy(ORACLE / "run.sh", tree / "run.sh")
    names = [f"f{number}.service" for number in range(len(drop_ins))]
    for name, content in zip(names, drop_ins, strict=True):
        # In a drop-in, a line that stops the reading does not stop the unit from loading.
        (etc / f"{name}.d").mkdir()
        (etc / f"{name}.d/10.conf").write_bytes(content)
        (etc / name).write_text("[Service]\nExecStart=/bin/true\n", "utf-8")
    wants = "".join(f"Wants={name}\n" for name in names)
    (etc / "qall.target").write_text(f"[Unit]\n{wants}", "utf-8")


def assert_same_answers(real: RealSystemd, tree: Path, drop_ins: list[bytes]) -> None:
    write_tree(tree, drop_ins)
    dumped = real.dump(tree)
    ours = reader(tree)
    wrong = []
    for number, content in enumerate(drop_ins):
        name = f"f{number}.service"
        theirs = limits(dumped[name].quota, dumped[name].period)
        if merged(ours.read(name)) != theirs:
            wrong.append((content, theirs, merged(ours.read(name))))
    assert wrong == []


@needs_systemd
def test_random_values_are_read_as_systemd_reads_them(real: RealSystemd) -> None:
    chance = random.Random(20_240)  # noqa: S311 - reproducible, not secret
    texts = [
        f"[Service]\nCPUQuota={random_quota(chance)}\nCPUQuotaPeriodSec={random_span(chance)}\n"
        for _ in range(400)
    ]
    assert_same_answers(real, real.tree("values"), [text.encode() for text in texts])


@needs_systemd
def test_random_files_are_read_as_systemd_reads_them(real: RealSystemd) -> None:
    chance = random.Random(20_241)  # noqa: S311 - reproducible, not secret
    assert_same_answers(real, real.tree("files"), [random_file(chance) for _ in range(400)])
