"""``.quota-advisor.yaml``: what it may hold, and how it becomes a :class:`Config`.

The models are the contract of the file and the source of its published schema. They stand apart
from :mod:`quota_advisor.rulebook.settings` because a run without such a file should not pay for
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import pydantic
import yaml

from quota_advisor.errors import ConfigError, UsageError, did_you_mean
from quota_advisor.files.reading import MAX_CONFIG_BYTES, read_named
from quota_advisor.files.writing import reason
from quota_advisor.model.finding import Severity
from quota_advisor.model.lint import LimitsPolicy
from quota_advisor.rulebook import settings as config
from quota_advisor.rulebook.catalogue import Catalog
from quota_advisor.units import MAX_CPUS

Reason = Annotated[str, pydantic.StringConstraints(strip_whitespace=True, min_length=1)]
Threshold = Annotated[float, pydantic.Field(strict=True, ge=0, allow_inf_nan=False)]
Pattern = Annotated[str, pydantic.StringConstraints(strict=True, min_length=1)]


class _Strict(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(
        frozen=True, extra="forbid", alias_generator=lambda name: name.replace("_", "-")
    )


class RuleSettings(_Strict):
    """What the user changes about one rule."""

    enabled: bool = True
    severity: Severity | None = None
    options: Mapping[str, Threshold] = {}


class SuppressEntry(_Strict):
    """Findings to leave out, with the reason that is shown for it.

    Attributes:
        rule: Rule id.
        subject: Shell pattern for the name of the unit, container, object or cgroup.
        reason: Why; mandatory.
    """

    rule: str
    subject: str = "*"
    reason: Reason


class Override(_Strict):
    """Settings of rules for some of the files that lint reads; later entries win.

    Attributes:
        paths: Patterns as in ``.gitignore``, relative to the configuration file.
        rules: Settings by rule id.
    """

    paths: Annotated[tuple[Pattern, ...], pydantic.Field(min_length=1)]
    rules: Mapping[str, RuleSettings]


class LintSettings(_Strict):
    """What lint cannot read from the files.

    Attributes:
        limits: House rule for CPU limits of containers.
        node_cpus: CPUs of the largest node.
        kubernetes_version: Of the cluster, for example ``"1.33"``; quoted, or 1.30 becomes 1.3.
        exclude: Files not to read: patterns as in ``.gitignore``, relative to this file.
    """

    limits: LimitsPolicy = LimitsPolicy.IGNORE
    node_cpus: Annotated[float, pydantic.Field(strict=True, gt=0, le=MAX_CPUS)] | None = None
    kubernetes_version: (
        Annotated[str, pydantic.StringConstraints(strict=True, pattern=r"^v?[0-9]+\.[0-9]+.*$")]
        | None
    ) = None
    exclude: tuple[Pattern, ...] = ()


class ConfigFile(_Strict):
    """The configuration file.

    Attributes:
        fail_on: Lowest severity that makes the program end with 1.
        rules: Settings by rule id.
        suppress: Findings to leave out.
        lint: What lint should know and what it should not read.
        overrides: Settings of rules for some of the files that lint reads.
    """

    fail_on: config.FailOn = "warning"
    rules: Mapping[str, RuleSettings] = {}
    suppress: tuple[SuppressEntry, ...] = ()
    lint: LintSettings = LintSettings()
    overrides: tuple[Override, ...] = ()


def load_config(path: Path, catalog: Catalog) -> config.Config:
    """Return the settings in a file.

    Raises:
        ConfigError: The file cannot be read, is no mapping, or names something unknown.
    """
    try:
        data = yaml.safe_load(read_named(path, MAX_CONFIG_BYTES))
    except OSError as error:
        raise ConfigError(f"{path}: {reason(error)}", hint="check --config") from error
    # Besides its own errors, YAML lets a bad date or endless nesting through as these.
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: {' '.join(str(error).split())}") from error
    try:
        file = ConfigFile.model_validate({} if data is None else data)
    except pydantic.ValidationError as error:
        raise ConfigError(f"{path}: {_explain(error)}") from error
    _check_names(file, catalog, path)
    return _config(file, path)


def _config(file: ConfigFile, path: Path) -> config.Config:
    return config.Config(
        fail_on=file.fail_on,
        rules=_settings(file.rules),
        suppress=tuple(
            config.SuppressEntry(rule=e.rule, subject=e.subject, reason=e.reason)
            for e in file.suppress
        ),
        lint=_lint(file.lint, path),
        overrides=tuple(
            config.Override(paths=entry.paths, rules=_settings(entry.rules))
            for entry in file.overrides
        ),
        directory=path.absolute().parent,
    )


def _settings(rules: Mapping[str, RuleSettings]) -> Mapping[str, config.RuleSettings]:
    return {
        id_: config.RuleSettings(
            enabled=s.enabled if "enabled" in s.model_fields_set else None,
            severity=s.severity,
            options=s.options,
        )
        for id_, s in rules.items()
    }


def _lint(lint: LintSettings, path: Path) -> config.LintSettings:
    try:
        version = config.kubernetes_version(lint.kubernetes_version)
    except UsageError as error:
        raise ConfigError(f"{path}: lint.kubernetes-version: {error.what}") from error
    return config.LintSettings(
        limits=lint.limits,
        node_millicores=config.millicores(lint.node_cpus),
        kubernetes_version=version,
        exclude=lint.exclude,
    )


def _check_names(file: ConfigFile, catalog: Catalog, path: Path) -> None:
    for entry in file.suppress:
        _check_rule(entry.rule, catalog, path)
    groups = {"": file.rules} | {f"overrides.{i}.": o.rules for i, o in enumerate(file.overrides)}
    for prefix, rules in groups.items():
        for id_, settings in rules.items():
            _check_rule(id_, catalog, path)
            options = catalog[id_].options
            for name in settings.options:
                if name not in options:
                    hint = did_you_mean(name, options) or f"it has {', '.join(options) or 'none'}"
                    place = f"{prefix}rules.{id_}"
                    raise ConfigError(f"{path}: {place}: no option {name!r}", hint=hint)


def _check_rule(id_: str, catalog: Catalog, path: Path) -> None:
    if id_ not in catalog:
        hint = did_you_mean(id_, catalog) or "see rules list"
        raise ConfigError(f"{path}: no rule {id_!r}", hint=hint)


def _explain(error: pydantic.ValidationError) -> str:
    """Return the first complaint in one line, with a suggestion for an unknown key."""
    complaints = error.errors(include_url=False)
    # A misspelt key also makes the right one missing; the first of the two says more.
    first = next((c for c in complaints if c["type"] == "extra_forbidden"), complaints[0])
    place = ".".join(map(str, first["loc"]))
    if first["type"] != "extra_forbidden":
        return f"{place or 'file'}: {first['msg'].lower()}{_advice(first['loc'])}"
    hint = did_you_mean(str(first["loc"][-1]), _known_keys(first["loc"]))
    return f"unknown key {place}" + (f"; {hint}" if hint else "")


def _advice(place: tuple[int | str, ...]) -> str:
    return ' (quote it: "1.33")' if place[-1:] == ("kubernetes-version",) else ""


def _known_keys(place: tuple[Any, ...]) -> list[str]:
    """Return the keys that may stand where an unknown one does."""
    model: type[pydantic.BaseModel] = ConfigFile
    if len(place) > 1:
        model = _BELOW[place[0]]
    if model is Override and "rules" in place:
        model = RuleSettings
    return [name.replace("_", "-") for name in model.model_fields]


_BELOW: Mapping[str, type[pydantic.BaseModel]] = {
    "rules": RuleSettings,
    "suppress": SuppressEntry,
    "lint": LintSettings,
    "overrides": Override,
}
