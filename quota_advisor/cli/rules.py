"""``quota-advisor rules list``."""

from __future__ import annotations

import click
import tabulate

from quota_advisor.cli.streams import write_report
from quota_advisor.rulebook.catalogue import load_catalog


@click.group("rules")
def command() -> None:
    """List the rules."""


@command.command("list")
def list_rules() -> None:
    """List every rule with its severity and confidence."""
    rows = [
        (rule.id, rule.severity.value, rule.confidence.value, rule.title)
        for rule in load_catalog().values()
    ]
    headings = ["RULE", "SEVERITY", "CONFIDENCE", "TITLE"]
    write_report(tabulate.tabulate(rows, headings, tablefmt="plain") + "\n")
