"""The first measurement of cpu.max, made again on this machine, and a check of its shape.

Three quotas × five rounds × ten seconds of two threads that never sleep, in the machine's own
cgroup hierarchy. Absolute numbers are not portable; the shape is. The load goes before everything
else on the machine unless --priority says otherwise: a quota is to be measured, not the crowd. What
others do is seen all the same, and a check that does not hold then is not judged. Writes a block of
Markdown for docs/benchmarks.md to standard output. Exit code 1 when a check fails, 3 when nothing
was measured or a check cannot be judged.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from quota_advisor.errors import QuotaAdvisorError
from quota_advisor.model.limit import Missing
from quota_advisor.probe import Asked, Priority, Result, check_machine, make_order, probe
from quota_advisor.probe.report.table import headline

TIERS = (0.5, 1.0, 2.0)
THREADS = 2
_PRIORITIES = {
    Priority.LOW: " (everything else on the machine went first)",
    Priority.NORMAL: "",
    Priority.HIGH: " (the load went before everything else on the machine)",
}
LAST_PERIOD = 1
"""The period in which the load ends is counted, and need not be throttled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One property of the shape.

    Attributes:
        what: What must hold.
        measured: What was measured.
        holds: Whether it does.
    """

    what: str
    measured: str
    holds: bool


def main() -> int:
    """Measure, print the block, and tell by the exit code whether the shape is right."""
    options = _parse()
    try:
        result = _measure(options)
    except QuotaAdvisorError as error:
        print(f"bench-probe: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    checks = list(shape(result))
    print(markdown(result, checks))
    return exit_code(result, checks)


def exit_code(result: Result, checks: list[Check]) -> int:
    """Return 0 when every check holds; else whether that is a failure or cannot be told."""
    failed = sum(not check.holds for check in checks)
    if not failed:
        return 0
    if not result.doubts:
        return 1
    print(
        f"bench-probe: {failed} of {len(checks)} checks do not hold, and are not judged: something"
        " else was measured too (see Doubtful)",
        file=sys.stderr,
    )
    return QuotaAdvisorError.exit_code


def verdict(check: Check, result: Result) -> str:
    """Return what to say of a check. What holds beside other load holds without it."""
    if check.holds:
        return "holds"
    return "not judged" if result.doubts else "**fails**"


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--duration", type=float, default=10.0, metavar="SECONDS")
    parser.add_argument("--priority", choices=[p.value for p in Priority], default="high")
    parser.add_argument("--force", action="store_true", help="however busy the machine is")
    return parser.parse_args()


def _measure(options: argparse.Namespace) -> Result:
    order = make_order(
        Asked(tiers=",".join(f"{tier:g}" for tier in TIERS), threads=THREADS),
        rounds=options.rounds,
        duration_sec=options.duration,
        priority=Priority(options.priority),
        max_load_ratio=None if options.force else 0.5,
    )
    check_machine(order)
    return probe(order, _show_progress if sys.stderr.isatty() else None)


def _show_progress(text: str) -> None:
    print(text, end="", file=sys.stderr, flush=True)


def shape(result: Result) -> Iterator[Check]:
    """Yield every property that the field report's figures have on any machine."""
    yield from (_all_throttled(result, tier) for tier in TIERS[:2])
    rate = [_median(result, tier, "throughput_req_per_sec") for tier in TIERS]
    yield _check("twice the requests at 1 core, ± 10 %", rate[1] / rate[0], 1.8, 2.2)
    yield _check("four times the requests at 2 cores, ± 15 %", rate[2] / rate[0], 3.4, 4.6)
    p50 = [_median(result, tier, "lat_p50_ns") for tier in TIERS]
    yield _check("P50 the same in all tiers, ± 15 %", max(p50) / min(p50), 1.0, 1.15)
    p99 = [_median(result, tier, "lat_p99_ns") / 1e6 for tier in TIERS]
    yield _check("P99 at 0.5 cores above 60 ms", p99[0], 60, 1e9, " ms")
    yield _check("P99 at 2 cores below 5 ms", p99[2], 0, 5, " ms")
    p999 = _median(result, 1.0, "lat_p999_ns") / 1e6
    yield _check("P99.9 at 1 core above 30 ms", p999, 30, 1e9, " ms")
    for tier in TIERS:
        used = _median(result, tier, "usage_usec") / _median(result, tier, "wall_usec") / tier
        yield _check(f"use at {tier:g} of quota × time, ± 3 %", used, 0.97, 1.03)
    stalled = _median(result, 2.0, "throttled_usec") / _median(result, 2.0, "wall_usec")
    yield _check("throttled at 2 cores for less than 1 % of the time", stalled * 100, 0, 1, " %")


def _all_throttled(result: Result, tier: float) -> Check:
    throttled, periods = (_median(result, tier, n) for n in ("nr_throttled", "nr_periods"))
    return Check(
        what=f"every period throttled at {tier:g} core{'' if tier == 1 else 's'}",
        measured=f"{throttled:g} of {periods:g} (median)",
        holds=periods - LAST_PERIOD <= throttled <= periods,
    )


def _check(what: str, value: float, low: float, high: float, unit: str = "") -> Check:
    return Check(what=what, measured=f"{value:.3g}{unit}", holds=low <= value <= high)


def _median(result: Result, tier_cores: float, name: str) -> float:
    tier = next(tier for tier in result.tiers if tier.limit.tier_cores == tier_cores)
    figure = tier.figures[name]
    if isinstance(figure, Missing):
        raise QuotaAdvisorError(f"{name} at {tier_cores:g} cores: {figure.reason}")
    return figure.median


def markdown(result: Result, checks: list[Check]) -> str:
    """Return the block for docs/benchmarks.md."""
    heads = [f"{tier:g} core{'' if tier == 1 else 's'}" for tier in TIERS]
    lines = [
        f"{headline(result)}; priority {result.priority}{_PRIORITIES[result.priority]}.",
        "",
        f"| median | {' | '.join(heads)} |",
        f"|---|{'---:|' * len(TIERS)}",
        *(f"| {name} | {' | '.join(cells)} |" for name, cells in _rows(result)),
        "",
        "| the shape | measured | |",
        "|---|---:|---|",
        *(f"| {c.what} | {c.measured} | {verdict(c, result)} |" for c in checks),
        *("" for _ in result.doubts[:1]),
        *(f"Doubtful: {doubt}." for doubt in result.doubts),
    ]
    return "\n".join(lines)


def _rows(result: Result) -> Iterator[tuple[str, list[str]]]:
    def row(name: str, scale: float, places: int) -> list[str]:
        return [f"{_median(result, tier, name) / scale:.{places}f}" for tier in TIERS]

    yield "requests/s", row("throughput_req_per_sec", 1, 2)
    for name in ("p50", "p95", "p99", "p999", "max"):
        yield f"{name.upper()} ms" if name != "max" else "max ms", row(f"lat_{name}_ns", 1e6, 2)
    counts = zip(row("nr_throttled", 1, 0), row("nr_periods", 1, 0), strict=True)
    yield "periods throttled", [f"{throttled} of {periods}" for throttled, periods in counts]
    yield "throttled s, all CPUs", row("throttled_usec", 1e6, 3)
    yield "CPU time used s", row("usage_usec", 1e6, 2)


if __name__ == "__main__":
    sys.exit(main())
