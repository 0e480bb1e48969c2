"""Run checks over subjects. Knows no rule by name and reads no files."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol, TypeVar

from quota_advisor.model.finding import (
    Evidence,
    Finding,
    InternalError,
    Once,
    Recommendation,
    Related,
    Severity,
    Skipped,
    Subject,
    SuppressedFinding,
)
from quota_advisor.model.report import Results
from quota_advisor.model.source import Location
from quota_advisor.model.suppression import Suppression
from quota_advisor.records import NamedTuple, dataclass
from quota_advisor.rulebook.catalogue import Catalog, Rule
from quota_advisor.rulebook.settings import Config, SuppressEntry


class Judgeable(Protocol):
    """Anything a rule can judge."""

    @property
    def subject(self) -> Subject:
        """What a finding about it names."""
        ...


class Hit(NamedTuple):
    """What a check found. The engine adds rule, confidence and what is left out here.

    Attributes:
        message: One line: what is wrong, with its numbers.
        evidence: The numbers with their sources.
        ruled_out: Other causes that were looked at.
        severity: Only where the check tells degrees apart; else the rule's.
        location: The place to blame, where there is one.
        related: Other places that it is about.
        subject: Only where it is not the thing judged.
        recommendation: Computed advice; else the rule's own words.
        brief: The message in a few words, where the rule is one of several on one cause.
        cause: cgroup of the limit at fault, where that is not the subject's own.
        once: Within what one of its rule is enough; None where each counts.
    """

    message: str
    evidence: tuple[Evidence, ...] = ()
    ruled_out: tuple[Evidence, ...] = ()
    severity: Severity | None = None
    location: Location | None = None
    related: tuple[Related, ...] = ()
    subject: Subject | None = None
    recommendation: Recommendation | None = None
    brief: str = ""
    cause: str | None = None
    once: Once | None = None


class Skip(NamedTuple):
    """A check could not judge, and why."""

    reason: str


Verdicts = Iterator[Hit | Skip]
S = TypeVar("S")
Check = Callable[[Any, Rule], Verdicts]


@dataclass(frozen=True, slots=True)
class SuppressionUse:
    """A suppression comment and how it was used.

    Attributes:
        suppression: The comment.
        subject: The unit or object that it stands in.
        unused: Rules it names that found nothing to suppress, although they ran.
        unknown: Rules it names that do not exist.
    """

    suppression: Suppression
    subject: Subject
    unused: tuple[str, ...]
    unknown: tuple[str, ...]


CHECKS: dict[str, tuple[type, Check]] = {}
"""Every check by rule id, with the type of subject that it judges."""


def check(subject_type: type[S]) -> Callable[[Callable[[S, Rule], Verdicts]], Check]:
    """Register a check under the rule id that its name spells, for one type of subject."""

    def register(function: Callable[[S, Rule], Verdicts]) -> Check:
        rule_id = function.__name__.replace("_", "-")
        if rule_id in CHECKS:
            raise ValueError(f"two checks claim rule {rule_id!r}")
        CHECKS[rule_id] = (subject_type, function)
        return function

    return register


@dataclass(frozen=True, slots=True)
class Scope:
    """Something to judge, with what belongs to it.

    Attributes:
        judged: What the checks are given.
        suppressions: The comments that stand in its files.
        live: What findings name instead, where the thing judged does not know that it runs.
        is_measured: A machine shows it, files only in part: what is not found today may be found
            tomorrow, so that a comment about it is never in vain.
        shares_files: It takes over lines of files that others share: by drop-ins of several
            units, by extends and anchors.
    """

    judged: Judgeable
    suppressions: tuple[Suppression, ...] = ()
    live: Subject | None = None
    is_measured: bool = False
    shares_files: bool = False

    @property
    def subject(self) -> Subject:
        """What findings name."""
        return self.live or self.judged.subject


@dataclass(slots=True)
class _Comments:
    """Suppression comments that stand in the files of some subjects: of one file, as a rule.

    Attributes:
        all: The comments.
        subject: The first of the subjects.
        by_rule: The first comment with a reason that names a rule.
        ran: Rules that judged a subject.
        unsure: Rules that could not judge one.
    """

    all: tuple[Suppression, ...]
    subject: Subject
    by_rule: dict[str, Suppression] = field(default_factory=dict)
    ran: set[str] = field(default_factory=set)
    unsure: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        for suppression in self.all:
            if suppression.reason:
                for rule in suppression.rules:
                    self.by_rule.setdefault(rule, suppression)


class _Ledger:
    """What becomes of the suppression comments.

    Thousands of subjects can share thousands of comments: nothing here is done for each pair.

    Attributes:
        used: Comments, each with a rule of which it left a finding out.
    """

    def __init__(self) -> None:
        self.used: set[tuple[Location, str]] = set()
        # By the identity of what subjects share: it lives as long as they do.
        self._comments: dict[int, _Comments] = {}

    def comments(self, scope: Scope) -> _Comments | None:
        """Return the comments about a subject, None where there are none."""
        shared = scope.suppressions
        if not shared:
            return None
        found = self._comments.get(id(shared))
        if found is None:
            found = self._comments[id(shared)] = _Comments(shared, scope.subject)
        return found

    def in_vain(self) -> set[tuple[Location, str]]:
        """Return comments, each with a rule that found nothing to leave out although it ran."""
        groups = self._comments.values()
        ran = {pair for group in groups for pair in _named(group.all, group.ran)}
        unsure = {pair for group in groups for pair in _named(group.all, group.unsure)}
        return ran - unsure - self.used

    def __iter__(self) -> Iterator[tuple[Suppression, Subject]]:
        """Yield each comment once, with the first of its subjects, in the order of their places."""
        found: dict[Location, tuple[Suppression, Subject]] = {}
        for group in self._comments.values():
            for suppression in group.all:
                found.setdefault(suppression.location, (suppression, group.subject))
        return (found[location] for location in sorted(found))


def _named(comments: Iterable[Suppression], rules: set[str]) -> Iterator[tuple[Location, str]]:
    for comment in comments:
        for rule in comment.rules:
            if rule in rules:
                yield comment.location, rule


class Plan:
    """The rules that apply to each type of subject, looked up once.

    Lint judges tens of thousands of subjects of a handful of types.

    Args:
        catalog: The rules to run.
        known: Every rule that there is: comments may name those that do not run.
        load: Registers the checks of a type of subject, which is about to be judged.

    Attributes:
        known: As given.
    """

    def __init__(
        self, catalog: Catalog, known: Collection[str], load: Callable[[type], None]
    ) -> None:
        self.known = known
        self._catalog = catalog
        self._load = load
        self._by_type: dict[type, tuple[tuple[Rule, Check], ...]] = {}

    def checks_for(self, judged: type) -> tuple[tuple[Rule, Check], ...]:
        """Return rules with their checks, in the order of the catalog."""
        if judged not in self._by_type:
            self._load(judged)
            registered = [
                (rule, *CHECKS[rule_id])
                for rule_id, rule in self._catalog.items()
                if rule_id in CHECKS
            ]
            self._by_type[judged] = tuple(
                (rule, function)
                for rule, subject_type, function in registered
                if issubclass(judged, subject_type)
            )
        return self._by_type[judged]


Extent = Callable[[Location], Location]
"""Gives a place its end, as a :class:`~quota_advisor.model.source.Span`, where that is known."""


def run(
    scopes: Sequence[Scope], plan: Plan, config: Config, extent: Extent | None = None
) -> Results:
    """Judge every subject by every rule that applies to its type.

    A check that raises becomes an :class:`InternalError` naming the rule; the others go on.
    What a rule says of a file at one place counts once, however many units share the file; what
    it says of running workloads counts for each.

    Args:
        scopes: What to judge.
        plan: The rules.
        config: The configuration.
        extent: Gives the places of findings their ends; None where no text is at hand.
    """
    results = Results()
    ledger = _Ledger()
    seen: set[tuple[str, str, Location]] = set()
    for scope in scopes:
        for finding in _judge(scope, plan, extent, results, ledger):
            if finding.location is not None and scope.shares_files:
                key = (finding.rule, finding.message, finding.location)
                if key in seen:
                    continue
                seen.add(key)
            _file(finding, scope, config, results, ledger)
    # What nobody heeds is neither used nor unused.
    for use in _suppression_uses(ledger, plan.known) if config.heed_comments else ():
        scope = Scope(use)
        for finding in _judge(scope, plan, extent, results, ledger):
            _file(finding, scope, config, results, ledger)
    results.findings.sort(key=worst_first)
    return results


def _judge(
    scope: Scope, plan: Plan, extent: Extent | None, results: Results, ledger: _Ledger
) -> Iterator[Finding]:
    """Yield one subject's findings; what was skipped or failed goes into the results."""
    judged = scope.judged
    comments = ledger.comments(scope)
    for rule, function in plan.checks_for(type(judged)):
        is_sure = not scope.is_measured
        try:
            for verdict in function(judged, rule):
                if isinstance(verdict, Skip):
                    is_sure = False
                    skipped = Skipped(rule=rule.id, subject=scope.subject, reason=verdict.reason)
                    results.skipped.append(skipped)
                else:
                    yield _stamp(verdict, scope.subject, rule, extent)
        except Exception as error:  # noqa: BLE001 - one broken rule must not stop the others
            is_sure = False
            text = f"{type(error).__name__}: {error}"
            results.errors.append(InternalError(rule=rule.id, subject=scope.subject, error=text))
        if comments is not None:
            (comments.ran if is_sure else comments.unsure).add(rule.id)


def _stamp(hit: Hit, subject: Subject, rule: Rule, extent: Extent | None) -> Finding:
    location, related = hit.location, hit.related
    if extent is not None:
        location = location and extent(location)
        related = tuple(
            Related(location=extent(other.location), message=other.message) for other in related
        )
    # Once the user set a severity, degrees that the check tells apart no longer count.
    degree = None if rule.severity_fixed else hit.severity
    return Finding(
        rule=rule.id,
        severity=degree or rule.severity,
        confidence=rule.confidence,
        message=hit.message,
        subject=hit.subject or subject,
        location=location,
        related=related,
        evidence=hit.evidence,
        ruled_out=hit.ruled_out,
        recommendation=hit.recommendation or Recommendation(summary=rule.fix),
        brief=hit.brief,
        cause=hit.cause,
        once=hit.once,
    )


def _file(
    finding: Finding,
    scope: Scope,
    config: Config,
    results: Results,
    ledger: _Ledger,
) -> None:
    """Put a finding among the suppressed ones if something asks for it, else among the rest."""
    comments = ledger.comments(scope) if config.heed_comments else None
    suppression = comments and comments.by_rule.get(finding.rule)
    if suppression:
        ledger.used.add((suppression.location, finding.rule))
        results.suppressed.append(SuppressedFinding(finding=finding, reason=suppression.reason))
        return
    for entry in config.suppress:
        if _leaves_out(entry, finding):
            results.suppressed.append(
                SuppressedFinding(finding=finding, reason=entry.reason, external=True)
            )
            return
    results.findings.append(finding)


def _leaves_out(entry: SuppressEntry, finding: Finding) -> bool:
    # fnmatch takes each text between stars where it first fits: no pattern can blow it up.
    return entry.rule == finding.rule and fnmatch.fnmatchcase(finding.subject.name, entry.subject)


def unused_entries(results: Results, config: Config) -> list[SuppressEntry]:
    """Return the entries of the configuration that left nothing out."""
    by_kind = {(s.finding.rule, s.finding.subject.name): s.finding for s in results.suppressed}
    used: set[SuppressEntry] = set()
    for finding in by_kind.values():
        used.update(e for e in config.suppress if _leaves_out(e, finding))
    return [entry for entry in config.suppress if entry not in used]


def _suppression_uses(ledger: _Ledger, known: Collection[str]) -> Iterator[SuppressionUse]:
    """Yield each comment once, with the rules it names in vain."""
    in_vain = ledger.in_vain()
    for suppression, subject in ledger:
        location = suppression.location
        unused = tuple(r for r in suppression.rules if (location, r) in in_vain)
        unknown = tuple(r for r in suppression.rules if r not in known)
        yield SuppressionUse(suppression, subject, unused, unknown)


def worst_first(finding: Finding) -> tuple[object, ...]:
    """Return what findings are sorted by."""
    at = finding.location
    place = ("", 0, 0) if at is None else (at.file, at.line, at.column)
    return (-finding.severity.rank, finding.subject.name, finding.rule, place, finding.message)


def missing_checks(catalog: Mapping[str, Rule]) -> tuple[set[str], set[str]]:
    """Return rules without a check and checks without a rule; both are defects."""
    return set(catalog) - set(CHECKS), set(CHECKS) - set(catalog)
