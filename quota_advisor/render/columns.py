"""The workload table's columns, shared by the renderers that show one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from quota_advisor.model.advice import Advice, Decision
from quota_advisor.model.cgroup import CgroupFacts, CpuCounters, Demand
from quota_advisor.model.finding import Subject
from quota_advisor.model.limit import Bandwidth, CpuLimit, Missing, Unlimited
from quota_advisor.model.report import Report
from quota_advisor.model.workload import Host, Workload
from quota_advisor.records import NamedTuple, dataclass
from quota_advisor.units import format_percent, format_ratio, format_usec

ABSENT = "-"
"""Shown for what was not measured; zero is shown only where zero was measured."""


MAX_LISTED = 20
"""Workloads that are listed unless all are asked for: at night the worst must be in sight."""

ALWAYS = ("WORKLOAD", "LIMIT", "ADVICE")
"""Columns that are shown even where nothing is known."""


class Table(NamedTuple):
    """The workload table.

    Attributes:
        headings: Of its columns.
        rows: Cells of each workload.
        left_out: Number of workloads that are not listed.
    """

    headings: list[str]
    rows: list[list[str]]
    left_out: int


@dataclass(frozen=True, slots=True)
class Column:
    """One column: heading, how to fill it, and whether it is always shown."""

    heading: str
    cell: Callable[[Workload], str]
    wide_only: bool = False


def rows_worst_first(host: Host, report: Report, *, everything: bool) -> list[Workload]:
    """Return the workloads to list: worst finding first, then most throttled."""
    ranks: dict[tuple[str, str | None], int] = {}
    for finding in report.results.findings:
        for said in (finding, *finding.parts):
            key = (said.subject.name, said.subject.cgroup)
            ranks[key] = max(ranks.get(key, -1), said.severity.rank)

    def rank(workload: Workload) -> int:
        return ranks.get((workload.subject.name, workload.subject.cgroup), -1)

    def matters(workload: Workload) -> bool:
        return _matters(workload) or isinstance(report.advice.get(workload.subject), Advice)

    shown = [w for w in host.workloads if everything or matters(w) or rank(w) >= 0]
    return sorted(shown, key=lambda w: (-rank(w), -_throttled_share(w), w.name))


def table_rows(
    host: Host, report: Report, *, wide: bool, everything: bool, most: int = MAX_LISTED
) -> Table:
    """Return the table, worst first; workloads of one name are told apart by cgroup.

    Args:
        host: The machine.
        report: What was found and decided.
        wide: Show the columns for a closer look too.
        everything: List those without a limit too, and more than the worst.
        most: How many of the others are listed.
    """
    workloads = rows_worst_first(host, report, everything=everything)
    shown = workloads if everything else workloads[:most]
    columns = _columns(host, shown, wide=wide)
    bearers = Counter(workload.name for workload in workloads)

    def cell(workload: Workload, column: Column) -> str:
        ambiguous = column is NAME and bearers[workload.name] > 1
        return (workload.subject.cgroup if ambiguous else None) or column.cell(workload)

    # What was decided stands last.
    headings = [*(c.heading for c in columns), "ADVICE"]
    rows = [[*(cell(w, c) for c in columns), _advice(report.advice[w.subject])] for w in shown]
    headings, rows = _filled(headings, rows)
    return Table(headings, rows, left_out=len(workloads) - len(shown))


def _columns(host: Host, shown: Sequence[Workload], *, wide: bool) -> list[Column]:
    told_apart = any(_is_not_as_configured(workload) for workload in shown)
    columns = [c for c in COLUMNS if wide or not c.wide_only or (c is CONFIGURED and told_apart)]
    # Where totals are judged, the window is the whole life.
    is_lifetime = host.facts.observation.window_usec == 0
    return [c for c in columns if not (is_lifetime and c is LIFETIME)]


def _filled(
    headings: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[list[str], list[list[str]]]:
    """Leave out columns in which nothing is known of anything."""
    kept = [
        i
        for i, heading in enumerate(headings)
        if heading in ALWAYS or any(row[i] != ABSENT for row in rows)
    ]
    return [headings[i] for i in kept], [[row[i] for i in kept] for row in rows]


def limit_text(limit: CpuLimit) -> str:
    """Return a limit for people: percent of one CPU, ``none``, or not known."""
    if isinstance(limit, Missing):
        return ABSENT
    return "none" if isinstance(limit, Unlimited) else limit.percent_text


def subject_heading(subject: Subject) -> str:
    """Return the name under which the findings about a subject are listed."""
    if subject.cgroup is None or subject.cgroup == subject.name:
        return subject.name
    return f"{subject.name}  {subject.cgroup}"


def _matters(workload: Workload) -> bool:
    """Whether a workload has a limit of its own, in its files or above it."""
    live = isinstance(workload.tightest, tuple)
    return live or isinstance(workload.configured, Bandwidth)


def _is_not_as_configured(workload: Workload) -> bool:
    """Whether a unit's live limit is not the configured one: another, or it does not run."""
    wanted = workload.configured
    limited = isinstance(wanted, Bandwidth) or isinstance(workload.limit, Bandwidth)
    known = not isinstance(wanted, Missing)
    return limited and known and limit_text(wanted) != limit_text(workload.limit)


def _throttled_share(workload: Workload) -> float:
    window = workload.counters
    ratio = window if isinstance(window, Missing) else window.throttled_ratio
    return 0.0 if isinstance(ratio, Missing) else ratio


def _group(workload: Workload) -> CgroupFacts | None:
    return None if isinstance(workload.cgroup, Missing) else workload.cgroup


def _demand(workload: Workload) -> Demand | None:
    group = _group(workload)
    return None if group is None or isinstance(group.demand, Missing) else group.demand


def _in_force(workload: Workload) -> str:
    tightest = workload.tightest
    if not isinstance(tightest, tuple):
        return limit_text(tightest)
    limit, group = tightest
    own = _group(workload) is group
    return limit_text(limit) if own else f"{limit_text(limit)} by {group.path}"


def _period(workload: Workload) -> str:
    limit = workload.limit
    return format_usec(limit.period_usec) if isinstance(limit, Bandwidth) else ABSENT


def _throttled(workload: Workload) -> str:
    window = workload.counters
    if isinstance(window, Missing):
        return ABSENT
    return _ratio(window.throttled_ratio)


def _throttled_ever(workload: Workload) -> str:
    group = _group(workload)
    if group is None:
        return ABSENT
    totals: CpuCounters = group.totals
    return _ratio(totals.throttled_ratio)


def _ratio(ratio: float | Missing) -> str:
    return ABSENT if isinstance(ratio, Missing) else format_ratio(ratio)


def _stalled(workload: Workload) -> str:
    window = workload.counters
    if isinstance(window, Missing) or isinstance(window.throttled_usec, Missing):
        return ABSENT
    if isinstance(workload.limit, Unlimited) and window.throttled_usec == 0:
        return ABSENT
    return format_usec(window.throttled_usec)


def _peak(workload: Workload) -> str:
    demand = _demand(workload)
    if demand is None:
        return ABSENT
    return ("≥ " if demand.censored_windows else "") + _percent(demand.p95_cores)


def _mean(workload: Workload) -> str:
    demand = _demand(workload)
    return ABSENT if demand is None else _percent(demand.mean_cores)


def _max(workload: Workload) -> str:
    demand = _demand(workload)
    return ABSENT if demand is None else _percent(demand.max_cores)


def _percent(cores: float) -> str:
    """Return CPU use in the notation of the limit beside it: 100 % is one CPU."""
    return format_percent(cores * 100)


def _advice(advice: Advice | Missing) -> str:
    """Return a decision in the notation of the limit beside it: what it should be."""
    if isinstance(advice, Missing) or advice.decision is Decision.UNKNOWN:
        return ABSENT
    quota = advice.quota
    if quota is None:
        return "no quota" if advice.decision is Decision.REMOVE else "keep"
    return ("≥ " if quota.lower_bound else "") + f"{quota.percent} %"


CONFIGURED = Column("CONFIGURED", lambda w: limit_text(w.configured), wide_only=True)
NAME = Column("WORKLOAD", lambda w: w.name)
LIFETIME = Column("LIFETIME", _throttled_ever)

COLUMNS = (
    Column("KIND", lambda w: w.kind, wide_only=True),
    NAME,
    CONFIGURED,
    Column("LIMIT", lambda w: limit_text(w.limit)),
    Column("IN FORCE", _in_force, wide_only=True),
    Column("PERIOD", _period, wide_only=True),
    Column("THROTTLED", _throttled),
    LIFETIME,
    Column("HELD BACK", _stalled, wide_only=True),
    Column("MEAN", _mean),
    Column("PEAK", _peak),
    Column("MAX", _max, wide_only=True),
)
