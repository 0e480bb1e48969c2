"""Rules about a quota that a unit's files show before it runs, and a kernel while it does."""

from __future__ import annotations

from quota_advisor.checks.evidence import limit_evidence
from quota_advisor.derive.quota_case import LimitAbove, QuotaCase, Threads
from quota_advisor.derive.thread_counts import USUAL_PER_CORE, allowed_count
from quota_advisor.model.finding import Evidence, Recommendation, Related
from quota_advisor.model.limit import MAX_PERIOD_USEC, MIN_QUOTA_USEC, Bandwidth
from quota_advisor.model.source import Location
from quota_advisor.rulebook.catalogue import Rule
from quota_advisor.rulebook.engine import Hit, Verdicts, check
from quota_advisor.sim.stall import Stall, worst_stall
from quota_advisor.units import USEC_PER_PERMYRIAD, USEC_PER_SEC, format_usec


@check(QuotaCase)
def period_lengthened(case: QuotaCase, rule: Rule) -> Verdicts:
    """Find a period longer than the default: the freeze grows with it."""
    asked, longest = case.period, rule.option("max_period_usec")
    if asked is None or asked.asked_usec <= longest:
        return
    limit = asked.limit
    cut = (
        f" ({format_usec(asked.asked_usec)} as written; the kernel takes at most"
        f" {format_usec(MAX_PERIOD_USEC)})"
    )
    yield Hit(
        message=(
            f"period of {format_usec(limit.period_usec)}"
            f"{cut if asked.asked_usec > MAX_PERIOD_USEC else ''} instead of 100 ms"
            f"{_freeze_text(limit, case.cpus)}"
        ),
        location=asked.at,
        evidence=(
            Evidence(
                label="period",
                value=limit.period_usec,
                unit="usec",
                threshold=longest,
                source=case.limit_source,
            ),
            limit_evidence(limit, case.limit_source),
        ),
    )


@check(QuotaCase)
def quota_below_kernel_minimum(case: QuotaCase, _rule: Rule) -> Verdicts:
    """Find a configured quota below 1 ms per period, which comes out as something else."""
    asked = case.asked
    if asked is None:
        return
    per_period_usec = asked.per_sec_usec * asked.period_usec / USEC_PER_SEC
    if per_period_usec >= MIN_QUOTA_USEC:
        return
    yield Hit(
        message=(
            f"{asked.per_sec_usec / (100 * USEC_PER_PERMYRIAD):.4g} % is {per_period_usec:.4g} us"
            f" per {format_usec(asked.period_usec)}, below the kernel's 1 ms: in force is"
            f" {asked.limit.text}"
        ),
        location=asked.at,
        evidence=(
            Evidence(
                label="quota per period as configured",
                value=per_period_usec,
                unit="usec",
                threshold=MIN_QUOTA_USEC,
            ),
            limit_evidence(asked.limit, None, label="limit in force"),
        ),
    )


@check(QuotaCase)
def ancestor_tighter(case: QuotaCase, _rule: Rule) -> Verdicts:
    """Find a limit that a smaller one further up makes void."""
    above = case.above
    if above is None or above.limit.cores >= above.own.cores:
        return
    place = (Evidence(label="set at", value=above.set_at),) if above.set_at else ()
    yield Hit(
        message=(
            f"its own limit of {above.own.text} {_effect(above)}: {above.owner} above it allows"
            f" {above.limit.text} for everything inside"
        ),
        location=above.own_at,
        related=_at(above.at, "the tighter limit"),
        evidence=(
            limit_evidence(above.own, case.limit_source),
            limit_evidence(above.limit, above.source, label=f"limit of the {above.owner_kind}"),
            *place,
        ),
    )


@check(QuotaCase)
def threads_exceed_quota(case: QuotaCase, rule: Rule) -> Verdicts:
    """Compare the threads that run, or that are written down, with what the quota can feed."""
    limit = case.limit
    if limit is None or not _may_matter(case, rule):
        return
    for threads in case.threads:
        cpus = threads.number if case.cpus is None else case.cpus
        allowed = _allowed(threads, limit, rule)
        stall = worst_stall(limit, threads.number, cpus)
        if threads.number <= allowed or stall is None:
            continue
        available = () if case.cpus is None else (cpus,)
        yield Hit(
            message=_threads_message(threads, limit, stall, cpus),
            brief=f"{threads.number} threads on {limit.cores:.3g} cores",
            location=threads.at,
            related=_at(case.asked and case.asked.at, "the quota"),
            evidence=(
                Evidence(label="threads", value=threads.number, unit="threads", threshold=allowed),
                limit_evidence(limit, case.limit_source),
                *(Evidence(label="CPUs available", value=n, unit="cpus") for n in available),
            ),
            recommendation=_fewer(threads, allowed, rule),
        )


def _at(place: Location | None, what: str) -> tuple[Related, ...]:
    """Return a place beside that of a finding, where it is known."""
    return () if place is None else (Related(location=place, message=what),)


def _freeze_text(limit: Bandwidth, cpus: int | None) -> str:
    """Return how long threads stand still: with all CPUs busy, or one thread where none is known.

    More CPUs wait longer, so that what is said of one holds for any machine.
    """
    if cpus is None:
        stall = worst_stall(limit, 1, 1)
        text = ": one busy thread waits {} of it"
    else:
        stall = worst_stall(limit, cpus, cpus)
        text = ", a freeze of up to {}"
    return "" if stall is None else text.format(format_usec(stall.wait_usec))


def _effect(above: LimitAbove) -> str:
    """Return what is left of the own limit: a longer period above may allow more at once."""
    is_longer = above.limit.period_usec > above.own.period_usec
    briefly = is_longer and above.limit.quota_usec > above.own.quota_usec
    return "applies for moments only" if briefly else "never applies"


def _may_matter(case: QuotaCase, rule: Rule) -> bool:
    """Whether threads are or may be held back; nobody can tell before they run."""
    bar = rule.option("min_throttled_ratio")
    least = case.throttled_at_least(bar)
    return least is None or (isinstance(least, float) and least > bar)


def _allowed(threads: Threads, limit: Bandwidth, rule: Rule) -> float:
    """Return the highest number of threads that is taken as normal."""
    per_core = rule.option("max_threads_per_core")
    if threads.kind is None:
        return max(limit.cores, 1.0) * per_core
    return allowed_count(limit.cores, max(per_core, USUAL_PER_CORE[threads.kind]))


def _threads_message(threads: Threads, limit: Bandwidth, stall: Stall, cpus: int) -> str:
    run, wait = format_usec(stall.run_usec), format_usec(stall.wait_usec)
    if threads.setting:
        return (
            f"{threads.setting} of {threads.number} exceeds the quota of {limit.text}: all busy"
            f" they spend the {format_usec(limit.quota_usec)} of a period in {run} and wait {wait}"
        )
    return (
        f"{threads.number} threads on a quota of {limit.cores:.3g} cores: when they all run on"
        f" {min(threads.number, cpus)} CPUs, the quota lasts {run} of each"
        f" {format_usec(limit.period_usec)} and everybody waits {wait}"
    )


def _fewer(threads: Threads, allowed: float, rule: Rule) -> Recommendation | None:
    """Return what to write instead of a number; None for the rule's own words."""
    if threads.kind is None:
        return None
    per_core = max(rule.option("max_threads_per_core"), USUAL_PER_CORE[threads.kind])
    return Recommendation(
        summary=f"set {threads.setting} to at most {allowed} ({per_core:g} for each CPU of the"
        " quota, one at least), or raise the quota"
    )
