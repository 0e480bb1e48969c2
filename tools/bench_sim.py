"""The simulator: how fast it is, and how near to the kernel.

Speed: a day at 10 ms, two CPUs, 30 % busy, one candidate and forty; a fully busy day beside it; a
minute to a week. Nearness: five shapes of load run without a limit and are recorded; each of
their settings is simulated, and run under the real kernel in a temporary cgroup (needs root).
Kernel runs are repeated, and medians compared; how far they differ among themselves is printed.

`--speed` and `--kernel` choose one half; `--shapes` selects by name; `--seconds` and `--repeats`
shorten it.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from quota_advisor.collect.host.sampler import ahead_of_others
from quota_advisor.errors import CollectError, QuotaAdvisorError
from quota_advisor.model.limit import Bandwidth, Missing
from quota_advisor.probe.burner import (
    BurnerReport,
    end_child,
    find_burner,
    read_report,
    start_burner,
)
from quota_advisor.probe.measure import calibrate
from quota_advisor.record.watch import Watched, next_due
from quota_advisor.sandbox import Priority, Sandbox, TemporaryCgroup, open_sandbox, shielded
from quota_advisor.sandbox.cgroup import HOST
from quota_advisor.sim.bandwidth import Outcome, Setting, kernel_of, parallelism, simulate
from quota_advisor.sim.sweep import run_all
from quota_advisor.sim.trace import Trace, even
from tools.load_shapes import Shape, shapes

PERIOD_USEC = 100_000
Child = subprocess.Popen[str]

INTERVAL_USEC = 10_000
DAY_WINDOWS = 8_640_000
PHASES = 5
"""Where the period's timer stands is not known: so many places are tried."""

MEDIAN_BAR, WORST_BAR = 0.05, 0.10
"""How far a throttled ratio may be off, in the median and at worst."""


def main() -> int:
    """Print the figures."""
    options = _options()
    print(f"machine: Linux {platform.release()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]}")
    if not options.kernel:
        speed()
    if options.speed:
        return 0
    try:
        with open_sandbox("bench-sim", priority=Priority.HIGH) as sandbox:
            return nearness(sandbox, options)
    except QuotaAdvisorError as error:
        print(f"cannot measure: {error}")
        return 3


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    half = parser.add_mutually_exclusive_group()
    half.add_argument("--speed", action="store_true", help="only how fast it is")
    half.add_argument("--kernel", action="store_true", help="only how near to the kernel")
    parser.add_argument("--shapes", nargs="*", metavar="SHAPE", default=[])
    parser.add_argument("--seconds", type=int, default=30, help="of each run")
    parser.add_argument("--repeats", type=int, default=2, help="of each kernel run")
    return parser.parse_args()


# ---- speed


def speed() -> None:
    """Print what a day costs, for one candidate and forty, and how cost grows."""
    day = _busy(DAY_WINDOWS, 0.3)
    full = even(array("I", [20_000]) * DAY_WINDOWS, 10_000)
    for name, trace in (("30 % busy", day), ("always busy", full)):
        print(f"24 h at 10 ms, 2 CPUs, {name}:")
        for percent in (70, 100, 150):
            took = _seconds_of(lambda: simulate(trace, _setting(percent)))  # noqa: B023
            print(f"    CPUQuota={percent}%: {took:.3f} s on one core")
    settings = [_setting(5 * step) for step in range(1, 41)]
    took = _seconds_of(lambda: run_all(day, settings))
    print(f"40 candidates, 30 % busy: {took:.2f} s on {os.cpu_count()} cores")
    for name, minutes in (("a minute", 1), ("an hour", 60), ("a day", 1440), ("a week", 10080)):
        trace = _busy(minutes * 6_000, 0.3)
        took = _seconds_of(lambda: simulate(trace, _setting(100)))  # noqa: B023
        print(f"{name}: {took * 1e9 / len(trace):.1f} ns a window")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"8 bytes a window; peak of this program {peak:.0f} MiB")


def _busy(windows: int, share: float) -> Trace:
    rng = random.Random(1)  # noqa: S311 - the same trace each time
    hour = min(windows, 360_000)
    block = array("I", [20_000 if rng.random() < share else 0 for _ in range(hour)])
    repeated = block * -(-windows // len(block))
    return even(repeated[:windows], 10_000)


def _setting(percent: int) -> Setting:
    return Setting(limit=_bandwidth(percent), cpus=2)


def _bandwidth(percent: int) -> Bandwidth:
    return Bandwidth(quota_usec=percent * PERIOD_USEC // 100, period_usec=PERIOD_USEC)


def _seconds_of(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


# ---- nearness


@dataclass(frozen=True, slots=True)
class Ran:
    """One run, under the kernel or simulated."""

    ratio: float
    p99_usec: float
    used_usec: float


def nearness(sandbox: Sandbox, options: argparse.Namespace) -> int:
    """Compare each shape's settings; print each, and whether the bars hold."""
    errors: list[float] = []
    failed = 0
    for shape in shapes(options.seconds):
        if options.shapes and shape.name not in options.shapes:
            continue
        recorded = [record(shape, sandbox) for _ in range(options.repeats)]
        traces, free = [trace for trace, _ in recorded], recorded[0][1]
        print(f"{shape.name}: mean {', '.join(f'{t.mean_cores:.3f}' for t in traces)} CPUs")
        for percent, burst_msec in shape.settings:
            limit, burst_usec = _bandwidth(percent), burst_msec * 1_000
            told = predict(traces, limit, burst_usec)
            runs = [run(shape, sandbox, limit, burst_usec, free) for _ in range(options.repeats)]
            line = Comparison(told, runs)
            errors.append(line.ratio_error)
            failed += not line.holds
            burst = f"+{burst_msec} ms" if burst_msec else ""
            print(f"    {percent:4} % {burst:7} {line.text}", flush=True)
    median, worst = statistics.median(errors), max(errors)
    print(f"throttled ratio: off by {median:.3f} in the median, {worst:.3f} at worst")
    is_near = median <= MEDIAN_BAR and worst <= WORST_BAR and not failed
    print(f"{failed} of {len(errors)} settings off in delay or use")
    return 0 if is_near else 1


@dataclass(frozen=True, slots=True)
class Comparison:
    """A prediction beside what the kernel did; medians over phases and over runs are compared."""

    told: Sequence[Ran]
    runs: Sequence[Ran]

    @property
    def ratio_error(self) -> float:
        """By how much the throttled ratio is off."""
        return abs(_median(self.told, "ratio") - _median(self.runs, "ratio"))

    @property
    def holds(self) -> bool:
        """Whether delay and use are near enough: 10 ms or 15 %, and 3 %."""
        late = _median(self.runs, "p99_usec")
        off = abs(_median(self.told, "p99_usec") - late)
        return off <= max(10_000, 0.15 * late) and abs(self._use_off) <= 0.03  # noqa: PLR2004

    @property
    def _use_off(self) -> float:
        return _median(self.told, "used_usec") / _median(self.runs, "used_usec") - 1

    @property
    def text(self) -> str:
        """All of it in one line."""
        ratio, late = "ratio", "p99_usec"
        verdict = "" if self.holds else "  OFF"
        return (
            f"throttled {_median(self.told, ratio):6.1%} told,"
            f" {_median(self.runs, ratio):6.1%} real"
            f" (± {_spread(self.runs, ratio) / 2:.1%});"
            f" p99 {_median(self.told, late) / 1e3:7.1f} told,"
            f" {_median(self.runs, late) / 1e3:7.1f} ms real"
            f" (± {_spread(self.runs, late) / 2e3:.1f});"
            f" use {self._use_off:+.1%}{verdict}"
        )


def _median(runs: Sequence[Ran], name: str) -> float:
    return float(statistics.median(getattr(run, name) for run in runs))


def _spread(runs: Sequence[Ran], name: str) -> float:
    values = [getattr(run, name) for run in runs]
    return float(max(values) - min(values))


def predict(traces: Sequence[Trace], limit: Bandwidth, burst_usec: int) -> list[Ran]:
    """Return what the recordings tell, for some phases of the period's timer each."""
    return [
        _as_ran(simulate(trace, _tried(trace, limit, burst_usec, seed)))
        for trace in traces
        for seed in range(PHASES)
    ]


def _tried(trace: Trace, limit: Bandwidth, burst_usec: int, seed: int) -> Setting:
    return Setting(
        limit=limit,
        burst_usec=burst_usec,
        cpus=min(parallelism(trace), os.cpu_count() or 1),
        kernel=kernel_of(platform.release()),
        seed=seed,
    )


def _as_ran(told: Outcome) -> Ran:
    ratio = told.throttled_ratio
    return Ran(
        ratio=0.0 if isinstance(ratio, Missing) else ratio,
        p99_usec=told.delay.p99_usec,
        used_usec=told.used_usec,
    )


def record(shape: Shape, sandbox: Sandbox) -> tuple[Trace, BurnerReport]:
    """Run a shape without a limit; return what it used, and how late it was even so."""
    elapsed, used = array("I"), array("I")
    with sandbox.group() as group, load(shape, group) as child:
        watched = Watched(HOST, sandbox.hierarchy, group.path, _now_usec())
        with ahead_of_others():
            due = _now_usec()
            while child.poll() is None:
                due = next_due(due, _now_usec(), INTERVAL_USEC)
                time.sleep(max(due - _now_usec(), 0) / 1e6)
                watched.sample(_now_usec())
        for row in watched.rows():
            elapsed.append(row.elapsed_usec)
            used.append(row.used_usec or 0)
        watched.close()
        report = report_of(child)
    first = next(index for index, value in enumerate(used) if value)
    return Trace(elapsed_usec=elapsed[first:], used_usec=used[first:]), report


def run(
    shape: Shape, sandbox: Sandbox, limit: Bandwidth, burst_usec: int, free: BurnerReport
) -> Ran:
    """Run a shape under a limit."""
    with sandbox.group() as group:
        group.set_limit(limit, burst_usec)
        first = group.counters()
        with load(shape, group) as child:
            report = report_of(child)
        last = group.counters()
    periods = _rise(first.nr_periods, last.nr_periods)
    late = (report.lat_p99_ns or 0) - (free.lat_p99_ns or 0)
    return Ran(
        ratio=_rise(first.nr_throttled, last.nr_throttled) / max(periods, 1),
        p99_usec=max(late / 1e3, 0),
        used_usec=_rise(first.usage_usec, last.usage_usec),
    )


@contextmanager
def load(shape: Shape, group: TemporaryCgroup) -> Iterator[Child]:
    """Run a shape in a cgroup; the child is gone afterwards."""
    with shielded() as exposed, tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "trace"
        file.write_text(shape.text, encoding="ascii")
        arguments = ["trace", "--trace", str(file), "--threads", str(shape.threads)]
        arguments += ["--warmup", "0", "--discard", "0", "--drain", "0"]
        # Equal work in every run, so that what the kernel does is all that differs.
        arguments += ["--iterations-per-ms", str(speed_of_machine())]
        child = start_burner(find_burner(), arguments, join=group.join_files, nice=-5)
        try:
            with exposed():
                yield child
        finally:
            end_child(child)


@cache
def speed_of_machine() -> int:
    """Return the steps of work in a millisecond."""
    return calibrate(find_burner())


def report_of(child: Child) -> BurnerReport:
    """Wait for the end of a run and return its report."""
    out, complaint = child.communicate()
    return read_report(child.returncode, out, complaint)


def _rise(first: int | Missing, last: int | Missing) -> int:
    if isinstance(first, Missing) or isinstance(last, Missing):
        raise CollectError("the kernel does not count what is compared")
    return last - first


def _now_usec() -> int:
    return time.monotonic_ns() // 1_000


if __name__ == "__main__":
    sys.exit(main())
