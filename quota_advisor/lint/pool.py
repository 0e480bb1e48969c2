"""Judge chunks in several processes: this one, and copies of it that it forks.

First all look for what documents say about others, the survey; only then can any be judged. Work is
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

from quota_advisor.checkout.chunks import Chunk
from quota_advisor.errors import CollectError
from quota_advisor.lint.judge import Judge
from quota_advisor.lint.outcome import Outcome
from quota_advisor.lint.survey import Survey
from quota_advisor.lint.wire import pack, unpack

BATCHES = 64
"""Shares in which work is handed out: enough that none waits long for the last."""

_NUMBER_BYTES = 4
_ENDED = "a worker process ended before its work was done"

Batches = Sequence[Sequence[Chunk]]
A = TypeVar("A")


def judge_together(
    judge: Judge, work: Sequence[Chunk], jobs: int, settle: Callable[[Survey], None]
) -> Outcome:
    """Return what came of all chunks.

    Args:
        judge: Judges in each of the processes.
        work: The chunks.
        jobs: Most processes, this one included.
        settle: Decides what is judged apart, once all that the chunks say of others is known.

    Raises:
        CollectError: A worker process ended before its work was done.
    """
    batches = _batches(work)
    with _Pool(judge, batches, min(jobs, len(batches)) - 1) as pool:
        survey = _survey(judge, batches, pool.to_survey, pool.to_judge)
        for found in pool.answers(Survey):
            survey.add(found)
        settle(survey)
        judge.use(survey)
        pool.tell(survey)
        outcome = _judge(judge, batches, pool.to_judge)
        for packed in pool.answers(bytes):
            outcome.add(unpack(packed))
    return outcome


class _Pool:
    """The workers of this process.

    Attributes:
        to_survey: Batches that nobody has looked at yet.
        to_judge: Batches to judge, those of this process first.
    """

    def __init__(self, judge: Judge, batches: Batches, workers: int) -> None:
        self.to_survey = _Queue()
        self.to_survey.put(range(len(batches)))
        queues = list(_as_many(_Queue, workers + 1))
        self.to_judge = _Queues(queues)
        self._workers: list[_Worker] = []
        for number in range(len(queues) - 1):
            own = _Queues([*queues[number + 1 :], *queues[: number + 1]])
            work = partial(_work, judge, batches, self.to_survey, own)
            self._workers += _as_many(partial(_Worker, work), 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        for worker in self._workers:
            worker.connection.close()
        for worker in self._workers:
            worker.end()
        self.to_survey.close()
        self.to_judge.close()
        if isinstance(error, EOFError | BrokenPipeError | pickle.UnpicklingError):
            raise CollectError(_ENDED, hint="try --jobs 1") from error

    def tell(self, survey: Survey) -> None:
        """Send all workers what the first round found."""
        for worker in self._workers:
            worker.connection.send(survey)

    def answers(self, kind: type[A]) -> Iterator[A]:
        """Yield what each worker sends, which is the reason why if it could not."""
        for worker in self._workers:
            answer = worker.connection.receive()
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


class _Connection:
    """One end of a connection of two processes: a pipe each way."""

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


class _Worker:
    """A copy of this process that does a part of the work.

    The library for this takes as long to import as a hundred files take to lint.
    """

    def __init__(self, work: Callable[[_Connection], None]) -> None:
        from_parent, to_child = os.pipe()
        from_child, to_parent = os.pipe()
        self._pid = os.fork()
        if not self._pid:
            code = 1
            try:
                os.close(to_child)
                os.close(from_child)
                work(_Connection(from_parent, to_parent))
                code = 0
            finally:
                # Nothing of the parent's is ended, flushed or removed here.
                os._exit(code)
        os.close(from_parent)
        os.close(to_parent)
        self.connection = _Connection(from_child, to_child)

    def end(self) -> None:
        """End it, whatever it is doing: nothing is its own."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)


def _work(
    judge: Judge, batches: Batches, to_survey: _Queue, to_judge: _Queues, connection: _Connection
) -> None:
    """Do a worker's part of the work."""
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError, EOFError):
        try:
            connection.send(_survey(judge, batches, to_survey, to_judge))
            judge.use(cast("Survey", connection.receive()))
            connection.send(pack(_judge(judge, batches, to_judge)))
        except Exception as error:  # noqa: BLE001 - the parent says it in one line
            connection.send(f"{type(error).__name__}: {error}")


def _survey(judge: Judge, batches: Batches, queue: _Queue, own: _Queues) -> Survey:
    """Look at batches, which are then this process's own to judge: it may still hold them."""
    found = Survey()
    for number in queue:
        found.add(judge.survey(batches[number]))
        own.put(number)
    return found


def _judge(judge: Judge, batches: Batches, queue: _Queues) -> Outcome:
    outcome = Outcome()
    for number in queue:
        outcome.add(judge.judge(batches[number]))
    return outcome


class _Queue:
    """Numbers of batches, each drawn once by whichever process is free: they lie in a pipe."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)

    def put(self, numbers: Iterable[int]) -> None:
        """Add numbers; all of them fit: a pipe holds 4 KiB even where it is smallest."""
        os.write(self._write, b"".join(n.to_bytes(_NUMBER_BYTES) for n in numbers))

    def __iter__(self) -> Iterator[int]:
        with contextlib.suppress(BlockingIOError):
            while number := os.read(self._read, _NUMBER_BYTES):
                yield int.from_bytes(number)

    def close(self) -> None:
        """Let go of the pipe."""
        os.close(self._read)
        os.close(self._write)


class _Queues:
    """The queues of all processes: one's own, and when it is empty those of the others."""

    def __init__(self, queues: Sequence[_Queue]) -> None:
        self._queues = queues

    def put(self, number: int) -> None:
        """Add a number to one's own."""
        self._queues[0].put((number,))

    def __iter__(self) -> Iterator[int]:
        return chain.from_iterable(self._queues)

    def close(self) -> None:
        """Let go of all pipes."""
        for queue in self._queues:
            queue.close()


def _batches(work: Sequence[Chunk]) -> list[list[Chunk]]:
    """Return the work in shares of about the same number of bytes."""
    share = sum(chunk.size for chunk in work) // BATCHES + 1
    batches: list[list[Chunk]] = [[]]
    size = 0
    for chunk in work:
        if size >= share:
            batches.append([])
            size = 0
        batches[-1].append(chunk)
        size += chunk.size
    return batches
