"""The result for people: a row a quota, and which one to take."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import tabulate

from quota_advisor.model.limit import Bandwidth, Missing
from quota_advisor.sim.bandwidth import Outcome, Setting
from quota_advisor.sim.sweep import Target
from quota_advisor.simulate.run import Candidate, Result
from quota_advisor.units import format_cores, format_percent, format_ratio, format_usec

MSEC = 1_000


def render(result: Result) -> str:
    """Return the result as text."""
    blocks = [
        headline(result),
        _table(result.candidates, result.order.target) if result.candidates else "",
        "\n".join(_sweep(result)) if result.order.sweep else "",
        "\n".join(f"note: {note}" for note in result.notes),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def headline(result: Result) -> str:
    """Return what was recorded, in one line."""
    use = result.use
    return (
        f"{result.name}: {format_usec(result.span_usec)} every"
        f" {format_usec(result.about.interval_usec)}; mean {format_cores(use.mean_cores)},"
        f" p95 {format_cores(use.p95_cores)}, highest {format_cores(use.max_cores)}"
        f" in 100 ms; {result.about.cpus} CPUs"
    )


def quota_text(setting: Setting) -> str:
    """Return a quota as systemd writes it."""
    limit = setting.limit
    return format_percent(limit.percent) if isinstance(limit, Bandwidth) else "none"


def period_text(setting: Setting) -> str:
    """Return a period; a dash where there is no quota."""
    limit = setting.limit
    return format_usec(limit.period_usec) if isinstance(limit, Bandwidth) else "-"


def _table(candidates: Sequence[Candidate], target: Target) -> str:
    rows = []
    for candidate in candidates:
        setting = candidate.setting
        row = {
            "QUOTA": quota_text(setting),
            "PERIOD": period_text(setting),
            "BURST": format_usec(setting.burst_usec) if setting.burst_usec else "0",
        }
        row |= {name: _between(candidate, cell) for name, cell in _CELLS.items()}
        row["TARGET"] = _verdict(candidate, target)
        rows.append(row)
    return tabulate.tabulate(rows, headers="keys", tablefmt="plain")


def _between(candidate: Candidate, cell: Callable[[Outcome], str]) -> str:
    """Return a figure, or both ends of what it may be."""
    least = cell(candidate.outcome)
    if candidate.at_most is None or cell(candidate.at_most) == least:
        return least
    return f"{least} … {cell(candidate.at_most)}"


def _throttled(outcome: Outcome) -> str:
    ratio = outcome.throttled_ratio
    return "-" if isinstance(ratio, Missing) else format_ratio(ratio)


def _late(usec: float) -> str:
    return format_usec(usec) if usec else "0"


_CELLS: dict[str, Callable[[Outcome], str]] = {
    "THROTTLED": _throttled,
    "STALLED": lambda o: _late(o.stalled_usec),
    "LATE P50": lambda o: _late(o.delay.p50_usec),
    "P95": lambda o: _late(o.delay.p95_usec),
    "P99": lambda o: _late(o.delay.p99_usec),
    "P99.9": lambda o: _late(o.delay.p999_usec),
    "MAX": lambda o: _late(o.delay.max_usec),
    "USED": lambda o: format_cores(o.used_cores),
    "OWED": lambda o: _late(o.backlog_usec),
}


def _verdict(candidate: Candidate, target: Target) -> str:
    met = target.is_met(candidate.outcome)
    if candidate.at_most is None or target.is_met(candidate.at_most) == met:
        return "met" if met else "missed"
    return "perhaps"


def _sweep(result: Result) -> Iterator[str]:
    """Yield the answer and the frontier behind it."""
    target = result.order.target.text
    if result.answer is None:
        yield f"no quota below all CPUs keeps the target ({target}): set none, rank it by weight"
        return
    best = ("at least " if result.answer.at_most else "") + setting_text(result.answer.setting)
    yield f"smallest that keeps the target ({target}): {best}"
    plain = plain_answer(result)
    if plain is not None and plain is not result.answer:
        yield f"smallest with systemd's own settings alone: {setting_text(plain.setting)}"
    yield from _recommended(result)
    yield ""
    yield _table(result.frontier, result.order.target)


def _recommended(result: Result) -> Iterator[str]:
    """Yield what audit would advise from this recording: the same decision, with headroom."""
    need = result.need
    if isinstance(need, Missing):
        yield f"no number with headroom: {need.reason}"
        return
    if need.cores >= result.about.cpus:
        yield f"with headroom: no quota ({need.formula})"
        return
    at_least = "at least " if need.lower_bound else ""
    yield f"with headroom: {at_least}CPUQuota={need.percent}% ({need.formula})"


def plain_answer(result: Result) -> Candidate | None:
    """Return the smallest quota without burst and with the default period, if one will do."""
    for candidate in result.frontier:
        limit = candidate.setting.limit
        is_default = isinstance(limit, Bandwidth) and limit.period_usec == 100 * MSEC
        if is_default and not candidate.setting.burst_usec:
            return candidate
    return None


def setting_text(setting: Setting) -> str:
    """Return a setting as one would write it."""
    limit = setting.limit
    if not isinstance(limit, Bandwidth):
        return "no quota"
    text = f"CPUQuota={limit.percent:g}%"
    if limit.period_usec != 100 * MSEC:
        text += f" CPUQuotaPeriodSec={limit.period_usec / MSEC:g}ms"
    if setting.burst_usec:
        text += f" and a burst of {format_usec(setting.burst_usec)} (cpu.max.burst)"
    return text
