"""The user's settings: ``.quota-advisor.yaml`` and the options that select rules."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Literal

from quota_advisor.errors import UsageError, did_you_mean
from quota_advisor.model.finding import Severity
from quota_advisor.model.lint import LimitsPolicy, RequestsPolicy
from quota_advisor.records import dataclass
from quota_advisor.rulebook.catalogue import Catalog, with_overrides
from quota_advisor.rulebook.removed import REMOVED_RULES, removed_text

FILE_NAME = ".quota-advisor.yaml"

FailOn = Literal["info", "warning", "error", "never"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSettings:
    """What the user changes about one rule.

    Attributes:
        enabled: Whether it runs; None where the user does not say, which means yes.
        severity: In place of the rule's own.
        options: Thresholds in place of the defaults.
    """

    enabled: bool | None = None
    severity: Severity | None = None
    options: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SuppressEntry:
    """Findings to leave out, with the reason that is shown for it.

    Attributes:
        rule: Rule id.
        subject: Shell pattern for the name of the unit, container, object or cgroup.
        reason: Why; mandatory.
        line: Of the configuration file.
    """

    rule: str
    subject: str = "*"
    reason: str
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """Settings of rules for some of the files that lint reads.

    Attributes:
        paths: Patterns as in ``.gitignore``, relative to the configuration file.
        rules: Settings by rule id.
    """

    paths: tuple[str, ...]
    rules: Mapping[str, RuleSettings]


@dataclass(frozen=True, slots=True, kw_only=True)
class LintSettings:
    """What lint cannot read from the files.

    Attributes:
        limits: House rule for CPU limits of containers.
        requests: House rule for CPU requests of containers.
        node_millicores: Size of the largest node.
        kubernetes_version: Of the cluster.
        exclude: Files not to read: patterns as in ``.gitignore``, relative to the
            configuration file.
    """

    limits: LimitsPolicy = LimitsPolicy.IGNORE
    requests: RequestsPolicy = RequestsPolicy.NOTE
    node_millicores: int | None = None
    kubernetes_version: tuple[int, int] | None = None
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The configuration, from a file (:mod:`quota_advisor.rulebook.settings_file`) or the defaults.

    Attributes:
        fail_on: Lowest severity that makes the program end with 1.
        rules: Settings by rule id.
        suppress: Findings to leave out.
        lint: What lint should know and what it should not read.
        overrides: Settings of rules for some of the files that lint reads; later ones win.
        path: The file; None without one.
        notes: What it says in vain since a rule is gone, one line each.
        heed_comments: Whether comments and annotations in what is judged leave findings out.
    """

    fail_on: FailOn = "warning"
    rules: Mapping[str, RuleSettings] = field(default_factory=dict)
    suppress: tuple[SuppressEntry, ...] = ()
    lint: LintSettings = field(default_factory=LintSettings)
    overrides: tuple[Override, ...] = ()
    path: Path | None = None
    notes: tuple[str, ...] = ()
    heed_comments: bool = True

    @property
    def directory(self) -> Path | None:
        """Where the file is, which its patterns are relative to; None without a file."""
        return None if self.path is None else self.path.absolute().parent


def find_config(start: Path) -> Path | None:
    """Return the nearest configuration file from ``start`` up to the repository root."""
    start = start.absolute()
    for directory in (start, *start.parents):
        candidate = directory / FILE_NAME
        # Also one that cannot be read, or a link that leads nowhere: that is said, not passed over.
        if os.path.lexists(candidate) and not candidate.is_dir():
            return candidate
        if (directory / ".git").exists():
            return None
    return None


def apply_config(catalog: Catalog, config: Config, keep: Collection[str] = ()) -> Catalog:
    """Return the rules that are enabled, with the user's severities and thresholds.

    Args:
        catalog: The rules.
        config: The user's settings.
        keep: Rules asked for by name: they run even where the configuration disables them.
    """
    rules = {}
    for id_, rule in catalog.items():
        settings = config.rules.get(id_, RuleSettings())
        if settings.enabled is not False or id_ in keep:
            rules[id_] = with_overrides(rule, severity=settings.severity, options=settings.options)
    return rules


def select_rules(catalog: Catalog, select: Iterable[str], ignore: Iterable[str]) -> Catalog:
    """Return the rules that ``--select`` and ``--ignore`` leave; no selection means all.

    Raises:
        UsageError: A rule does not exist, or none is left.
    """
    chosen, dropped = list(select), set(ignore)
    # One that is gone may still be left out.
    for id_ in (*chosen, *dropped.difference(REMOVED_RULES)):
        if id_ not in catalog:
            raise UsageError(f"no rule {id_!r}", hint=rule_hint(id_, catalog))
    left = {
        id_: rule
        for id_, rule in catalog.items()
        if (not chosen or id_ in chosen) and id_ not in dropped
    }
    if not left:
        raise UsageError("no rule is left to run", hint="--ignore takes away all of --select")
    return left


def rule_hint(id_: str, catalog: Catalog) -> str:
    """Return what may help whoever named a rule that does not exist."""
    if id_ in REMOVED_RULES:
        return removed_text(id_)
    return did_you_mean(id_, catalog) or "see quota-advisor rules list"


def overridden(config: Config, overrides: Iterable[Override]) -> Config:
    """Return the configuration for a file to which these overrides apply.

    What an override does not set stays as it is: a severity here and an option there add up.
    """
    rules = dict(config.rules)
    for override in overrides:
        for id_, settings in override.rules.items():
            rules[id_] = _merged(rules.get(id_, RuleSettings()), settings)
    return dataclasses.replace(config, rules=rules)


def _merged(base: RuleSettings, change: RuleSettings) -> RuleSettings:
    return RuleSettings(
        enabled=base.enabled if change.enabled is None else change.enabled,
        severity=change.severity or base.severity,
        options={**base.options, **change.options},
    )


def kubernetes_version(text: str | None) -> tuple[int, int] | None:
    """Return a version such as ``1.33`` or ``v1.33.2``.

    Raises:
        UsageError: It is no version.
    """
    if text is None:
        return None
    match = re.fullmatch(r"v?([0-9]{1,3})\.([0-9]{1,3})(?:[.+-].*)?", text)
    if match is None:
        raise UsageError(f"{text!r} is no version of Kubernetes", hint="for example 1.33")
    return int(match[1]), int(match[2])


def millicores(cpus: float | None) -> int | None:
    """Return a number of CPUs in thousandths."""
    return None if cpus is None else round(cpus * 1000)
