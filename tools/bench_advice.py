"""Follow the advice of `audit host` on ten shapes of load, and see whether it holds.

Needs root: each shape runs in a temporary cgroup under half of the smallest quota that is known
to hold for it. The host is audited, what was advised is set, and the load runs again, three rounds
at most. A shape passes when no finding above info is left and the last quota is no smaller than the
one that holds. `--shapes` selects by name.

The smallest quotas (less than 1 % of periods throttled, 2 CPUs) were measured once, on a quiet
machine with kernel 6.18; on a busy one the load is later and the ratios are worse.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from quota_advisor.audit.host import audit_host
from quota_advisor.errors import QuotaAdvisorError
from quota_advisor.model.advice import Advice, Decision
from quota_advisor.model.finding import Severity
from quota_advisor.model.limit import Bandwidth
from quota_advisor.model.report import Report
from quota_advisor.probe.burner import end_child, find_burner, start_burner
from quota_advisor.rulebook.chosen import Rulebook, load_rulebook
from quota_advisor.sandbox import Priority, Sandbox, TemporaryCgroup, open_sandbox, shielded

ROUNDS = 3
SETTLE_SEC = 1.0
"""The burner calibrates before it joins the cgroup, and the first period is not like the others."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A load.

    Attributes:
        name: Threads × milliseconds of work / interval.
        smallest_percent: The smallest quota that is known to hold for it.
        arguments: Of the burner.
        trace: Demand to replay, for mode ``trace``.
    """

    name: str
    smallest_percent: int
    arguments: tuple[str, ...]
    trace: str = ""


def burst(name: str, smallest: int, threads: int, work: int, every: int, *more: str) -> Shape:
    """Return a load of equal bursts."""
    size = ("--threads", str(threads), "--work", str(work), "--interval", str(every))
    return Shape(name, smallest, ("burst", *size, *more))


ON_AND_OFF = "interval_usec 50000\n" + "60000\n" * 40 + "0\n" * 160

SHAPES = (
    burst("4x40/410", 160, 4, 40, 410),
    burst("8x10/253", 85, 8, 10, 253),
    burst("2x1000/5030", 200, 2, 1000, 5030),
    burst("2x60/3030", 115, 2, 60, 3030),
    burst("40x2/97", 95, 40, 2, 97),
    burst("40x2/97-spread", 85, 40, 2, 97, "--jitter", "48", "--jitter-per-thread"),
    burst("1x30/97", 35, 1, 30, 97),
    Shape("4x15/50-on-off", 125, ("trace", "--threads", "4"), ON_AND_OFF),
    burst("3x12/120-random", 55, 3, 12, 120, "--jitter", "60", "--jitter-per-thread"),
    burst("2x90/1510", 180, 2, 90, 1510),
)


@dataclass(frozen=True, slots=True)
class Round:
    """What one audit said.

    Attributes:
        percent: The quota that was in force.
        advice: What was decided.
        loud: Rules with findings above info.
    """

    percent: int
    advice: Advice
    loud: tuple[str, ...]

    @property
    def text(self) -> str:
        """The round in one line."""
        said = self.advice.decision.value
        quota = self.advice.quota
        if quota is not None:
            said += f" to {'at least ' if quota.lower_bound else ''}{quota.percent} %"
        return f"{self.percent} %: {said}" + (f" [{', '.join(self.loud)}]" if self.loud else "")


def main() -> int:
    """Run the shapes and print what was advised."""
    options = _options()
    chosen = [shape for shape in SHAPES if not options.shapes or shape.name in options.shapes]
    print(f"machine: Linux {platform.release()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]}")
    try:
        with open_sandbox("bench-advice", priority=Priority.HIGH) as sandbox:
            passed = [_judge(shape, sandbox, options.window) for shape in chosen]
    except QuotaAdvisorError as error:
        print(f"cannot measure: {error}")
        return 3
    print(f"{sum(passed)} of {len(chosen)} shapes: the advice holds, and nothing is left to say")
    return 0 if all(passed) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shapes", nargs="*", choices=[s.name for s in SHAPES], metavar="SHAPE")
    parser.add_argument("--window", type=float, default=15.0, help="seconds of each audit")
    return parser.parse_args()


def _judge(shape: Shape, sandbox: Sandbox, window_sec: float) -> bool:
    """Follow the advice about one shape; print each round, and whether it held."""
    rounds = list(_rounds(shape, sandbox, window_sec))
    last = rounds[-1]
    ratio = last.percent / shape.smallest_percent
    quiet, holds = not last.loud, ratio >= 1
    verdict = "holds" if quiet and holds else "below the smallest" if quiet else "not quiet"
    print(f"{shape.name:16} {last.percent:4} / {shape.smallest_percent} % = {ratio:.2f}  {verdict}")
    for number, seen in enumerate(rounds):
        print(f"    {number}. {seen.text}", flush=True)
    return quiet and holds


def _rounds(shape: Shape, sandbox: Sandbox, window_sec: float) -> Iterator[Round]:
    """Yield the audits, the first under a quota that hurts."""
    percent = max(shape.smallest_percent // 2 // 5 * 5, 5)
    rulebook = load_rulebook()
    for _ in range(ROUNDS + 1):
        with sandbox.group() as group, _load(shape, group, percent, window_sec):
            seen = _audit(group, percent, window_sec, rulebook)
        yield seen
        if seen.advice.decision is Decision.REMOVE:
            percent = 100 * (os.cpu_count() or 1)
        elif seen.advice.quota is not None:
            percent = seen.advice.quota.percent
        if percent == seen.percent:
            return


@contextmanager
def _load(shape: Shape, group: TemporaryCgroup, percent: int, sec: float) -> Iterator[None]:
    group.set_limit(Bandwidth(quota_usec=percent * 1000, period_usec=100_000))
    with shielded() as exposed, tempfile.TemporaryDirectory() as directory:
        arguments = [*shape.arguments, "--duration", str(sec + 5 * SETTLE_SEC), "--drain", "0"]
        if shape.trace:
            file = Path(directory) / "trace"
            file.write_text(shape.trace, encoding="ascii")
            arguments += ["--trace", str(file)]
        child: subprocess.Popen[str] = start_burner(find_burner(), arguments, join=group.join_files)
        try:
            with exposed():
                time.sleep(SETTLE_SEC)
                yield
        finally:
            end_child(child)


def _audit(group: TemporaryCgroup, percent: int, sec: float, rulebook: Rulebook) -> Round:
    report: Report = audit_host(window_sec=sec, rulebook=rulebook)
    advice = next(a for subject, a in report.advice.items() if subject.cgroup == group.path)
    loud = {
        finding.rule
        for finding in report.results.findings
        if finding.subject.cgroup == group.path and finding.severity.rank > Severity.INFO.rank
    }
    if not isinstance(advice, Advice):
        raise QuotaAdvisorError(f"nothing was decided about {group.path}")
    return Round(percent, advice, tuple(sorted(loud)))


if __name__ == "__main__":
    sys.exit(main())
