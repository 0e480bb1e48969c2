"""Shapes of load for the burner's trace mode, the same ones each time."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass

STEP_USEC = 1_000
"""Length of an interval: a request is due at the beginning of one."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A load whose requests are due at fixed times.

    Attributes:
        name: For people.
        threads: Threads that share each request.
        work_usec: CPU work that is due in each step, over all threads.
        settings: What to try: quota in percent of a CPU, and burst in milliseconds.
    """

    name: str
    threads: int
    work_usec: tuple[int, ...]
    settings: tuple[tuple[int, int], ...]

    @property
    def text(self) -> str:
        """The load as the burner reads it."""
        return f"interval_usec {STEP_USEC}\n" + "\n".join(map(str, self.work_usec)) + "\n"

    @property
    def mean_cores(self) -> float:
        """CPU time that is asked for."""
        return sum(self.work_usec) / (len(self.work_usec) * STEP_USEC)


def shapes(seconds: int) -> tuple[Shape, ...]:
    """Return the five shapes, each of a length."""
    steps = seconds * 1_000_000 // STEP_USEC

    def shape(
        name: str, threads: int, load: Iterator[int], settings: tuple[tuple[int, int], ...]
    ) -> Shape:
        return Shape(name, threads, tuple(itertools.islice(load, steps)), settings)

    return (
        shape("steady", 1, _steady(), ((32, 0), (35, 0), (45, 0), (60, 0), (35, 20))),
        shape("periodic", 2, _periodic(), ((25, 0), (35, 0), (45, 0), (55, 0), (25, 20))),
        shape("poisson", 2, _poisson(), ((35, 0), (40, 0), (50, 0), (70, 0), (40, 30))),
        shape("on-off", 2, _on_off(), ((60, 0), (90, 0), (110, 0), (130, 0), (90, 50))),
        shape("micro-burst", 2, _micro_burst(), ((25, 0), (33, 0), (50, 0), (60, 0), (30, 20))),
    )


def _steady() -> Iterator[int]:
    """Yield 3 ms of one thread every 10 ms."""
    while True:
        yield 3_000
        yield from [0] * 9


def _periodic() -> Iterator[int]:
    """Yield 60 requests of 0.5 ms on two threads every 150 ms ± 60 %, one pair a step of 1 ms."""
    rng = random.Random(1)  # noqa: S311 - the same load each time
    while True:
        gap = round(rng.uniform(60, 240)) - 30
        yield from [1_000] * 30
        yield from [0] * gap


def _poisson() -> Iterator[int]:
    """Yield requests of 2 × 1 ms at random, 150 a second."""
    rng = random.Random(2)  # noqa: S311 - the same load each time
    due = rng.expovariate(0.15)
    for step in itertools.count():
        count = 0
        while due < step + 1:
            count += 1
            due += rng.expovariate(0.15)
        yield count * 2_000


def _on_off() -> Iterator[int]:
    """Yield two seconds at 1.2 CPUs, three of rest."""
    while True:
        for _ in range(200):
            yield 12_000
            yield from [0] * 9
        yield from [0] * 3_000


def _micro_burst() -> Iterator[int]:
    """Yield work of two threads, 20 ms each at once, every 190 to 260 ms."""
    rng = random.Random(3)  # noqa: S311 - the same load each time
    while True:
        yield 40_000
        yield from [0] * rng.randrange(190, 260)
