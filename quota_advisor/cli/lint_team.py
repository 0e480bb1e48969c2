"""Judge pieces in several processes: this one, and copies of it that it forks.

First all look for what documents say about others; only then can any of them be judged. Work is
handed out in small batches to whoever is free.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Self, TypeVar

from quota_advisor.cli.lint_judge import Judge, Outcome, Surroundings
from quota_advisor.cli.lint_wire import pack, unpack
from quota_advisor.collect.lint_pieces import Piece
from quota_advisor.errors import CollectError

BATCHES = 64
"""Shares in which work is handed out: enough that none waits long for the last."""

_TICKET_BYTES = 4
_ENDED = "a worker process ended before its work was done"

Batches = Sequence[Sequence[Piece]]
A = TypeVar("A")


def judge_together(judge: Judge, work: Sequence[Piece], jobs: int) -> Outcome:
    """Return what came of all pieces.

    Args:
        judge: Judges in each of the processes.
        work: The pieces.
        jobs: Most processes, this one included.

    Raises:
        CollectError: A worker process ended before its work was done.
    """
    batches = _batches(work)
    with _Team(judge, batches, min(jobs, len(batches)) - 1) as team:
        surroundings = _look_around(judge, batches, team.first)
        for found in team.answers(Surroundings):
            surroundings.add(found)
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
        second: Tickets for judging.
    """

    def __init__(self, judge: Judge, batches: Batches, helpers: int) -> None:
        self.first = _Tickets(len(batches))
        self.second = _Tickets(len(batches))
        self._lines: list[Connection] = []
        self._helpers: list[BaseProcess] = []
        context = multiprocessing.get_context("fork")
        for _ in range(helpers):
            line, end = context.Pipe()
            arguments = (judge, batches, self.first, self.second, end)
            helper = context.Process(target=_help, args=arguments, daemon=True)
            helper.start()
            end.close()
            self._lines.append(line)
            self._helpers.append(helper)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        for line, helper in zip(self._lines, self._helpers, strict=True):
            line.close()
            helper.terminate()
            helper.join()
        self.first.close()
        self.second.close()
        if isinstance(error, EOFError | BrokenPipeError | ConnectionResetError):
            raise CollectError(_ENDED, hint="try --jobs 1") from error

    def tell(self, surroundings: Surroundings) -> None:
        """Send all helpers what the first round found."""
        for line in self._lines:
            line.send(surroundings)

    def answers(self, kind: type[A]) -> Iterator[A]:
        """Yield what each helper sends, which is the reason why if it could not."""
        for line in self._lines:
            answer = line.recv()
            if not isinstance(answer, kind):
                hint = "please report; --jobs 1 goes without"
                raise CollectError(f"{_ENDED}: {answer}", hint=hint)
            yield answer


def _help(
    judge: Judge, batches: Batches, first: _Tickets, second: _Tickets, line: Connection
) -> None:
    """Do a helper's part of the work."""
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError, EOFError):
        try:
            line.send(_look_around(judge, batches, first))
            judge.surround(line.recv())
            line.send(pack(_judge(judge, batches, second)))
        except Exception as error:  # noqa: BLE001 - the parent says it in one line
            line.send(f"{type(error).__name__}: {error}")


def _look_around(judge: Judge, batches: Batches, tickets: _Tickets) -> Surroundings:
    found = Surroundings()
    for number in tickets:
        found.add(judge.look_around(batches[number]))
    return found


def _judge(judge: Judge, batches: Batches, tickets: _Tickets) -> Outcome:
    outcome = Outcome()
    for number in tickets:
        outcome.add(judge.judge(batches[number]))
    return outcome


class _Tickets:
    """Numbers of batches, each drawn once by whichever process is free: they lie in a pipe."""

    def __init__(self, count: int) -> None:
        self._read, write = os.pipe()
        # All of them fit: a pipe holds 4 KiB even where it is smallest.
        os.write(write, b"".join(n.to_bytes(_TICKET_BYTES) for n in range(count)))
        os.close(write)

    def __iter__(self) -> Iterator[int]:
        while ticket := os.read(self._read, _TICKET_BYTES):
            yield int.from_bytes(ticket)

    def close(self) -> None:
        """Let go of the pipe."""
        os.close(self._read)


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
