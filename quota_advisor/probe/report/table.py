"""The result for people: one column a tier, medians over the rounds, and what to write where."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import tabulate

from quota_advisor.model.limit import Missing
from quota_advisor.probe.report.notations import Notations, notations
from quota_advisor.probe.report.plot import plot
from quota_advisor.probe.result import Result
from quota_advisor.probe.slo import CONFIDENCE, Answer, Knob, Trial, least_share
from quota_advisor.probe.summary import Figure, TierSummary, figure, summarise
from quota_advisor.units import format_cores, format_ratio, format_usec

MAX_REMARKS = 5
MARGIN, COLUMN = 22, 17
"""Columns of text that the names of the rows, and one tier at least, take."""

NOT_KNOWN = "n/a"


def render(result: Result, *, width: int = 0) -> str:
    """Return the result as text.

    Args:
        result: The result.
        width: Columns of the terminal; a plot follows where there is one, that is, above 0.
    """
    blocks = [
        headline(result),
        "\n".join(f"note: {note}" for note in result.notes),
        *(_tables(result, width) if result.answer is None else (_trials(result.answer),)),
        plot(result, width) if width else "",
        "\n".join(_accounts(result)),
        "\n".join(f"warning: {doubt}" for doubt in result.doubts),
        "" if result.answer is None else "\n".join(answer_lines(result.answer)),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def headline(result: Result) -> str:
    """Return one line: what was measured, on which machine, how often."""
    load, node, timing = result.load, result.node, result.timing
    count = timing.rounds if result.answer is None else len(result.runs)
    runs = f"{count} run{_s(count)} of {timing.duration_sec:g} s"
    if result.answer is None and count > 1:
        runs = f"median of {runs}"
    threads = f"{load.threads} thread{_s(load.threads)}"
    return (
        f"{load.profile.name}: {threads} on {node.cpus} CPUs,"
        f" kernel {node.kernel_release}, {node.cgroups}; {runs}"
    )


def answer_lines(answer: Answer) -> Iterator[str]:
    """Yield what the search for a target came to, how sure that is, and what to write where."""
    found = answer.found
    if found is None:
        yield f"{answer.target} is not kept by any {answer.knob} that was tried: {_best(answer)}"
        yield (
            "  the limit is not what is missing: fewer threads, less work a request, or more CPUs"
            if answer.knob is Knob.QUOTA
            else f"  a larger quota is the next thing to try: --slo-for {Knob.QUOTA}"
        )
        return
    yield (
        f"{answer.target} is kept {'from' if answer.knob is Knob.QUOTA else 'with'}"
        f" {_setting(found, answer.knob)}:"
        f" in {found.met} of {len(found.runs)} runs ({_range(found, answer)})"
    )
    yield f"  {_confidence(found, answer)}"
    if not all(answer.target.enough_samples(run) for run in found.runs):
        yield (
            f"  the runs are too short to know {answer.target.percentile}:"
            " few requests are beyond it; use a longer --duration"
        )
    yield from (f"  {line}" for line in _notation_lines(notations(found.limit)))


def _confidence(found: Trial, answer: Answer) -> str:
    share = format_ratio(least_share(found.met))
    text = f"with {CONFIDENCE:.0%} confidence at least {share} of such runs keep it"
    below = answer.missed_below
    if below is None:
        return f"{text}; nothing tighter was tried"
    kept = f"{below.met} of {len(below.runs)} runs"
    return f"{text}; {_setting(below, answer.knob)} kept it in {kept}"


def _setting(trial: Trial, knob: Knob) -> str:
    match knob:
        case Knob.QUOTA:
            return format_cores(trial.limit.tier_cores)
        case Knob.BURST:
            burst = trial.limit.burst_usec
            return f"a burst of {format_usec(burst)}" if burst else "no burst"
        case Knob.PERIOD:
            return f"a period of {format_usec(trial.limit.bandwidth.period_usec)}"


def _range(trial: Trial, answer: Answer) -> str:
    values = [answer.target.latency_of(run) for run in trial.runs]
    known = [value for value in values if not isinstance(value, Missing)]
    if not known:
        return f"no {answer.target.percentile}: no request was finished"
    low, high = format_usec(min(known)), format_usec(max(known))
    return f"{answer.target.percentile} {low if low == high else f'{low} to {high}'}"


def _best(answer: Answer) -> str:
    last = answer.trials[-1]
    return f"{_setting(last, answer.knob)} gives {_range(last, answer)}"


def _notation_lines(written: Notations) -> Iterator[str]:
    yield f"systemd     {'; '.join(written.systemd)}"
    burst = f", cpu.max.burst {written.burst}" if written.burst else ""
    yield f"cpu.max     {written.cpu_max}{burst}"
    yield f"Kubernetes  limits.cpu: {written.kubernetes}"
    yield f"compose     {written.compose}"


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def _trials(answer: Answer) -> str:
    """Return one row a candidate: a search may try many, and they have no room side by side."""
    headings = [str(answer.knob), answer.target.percentile, "kept", "periods throttled"]
    rows = [
        [
            _setting(trial, answer.knob),
            _range(trial, answer).removeprefix(f"{answer.target.percentile} "),
            f"{trial.met} of {len(trial.runs)}",
            _periods(summarise(trial.runs)[0]),
        ]
        for trial in answer.trials
    ]
    return tabulate.tabulate(rows, headers=headings, tablefmt="plain", disable_numparse=True)


def _tables(result: Result, width: int) -> Iterator[str]:
    """Yield tables with as many tiers side by side as there is room for."""
    cells = (read(tier) for read in _ROWS.values() for tier in result.tiers)
    column = max(COLUMN, max(map(len, cells)) + 2)
    room = max((width - MARGIN) // column, 1) if width else len(result.tiers)
    for first in range(0, len(result.tiers), room):
        yield _table(result, result.tiers[first : first + room])


def _table(result: Result, tiers: Sequence[TierSummary]) -> str:
    rows = [
        [name, *(read(tier) for tier in tiers)]
        for name, read in _ROWS.items()
        if result.timing.rounds > 1 or not name.startswith("spread")
    ]
    used = ["of quota × time", *(_used(tier, result) for tier in tiers)]
    rows.insert([row[0] for row in rows].index("CPU time used") + 1, used)
    return tabulate.tabulate(
        rows,
        headers=["", *(result.label(tier.limit) for tier in tiers)],
        tablefmt="plain",
        colalign=["left", *("right" for _ in tiers)],
        disable_numparse=True,
    )


def _latency(name: str) -> Callable[[TierSummary], str]:
    return lambda tier: _shown(tier.figures[name], lambda ns: f"{ns / 1e6:.2f}")


def _time(name: str) -> Callable[[TierSummary], str]:
    return lambda tier: _shown(tier.figures[name], format_usec)


def _spread(name: str) -> Callable[[TierSummary], str]:
    def read(tier: TierSummary) -> str:
        found = tier.figures[name]
        if isinstance(found, Missing) or len(tier.runs) == 1:
            return NOT_KNOWN
        return f"{found.spread_ratio:.0%}"

    return read


def _periods(tier: TierSummary) -> str:
    throttled, periods = tier.figures["nr_throttled"], tier.figures["nr_periods"]
    return f"{_shown(throttled, _plain)} of {_shown(periods, _plain)}"


def _shown(figure: Figure | Missing, text: Callable[[float], str]) -> str:
    return NOT_KNOWN if isinstance(figure, Missing) else text(figure.median)


def _plain(value: float) -> str:
    return f"{value:.10g}"


def _used(tier: TierSummary, result: Result) -> str:
    ratios = [result.verdict(run).quota_used_ratio for run in tier.runs]
    return _shown(figure(ratios), format_ratio)


_ROWS: dict[str, Callable[[TierSummary], str]] = {
    "requests/s": lambda tier: _shown(
        tier.figures["throughput_req_per_sec"], lambda rate: f"{rate:.2f}"
    ),
    "p50 ms": _latency("lat_p50_ns"),
    "p95 ms": _latency("lat_p95_ns"),
    "p99 ms": _latency("lat_p99_ns"),
    "p99.9 ms": _latency("lat_p999_ns"),
    "max ms": _latency("lat_max_ns"),
    "spread of p99": _spread("lat_p99_ns"),
    "spread of requests/s": _spread("throughput_req_per_sec"),
    "unfinished": lambda tier: _shown(tier.figures["requests_unfinished"], _plain),
    "periods throttled": _periods,
    "throttled, all CPUs": _time("throttled_usec"),
    "CPU time used": _time("usage_usec"),
    "systemd": lambda tier: "; ".join(notations(tier.limit).systemd),
    "cpu.max": lambda tier: notations(tier.limit).cpu_max,
    "Kubernetes": lambda tier: notations(tier.limit).kubernetes,
    "compose": lambda tier: notations(tier.limit).compose,
}


def _accounts(result: Result) -> Iterator[str]:
    """Yield whether the load's account and the kernel's agree."""
    against = [(run, verdict) for run, verdict in result.verdicts if not verdict.agree]
    agree = len(result.runs) - len(against)
    yield f"the load's account and the kernel's agree in {agree} of {len(result.runs)} runs"
    for run, verdict in against[:MAX_REMARKS]:
        where = f"{result.label(run.limit)}, round {run.round}"
        yield f"  {where}: {'; '.join(verdict.remarks)}"
    if len(against) > MAX_REMARKS:
        yield f"  … and {len(against) - MAX_REMARKS} more (--format json)"
