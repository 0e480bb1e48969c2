"""systemd units: what the manager says of them and what their files say, merged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from enum import StrEnum
from typing import Literal

from quota_advisor.model.finding import Subject
from quota_advisor.model.limit import CpuLimit, Missing, Unlimited, Unset, effective_limit
from quota_advisor.model.source import Location, Source, Span, span_of
from quota_advisor.model.suppression import Suppression
from quota_advisor.records import dataclass

_NOT_TOLD = Missing(reason="not told by the manager")
_NOT_COUNTED = Missing(reason="restarts are counted over a window")
_NOT_LOOKED_FOR = Missing(reason="not looked for")


@dataclass(frozen=True, slots=True, kw_only=True)
class SwallowedLine:
    """A physical line that belongs to the value begun above it, with its text stripped."""

    text: str
    location: Location

    @property
    def span(self) -> Span:
        """The text in its file."""
        return span_of(self.location, self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """One ``Key=value`` line of a unit file, continuation lines joined.

    Attributes:
        section: Section name as written; empty before the first section header.
        key: Key as written.
        value: Value with surrounding white space removed.
        location: Place of the key.
        value_location: Place of the first character of the value.
        swallowed: Lines that a trailing backslash of the line before made part of this value.
    """

    section: str
    key: str
    value: str
    location: Location
    value_location: Location
    swallowed: tuple[SwallowedLine, ...] = ()

    @property
    def key_span(self) -> Span:
        """The key in its file."""
        return span_of(self.location, self.key)

    @property
    def value_span(self) -> Span:
        """The value in its file, up to the end of its last line."""
        if not self.swallowed:
            return span_of(self.value_location, self.value)
        first, last = self.value_location, self.swallowed[-1].span
        return Span(
            file=first.file,
            line=first.line,
            column=first.column,
            end_line=last.end_line,
            end_column=last.end_column,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MalformedLine:
    """A line that systemd would refuse, and why.

    Attributes:
        location: Place of the line's first character.
        reason: What is wrong with it.
        fatal: systemd reads no further in this file; a unit whose own file has such a line
            cannot be loaded.
    """

    location: Location
    reason: str
    fatal: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitFile:
    """One file of a unit, fragment or drop-in, as parsed.

    Attributes:
        path: Path on the host it belongs to (without a ``--root`` prefix).
        assignments: Every assignment, in file order.
        suppressions: Suppression comments, in file order.
        malformed: Lines that are neither assignment, section, comment nor blank.
    """

    path: str
    assignments: tuple[Assignment, ...] = ()
    suppressions: tuple[Suppression, ...] = ()
    malformed: tuple[MalformedLine, ...] = ()


def standing(files: Iterable[UnitFile], section: str, key: str) -> list[Assignment]:
    """Return the assignments of a key that count, in order.

    For keys whose values add up: an empty value takes back those before it.
    """
    found: list[Assignment] = []
    for file in files:
        for written in file.assignments:
            if (written.section, written.key) == (section, key):
                found.append(written)
                if not written.value:
                    found.clear()
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenFile:
    """A unit file or drop-in that has no effect because another of its name comes first."""

    path: str
    hidden_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NeverRead:
    """A setting in a file that systemd never reads, though it was meant for the unit.

    Attributes:
        assignment: The setting.
        reason: Why the file is not read, as a clause.
    """

    assignment: Assignment
    reason: str


class Outcome(StrEnum):
    """What became of an assignment of a CPU key."""

    APPLIED = "applied"
    OVERRIDDEN = "overridden"
    INVALID = "invalid"
    WRONG_SECTION = "wrong-section"
    UNKNOWN_KEY = "unknown-key"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedAssignment:
    """An assignment of a CPU key, or of what was meant as one, and what became of it.

    Attributes:
        assignment: The assignment.
        outcome: What became of it.
        reason: Why it has no effect, as a clause; empty when it was applied.
        overridden_by: The assignment that took its place, if one did.
        suggestion: The key that was probably meant, for an unknown key; may be empty.
    """

    assignment: Assignment
    outcome: Outcome
    reason: str = ""
    overridden_by: Assignment | None = None
    suggestion: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitConfig:
    """The files of one unit, merged as systemd merges them.

    Attributes:
        name: Unit name, for example ``api.service`` or ``getty@tty1.service``.
        fragment: The unit file, or why there is none.
        drop_ins: Drop-ins in the order in which systemd applies them.
        hidden: Files that another file of the same name hides or masks.
        quota_per_sec_usec: The merged quota as configured, CPU time per second of wall time.
        quota_from: The assignment that decided the quota, if any did.
        period_usec: The merged period as configured.
        period_from: The assignment that decided the period, if any did.
        allowed_cpus: ``AllowedCPUs=`` merged, as CPU numbers; empty when not set.
        judged: Every assignment of a CPU key in the order of :attr:`files`, with its outcome.
        unread: Why files that may decide the quota could not be read; the rest is then not all.
        never_read: CPU settings in files beside the drop-ins that systemd passes over.
    """

    name: str
    fragment: UnitFile | Missing
    drop_ins: tuple[UnitFile, ...] = ()
    hidden: tuple[HiddenFile, ...] = ()
    quota_per_sec_usec: int | Unlimited = field(default_factory=Unlimited)
    quota_from: Assignment | None = None
    period_usec: int | Unset = field(default_factory=Unset)
    period_from: Assignment | None = None
    allowed_cpus: tuple[int, ...] = ()
    judged: tuple[JudgedAssignment, ...] = ()
    unread: tuple[Missing, ...] = ()
    never_read: tuple[NeverRead, ...] = ()

    @property
    def subject(self) -> Subject:
        """What a finding about these files names."""
        return Subject(kind=self.name.rpartition(".")[2], name=self.name)

    @property
    def files(self) -> tuple[UnitFile, ...]:
        """Fragment and drop-ins in the order in which their assignments apply."""
        if isinstance(self.fragment, Missing):
            return self.drop_ins
        return (self.fragment, *self.drop_ins)

    def last(self, section: str, key: str) -> str:
        """Return the last value of a key in the files, empty where there is none.

        For keys whose values are taken as they stand; CPU keys are merged into :attr:`judged`.
        """
        values = [
            assignment.value
            for file in self.files
            for assignment in file.assignments
            if (assignment.section, assignment.key) == (section, key)
        ]
        return values[-1] if values else ""

    @property
    def limit(self) -> CpuLimit:
        """The limit that systemd would write to the kernel; missing where a file was not read."""
        if self.unread:
            return self.unread[0]
        return effective_limit(self.quota_per_sec_usec, self.period_usec)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitProperties:
    """One loaded unit as its manager describes it over D-Bus.

    Attributes:
        name: Unit name.
        manager: The system manager, or the user's own.
        load_state: ``loaded``, ``not-found``, ``masked``, ``error`` …
        active_state: ``active``, ``inactive``, ``failed`` …
        fragment_path: The unit file; empty for units without one.
        drop_in_paths: Drop-ins in the order of the manager.
        need_daemon_reload: Files changed since the manager read them.
        transient: Made at run time by a program, not from files.
        control_group: cgroup path below the controller's root; empty when the unit has none.
        slice: The slice that holds the unit.
        restart: ``Restart=`` of a service, else empty.
        delegate: The unit manages its own sub-cgroups.
        quota_per_sec_usec: ``CPUQuotaPerSecUSec``.
        period_usec: ``CPUQuotaPeriodUSec`` as configured, not as clamped.
        cpu_weight: ``CPUWeight``.
        allowed_cpus: ``AllowedCPUs=`` as CPU numbers; empty when not set.
        startup_cpu_weight, startup_allowed_cpus: The same while the machine starts or stops.
        effective_cpus: CPUs that the unit may run on now; empty without a cpuset of its own.
        cpu_accounting: ``CPUAccounting``.
        delegate_controllers: Controllers that the unit hands on to its sub-cgroups.
        restarts: ``NRestarts``: how often the manager restarted it since somebody started it.
        main_pid: ``MainPID``; 0 without a main process.
        unit_file_state: ``enabled``, ``static``, ``masked`` …; empty without a unit file.
        sources: Where the CPU properties were read.
    """

    name: str
    manager: Literal["system", "user"]
    load_state: str
    active_state: str
    fragment_path: str
    drop_in_paths: tuple[str, ...]
    need_daemon_reload: bool
    transient: bool
    control_group: str
    slice: str
    restart: str
    delegate: bool
    quota_per_sec_usec: int | Unlimited | Missing
    period_usec: int | Unset | Missing
    cpu_weight: int | Unset | Missing
    allowed_cpus: tuple[int, ...] | Missing
    startup_cpu_weight: int | Unset | Missing = _NOT_TOLD
    startup_allowed_cpus: tuple[int, ...] | Missing = _NOT_TOLD
    effective_cpus: tuple[int, ...] | Missing = _NOT_TOLD
    cpu_accounting: bool | Missing = _NOT_TOLD
    delegate_controllers: tuple[str, ...] = ()
    unit_file_state: str = ""
    restarts: int | Missing = _NOT_TOLD
    main_pid: int | Missing = _NOT_TOLD
    sources: tuple[Source, ...] = ()

    @property
    def limit(self) -> CpuLimit:
        """The limit that the manager would write to the kernel."""
        return effective_limit(self.quota_per_sec_usec, self.period_usec)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitFacts:
    """One unit: the manager's view and the files' view, either of which may be missing.

    Attributes:
        name: Unit name.
        properties: What the manager says.
        config: What the files say.
        restarts: How often the manager restarted it within the window.
        main_process_group: cgroup of its main process, for active units with a quota.
    """

    name: str
    properties: UnitProperties | Missing
    config: UnitConfig | Missing
    restarts: int | Missing = _NOT_COUNTED
    main_process_group: str | Missing = _NOT_LOOKED_FOR
