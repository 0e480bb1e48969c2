"""One run: load in a fresh cgroup, the kernel's counters before and after, the machine around."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from quota_advisor.collect.host.node import NodeReading, read_node
from quota_advisor.collect.host.window import count
from quota_advisor.model.cgroup import CounterWindow
from quota_advisor.model.limit import Missing
from quota_advisor.probe.burner import BurnerReport, Tick, run_burner
from quota_advisor.probe.plan import WARMUP_MSEC, Limit, Load, run_sec
from quota_advisor.records import dataclass
from quota_advisor.sandbox import Sandbox
from quota_advisor.sandbox.cgroup import HOST

_BUSY = ("user", "nice", "system", "irq", "softirq")


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineUse:
    """What the whole machine did during a window.

    Attributes:
        elapsed_sec: Length of the window.
        busy_cores: CPUs that were busy, on average.
        stolen_cores: CPUs that a hypervisor gave to somebody else, on average.
    """

    elapsed_sec: float
    busy_cores: float
    stolen_cores: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run and the two accounts of it.

    Attributes:
        limit: What it was held to.
        round: Number of the round, from 1.
        report: The account of the load itself: its own clock, its own CPU time.
        window: The account of the kernel: the cgroup's counters, warm-up included.
        machine: What the whole machine did meanwhile.
    """

    limit: Limit
    round: int
    report: BurnerReport
    window: CounterWindow
    machine: MachineUse | Missing

    @property
    def others_cores(self) -> float | Missing:
        """CPUs that somebody else was busy on, on average."""
        if isinstance(self.machine, Missing):
            return self.machine
        if isinstance(self.window.usage_usec, Missing):
            return self.window.usage_usec
        own = self.window.usage_usec / 1e6 / self.machine.elapsed_sec
        return max(self.machine.busy_cores - own, 0.0)


Measure = Callable[[Limit, int], Run]
"""Run once under a limit; the number is that of the round."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Everything a run needs that is the same in all of them.

    Attributes:
        burner: The program that makes the load.
        sandbox: Where cgroups can be made.
        load: The load.
        duration_sec: Measured time of a run.
        speed: Of this machine, in steps of work a millisecond, so that every run does the same.
        on_tick: Called now and then during a run.
    """

    burner: Path
    sandbox: Sandbox
    load: Load
    duration_sec: float
    speed: int
    on_tick: Tick | None = None

    def run(self, limit: Limit, number: int) -> Run:
        """Run once and return both accounts.

        Raises:
            SandboxError: There is no cgroup, or the kernel refuses the limit.
            BurnerError: The load failed.
        """
        period_usec = limit.bandwidth.period_usec
        planned = run_sec(self.duration_sec, period_usec) + self.load.profile.max_drain_sec
        with self.sandbox.group() as group:
            group.set_limit(limit.bandwidth, limit.burst_usec)
            machine = read_machine()
            first = group.counters()
            report = run_burner(
                self.burner,
                self._arguments(period_usec),
                join=group.join_files,
                planned_sec=planned,
                nice=self.sandbox.priority.nice,
                on_tick=self.on_tick,
            )
            last = group.counters()
            use = machine_use(machine, read_machine())
        return Run(limit=limit, round=number, report=report, window=count(first, last), machine=use)

    def _arguments(self, period_usec: int) -> list[str]:
        return [
            *self.load.profile.arguments(),
            *("--threads", str(self.load.threads)),
            *("--duration", f"{self.duration_sec:g}"),
            *("--warmup", str(WARMUP_MSEC)),
            # Setting a limit fills its pool: the first period is not representative.
            *("--discard", f"{period_usec / 1000:g}"),
            *("--iterations-per-ms", str(self.speed)),
        ]


def calibrate(burner: Path) -> int:
    """Return how many steps of work this machine does in a millisecond of CPU time.

    Raises:
        BurnerError: The program failed.
    """
    short = ["burst", "--threads", "1", "--duration", "0.001", "--interval", "1", "--work", "0.001"]
    brief = [*short, "--warmup", "0", "--discard", "0", "--drain", "100"]
    return run_burner(burner, brief, planned_sec=1).iterations_per_ms


def read_machine() -> NodeReading:
    """Take one reading of what all CPUs did since boot."""
    return read_node(HOST, lambda: time.monotonic_ns() // 1_000)


def machine_use(first: NodeReading, last: NodeReading) -> MachineUse | Missing:
    """Return what the machine did between two readings."""
    before, after = first.cpu_time, last.cpu_time
    if isinstance(before, Missing):
        return before
    if isinstance(after, Missing):
        return after
    elapsed_sec = (last.read_at_usec - first.read_at_usec) / 1e6
    if elapsed_sec <= 0:
        return Missing(reason="no time passed between two readings of /proc/stat")
    per_core = os.sysconf("SC_CLK_TCK") * elapsed_sec
    busy = sum(max(after[name] - before[name], 0) for name in _BUSY)
    stolen = max(after["steal"] - before["steal"], 0)
    return MachineUse(
        elapsed_sec=elapsed_sec, busy_cores=busy / per_core, stolen_cores=stolen / per_core
    )
