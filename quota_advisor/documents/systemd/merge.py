"""The files of one unit, merged into one configuration as systemd merges them.

Pure: what the files are and in which order they apply was decided before, by
:mod:`quota_advisor.collect.host.unit_files` on a host.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field

from quota_advisor.model.limit import Missing, Unlimited, Unset
from quota_advisor.model.unit import (
    Assignment,
    HiddenFile,
    JudgedAssignment,
    Outcome,
    UnitConfig,
    UnitFile,
)
from quota_advisor.model.unit_kind import UNIT_SECTIONS
from quota_advisor.records import dataclass
from quota_advisor.units import parse_c_integer, parse_cpu_set, parse_quota, parse_time_span

# ---- keys


def _weight(value: str) -> None:
    if value != "idle":
        _integer(value, 1, 10_000)


def _shares(value: str) -> None:
    _integer(value, 2, 262_144)


def _priority(value: str) -> None:
    _integer(value, 0, 99)


def _integer(value: str, low: int, high: int) -> None:
    if not low <= parse_c_integer(value) <= high:
        raise ValueError(f"{value!r} is not from {low} to {high}")


def _boolean(value: str) -> None:
    words = {"1", "yes", "y", "true", "t", "on", "0", "no", "n", "false", "f", "off"}
    _one_of(value.lower(), words)


def _policy(value: str) -> None:
    _one_of(value, {"other", "batch", "idle", "fifo", "rr", "ext"})


def _anything(value: str) -> None:
    """Accept a value whose grammar is too new, or of too little use here, to be judged."""


def _one_of(value: str, words: Iterable[str]) -> None:
    if value not in words:
        raise ValueError(f"{value!r} is none of the words that systemd takes here")


def _affinity(value: str) -> None:
    if value != "numa":
        parse_cpu_set(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Key:
    """What systemd does with a key.

    Attributes:
        check: Raises ValueError for a value that systemd ignores.
        adds: Each value adds to those before it; the others replace them.
        resets: The empty value takes back what was set before.
        processes_only: For units that start processes: not in ``[Slice]`` and ``[Scope]``.
    """

    check: Callable[[str], object]
    adds: bool = False
    resets: bool = True
    processes_only: bool = False


CPU_KEYS = {
    "CPUQuota": _Key(check=parse_quota),
    "CPUQuotaPeriodSec": _Key(check=parse_time_span),
    "CPUWeight": _Key(check=_weight),
    "StartupCPUWeight": _Key(check=_weight),
    "CPUShares": _Key(check=_shares),
    "StartupCPUShares": _Key(check=_shares),
    "CPUAccounting": _Key(check=_boolean, resets=False),
    "AllowedCPUs": _Key(check=parse_cpu_set, adds=True),
    "StartupAllowedCPUs": _Key(check=parse_cpu_set, adds=True),
    "CPUSetPartition": _Key(check=_anything),
    "CPUPressureWatch": _Key(check=_anything),
    "CPUPressureThresholdSec": _Key(check=_anything),
    "CPUAffinity": _Key(check=_affinity, adds=True, processes_only=True),
    "CPUSchedulingPolicy": _Key(check=_policy, processes_only=True),
    "CPUSchedulingPriority": _Key(check=_priority, processes_only=True),
    "CPUSchedulingResetOnFork": _Key(check=_boolean, resets=False, processes_only=True),
}
"""The CPU keys of systemd up to version 262.

Source: systemd ``load-fragment-gperf.gperf.in`` and ``systemd.resource-control(5)``.
"""

_NEARLY = ("cpu", "startupcpu", "allowedcpu", "startupallowedcpu", "effectivecpu")
"""How a key begins, in lower case, that somebody meant to be one of :data:`CPU_KEYS`."""

_MEANT = {
    "cpuquotaperiodusec": "CPUQuotaPeriodSec",
    "cpuquotaperiod": "CPUQuotaPeriodSec",
    "cpuquotapersecusec": "CPUQuota",
    "cpulimit": "CPUQuota",
    "cpumax": "CPUQuota",
    "cpus": "CPUQuota",
    "cpuset": "AllowedCPUs",
    "effectivecpus": "AllowedCPUs",
    "cpuquotaburst": "",
    "cpuquotaburstsec": "",
    "cpuburst": "",
}
"""Keys that get written although they do not exist, and what does; empty for nothing."""

_SPELLING = {key.lower(): key for key in CPU_KEYS}


def suggested_key(key: str) -> str:
    """Return the key of systemd that was probably meant; empty when none comes near."""
    folded = key.lower().replace(" ", "")
    if folded in _MEANT:
        return _MEANT[folded]
    near = difflib.get_close_matches(folded, _SPELLING, n=1, cutoff=0.8)
    return _SPELLING[near[0]] if near else ""


def is_cpu_key(key: str) -> bool:
    """Whether a key is one of :data:`CPU_KEYS` or looks as if it were meant to be one."""
    return key in CPU_KEYS or key.lower().startswith(_NEARLY)


# ---- units


def unit_section(name: str) -> str:
    """Return the section that holds a unit's CPU keys; empty for types without a cgroup."""
    return UNIT_SECTIONS.get(name.rpartition(".")[2], "")


def merge_unit(
    name: str,
    fragment: UnitFile | Missing,
    drop_ins: Sequence[UnitFile] = (),
    hidden: Sequence[HiddenFile] = (),
) -> UnitConfig:
    """Return a unit's configuration: per key the last valid assignment counts.

    Args:
        name: Unit name; its suffix decides which section counts.
        fragment: The unit file.
        drop_ins: In the order in which systemd applies them.
        hidden: Files that have no effect, passed through.
    """
    files = drop_ins if isinstance(fragment, Missing) else (fragment, *drop_ins)
    judged = judge(name, (a for file in files for a in file.assignments))
    deciding = {v.assignment.key: v.assignment for v in judged if v.outcome is Outcome.APPLIED}
    allowed = [v.assignment.value for v in _applied(judged, "AllowedCPUs") if v.assignment.value]
    quota, period = deciding.get("CPUQuota"), deciding.get("CPUQuotaPeriodSec")
    return UnitConfig(
        name=name,
        fragment=fragment,
        drop_ins=tuple(drop_ins),
        hidden=tuple(hidden),
        quota_per_sec_usec=parse_quota(quota.value) if quota and quota.value else Unlimited(),
        quota_from=quota,
        period_usec=_period(period.value) if period else Unset(),
        period_from=period,
        allowed_cpus=tuple(sorted({cpu for value in allowed for cpu in parse_cpu_set(value)})),
        judged=judged,
    )


def _applied(judged: Iterable[JudgedAssignment], key: str) -> Iterable[JudgedAssignment]:
    return (v for v in judged if v.assignment.key == key and v.outcome is Outcome.APPLIED)


def _period(value: str) -> int | Unset:
    span = parse_time_span(value) if value else "infinity"
    return span if isinstance(span, int) else Unset()


def judge(name: str, assignments: Iterable[Assignment]) -> tuple[JudgedAssignment, ...]:
    """Return every assignment of a CPU key with what becomes of it in a unit.

    Args:
        name: Unit name; its suffix decides which section counts.
        assignments: In the order in which they apply, all files together.
    """
    judging = _Judging(unit_section(name))
    for assignment in assignments:
        if is_cpu_key(assignment.key) and not assignment.section.startswith("X-"):
            judging.add(assignment)
    return tuple(judging.judged)


@dataclass(slots=True)
class _Judging:
    section: str
    judged: list[JudgedAssignment] = field(default_factory=list)
    standing: dict[str, list[int]] = field(default_factory=dict)
    """Per key, where in ``judged`` the assignments are that count so far."""

    def add(self, assignment: Assignment) -> None:
        key = CPU_KEYS.get(assignment.key)
        if key is None:
            self._reject_key(assignment)
        elif not self._is_in_place(assignment, key):
            self._reject(assignment, Outcome.WRONG_SECTION, _misplaced(assignment, self.section))
        elif reason := _why_invalid(assignment.value, key):
            self._reject(assignment, Outcome.INVALID, reason)
        else:
            self._apply(assignment, key)

    def _is_in_place(self, assignment: Assignment, key: _Key) -> bool:
        grouping = self.section in ("Slice", "Scope")
        in_section = bool(self.section) and assignment.section == self.section
        return in_section and not (key.processes_only and grouping)

    def _reject(self, assignment: Assignment, outcome: Outcome, reason: str) -> None:
        self.judged.append(JudgedAssignment(assignment=assignment, outcome=outcome, reason=reason))

    def _reject_key(self, assignment: Assignment) -> None:
        self.judged.append(
            JudgedAssignment(
                assignment=assignment,
                outcome=Outcome.UNKNOWN_KEY,
                reason=f"systemd has no key {assignment.key}",
                suggestion=suggested_key(assignment.key),
            )
        )

    def _apply(self, assignment: Assignment, key: _Key) -> None:
        standing = self.standing.setdefault(assignment.key, [])
        if not (key.adds and assignment.value):
            for index in standing:
                self.judged[index] = _overridden(self.judged[index].assignment, assignment)
            standing.clear()
        standing.append(len(self.judged))
        self.judged.append(JudgedAssignment(assignment=assignment, outcome=Outcome.APPLIED))


def _overridden(assignment: Assignment, by: Assignment) -> JudgedAssignment:
    where = f"line {by.location.line} of {by.location.file}"
    return JudgedAssignment(
        assignment=assignment,
        outcome=Outcome.OVERRIDDEN,
        reason=f"{where} {'sets it again' if by.value else 'resets it'}",
        overridden_by=by,
    )


def _why_invalid(value: str, key: _Key) -> str:
    if not value:
        return "" if key.resets else "there is no value"
    try:
        key.check(value)
    except ValueError as error:
        return str(error)
    return ""


def _misplaced(assignment: Assignment, section: str) -> str:
    where = f"[{assignment.section}]" if assignment.section else "before the first section"
    if not section:
        return "units of this type have no CPU settings"
    if assignment.section == section:
        return f"[{section}] does not take this key"
    return f"it stands {'in ' * bool(assignment.section)}{where}, not in [{section}]"
