"""Judge pieces of manifests: what each worker of lint does, and what it reports back."""

from __future__ import annotations

import bisect
import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from quota_advisor import checks
from quota_advisor.catalog import Catalog
from quota_advisor.collect.ignored import Patterns
from quota_advisor.collect.lint_inputs import reason
from quota_advisor.collect.lint_pieces import Piece, read_piece
from quota_advisor.config import Config, apply_config, overridden
from quota_advisor.documents.compose import may_extend
from quota_advisor.documents.reader import Document, read_compose, read_manifest, read_part
from quota_advisor.documents.split import Part, documents
from quota_advisor.documents.suppressions import MARK, from_comments
from quota_advisor.documents.text import to_utf8
from quota_advisor.documents.tree import BrokenDocumentError
from quota_advisor.engine import Plan, Scope, run
from quota_advisor.model.finding import Skipped
from quota_advisor.model.lint import ComposeCase, LintContext, PodCase, SameLimit
from quota_advisor.model.manifest import (
    ComposeService,
    DocumentNote,
    KubeletConfig,
    LimitRange,
    Pod,
    ResourceQuota,
    Role,
    Scalar,
)
from quota_advisor.model.problem import Problem
from quota_advisor.model.report import Results
from quota_advisor.model.source import Location
from quota_advisor.model.suppression import Suppression

MARKS = (b"LimitRange", b"ResourceQuota")
"""Bytes that every file with namespace-wide settings holds: the others are not read for them."""


LARGE_BYTES = 1 << 18
"""The documents of one piece larger than this are kept: nothing large is parsed twice."""

HELD_BYTES = 32 << 20
"""What all processes together hold of the files that they looked at until they judge them."""

MAX_SETTINGS = 16
"""LimitRanges of one namespace that count, and ResourceQuotas: each pod is held against all."""

MAX_REMARKS = 200
"""Remarks about one file as a text; a hostile one could ask for as many as it has bytes."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The rules to run, as the user set them.

    Attributes:
        catalog: Rules that the command line leaves.
        keep: Rules that it asks for by name.
        config: The configuration.
        verbose: Keep each thing that could not be judged, not one of a kind.
    """

    catalog: Catalog
    keep: tuple[str, ...]
    config: Config
    verbose: bool


@dataclass(slots=True)
class Surroundings:
    """What some documents say about others.

    Attributes:
        limit_ranges: About all others of their namespace.
        resource_quotas: Likewise.
        extending: Compose files by path, each with the other files that its services extend.
        apart: Files that are judged together with those that bear on them, not by themselves.
    """

    limit_ranges: list[LimitRange] = field(default_factory=list)
    resource_quotas: list[ResourceQuota] = field(default_factory=list)
    extending: dict[str, frozenset[str]] = field(default_factory=dict)
    apart: frozenset[str] = frozenset()

    def note(self, document: object) -> None:
        """Take in a document if it is of that sort."""
        if isinstance(document, LimitRange) and document.is_about_cpu:
            self.limit_ranges.append(document)
        elif isinstance(document, ResourceQuota) and document.is_about_cpu:
            self.resource_quotas.append(document)

    def add(self, other: Surroundings) -> None:
        """Take in what was found elsewhere."""
        self.limit_ranges += other.limit_ranges
        self.resource_quotas += other.resource_quotas
        for file, named in other.extending.items():
            self.note_extending(file, named)

    def note_extending(self, file: str, named: frozenset[str]) -> None:
        """Take in the other files that a part of a compose file names."""
        if named:
            self.extending[file] = self.extending.get(file, frozenset()) | named


_N = TypeVar("_N", LimitRange, ResourceQuota)


def _by_namespace(documents: Iterable[_N]) -> dict[str, tuple[_N, ...]]:
    """Return documents by namespace, in the order of their places whoever found them."""
    found: dict[str, list[_N]] = {}
    for document in sorted(documents, key=lambda d: (d.file, d.place)):
        found.setdefault(document.namespace, []).append(document)
    return {namespace: tuple(some[:MAX_SETTINGS]) for namespace, some in found.items()}


_Spot = tuple[str, int, int]


@dataclass(slots=True)
class Tally:
    """CPU limits and the workloads that have them, each with file, line and column."""

    limits: dict[str, dict[str, _Spot]] = field(default_factory=dict)

    def count(self, limit: str, name: str, place: _Spot) -> None:
        """Count a limit once for each workload of that name."""
        names = self.limits.setdefault(limit, {})
        if name not in names or place < names[name]:
            names[name] = place

    def add(self, other: Tally) -> None:
        """Add what was counted elsewhere."""
        for limit, names in other.limits.items():
            for name, place in names.items():
                self.count(limit, name, place)


@dataclass(slots=True)
class Outcome:
    """What came of some pieces, in a form that adds up in any order."""

    results: Results = field(default_factory=Results)
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)

    def add(self, other: Outcome) -> None:
        """Add what came of other pieces."""
        extend(self.results, other.results)
        self.problems += other.problems
        self.notes += other.notes
        self.tally.add(other.tally)

    def add_problem(self, path: str, error: Exception) -> None:
        """Add a file that could not be read, or that something is wrong with here."""
        why = f"defect in quota-advisor, please report: {type(error).__name__}: {error}"
        if isinstance(error, OSError):
            why = reason(error)
        self.problems.append(Problem(subject=path, reason=why))


class Judge:
    """Judges pieces; one for each process.

    Args:
        settings: The rules to run.
        context: What is known besides the files.
        held_bytes: What it may hold of files between looking at them and judging them.
    """

    def __init__(self, settings: Settings, context: LintContext, held_bytes: int) -> None:
        self._settings = settings
        self._context = context
        self._overrides = _override_patterns(settings.config)
        self._plans: dict[tuple[int, ...], Plan] = {}
        self._kept: tuple[Piece, list[Document]] | None = None
        self._held: dict[int, bytes] = {}
        self._room = held_bytes
        self._apart: frozenset[str] = frozenset()

    def look_around(self, pieces: Iterable[Piece]) -> Surroundings:
        """Return what the pieces say about other documents; few of them need to be parsed."""
        found = Surroundings()
        for piece in pieces:
            # Whatever goes wrong here goes wrong again, and is reported, when it is judged.
            with contextlib.suppress(Exception):
                data = read_piece(piece)
                if len(data) <= self._room:
                    self._room -= len(data)
                    self._held[id(piece)] = data
                if any(mark in data for mark in MARKS):
                    read = list(_documents(piece, data))
                    if piece.size > LARGE_BYTES and self._kept is None:
                        self._kept = (piece, read)
                    for document in read:
                        found.note(document)
                if may_extend(data):
                    _, layers = read_compose(piece.file.path, data)
                    for layer in layers:
                        found.note_extending(layer.file, layer.other_files)
        return found

    def _read(self, piece: Piece, data: bytes) -> Iterable[Document]:
        """Return the documents of a piece, read anew unless they were kept."""
        if self._kept is None or self._kept[0] is not piece:
            return _documents(piece, data)
        read, self._kept = self._kept[1], None
        return read

    def surround(self, surroundings: Surroundings) -> None:
        """Judge from now on with what is known of the whole input."""
        self._apart = surroundings.apart
        self._context = replace(
            self._context,
            limit_ranges=_by_namespace(surroundings.limit_ranges),
            resource_quotas=_by_namespace(surroundings.resource_quotas),
        )

    def judge(self, pieces: Iterable[Piece]) -> Outcome:
        """Return what the rules say of some pieces."""
        outcome = Outcome()
        for piece in pieces:
            data = self._held.pop(id(piece), None)
            if piece.file.path in self._apart:
                continue
            try:
                self._judge_piece(piece, read_piece(piece) if data is None else data, outcome)
            except Exception as error:  # noqa: BLE001 - one file must not stop the others
                outcome.add_problem(piece.file.path, error)
        if not self._settings.verbose:
            outcome.results.skipped = one_of_a_kind(outcome.results.skipped)
        return outcome

    def _judge_piece(self, piece: Piece, data: bytes, outcome: Outcome) -> None:
        scopes = self.scopes(piece, data, self._read(piece, data), outcome)
        if scopes:
            config = self._settings.config
            extend(outcome.results, run(scopes, self.plan(piece.file.path), config))

    def scopes(
        self, piece: Piece, data: bytes, documents: Iterable[Document], outcome: Outcome
    ) -> list[Scope]:
        """Return what there is to judge in documents of a piece, and count their CPU limits."""
        scopes: list[Scope] = []
        remarks: list[DocumentNote] = []
        for document in documents:
            if isinstance(document, DocumentNote):
                remarks.append(document)
            else:
                scopes += self._scopes(document)
                count(document, outcome.tally)
        if remarks:
            comments = _Comments(piece, data)
            scopes += (Scope(note, comments.around(note)) for note in remarks[:MAX_REMARKS])
        if len(remarks) > MAX_REMARKS:
            more = f"{len(remarks) - MAX_REMARKS} more remarks about its text are not listed"
            outcome.notes.append(f"{piece.file.path}: {more}")
        return scopes

    def judge_tally(self, outcome: Outcome) -> None:
        """Judge what only all files together show."""
        scopes = [
            Scope(SameLimit(limit, tuple(sorted(names)), _location(min(names.values()))))
            for limit, names in sorted(outcome.tally.limits.items())
        ]
        extend(outcome.results, run(scopes, self.plan(""), self._settings.config))

    def _scopes(self, document: Document) -> Iterator[Scope]:
        match document:
            case Pod():
                yield Scope(PodCase(document, self._context), document.suppressions)
            case ComposeService():
                yield self.compose_scope(document)
            case KubeletConfig():
                yield Scope(document, document.suppressions)
            case _:
                pass

    def compose_scope(self, service: ComposeService) -> Scope:
        """Return a compose service as something to judge."""
        case = ComposeCase(service, self._context)
        return Scope(case, service.suppressions, shares_files=True)

    @property
    def config(self) -> Config:
        """The configuration."""
        return self._settings.config

    def plan(self, path: str) -> Plan:
        """Return the rules for a file: overrides for its path included."""
        key = tuple(i for i, patterns in enumerate(self._overrides) if patterns.covers_file(path))
        if key not in self._plans:
            config = self._settings.config
            own = overridden(config, (config.overrides[i] for i in key)) if key else config
            rules = apply_config(self._settings.catalog, own, keep=self._settings.keep)
            self._plans[key] = checks.plan(rules)
        return self._plans[key]


def one_of_a_kind(skipped: Iterable[Skipped]) -> list[Skipped]:
    """Return what could not be judged once a rule and reason, for the first subject by name.

    Done to parts and then to what is left of them, it gives the same as done to the whole.
    """
    kinds: dict[tuple[str, str], Skipped] = {}
    for skip in skipped:
        known = kinds.setdefault((skip.rule, skip.reason), skip)
        if (skip.subject.name, skip.subject.kind) < (known.subject.name, known.subject.kind):
            kinds[skip.rule, skip.reason] = skip
    return list(kinds.values())


def _override_patterns(config: Config) -> list[Patterns]:
    directory = config.directory or Path.cwd()
    return [Patterns(override.paths, directory) for override in config.overrides]


def _documents(piece: Piece, data: bytes) -> Iterator[Document]:
    path = piece.file.path
    if piece.first_line == 1:
        yield from read_manifest(path, data)
    else:
        text = to_utf8(data)
        yield from read_part(path, text, Part(0, len(text), piece.first_line))


class _Comments:
    """The comments of a piece, document by document, each looked at once and only if needed."""

    def __init__(self, piece: Piece, data: bytes) -> None:
        self._file = piece.file.path
        self._text = b""
        # Text that only claims to be UTF-16 has no documents, and so no comments.
        with contextlib.suppress(UnicodeDecodeError):
            self._text = to_utf8(data) if MARK in data else b""
        whole = Part(0, len(self._text), piece.first_line)
        self._parts = list(documents(self._text, whole)) if self._text else []
        self._known: dict[int, tuple[Suppression, ...]] = {}

    def around(self, note: DocumentNote) -> tuple[Suppression, ...]:
        """Return those of the document that a remark is about."""
        at = bisect.bisect_right(self._parts, note.line, key=lambda part: part.line) - 1
        if at < 0:
            return ()
        if at not in self._known:
            self._known[at] = self._read(self._parts[at])
        return self._known[at]

    def _read(self, part: Part) -> tuple[Suppression, ...]:
        # What cannot be parsed has no comments: a sign of one may be part of a text.
        with contextlib.suppress(BrokenDocumentError):
            return from_comments(self._file, self._text[part.start : part.end], part.line)
        return ()


def extend(results: Results, more: Results) -> None:
    """Add what was concluded elsewhere."""
    results.findings += more.findings
    results.suppressed += more.suppressed
    results.skipped += more.skipped
    results.errors += more.errors


def count(document: object, tally: Tally) -> None:
    """Count the CPU limits of a document."""
    match document:
        case Pod(containers=containers):
            for container in containers:
                limit = container.resources.limits.get("cpu")
                if limit is not None and container.role is not Role.EPHEMERAL:
                    tally.count(
                        limit.text,
                        document.subject.name,
                        _spot(document.file, limit),
                    )
        case ComposeService(settings=settings):
            cpus = settings.get("cpus") or settings.get("deploy.resources.limits.cpus")
            if cpus is not None:
                unit = "CPU" if cpus.text == "1" else "CPUs"
                tally.count(f"{cpus.text} {unit}", document.name, _spot(cpus.file, cpus))


def _spot(file: str, value: Scalar) -> _Spot:
    return (file, value.line, value.column)


def _location(spot: _Spot) -> Location:
    file, line, column = spot
    return Location(file=file, line=line, column=column)
