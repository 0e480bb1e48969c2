"""``quota-advisor explain RULE``."""

from __future__ import annotations

import textwrap

import click

from quota_advisor.cli.streams import write_report
from quota_advisor.errors import UsageError
from quota_advisor.rulebook.catalogue import Rule, load_catalog
from quota_advisor.rulebook.settings import rule_hint

WIDTH = 88
FIXABLE = "; lint --fix mends what is certain"


@click.command("explain")
@click.argument("rule_id", metavar="RULE")
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "json")),
    default="text",
    show_default=True,
    help="Output format.",
)
def command(rule_id: str, form: str) -> None:
    """Say why RULE exists, what to do about its findings, and when it stays silent."""
    catalog = load_catalog()
    if rule_id not in catalog:
        raise UsageError(f"no rule {rule_id!r}", hint=rule_hint(rule_id, catalog))
    rule = catalog[rule_id]
    write_report(_as_json(rule) if form == "json" else explanation(rule) + "\n")


def _as_json(rule: Rule) -> str:
    # The models of JSON take longer to import than everything that the text needs.
    from quota_advisor.render.rules_v1 import render_rules  # noqa: PLC0415

    return render_rules([rule])


def explanation(rule: Rule) -> str:
    """Return a rule's page as text."""
    grades = f"severity {rule.severity}, confidence {rule.confidence}, since {rule.since}"
    applies_to = f"applies to {', '.join(rule.applies_to)}{FIXABLE if rule.fixable else ''}"
    sections = [
        f"{rule.id}: {rule.title}",
        f"{grades}\n{applies_to}",
        _section("Why", rule.why),
        _section("Fix", rule.fix),
        _section("Silent", rule.silent),
    ]
    if rule.options:
        lines = [
            f"  {name} = {option.default:g} {option.unit}\n{_indent(option.help, 6)}"
            for name, option in rule.options.items()
        ]
        sections.append("Options\n" + "\n".join(lines))
    if rule.references:
        sections.append("References\n" + "\n".join(f"  {r}" for r in rule.references))
    return "\n\n".join(sections)


def _section(heading: str, text: str) -> str:
    return f"{heading}\n" + "\n\n".join(_indent(p, 2) for p in text.split("\n\n"))


def _indent(text: str, spaces: int) -> str:
    indent = " " * spaces
    return textwrap.fill(text, WIDTH, initial_indent=indent, subsequent_indent=indent)
