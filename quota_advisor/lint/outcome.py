"""What came of judging parts of the input, in a form that adds up in any order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Self

from quota_advisor.checkout.inputs import reason
from quota_advisor.model.finding import Skipped
from quota_advisor.model.manifest import ComposeService, Pod, Role, Scalar
from quota_advisor.model.problem import Problem
from quota_advisor.model.report import Results
from quota_advisor.model.source import Location
from quota_advisor.records import NamedTuple, dataclass

Digests = dict[str, list["Digest"]]
"""By file, what its parts were when fixes were made for them."""

Spot = tuple[str, int, int]
"""File, line and column."""


@dataclass(slots=True)
class Tally:
    """CPU limits and the workloads that have them, each with file, line and column."""

    limits: dict[str, dict[str, Spot]] = field(default_factory=dict)

    def count(self, limit: str, name: str, place: Spot) -> None:
        """Count a limit once for each workload of that name."""
        names = self.limits.setdefault(limit, {})
        if name not in names or place < names[name]:
            names[name] = place

    def add(self, other: Tally) -> None:
        """Add what was counted elsewhere."""
        for limit, names in other.limits.items():
            for name, place in names.items():
                self.count(limit, name, place)


class Digest(NamedTuple):
    """What a part of a file was when fixes were made for it: they are for no other text.

    Attributes:
        start: Offset of its first byte.
        size: Number of bytes.
        digest: Of them.
    """

    start: int
    size: int
    digest: bytes

    @classmethod
    def of(cls, data: bytes, start: int = 0) -> Self:
        """Return the digest of a part of a file."""
        # Few files are fixable, and its library takes longer to load than most take to lint.
        import hashlib  # noqa: PLC0415

        return cls(start, len(data), hashlib.blake2b(data, digest_size=16).digest())

    def is_of(self, data: bytes) -> bool:
        """Whether a file still has that part."""
        return self.of(data[self.start : self.start + self.size], self.start) == self


@dataclass(slots=True)
class Outcome:
    """What came of some chunks, in a form that adds up in any order.

    Attributes:
        fixed: The texts that fixes of the findings are for.
    """

    results: Results = field(default_factory=Results)
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    fixed: Digests = field(default_factory=dict)

    def add(self, other: Outcome) -> None:
        """Add what came of other chunks."""
        self.results.add(other.results)
        self.problems += other.problems
        self.notes += other.notes
        self.tally.add(other.tally)
        for file, parts in other.fixed.items():
            self.fixed.setdefault(file, []).extend(parts)

    def add_problem(self, path: str, error: Exception) -> None:
        """Add a file that could not be read, or that something is wrong with here."""
        why = f"defect in quota-advisor, please report: {type(error).__name__}: {error}"
        if isinstance(error, OSError):
            why = reason(error)
        self.problems.append(Problem(subject=path, reason=why))


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


def _spot(file: str, value: Scalar) -> Spot:
    return (file, value.line, value.column)


def location_of(spot: Spot) -> Location:
    """Return a counted place as a location."""
    file, line, column = spot
    return Location(file=file, line=line, column=column)
