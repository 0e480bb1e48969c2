"""Rules for programs: JSON, frozen as version 1."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import pydantic

from quota_advisor.model.finding import Confidence, Severity
from quota_advisor.rulebook.catalogue import AppliesTo
from quota_advisor.rulebook.catalogue import Rule as RuleModel

FORMAT: Literal["quota-advisor/rules/v1"] = "quota-advisor/rules/v1"


class _Frozen(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class Option(_Frozen):
    """A threshold that the configuration can change."""

    default: float
    unit: str
    help: str


class Rule(_Frozen):
    """One rule as it is shipped.

    Attributes:
        fixable: ``lint --fix`` mends some of its findings.
        page: Its page in the sources of the project.
    """

    id: str
    title: str
    severity: Severity
    confidence: Confidence
    since: str
    applies_to: tuple[AppliesTo, ...]
    fixable: bool
    options: dict[str, Option]
    why: str
    fix: str
    silent: str
    references: tuple[str, ...]
    page: str


class RulesV1(_Frozen):
    """Some rules: all of them, or the one that was asked for."""

    format: Literal["quota-advisor/rules/v1"] = FORMAT
    rules: tuple[Rule, ...]


def render_rules(rules: Iterable[RuleModel]) -> str:
    """Return rules as JSON."""
    document = RulesV1(rules=tuple(map(_rule, rules)))
    return document.model_dump_json(indent=2) + "\n"


def _rule(rule: RuleModel) -> Rule:
    return Rule(
        id=rule.id,
        title=rule.title,
        severity=rule.severity,
        confidence=rule.confidence,
        since=rule.since,
        applies_to=rule.applies_to,
        fixable=rule.fixable,
        options={
            name: Option(default=option.default, unit=option.unit, help=option.help)
            for name, option in rule.options.items()
        },
        why=rule.why,
        fix=rule.fix,
        silent=rule.silent,
        references=rule.references,
        page=f"docs/rules/{rule.id}.md",
    )
