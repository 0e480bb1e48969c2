"""Judge chunks of manifests: what each worker of lint does, and what it reports back."""

from __future__ import annotations

import bisect
import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from quota_advisor import checks
from quota_advisor.checkout.chunks import Chunk, read_chunk
from quota_advisor.checkout.ignored import Patterns
from quota_advisor.derive.cases import ComposeCase, PodCase
from quota_advisor.derive.kubernetes.namespaces import by_namespace
from quota_advisor.documents.compose.recognise import may_extend
from quota_advisor.documents.reader import Document, read_compose, read_manifest, read_part
from quota_advisor.documents.text import to_utf8
from quota_advisor.documents.yaml.split import NAMESPACE_WORDS, Part, documents
from quota_advisor.documents.yaml.suppressions import MARK, from_comments
from quota_advisor.documents.yaml.tree import BrokenDocumentError
from quota_advisor.lint.extents import Texts
from quota_advisor.lint.outcome import Outcome, count, location_of, one_of_a_kind
from quota_advisor.lint.survey import Survey
from quota_advisor.model.finding import Finding
from quota_advisor.model.lint import LintContext, SameLimit
from quota_advisor.model.manifest import (
    ComposeService,
    DocumentNote,
    KubeletConfig,
    Pod,
)
from quota_advisor.model.report import Results
from quota_advisor.model.suppression import Suppression
from quota_advisor.rulebook.chosen import Rulebook
from quota_advisor.rulebook.engine import Plan, Scope, run
from quota_advisor.rulebook.settings import Config, apply_config, overridden

LARGE_BYTES = 1 << 18
"""The documents of one chunk larger than this are kept: nothing large is parsed twice."""

HELD_BYTES = 32 << 20
"""What all processes together hold of the files that they looked at until they judge them."""

MAX_REMARKS = 200
"""Remarks about one file as a text; a hostile one could ask for as many as it has bytes."""


class Judge:
    """Judges chunks; one for each process.

    Args:
        rulebook: The rules to run.
        context: What is known besides the files.
        held_bytes: What it may hold of files between looking at them and judging them.
        verbose: Keep each thing that could not be judged, not one of a kind.
    """

    def __init__(
        self, rulebook: Rulebook, context: LintContext, held_bytes: int, *, verbose: bool
    ) -> None:
        self._rulebook = rulebook
        self._verbose = verbose
        self._context = context
        self._overrides = _override_patterns(rulebook.config)
        self._plans: dict[tuple[int, ...], Plan] = {}
        self._kept: tuple[Chunk, list[Document]] | None = None
        self._held: dict[int, bytes] = {}
        self._room = held_bytes
        self._apart: frozenset[str] = frozenset()
        self._fixable = frozenset(r.id for r in rulebook.chosen.values() if r.fixable)

    def survey(self, chunks: Iterable[Chunk]) -> Survey:
        """Return what the chunks say about other documents; few of them need to be parsed."""
        found = Survey()
        for chunk in chunks:
            # Whatever goes wrong here goes wrong again, and is reported, when it is judged.
            with contextlib.suppress(Exception):
                data = read_chunk(chunk)
                if len(data) <= self._room:
                    self._room -= len(data)
                    self._held[id(chunk)] = data
                if any(word in data for word in NAMESPACE_WORDS):
                    read = list(_documents(chunk, data))
                    if chunk.size > LARGE_BYTES and self._kept is None:
                        self._kept = (chunk, read)
                    for document in read:
                        found.note(document)
                if may_extend(data):
                    _, layers = read_compose(chunk.file.path, data)
                    for layer in layers:
                        found.note_extending(layer.file, layer.other_files)
        return found

    def _read(self, chunk: Chunk, data: bytes) -> Iterable[Document]:
        """Return the documents of a chunk, read anew unless they were kept."""
        if self._kept is None or self._kept[0] is not chunk:
            return _documents(chunk, data)
        read, self._kept = self._kept[1], None
        return read

    def use(self, survey: Survey) -> None:
        """Judge from now on with what is known of the whole input."""
        self._apart = survey.apart
        self._context = replace(
            self._context,
            limit_ranges=by_namespace(survey.limit_ranges),
            resource_quotas=by_namespace(survey.resource_quotas),
        )

    def judge(self, chunks: Iterable[Chunk]) -> Outcome:
        """Return what the rules say of some chunks."""
        outcome = Outcome()
        for chunk in chunks:
            data = self._held.pop(id(chunk), None)
            if chunk.file.path in self._apart:
                continue
            try:
                self._judge_chunk(chunk, read_chunk(chunk) if data is None else data, outcome)
            except Exception as error:  # noqa: BLE001 - one file must not stop the others
                outcome.add_problem(chunk.file.path, error)
        if not self._verbose:
            outcome.results.skipped = one_of_a_kind(outcome.results.skipped)
        return outcome

    def _judge_chunk(self, chunk: Chunk, data: bytes, outcome: Outcome) -> None:
        scopes = self.scopes(chunk, data, self._read(chunk, data), outcome)
        if scopes:
            path = chunk.file.path
            texts = Texts({path: (data, chunk.first_line)})
            found = run(scopes, self.plan(path), self.config, texts)
            if self.may_fix(found):
                self._add_fixes(chunk, data, found, outcome)
            outcome.results.add(found)

    def may_fix(self, results: Results) -> bool:
        """Whether rules of which ``--fix`` mends some findings have found something."""
        return any(finding.rule in self._fixable for finding in results.findings)

    def _add_fixes(self, chunk: Chunk, data: bytes, results: Results, outcome: Outcome) -> None:
        # Hardly any file gets here, and what makes fixes takes long to import.
        from quota_advisor.lint.fixable import Text, fix_manifest  # noqa: PLC0415

        def judged(changed: bytes) -> Iterable[Finding]:
            again = self.scopes(chunk, changed, _documents(chunk, changed), Outcome())
            return run(again, self.plan(chunk.file.path), self.config).findings

        text = Text(chunk.file, chunk.start, data, chunk.first_line)
        fix_manifest(text, results, outcome, judged)

    def scopes(
        self, chunk: Chunk, data: bytes, documents: Iterable[Document], outcome: Outcome
    ) -> list[Scope]:
        """Return what there is to judge in documents of a chunk, and count their CPU limits."""
        scopes: list[Scope] = []
        remarks: list[DocumentNote] = []
        for document in documents:
            if isinstance(document, DocumentNote):
                remarks.append(document)
            else:
                scopes += self._scopes(document)
                count(document, outcome.tally)
        if remarks:
            comments = _Comments(chunk, data)
            scopes += (Scope(note, comments.around(note)) for note in remarks[:MAX_REMARKS])
        if len(remarks) > MAX_REMARKS:
            more = f"{len(remarks) - MAX_REMARKS} more remarks about its text are not listed"
            outcome.notes.append(f"{chunk.file.path}: {more}")
        return scopes

    def judge_tally(self, outcome: Outcome) -> None:
        """Judge what only all files together show."""
        scopes = [
            Scope(SameLimit(limit, tuple(sorted(names)), location_of(min(names.values()))))
            for limit, names in sorted(outcome.tally.limits.items())
        ]
        outcome.results.add(run(scopes, self.plan(""), self._rulebook.config))

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
        return self._rulebook.config

    def plan(self, path: str) -> Plan:
        """Return the rules for a file: overrides for its path included."""
        key = tuple(i for i, patterns in enumerate(self._overrides) if patterns.covers_file(path))
        if key not in self._plans:
            config = self._rulebook.config
            own = overridden(config, (config.overrides[i] for i in key)) if key else config
            rules = apply_config(self._rulebook.chosen, own, keep=self._rulebook.select)
            self._plans[key] = checks.plan(rules)
        return self._plans[key]


def _override_patterns(config: Config) -> list[Patterns]:
    directory = config.directory or Path.cwd()
    return [Patterns(override.paths, directory) for override in config.overrides]


def _documents(chunk: Chunk, data: bytes) -> Iterator[Document]:
    path = chunk.file.path
    if chunk.first_line == 1:
        yield from read_manifest(path, data)
    else:
        text = to_utf8(data)
        yield from read_part(path, text, Part(0, len(text), chunk.first_line))


class _Comments:
    """The comments of a chunk, document by document, each looked at once and only if needed."""

    def __init__(self, chunk: Chunk, data: bytes) -> None:
        self._file = chunk.file.path
        self._text = b""
        # Text that only claims to be UTF-16 has no documents, and so no comments.
        with contextlib.suppress(UnicodeDecodeError):
            self._text = to_utf8(data) if MARK in data else b""
        whole = Part(0, len(self._text), chunk.first_line)
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
