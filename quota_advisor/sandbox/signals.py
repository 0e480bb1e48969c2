"""Ctrl-C, SIGTERM and SIGHUP, and the moments in which they have to wait.

A cgroup that was made and not yet noted, or a child that was started and not yet waited for,
would be left behind if an exception struck just then. Such moments are shielded: the kernel holds
the signals back until they are over.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType
from typing import NoReturn

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that ask for an end. SIGKILL asks nobody: the next run cleans up after it."""


@contextmanager
def shielded() -> Iterator[Callable[[], AbstractContextManager[None]]]:
    """Hold the ending signals back.

    Yields:
        A function whose context lets them in again, for the long part in the middle:
        ``with shielded() as exposed: make(); try: with exposed(): use() finally: remove()``.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())

    @contextmanager
    def exposed() -> Iterator[None]:
        # Both calls may raise what a signal handler raises; the mask is set before they do.
        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)

    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        yield exposed
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into an exception, as Python does with SIGINT.

    The program then unwinds and ends with 128 plus the number of the signal. SIGHUP that is
    ignored, as under ``nohup``, stays ignored.
    """
    caught = [
        number
        for number in (signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is signal.SIG_DFL
    ]
    before = {number: signal.signal(number, _end) for number in caught}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)
