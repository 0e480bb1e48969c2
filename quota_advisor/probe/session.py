"""A whole probe, from the search for a cgroup to the finished result."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Sequence

import quota_advisor
from quota_advisor.model.limit import DEFAULT_PERIOD_USEC
from quota_advisor.probe.burner import Tick, find_burner
from quota_advisor.probe.guard import doubts, refuse_when_busy
from quota_advisor.probe.measure import Bench, Measure, Run, calibrate
from quota_advisor.probe.order import Order, available_cpus
from quota_advisor.probe.plan import Limit
from quota_advisor.probe.progress import Progress
from quota_advisor.probe.result import Node, Result
from quota_advisor.probe.slo import Answer, Search
from quota_advisor.sandbox import Sandbox, open_sandbox
from quota_advisor.units import format_cores

PURPOSE = "probe"
"""What the names of our cgroups say that they are for."""

FEW_SAMPLES = 1_000
"""With fewer requests in a run, its 99.9th percentile is its maximum."""

_OnRun = Callable[[Limit, int], Tick | None]
"""Called before each run with its limit and round; returns what to call during it."""


def machine_cpus() -> int:
    """Return how many CPUs the machine has, whether ours to run on or not."""
    return os.cpu_count() or available_cpus()


def check_machine(order: Order) -> None:
    """See to it that this machine can be measured, before anybody is asked to wait.

    Raises:
        BurnerError: The program that makes the load is missing.
        SandboxError: There is no cgroup to measure in.
        BusyError: The machine has something else to do.
    """
    find_burner()
    with open_sandbox(PURPOSE) as sandbox, sandbox.group():
        pass
    if order.max_load_ratio is not None:
        refuse_when_busy(machine_cpus(), order.max_load_ratio)


def probe(order: Order, show: Callable[[str], None] | None = None) -> Result:
    """Run everything and return the result.

    Whatever happens meanwhile, no load and no cgroup remains; see :func:`open_sandbox` for what
    signals do.

    Args:
        order: What is to be probed; :func:`check_machine` tells beforehand whether it can be.
        show: Writes text to a terminal, where a line tells how far it is; None for silence.

    Raises:
        BurnerError: The load failed.
        SandboxError: There is no cgroup to measure in, or it does not take a limit.
    """
    if show is None:
        return _probe(order, lambda _limit, _number: None)
    progress = Progress(order, show)
    try:
        return _probe(order, progress.on_run)
    finally:
        progress.end()


def _probe(order: Order, on_run: _OnRun) -> Result:
    burner = find_burner()
    with open_sandbox(PURPOSE, order.priority) as sandbox:
        speed = calibrate(burner)
        runs: list[Run] = []

        def measure(limit: Limit, number: int) -> Run:
            bench = Bench(
                burner=burner,
                sandbox=sandbox,
                load=order.load,
                duration_sec=order.timing.duration_sec,
                speed=speed,
                on_tick=on_run(limit, number),
            )
            runs.append(bench.run(limit, number))
            return runs[-1]

        answer = _work(order, measure)
        speeds = (speed, calibrate(burner))
        return _result(order, sandbox, runs, speeds, answer)


def in_rounds(measure: Measure, limits: Sequence[Limit], rounds: int) -> None:
    """Measure every limit in every round: what changes over time then meets all of them alike."""
    for number in range(1, rounds + 1):
        for limit in limits:
            measure(limit, number)


def _work(order: Order, measure: Measure) -> Answer | None:
    rounds = order.timing.rounds
    if order.goal is None:
        in_rounds(measure, order.limits, rounds)
        return None
    return Search(measure, order.goal.target, order.goal.knob, order.limits, rounds).run()


def _result(
    order: Order,
    sandbox: Sandbox,
    runs: Sequence[Run],
    speeds: Sequence[int],
    answer: Answer | None,
) -> Result:
    return Result(
        version=quota_advisor.__version__,
        node=_node(order.load.cpus, sandbox),
        load=order.load,
        timing=order.timing,
        priority=order.priority,
        runs=tuple(runs),
        notes=tuple(_notes(order, sandbox, runs)),
        doubts=tuple(doubts(runs, machine_cpus(), speeds)),
        answer=answer,
    )


def _node(cpus: int, sandbox: Sandbox) -> Node:
    care = "" if sandbox.path == "/" else ", scope of systemd"
    return Node(
        hostname=socket.gethostname(),
        kernel_release=os.uname().release,
        cpus=cpus,
        cgroups=f"cgroup v{sandbox.hierarchy.version}{care}",
    )


def _notes(order: Order, sandbox: Sandbox, runs: Sequence[Run]) -> Iterator[str]:
    """Yield what a reader of the figures should know."""
    if order.load.fitted:
        yield order.load.fitted
    above = sandbox.ancestor_limit
    widest = max(limit.bandwidth.cores for limit in order.limits)
    if above is not None and widest > above[1].cores:
        yield (
            f"{above[0]} above the measured cgroup has a limit of {format_cores(above[1].cores)}:"
            " tiers beyond it measure that one"
        )
    limits = [run.limit for run in runs]
    if any(limit.bandwidth.period_usec != DEFAULT_PERIOD_USEC for limit in limits):
        yield (
            "in Kubernetes the period is set for a whole node: cpuCFSQuotaPeriod of the kubelet,"
            " with its feature gate CustomCPUCFSQuotaPeriod"
        )
    if any(limit.burst_usec for limit in limits):
        yield (
            "systemd, Kubernetes and compose have no key for burst: it is written to"
            f" {sandbox.burst_file} of the cgroup"
        )
    fewest = min(run.report.lat_samples for run in runs)
    if fewest < FEW_SAMPLES:
        names = "p99.9" if fewest >= FEW_SAMPLES // 10 else "p99, as p99.9,"
        yield f"a run has {fewest} requests: {names} is the slowest of them"
    if sandbox.orphans:
        yield (
            f"cgroups of killed runs hold processes that are not ours, and stay:"
            f" {', '.join(map(str, sandbox.orphans))}"
        )
