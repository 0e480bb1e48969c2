"""``quota-advisor rules list``."""

from __future__ import annotations

from collections.abc import Iterable

import click
import tabulate

from quota_advisor.cli.streams import write_report
from quota_advisor.rulebook.catalogue import Rule, load_catalog


@click.group("rules")
def command() -> None:
    """List the rules."""


@command.command("list")
@click.option(
    "--format",
    "form",
    type=click.Choice(("table", "json")),
    default="table",
    show_default=True,
    help="Output format; JSON holds all that explain says.",
)
def list_rules(form: str) -> None:
    """List every rule with its severity and confidence."""
    rules = load_catalog().values()
    write_report(_as_json(rules) if form == "json" else _as_table(rules))


def _as_json(rules: Iterable[Rule]) -> str:
    # The models of JSON take longer to import than everything that the table needs.
    from quota_advisor.render.rules_v1 import render_rules  # noqa: PLC0415

    return render_rules(rules)


def _as_table(rules: Iterable[Rule]) -> str:
    rows = [(rule.id, rule.severity.value, rule.confidence.value, rule.title) for rule in rules]
    headings = ["RULE", "SEVERITY", "CONFIDENCE", "TITLE"]
    return tabulate.tabulate(rows, headings, tablefmt="plain") + "\n"
