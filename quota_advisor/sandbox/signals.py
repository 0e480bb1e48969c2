"""Ctrl-C, SIGTERM and SIGHUP, and the moments in which they have to wait.

A cgroup that was made and not yet noted, or a child that was started and not yet waited for,
would be left behind if an exception struck just then. Such moments are shielded: a signal is noted,
and takes effect when they are over.

A signal mask would not do. It belongs to one thread, while a signal for the process goes to any
thread that does not block it, be it a library's or one of the program around us; Python then runs
the handler in the main thread all the same.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import field
from functools import partial
from types import FrameType

from quota_advisor.records import dataclass

ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
"""The signals that ask for an end. SIGKILL asks nobody: the next run cleans up after it."""


@dataclass(slots=True)
class _State:
    """Of the one thread in which Python runs handlers.

    Attributes:
        held: Signals have to wait.
        waiting: Those that came meanwhile.
    """

    held: bool = False
    waiting: list[int] = field(default_factory=list)


_state = _State()


class _Gate:
    """Handles one signal from the first thing that is made to the last that is removed.

    Args:
        before: The handler in whose stead it stands.
    """

    def __init__(self, before: Callable[[int, FrameType | None], object] | int) -> None:
        self._before = before

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if _state.held:
            _state.waiting.append(number)
        elif callable(self._before):
            self._before(number, frame)
        else:
            # The default would end the process on the spot, with nothing removed.
            raise SystemExit(128 + number)


class _Exposed:
    """Lets signals in while it lasts, unless an outer shield holds them.

    No generator: one that an exception left behind would raise the shield whenever it is collected.
    """

    def __init__(self, held: bool) -> None:  # noqa: FBT001 - the state to return to
        self._held = held

    def __enter__(self) -> None:
        try:
            _return_to(self._held)
        except BaseException:
            _state.held = True
            raise

    def __exit__(self, *_: object) -> None:
        _state.held = True


@contextmanager
def shielded() -> Iterator[Callable[[], AbstractContextManager[None]]]:
    """Hold the ending signals back.

    From the outermost shield to its end they are exceptions, so that everything unwinds: SIGINT
    does what it did before, SIGTERM and SIGHUP raise SystemExit with 128 plus their number unless
    the program has handlers of its own. What is ignored, as SIGHUP is under ``nohup``, stays so.

    In another thread than the main one this does nothing: no signal interrupts it.

    Yields:
        A function whose context lets them in again, for the long part in the middle:
        ``with shielded() as exposed: make(); try: with exposed(): use() finally: remove()``.
    """
    if threading.current_thread() is not threading.main_thread():
        yield nullcontext
        return
    held = _state.held
    replaced: dict[signal.Signals, signal._HANDLER] = {}
    try:
        _state.held = True
        _set_gates(replaced)
        yield partial(_Exposed, held)
    finally:
        try:
            _return_to(held)
        finally:
            # SIGINT comes last: what it raises then leaves no other handler behind.
            for number, handler in replaced.items():
                signal.signal(number, handler)


def _set_gates(replaced: dict[signal.Signals, signal._HANDLER]) -> None:
    """Handle the ending signals, and note what did so before; an outer shield's gates remain."""
    for number in ENDING:
        before = signal.getsignal(number)
        if before is None or before == signal.SIG_IGN or isinstance(before, _Gate):
            continue
        replaced[number] = before
        signal.signal(number, _Gate(before))


def _return_to(held: bool) -> None:  # noqa: FBT001 - the state itself
    """Hold signals or let them in; those that waited take effect now.

    Raises:
        BaseException: What a handler raises.
    """
    _state.held = held
    while _state.waiting and not held:
        signal.raise_signal(_state.waiting.pop(0))
