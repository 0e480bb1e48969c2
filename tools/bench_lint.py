#!/usr/bin/env python3
"""Measure lint against the YAML parser alone, on the trees that ``lint_tree.py`` writes.

The yardstick is PyYAML's C parser composing every document of a tree in one process, measured
inside that process; lint is measured from outside, with the start of the program. Rounds are
interleaved, and ratios are made of medians, so that a busy machine disturbs both alike.
"""

from __future__ import annotations

import argparse
import os
import platform
import runpy
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

GENERATOR = runpy.run_path(str(Path(__file__).with_name("lint_tree.py")))
SHAPES: tuple[str, ...] = GENERATOR["SHAPES"]
write_tree: Callable[..., None] = GENERATOR["write_tree"]

YARDSTICK = """
import sys, time
from pathlib import Path
import yaml
files = sorted(Path(sys.argv[1]).rglob("*.yaml"))
start = time.perf_counter()
for file in files:
    for document in yaml.compose_all(file.read_bytes(), Loader=yaml.CSafeLoader):
        pass
print(time.perf_counter() - start)
"""
READING = """
import sys, time
from pathlib import Path
from quota_advisor.documents.reader import read_manifest
files = sorted(Path(sys.argv[1]).rglob("*.yaml"))
start = time.perf_counter()
for file in files:
    for document in read_manifest(str(file), file.read_bytes()):
        pass
print(time.perf_counter() - start)
"""
LINT = ("-m", "quota_advisor", "lint", "--fail-on", "never")
FORMATS = ("table", "json", "sarif", "junit", "markdown", "github")
POLL_SEC = 0.01
MIB = 1 << 20


def inside_sec(program: str, tree: Path) -> float:
    """Run a program that prints how long it took."""
    command = [sys.executable, "-c", program, str(tree)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)  # noqa: S603


def lint_command(tree: Path, jobs: int, form: str) -> list[str]:
    """Return what lints a tree."""
    return [sys.executable, *LINT, "--format", form, "--jobs", str(jobs), str(tree)]


def lint_sec(tree: Path, jobs: int, form: str = "table") -> float:
    """Return the time of a whole lint run, start of the program included."""
    start = time.perf_counter()
    command = lint_command(tree, jobs, form)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603
    return time.perf_counter() - start


def lint_peak_bytes(tree: Path, jobs: int, form: str = "table") -> int:
    """Return the most memory that all processes of a lint run held together.

    Pages that they share are counted once.
    """
    command = lint_command(tree, jobs, form)
    peak = 0
    with subprocess.Popen(  # noqa: S603
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        while process.poll() is None:
            peak = max(peak, sum(map(_held_bytes, _process_tree(process.pid))))
            time.sleep(POLL_SEC)
    return peak


def _process_tree(pid: int) -> list[int]:
    """Return a process and everything it started."""
    found = [pid]
    for member in found:
        try:
            text = Path(f"/proc/{member}/task/{member}/children").read_text(encoding="ascii")
        except OSError:
            continue
        found += [int(word) for word in text.split()]
    return found


def _held_bytes(pid: int) -> int:
    """Return the proportional set size of a process; nothing once it has ended."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in text.splitlines() if line[:4] == "Pss:")


def interleaved(rounds: int, runs: Mapping[str, Callable[[], float]]) -> dict[str, float]:
    """Return the median of each run, all of them taken in turns."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            times[name].append(run())
    return {name: statistics.median(values) for name, values in times.items()}


def against_yardstick(directory: Path, rounds: int) -> None:
    """Print what reading and linting cost on both trees."""
    for shape in SHAPES:
        tree = directory / shape
        write_tree(tree, shape, 10_000)
        size = sum(path.stat().st_size for path in tree.rglob("*.yaml"))
        found = interleaved(
            rounds,
            {
                "yardstick": partial(inside_sec, YARDSTICK, tree),
                "reading alone": partial(inside_sec, READING, tree),
                "lint, 1 process": partial(lint_sec, tree, 1),
                **{f"{form}, 2 processes": partial(lint_sec, tree, 2, form) for form in FORMATS},
            },
        )
        print(f"\n{shape}: 10 000 documents, {size / 1e6:.1f} MB")
        for name, seconds in found.items():
            print(f"  {name:<21} {seconds:6.3f} s  {seconds / found['yardstick']:5.2f} ×", end="")
            is_format = name.endswith("2 processes")
            table = found["table, 2 processes"]
            print(f"  {seconds / table:5.2f} × the table" if is_format else "")
        for form in FORMATS[:2]:
            peak = lint_peak_bytes(tree, 2, form) / MIB
            print(f"  {f'peak memory, {form}':<21} {peak:6.0f} MiB, 2 processes")


def linear(directory: Path, counts: Sequence[int]) -> None:
    """Print the cost of a document in trees of several sizes."""
    print("\nmixed, 2 processes")
    for count in counts:
        tree = directory / f"mixed-{count}"
        write_tree(tree, "mixed", count)
        seconds = min(lint_sec(tree, 2) for _ in range(3))
        peak = lint_peak_bytes(tree, 2) / MIB
        each = seconds / count * 1e6
        print(f"  {count:>7} documents  {seconds:7.3f} s  {each:6.0f} µs each  {peak:5.0f} MiB")


def one_or_many(directory: Path, rounds: int) -> None:
    """Print what it matters how documents are spread over files."""
    print("\n10 000 workloads, 2 processes")
    trees = {"1 file": 10_000, "10 000 files": 1}
    for name, per_file in trees.items():
        write_tree(directory / name, "workloads", 10_000, per_file)
    found = interleaved(rounds, {name: partial(lint_sec, directory / name, 2) for name in trees})
    for name, seconds in found.items():
        peak = lint_peak_bytes(directory / name, 2) / MIB
        print(f"  {name:<18} {seconds:6.3f} s  {peak:5.0f} MiB")


def one_small_file(directory: Path, rounds: int) -> None:
    """Print what one file takes beyond an empty interpreter."""
    write_tree(directory / "small", "workloads", 1, 1)
    lint = partial(lint_sec, directory / "small", 2)
    runs: dict[str, Callable[[], float]] = {"empty": _empty_sec, "lint": lint}
    found = interleaved(3 * rounds, runs)
    beyond_ms = (found["lint"] - found["empty"]) * 1000
    print(f"\none small file: {beyond_ms:.0f} ms beyond an empty interpreter")


def _empty_sec() -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return time.perf_counter() - start


def main() -> None:
    """Print every figure."""
    # An installed program is compiled; where this is set, a checkout would be compiled each time.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--largest", type=int, default=100_000, help="documents of the last tree")
    arguments = parser.parse_args()
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}")
    with tempfile.TemporaryDirectory(prefix="bench-lint-") as name:
        directory = Path(name)
        against_yardstick(directory, arguments.rounds)
        one_small_file(directory, arguments.rounds)
        one_or_many(directory, arguments.rounds)
        counts = [count for count in (1_000, 10_000, 100_000) if count <= arguments.largest]
        linear(directory, counts)


if __name__ == "__main__":
    main()
