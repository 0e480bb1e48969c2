"""``quota-advisor rules list``."""

from __future__ import annotations

import click
import tabulate

from quota_advisor.catalog import load_catalog


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
    click.echo(
        tabulate.tabulate(rows, ["RULE", "SEVERITY", "CONFIDENCE", "TITLE"], tablefmt="plain")
    )
