"""Rules about suppression comments themselves."""

from __future__ import annotations

from quota_advisor.model.finding import Severity
from quota_advisor.rulebook.catalogue import Rule
from quota_advisor.rulebook.engine import Hit, SuppressionUse, Verdicts, check
from quota_advisor.rulebook.removed import REMOVED_RULES, removed_text


@check(SuppressionUse)
def unused_suppression(use: SuppressionUse, _rule: Rule) -> Verdicts:
    """Find comments that suppress nothing, or name rules that do not exist."""
    for rule_id in use.unknown:
        gone = rule_id in REMOVED_RULES
        yield Hit(
            message=removed_text(rule_id) if gone else f"suppresses {rule_id!r}, which is no rule",
            severity=Severity.INFO if gone else None,
            location=use.suppression.location,
        )
    # Without a reason it has no effect, which is reported as such and not twice.
    for rule_id in use.unused if use.suppression.reason else ():
        yield Hit(
            message=f"suppresses {rule_id}, which found nothing here",
            location=use.suppression.location,
        )


@check(SuppressionUse)
def suppression_without_reason(use: SuppressionUse, _rule: Rule) -> Verdicts:
    """Find comments without the reason that makes them count."""
    if not use.suppression.reason:
        rules = ", ".join(use.suppression.rules)
        yield Hit(
            message=f"no reason given for ignoring {rules}: the comment has no effect",
            location=use.suppression.location,
        )
