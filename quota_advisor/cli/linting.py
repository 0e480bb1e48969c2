"""Lint a set of files in one process or several, with the same result."""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from quota_advisor.cli.lint_judge import Judge, Outcome, Settings, Surroundings, one_of_a_kind
from quota_advisor.collect.lint_inputs import FileKind, InputFile, Inputs, read_input, reason
from quota_advisor.collect.lint_pieces import Piece, pieces
from quota_advisor.collect.lint_units import merge_units
from quota_advisor.documents.unit_file import parse_unit_file
from quota_advisor.errors import CollectError
from quota_advisor.model.finding import Finding
from quota_advisor.model.host import Problem
from quota_advisor.model.lint import LintContext
from quota_advisor.model.report import Report
from quota_advisor.model.unit import UnitConfig, UnitFile

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

SMALL_BYTES = 400_000
"""Less than this is read sooner than another process starts."""

BATCHES = 64
"""Shares in which work is handed out: enough that none waits long for the last."""

_TICKET_BYTES = 4


@dataclass(frozen=True, slots=True)
class Linted:
    """The report, and the units it is about: what fixes are computed from."""

    report: Report
    units: tuple[UnitConfig, ...]


def lint(inputs: Inputs, settings: Settings, context: LintContext, jobs: int) -> Linted:
    """Judge every file.

    Args:
        inputs: What was found.
        settings: The rules to run.
        context: What the user told.
        jobs: Most processes to use; small inputs use one.

    Raises:
        CollectError: A worker process ended before its work was done.
    """
    outcome = Outcome()
    work = list(_cut(inputs.files, outcome))
    judge = Judge(settings, context)
    with _no_collector():
        if jobs > 1 and len(work) > 1 and sum(p.size for p in work) > SMALL_BYTES:
            _judge_together(judge, work, jobs, outcome)
        else:
            judge.surround(judge.look_around(work))
            outcome.add(judge.judge(work))
        units = _judge_units(inputs.files, judge, outcome)
    judge.judge_tally(outcome)
    return Linted(_report(inputs, outcome, settings), units)


@contextlib.contextmanager
def _no_collector() -> Iterator[None]:
    """Leave the cyclic collector off: facts and findings hold no cycles, and it walks them all."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _cut(files: Sequence[InputFile], outcome: Outcome) -> Iterator[Piece]:
    for piece in pieces(files):
        if isinstance(piece, Piece):
            yield piece
        else:
            file, error = piece
            outcome.problems.append(_problem(file, error))


def _judge_units(
    files: Sequence[InputFile], judge: Judge, outcome: Outcome
) -> tuple[UnitConfig, ...]:
    """Judge unit files: in one process, because a unit may be spread over several."""
    units: list[UnitConfig] = []
    for group in merge_units(_unit_files(files, outcome)):
        judge.judge_units(group, outcome)
        units += group
    return tuple(units)


def _unit_files(files: Sequence[InputFile], outcome: Outcome) -> Iterator[UnitFile]:
    for file in files:
        if file.kind is FileKind.UNIT:
            try:
                yield parse_unit_file(file.path, read_input(file))
            except OSError as error:
                outcome.problems.append(_problem(file, error))


def _problem(file: InputFile, error: OSError) -> Problem:
    return Problem(subject=file.path, reason=reason(error))


# ---- several processes


def _judge_together(judge: Judge, work: list[Piece], jobs: int, outcome: Outcome) -> None:
    """Share the work among this process and others, which are copies of it.

    First all look for what documents say about others; only then can any of them be judged.
    """
    # A small input needs neither.
    import multiprocessing  # noqa: PLC0415

    from quota_advisor.cli.lint_wire import unpack  # noqa: PLC0415

    batches = _batches(work)
    count = min(jobs, len(batches))
    first, second = _Tickets(len(batches)), _Tickets(len(batches))
    context = multiprocessing.get_context("fork")
    lines: list[Connection] = []
    for _ in range(count - 1):
        line, end = context.Pipe()
        arguments = (judge, batches, first, second, end)
        context.Process(target=_help, args=arguments, daemon=True).start()
        end.close()
        lines.append(line)
    try:
        surroundings = _look_around(judge, batches, first)
        for line in lines:
            surroundings.add(_answer(line, Surroundings))
        judge.surround(surroundings)
        for line in lines:
            line.send(surroundings)
        outcome.add(_judge_batches(judge, batches, second))
        for line in lines:
            outcome.add(unpack(_answer(line, bytes)))
    except (EOFError, BrokenPipeError, ConnectionResetError) as error:
        raise CollectError(_ENDED, hint="try --jobs 1") from error


_ENDED = "a worker process ended before its work was done"

A = TypeVar("A")


def _answer(line: Connection, kind: type[A]) -> A:
    """Return what a helper sends, which is the reason why if it is not what was asked for."""
    answer = line.recv()
    if not isinstance(answer, kind):
        raise CollectError(f"{_ENDED}: {answer}", hint="please report; --jobs 1 goes without")
    return answer


def _help(
    judge: Judge,
    batches: Sequence[Sequence[Piece]],
    first: _Tickets,
    second: _Tickets,
    line: Connection,
) -> None:
    """Do a helper's part of the work."""
    from quota_advisor.cli.lint_wire import pack  # noqa: PLC0415

    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError, EOFError):
        try:
            line.send(_look_around(judge, batches, first))
            judge.surround(line.recv())
            line.send(pack(_judge_batches(judge, batches, second)))
        except Exception as error:  # noqa: BLE001 - the parent says it in one line
            line.send(f"{type(error).__name__}: {error}")


def _look_around(
    judge: Judge, batches: Sequence[Sequence[Piece]], tickets: _Tickets
) -> Surroundings:
    found = Surroundings()
    for number in tickets:
        found.add(judge.look_around(batches[number]))
    return found


def _judge_batches(judge: Judge, batches: Sequence[Sequence[Piece]], tickets: _Tickets) -> Outcome:
    outcome = Outcome()
    for number in tickets:
        outcome.add(judge.judge(batches[number]))
    return outcome


class _Tickets:
    """Numbers of batches, each drawn once by whichever process is free: they lie in a pipe."""

    def __init__(self, count: int) -> None:
        self._read, write = os.pipe()
        os.write(write, b"".join(n.to_bytes(_TICKET_BYTES) for n in range(count)))
        os.close(write)

    def __iter__(self) -> Iterator[int]:
        while ticket := os.read(self._read, _TICKET_BYTES):
            yield int.from_bytes(ticket)


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


# ---- the report


def _report(inputs: Inputs, outcome: Outcome, settings: Settings) -> Report:
    """Return everything in the order of the files, whichever process it came from."""
    order = {file.path: index for index, file in enumerate(inputs.files)}

    def place(finding: Finding) -> tuple[object, ...]:
        at = finding.location
        where = (len(order), 0, 0) if at is None else (order.get(at.file, -1), at.line, at.column)
        return (*where, finding.rule, finding.message, finding.subject.name)

    results = outcome.results
    results.findings.sort(key=place)
    results.suppressed.sort(key=lambda s: place(s.finding))
    results.skipped.sort(key=lambda s: (s.rule, s.subject.name, s.reason))
    results.errors.sort(key=lambda e: (e.rule, e.subject.name, e.error))
    if not settings.verbose:
        results.skipped = one_of_a_kind(results.skipped)
    problems = (*inputs.problems, *sorted(outcome.problems, key=lambda p: order[p.subject]))
    notes = (*inputs.notes, *sorted(outcome.notes))
    return Report(command="lint", host=None, results=results, notes=notes, problems=problems)
