"""The result for other programs, under a version of its own."""

from __future__ import annotations

import json
from collections.abc import Iterable

from quota_advisor.model.advice import Need
from quota_advisor.model.limit import Missing
from quota_advisor.sim.sweep import Target
from quota_advisor.simulate.report.fields import outcome_fields, setting_fields
from quota_advisor.simulate.run import Candidate, Result

SCHEMA = "quota-advisor-simulation/1"


def render(result: Result) -> str:
    """Return the result as one JSON document. A value that is not known is null."""
    target, use = result.order.target, result.use
    document = {
        "schema": SCHEMA,
        "recording": result.about.model_dump(mode="json"),
        "name": result.name,
        "span_usec": result.span_usec,
        "held_ratio": round(result.held_ratio, 6),
        "use": {
            "mean_cores": round(use.mean_cores, 6),
            "p95_cores": use.p95_cores,
            "p99_cores": use.p99_cores,
            "max_cores": use.max_cores,
            "busiest_p95_cores": use.busiest_p95_cores,
        },
        "target": {"throttled_ratio": target.throttled_ratio, "p99_usec": target.p99_usec},
        "candidates": _candidates(result.candidates, target),
        "frontier": _candidates(result.frontier, target),
        "curve": _candidates(result.curve, target),
        "answer": _candidates([result.answer] if result.answer else [], target)[:1] or None,
        "need": _need(result.need),
        "notes": list(result.notes),
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _need(need: Need | Missing) -> dict[str, object] | None:
    if isinstance(need, Missing):
        return None
    return {
        "cores": need.cores,
        "percent": need.percent,
        "lower_bound": need.lower_bound,
        "formula": need.formula,
    }


def _candidates(candidates: Iterable[Candidate], target: Target) -> list[dict[str, object]]:
    return [
        {
            **setting_fields(candidate.setting),
            "cpus": candidate.setting.cpus,
            "meets_target": target.is_met(candidate.outcome),
            "at_least": outcome_fields(candidate.outcome),
            "at_most": outcome_fields(candidate.at_most) if candidate.at_most else None,
        }
        for candidate in candidates
    ]
