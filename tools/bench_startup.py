"""Measure how much longer than an empty interpreter the program takes to start."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

ROUNDS = 15
COMMANDS = {
    "--version": ("-m", "quota_advisor", "--version"),
    "--help": ("-m", "quota_advisor", "--help"),
    "explain": ("-m", "quota_advisor", "explain", "throttled-often"),
}


def main() -> None:
    """Print the median time of each command beyond that of ``python -c pass``."""
    # An installed program is compiled; where this is set, a checkout would be compiled each time.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}")
    for name, beyond_ms in measure().items():
        print(f"{name:<12} {beyond_ms:6.1f} ms beyond an empty interpreter")


def measure(rounds: int = ROUNDS) -> dict[str, float]:
    """Return the extra milliseconds of each command, medians of interleaved rounds."""
    times: dict[str, list[float]] = {name: [] for name in ("empty", *COMMANDS)}
    for _ in range(rounds):
        times["empty"].append(_run_ms(("-c", "pass")))
        for name, arguments in COMMANDS.items():
            times[name].append(_run_ms(arguments))
    empty = statistics.median(times.pop("empty"))
    return {name: statistics.median(values) - empty for name, values in times.items()}


def _run_ms(arguments: Sequence[str]) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)  # noqa: S603
    return (time.perf_counter() - start) * 1000


if __name__ == "__main__":
    main()
