"""The result for other programs, under a version of its own."""

from __future__ import annotations

import json
from typing import Any

from quota_advisor.model.limit import Missing
from quota_advisor.probe.measure import Run
from quota_advisor.probe.plan import Limit
from quota_advisor.probe.report.notations import notations
from quota_advisor.probe.result import Result
from quota_advisor.probe.slo import CONFIDENCE, Answer, Trial, least_share
from quota_advisor.probe.summary import Figure, TierSummary

SCHEMA = "quota-advisor-probe/1"


def render(result: Result) -> str:
    """Return the result as one JSON document. A value that is not known is null."""
    document = {
        "schema": SCHEMA,
        "version": result.version,
        "node": {
            "hostname": result.node.hostname,
            "kernel_release": result.node.kernel_release,
            "cpus": result.node.cpus,
            "cgroups": result.node.cgroups,
        },
        "load": _load(result),
        "notes": list(result.notes),
        "doubts": list(result.doubts),
        "tiers": [_tier(tier) for tier in result.tiers],
        "runs": [_run(run, result) for run in result.runs],
        "slo": None if result.answer is None else _answer(result.answer),
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _load(result: Result) -> dict[str, Any]:
    load = result.load
    return {
        "profile": load.profile.model_dump(mode="json"),
        "threads": load.threads,
        "rounds": result.timing.rounds,
        "duration_sec": result.timing.duration_sec,
        "priority": result.priority.value,
    }


def _limit(limit: Limit) -> dict[str, Any]:
    written = notations(limit)
    return {
        "tier_cores": limit.tier_cores,
        "quota_usec": limit.bandwidth.quota_usec,
        "period_usec": limit.bandwidth.period_usec,
        "burst_usec": limit.burst_usec,
        "systemd": list(written.systemd),
        "cpu_max": written.cpu_max,
        "kubernetes": written.kubernetes,
        "compose": written.compose,
    }


def _tier(tier: TierSummary) -> dict[str, Any]:
    return {
        "limit": _limit(tier.limit),
        "rounds": len(tier.runs),
        "median": {name: _median(figure) for name, figure in tier.figures.items()},
        "spread_ratio": {name: _spread(figure) for name, figure in tier.figures.items()},
    }


def _median(figure: Figure | Missing) -> float | None:
    return None if isinstance(figure, Missing) else figure.median


def _spread(figure: Figure | Missing) -> float | None:
    return None if isinstance(figure, Missing) else round(figure.spread_ratio, 4)


def _run(run: Run, result: Result) -> dict[str, Any]:
    verdict = result.verdict(run)
    return {
        "limit": _limit(run.limit),
        "round": run.round,
        "load": run.report.model_dump(mode="json", by_alias=True),
        "kernel": {
            "elapsed_usec": _known(run.window.elapsed_usec),
            "usage_usec": _known(run.window.usage_usec),
            "nr_periods": _known(run.window.periods),
            "nr_throttled": _known(run.window.throttled_periods),
            "throttled_usec": _known(run.window.throttled_usec),
            "nr_bursts": _known(run.window.burst_periods),
            "burst_usec": _known(run.window.burst_usec),
            "pressure_full_usec": _known(run.window.pressure_full_usec),
        },
        "others_cores": _known(run.others_cores),
        "stolen_cores": None if isinstance(run.machine, Missing) else run.machine.stolen_cores,
        "accounts_agree": verdict.agree,
        "quota_used_ratio": _known(verdict.quota_used_ratio),
        "remarks": list(verdict.remarks),
    }


def _answer(answer: Answer) -> dict[str, Any]:
    found = answer.found
    return {
        "percentile": answer.target.percentile,
        "latency_usec": answer.target.latency_usec,
        "knob": answer.knob.value,
        "found": None if found is None else _trial(found),
        "confidence_ratio": CONFIDENCE,
        "least_share_ratio": None if found is None else round(least_share(found.met), 4),
        "trials": [_trial(trial) for trial in answer.trials],
    }


def _trial(trial: Trial) -> dict[str, Any]:
    return {"limit": _limit(trial.limit), "runs": len(trial.runs), "met": trial.met}


def _known(value: float | Missing) -> float | None:
    return None if isinstance(value, Missing) else value
