"""``quota-advisor rules list``."""

from __future__ import annotations

from collections.abc import Iterable

import click
import tabulate

from quota_advisor.cli.streams import write_report
from quota_advisor.render import render_rules
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
    write_report(render_rules(rules) if form == "json" else _table(rules))


def _table(rules: Iterable[Rule]) -> str:
    rows = [(rule.id, rule.severity.value, rule.confidence.value, rule.title) for rule in rules]
    headings = ["RULE", "SEVERITY", "CONFIDENCE", "TITLE"]
    return tabulate.tabulate(rows, headings, tablefmt="plain") + "\n"
