"""A quota that unit files plan: nothing runs, and no machine is known."""

from __future__ import annotations

from quota_advisor.derive.quota_case import AskedPeriod, AskedQuota, LimitAbove, QuotaCase, Threads
from quota_advisor.derive.thread_counts import thread_counts
from quota_advisor.documents.systemd.command_lines import command_words, split_words
from quota_advisor.model.finding import Subject
from quota_advisor.model.limit import DEFAULT_PERIOD_USEC, MAX_PERIOD_USEC, Bandwidth
from quota_advisor.model.manifest import FileScalar, Scalar
from quota_advisor.model.source import Location
from quota_advisor.model.unit import Assignment, UnitConfig, standing
from quota_advisor.records import dataclass


@dataclass(frozen=True, slots=True)
class PlannedQuota(QuotaCase):
    """The quota of a unit as its files have it, with the slices above it in the same input.

    Attributes:
        unit: The unit.
        slices: Nearest first; those that the input does not hold are left out.
    """

    unit: UnitConfig
    slices: tuple[UnitConfig, ...]

    @property
    def subject(self) -> Subject:
        """What a finding about the unit names."""
        return self.unit.subject

    @property
    def limit(self) -> Bandwidth | None:
        """The quota that systemd would write."""
        limit = self.unit.limit
        return limit if isinstance(limit, Bandwidth) else None

    @property
    def period(self) -> AskedPeriod | None:
        """The period that a file asks for."""
        limit, written, asked_usec = self.limit, self.unit.period_from, self.unit.period_usec
        if limit is None or written is None or not isinstance(asked_usec, int):
            return None
        return AskedPeriod(limit, asked_usec, written.value_location)

    @property
    def asked(self) -> AskedQuota | None:
        """The quota that a file asks for."""
        limit, written, per_sec_usec = (
            self.limit,
            self.unit.quota_from,
            self.unit.quota_per_sec_usec,
        )
        if limit is None or written is None or not isinstance(per_sec_usec, int):
            return None
        period = self.unit.period_usec
        period_usec = period if isinstance(period, int) else DEFAULT_PERIOD_USEC
        at = written.value_location
        return AskedQuota(per_sec_usec, min(period_usec, MAX_PERIOD_USEC), limit, at)

    @property
    def above(self) -> LimitAbove | None:
        """The smallest limit of a slice of the same input."""
        own, written = self.limit, self.unit.quota_from
        above = [(u.limit, u) for u in self.slices if isinstance(u.limit, Bandwidth)]
        if own is None or written is None or not above:
            return None
        limit, unit = min(above, key=lambda pair: pair[0].cores)
        decides = unit.quota_from
        return LimitAbove(
            own,
            written.value_location,
            limit,
            source=None,
            owner=unit.name,
            owner_kind="slice",
            set_at=_place(decides),
            at=None if decides is None else decides.value_location,
        )

    @property
    def threads(self) -> tuple[Threads, ...]:
        """Numbers of threads in environment and commands."""
        counts = thread_counts(_environment(self.unit), _command(self.unit))
        return tuple(
            Threads(count.number, count.setting, count.kind, _location(count.at))
            for count in counts
        )


def _place(written: Assignment | None) -> str:
    if written is None:
        return "a file that is not here"
    return f"{written.location.file}:{written.location.line}"


def _environment(unit: UnitConfig) -> dict[str, Scalar]:
    return {
        name: _held(text, written)
        for written in standing(unit.files, "Service", "Environment")
        for name, equals, text in (word.partition("=") for word in split_words(written.value))
        if equals
    }


def _command(unit: UnitConfig) -> list[Scalar]:
    return [
        _held(word, written)
        for written in standing(unit.files, "Service", "ExecStart")
        for word in command_words(written.value)
    ]


def _held(text: str, written: Assignment) -> FileScalar:
    at = written.value_location
    return FileScalar.of(Scalar(text, False, at.line, at.column), at.file)


def _location(held: Scalar) -> Location | None:
    if not isinstance(held, FileScalar):
        return None
    return Location(file=held.file, line=held.line, column=held.column)
