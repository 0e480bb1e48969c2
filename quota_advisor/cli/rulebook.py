"""Which rules run, with which settings, and what their findings mean for the exit code."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from quota_advisor.cli.options import Output
from quota_advisor.model.finding import Severity
from quota_advisor.model.report import Report
from quota_advisor.rulebook.catalogue import Catalog, load_catalog
from quota_advisor.rulebook.settings import Config, apply_config, find_config, select_rules


@dataclass(frozen=True, slots=True)
class Rulebook:
    """The rules to run and the settings that go with them.

    Attributes:
        rules: With the user's settings.
        config: The user's settings.
        chosen: The rules that the command line leaves, as shipped.
    """

    rules: Catalog
    config: Config
    chosen: Catalog = field(default_factory=dict)


def load_rulebook(output: Output) -> Rulebook:
    """Return the rules that configuration and options leave.

    Raises:
        ConfigError, UsageError: As the configuration or the options say.
    """
    catalog = load_catalog()
    path = output.config or find_config(Path.cwd())
    config = Config() if path is None else _load_config(path, catalog)
    chosen = select_rules(catalog, output.select, output.ignore)
    return Rulebook(apply_config(chosen, config, keep=output.select), config, chosen)


def _load_config(path: Path, catalog: Catalog) -> Config:
    # Only a run with a configuration file pays for what checks it.
    from quota_advisor.rulebook.settings_file import load_config  # noqa: PLC0415

    return load_config(path, catalog)


def exit_code(report: Report, output: Output, config: Config) -> int:
    """Return 3 if anything could not be looked at, 1 if findings count, else 0."""
    if report.problems or report.results.errors:
        return 3
    fail_on = output.fail_on or config.fail_on
    worst = report.results.worst()
    if fail_on == "never" or worst is None:
        return 0
    return int(worst.rank >= Severity(fail_on).rank)
