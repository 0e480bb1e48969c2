"""The native program that makes the load and times every request: find it, run it, read it."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal

import pydantic

from quota_advisor.probe.errors import BurnerError
from quota_advisor.sandbox import shielded
from quota_advisor.sandbox.removal import BURNER
from quota_advisor.shipped import native_files

OVERRIDE = "QUOTA_ADVISOR_BURNER"
"""Environment variable with the path of the program, for development."""


TICK_SEC = 0.25
"""How often a caller who shows progress is called back."""

GRACE_SEC = 60.0
"""How much longer than planned a run may take: a machine may be slow, but not stuck."""

Tick = Callable[[float], None]
"""Called now and then with the seconds since the start."""


class BurnerReport(pydantic.BaseModel):
    """What one run measured. Latencies are missing when not one request was finished.

    Attributes:
        mode: ``saturate``, ``burst`` or ``trace``.
        threads: Threads that made load.
        interrupted: A signal ended the run early.
        requests: Requests finished in the measured time.
        requests_unfinished: Requests due in it that were not.
        throughput_req_per_sec: Sum of the threads' own rates.
        lat_samples: Requests that were timed.
        lat_p50_ns … lat_max_ns: Latency in saturate; in the other modes from the intended start.
        lat_error_ratio: Bound of the relative error of a latency.
        measured_ns: Measured time, without warm-up.
        measured_cpu_ns: CPU time of all threads in it, by their own clocks.
        wall_ns: The whole run, warm-up and drain included.
        cpu_user_usec, cpu_system_usec: CPU time of the process over the whole run.
        iterations_per_ms: Steps of work that this machine does in a millisecond.
        overhead_per_request_ns: What timing a request costs.
    """

    model_config = pydantic.ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    schema_: Literal["quota-burner/1"] = pydantic.Field(alias="schema")
    version: str
    mode: str
    threads: int
    interrupted: bool
    requests: int
    requests_unfinished: int
    throughput_req_per_sec: float
    lat_samples: int
    lat_p50_ns: int | None
    lat_p90_ns: int | None
    lat_p95_ns: int | None
    lat_p99_ns: int | None
    lat_p999_ns: int | None
    lat_max_ns: int | None
    lat_error_ratio: float
    measured_ns: int
    measured_cpu_ns: int
    wall_ns: int
    cpu_user_usec: int
    cpu_system_usec: int
    iterations_per_ms: int
    overhead_per_request_ns: float

    @property
    def cpu_usec(self) -> int:
        """CPU time of the process over the whole run."""
        return self.cpu_user_usec + self.cpu_system_usec


def find_burner() -> Path:
    """Return the program: beside the package, wherever the installation laid it.

    Raises:
        BurnerError: It is not there, or cannot be run.
    """
    override = os.environ.get(OVERRIDE)
    if override:
        return _usable(Path(override), f"{OVERRIDE} is set to it")
    for candidate in native_files(BURNER):
        if candidate.is_file():
            return _usable(candidate, "reinstall quota-advisor")
    raise BurnerError(
        f"{BURNER} is not installed",
        hint=f"install quota-advisor from a wheel, or build native/ and set {OVERRIDE}",
    )


def _usable(path: Path, hint: str) -> Path:
    if path.is_file() and os.access(path, os.X_OK):
        return path
    raise BurnerError(f"{path} is no program that can be run", hint=hint)


def run_burner(
    burner: Path,
    arguments: Sequence[str],
    *,
    join: Iterable[str] = (),
    planned_sec: float,
    nice: int = 0,
    on_tick: Tick | None = None,
) -> BurnerReport:
    """Run the program to its end and return what it reports.

    Whatever ends this call, the child is gone afterwards.

    Args:
        burner: From :func:`find_burner`.
        arguments: Mode and options.
        join: ``cgroup.procs`` files of the cgroup to run in, one for each hierarchy.
        planned_sec: How long it should take; well beyond that it is ended.
        nice: Niceness to run at.
        on_tick: Called now and then while it runs.

    Raises:
        BurnerError: It refused the arguments, failed, was ended, or reports something unknown.
    """
    with shielded() as exposed:
        child = start_burner(burner, arguments, join=join, nice=nice)
        try:
            with exposed():
                out, complaint = _wait(child, planned_sec + GRACE_SEC, on_tick)
        finally:
            end_child(child)
    return read_report(child.returncode, out, complaint)


def start_burner(
    burner: Path, arguments: Sequence[str], *, join: Iterable[str] = (), nice: int = 0
) -> subprocess.Popen[str]:
    """Start the program in a process group of its own: Ctrl-C at a terminal is ours to handle.

    It ends when the calling thread does, however that ends. To be used under a shield, and together
    with :func:`end_child`.

    Args:
        burner: From :func:`find_burner`.
        arguments: Mode and options.
        join: ``cgroup.procs`` files of the cgroup to run in, one for each hierarchy.
        nice: Niceness to run at.

    Raises:
        BurnerError: It cannot be started.
    """
    follow = ["--exit-with-parent", "--parent", str(os.getpid())]
    joins = [word for path in join for word in ("--cgroup-procs", path)]
    command = [str(burner), *arguments, *follow, *joins]
    try:
        child = subprocess.Popen(  # noqa: S603 - no shell, and a path of our own installation
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            process_group=0,
        )
    except OSError as error:
        raise BurnerError(f"{command[0]}: {(error.strerror or str(error)).lower()}") from error
    if nice:
        # Threads inherit it, and there are none before the calibration is over.
        try:
            os.setpriority(os.PRIO_PROCESS, child.pid, nice)
        except OSError as error:
            end_child(child)
            raise BurnerError(f"{command[0]}: its priority cannot be changed") from error
    return child


def end_child(child: subprocess.Popen[str]) -> None:
    """End a child that still runs, and wait for it. A child that ended is only reaped."""
    if child.poll() is None:
        child.kill()
    child.wait()
    for stream in (child.stdin, child.stdout, child.stderr):
        if stream is not None:
            stream.close()


def _wait(child: subprocess.Popen[str], limit_sec: float, on_tick: Tick | None) -> tuple[str, str]:
    begin = time.monotonic()
    while True:
        elapsed = time.monotonic() - begin
        try:
            return child.communicate(timeout=TICK_SEC if on_tick else limit_sec)
        except subprocess.TimeoutExpired as error:
            if elapsed > limit_sec - TICK_SEC:
                raise BurnerError(f"{BURNER} did not end within {limit_sec:.0f} s") from error
        if on_tick:
            on_tick(elapsed)


def read_report(code: int, out: str, complaint: str) -> BurnerReport:
    """Return what a run reported.

    Args:
        code: How the program ended.
        out: What it wrote on standard output.
        complaint: What it wrote on standard error.

    Raises:
        BurnerError: It failed, was ended, or reports something unknown.
    """
    if code != 0:
        reason = " ".join(complaint.removeprefix(f"{BURNER}: ").split("\n")[0].split())
        ended = f"was ended by signal {-code}" if code < 0 else f"exit code {code}"
        raise BurnerError(f"{BURNER}: {reason or ended}")
    try:
        report = BurnerReport.model_validate_json(out)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "report"
        raise BurnerError(
            f"{BURNER} reports something unknown ({where}: {first['msg'].lower()})",
            hint="the program and the package are of different versions: reinstall quota-advisor",
        ) from error
    if report.interrupted:
        raise BurnerError(f"{BURNER} was ended early by a signal")
    return report
