"""Runs and results as if they had been measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from quota_advisor.model.cgroup import Basis, CounterWindow
from quota_advisor.model.limit import Missing
from quota_advisor.probe.burner import BurnerReport
from quota_advisor.probe.measure import MachineUse, Run
from quota_advisor.probe.order import Asked, Order, make_order
from quota_advisor.probe.plan import Timing, fit, limit_of
from quota_advisor.probe.profile import find_profile
from quota_advisor.probe.result import Node, Result
from quota_advisor.sandbox import Priority

NOT_REPORTED = Missing(reason="not reported in this test")

MakeRun = Callable[..., Run]
MakeResult = Callable[..., Result]


def report(**changes: object) -> BurnerReport:
    """Return the load's account of two threads that had half a core for ten seconds."""
    values: dict[str, object] = {
        "schema": "quota-burner/1",
        "version": "1.0",
        "mode": "saturate",
        "threads": 2,
        "interrupted": False,
        "requests": 10_425,
        "requests_unfinished": 0,
        "throughput_req_per_sec": 1042.55,
        "lat_samples": 10_425,
        "lat_p50_ns": 490_000,
        "lat_p90_ns": 495_000,
        "lat_p95_ns": 500_000,
        "lat_p99_ns": 76_490_000,
        "lat_p999_ns": 78_950_000,
        "lat_max_ns": 82_100_000,
        "lat_error_ratio": 0.002,
        "measured_ns": 10_000_000_000,
        "measured_cpu_ns": 5_000_000_000,
        "wall_ns": 10_000_000_000,
        "cpu_user_usec": 5_040_000,
        "cpu_system_usec": 10_000,
        "iterations_per_ms": 400_000,
        "overhead_per_request_ns": 26.0,
    }
    return BurnerReport.model_validate(values | changes)


def window(**changes: object) -> CounterWindow:
    """Return the kernel's account of the same."""
    values: dict[str, object] = {
        "basis": Basis.WINDOW,
        "elapsed_usec": 10_050_000,
        "usage_usec": 5_050_000,
        "periods": 101,
        "throttled_periods": 101,
        "throttled_usec": 14_940_000,
        "burst_periods": 0,
        "burst_usec": 0,
        "local_throttled_usec": 14_940_000,
        "pressure_some_usec": NOT_REPORTED,
        "pressure_full_usec": NOT_REPORTED,
    }
    return CounterWindow(**(values | changes))  # type: ignore[arg-type]


def make(asked: Asked, cpus: int = 2, rounds: int = 5) -> Order:
    """Return an order of ten-second runs on a node with two CPUs."""
    return make_order(
        asked,
        rounds=rounds,
        duration_sec=10,
        priority=Priority.NORMAL,
        max_load_ratio=0.5,
        cpus=cpus,
    )


def order(*, cpus: int = 2, rounds: int = 5, **asked: str) -> Order:
    """Return the same from what was typed."""
    return make(Asked(**asked), cpus, rounds)  # type: ignore[arg-type]


@pytest.fixture
def make_run() -> MakeRun:
    """Return a maker of runs: fields of the report, and of the window with ``kernel_`` before."""

    def make(tier_cores: float = 0.5, round_number: int = 1, **changes: object) -> Run:
        kernel = {k[7:]: v for k, v in changes.items() if k.startswith("kernel_")}
        own = {k: v for k, v in changes.items() if not k.startswith(("kernel_", "machine"))}
        machine = MachineUse(elapsed_sec=10.1, busy_cores=0.5, stolen_cores=0.0)
        return Run(
            limit=limit_of(tier_cores),
            round=round_number,
            report=report(**own),
            window=window(**kernel),
            machine=changes.get("machine", machine),  # type: ignore[arg-type]
        )

    return make


@pytest.fixture
def make_result(make_run: MakeRun) -> MakeResult:
    """Return a maker of results from runs; three tiers of one round by default."""

    def make(runs: Sequence[Run] | None = None, **changes: object) -> Result:
        result = Result(
            version="1.0",
            node=Node(hostname="box", kernel_release="6.12", cpus=2, cgroups="cgroup v2"),
            load=fit(find_profile("saturate"), 2),
            timing=Timing(rounds=1, duration_sec=10),
            priority=Priority.NORMAL,
            runs=tuple(runs or [make_run(tier) for tier in (0.5, 1, 2)]),
            notes=(),
            doubts=(),
        )
        return replace(result, **changes)  # type: ignore[arg-type]

    return make
