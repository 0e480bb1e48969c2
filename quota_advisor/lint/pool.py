"""Judge pieces in several processes: this one, and copies of it that it forks.

First all look for what documents say about others; only then can any of them be judged. Work is
handed out in small batches to whoever is free. What a process looked at it judges first, so that
most files are read once; then it takes from the others.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from types import TracebackType
from typing import Self, TypeVar, cast

from quota_advisor.checkout.chunks import Piece
from quota_advisor.errors import CollectError
from quota_advisor.lint.judge import Judge
from quota_advisor.lint.namespaces import Surroundings
from quota_advisor.lint.outcome import Outcome
from quota_advisor.lint.wire import pack, unpack

BATCHES = 64
"""Shares in which work is handed out: enough that none waits long for the last."""

_TICKET_BYTES = 4
_ENDED = "a worker process ended before its work was done"

Batches = Sequence[Sequence[Piece]]
A = TypeVar("A")


def judge_together(
    judge: Judge, work: Sequence[Piece], jobs: int, settle: Callable[[Surroundings], None]
) -> Outcome:
    """Return what came of all pieces.

    Args:
        judge: Judges in each of the processes.
        work: The pieces.
        jobs: Most processes, this one included.
        settle: Decides what is judged apart, once all that the pieces say of others is known.

    Raises:
        CollectError: A worker process ended before its work was done.
    """
    batches = _batches(work)
    with _Team(judge, batches, min(jobs, len(batches)) - 1) as team:
        surroundings = _look_around(judge, batches, team.first, team.second)
        for found in team.answers(Surroundings):
            surroundings.add(found)
        settle(surroundings)
        judge.surround(surroundings)
        team.tell(surroundings)
        outcome = _judge(judge, batches, team.second)
        for packed in team.answers(bytes):
            outcome.add(unpack(packed))
    return outcome


class _Team:
    """The helpers of this process.

    Attributes:
        first: Tickets for looking around.
        second: Tickets for judging, those of each process first.
    """

    def __init__(self, judge: Judge, batches: Batches, helpers: int) -> None:
        self.first = _Tickets()
        self.first.put(range(len(batches)))
        pools = list(_as_many(_Tickets, helpers + 1))
        self.second = _Pools(pools)
        self._helpers: list[_Helper] = []
        for number in range(len(pools) - 1):
            own = _Pools([*pools[number + 1 :], *pools[: number + 1]])
            work = partial(_help, judge, batches, self.first, own)
            self._helpers += _as_many(partial(_Helper, work), 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        for helper in self._helpers:
            helper.line.close()
        for helper in self._helpers:
            helper.end()
        self.first.close()
        self.second.close()
        if isinstance(error, EOFError | BrokenPipeError | pickle.UnpicklingError):
            raise CollectError(_ENDED, hint="try --jobs 1") from error

    def tell(self, surroundings: Surroundings) -> None:
        """Send all helpers what the first round found."""
        for helper in self._helpers:
            helper.line.send(surroundings)

    def answers(self, kind: type[A]) -> Iterator[A]:
        """Yield what each helper sends, which is the reason why if it could not."""
        for helper in self._helpers:
            answer = helper.line.receive()
            if not isinstance(answer, kind):
                hint = "please report; --jobs 1 goes without"
                raise CollectError(f"{_ENDED}: {answer}", hint=hint)
            yield answer


M = TypeVar("M")


def _as_many(make: Callable[[], M], wanted: int) -> Iterator[M]:
    """Yield what the system has room for: those that there are do the part of the others."""
    with contextlib.suppress(OSError):
        for _ in range(wanted):
            yield make()


class _Line:
    """One end of a line between two processes: a pipe each way."""

    def __init__(self, read: int, write: int) -> None:
        self._read = os.fdopen(read, "rb")
        self._write = os.fdopen(write, "wb")

    def send(self, message: object) -> None:
        pickle.dump(message, self._write, protocol=pickle.HIGHEST_PROTOCOL)
        self._write.flush()

    def receive(self) -> object:
        # What comes was sent by a process of this program.
        return pickle.load(self._read)  # noqa: S301

    def close(self) -> None:
        self._read.close()
        with contextlib.suppress(BrokenPipeError):
            self._write.close()


class _Helper:
    """A copy of this process that does a part of the work.

    The library for this takes as long to import as a hundred files take to lint.
    """

    def __init__(self, work: Callable[[_Line], None]) -> None:
        from_parent, to_child = os.pipe()
        from_child, to_parent = os.pipe()
        self._pid = os.fork()
        if not self._pid:
            code = 1
            try:
                os.close(to_child)
                os.close(from_child)
                work(_Line(from_parent, to_parent))
                code = 0
            finally:
                # Nothing of the parent's is ended, flushed or removed here.
                os._exit(code)
        os.close(from_parent)
        os.close(to_parent)
        self.line = _Line(from_child, to_child)

    def end(self) -> None:
        """End it, whatever it is doing: nothing is its own."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)


def _help(judge: Judge, batches: Batches, first: _Tickets, second: _Pools, line: _Line) -> None:
    """Do a helper's part of the work."""
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError, EOFError):
        try:
            line.send(_look_around(judge, batches, first, second))
            judge.surround(cast("Surroundings", line.receive()))
            line.send(pack(_judge(judge, batches, second)))
        except Exception as error:  # noqa: BLE001 - the parent says it in one line
            line.send(f"{type(error).__name__}: {error}")


def _look_around(judge: Judge, batches: Batches, tickets: _Tickets, own: _Pools) -> Surroundings:
    """Look at batches, which are then this process's own to judge: it may still hold them."""
    found = Surroundings()
    for number in tickets:
        found.add(judge.look_around(batches[number]))
        own.put(number)
    return found


def _judge(judge: Judge, batches: Batches, tickets: _Pools) -> Outcome:
    outcome = Outcome()
    for number in tickets:
        outcome.add(judge.judge(batches[number]))
    return outcome


class _Tickets:
    """Numbers of batches, each drawn once by whichever process is free: they lie in a pipe."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)

    def put(self, numbers: Iterable[int]) -> None:
        """Add tickets; all of them fit: a pipe holds 4 KiB even where it is smallest."""
        os.write(self._write, b"".join(n.to_bytes(_TICKET_BYTES) for n in numbers))

    def __iter__(self) -> Iterator[int]:
        with contextlib.suppress(BlockingIOError):
            while ticket := os.read(self._read, _TICKET_BYTES):
                yield int.from_bytes(ticket)

    def close(self) -> None:
        """Let go of the pipe."""
        os.close(self._read)
        os.close(self._write)


class _Pools:
    """Tickets of all processes: one's own, and when they are gone those of the others."""

    def __init__(self, pools: Sequence[_Tickets]) -> None:
        self._pools = pools

    def put(self, number: int) -> None:
        """Add a ticket to one's own."""
        self._pools[0].put((number,))

    def __iter__(self) -> Iterator[int]:
        return chain.from_iterable(self._pools)

    def close(self) -> None:
        """Let go of all pipes."""
        for pool in self._pools:
            pool.close()


def _batches(work: Sequence[Piece]) -> list[list[Piece]]:
    """Return the work in shares of about the same number of bytes."""
    share = sum(piece.size for piece in work) // BATCHES + 1
    batches: list[list[Piece]] = [[]]
    size = 0
    for piece in work:
        if size >= share:
            batches.append([])
            size = 0
        batches[-1].append(piece)
        size += piece.size
    return batches
