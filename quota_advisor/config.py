"""The user's settings: ``.quota-advisor.yaml`` and the options that select rules."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Literal

import pydantic
import yaml

from quota_advisor.catalog import Catalog, with_overrides
from quota_advisor.errors import ConfigError, UsageError
from quota_advisor.model.finding import Severity

FILE_NAME = ".quota-advisor.yaml"

_STRICT = pydantic.ConfigDict(frozen=True, extra="forbid")
Reason = Annotated[str, pydantic.StringConstraints(strip_whitespace=True, min_length=1)]
FailOn = Literal["info", "warning", "error", "never"]


class RuleSettings(pydantic.BaseModel):
    """What the user changes about one rule."""

    model_config = _STRICT

    enabled: bool = True
    severity: Severity | None = None
    options: Mapping[str, float] = {}


class SuppressEntry(pydantic.BaseModel):
    """Findings to leave out, with the reason that is shown for it.

    Attributes:
        rule: Rule id.
        subject: Shell pattern for the name of the unit, container or cgroup.
        reason: Why; mandatory.
    """

    model_config = _STRICT

    rule: str
    subject: str = "*"
    reason: Reason


class Config(pydantic.BaseModel):
    """The configuration file.

    Attributes:
        fail_on: Lowest severity that makes the program end with 1.
        rules: Settings by rule id.
        suppress: Findings to leave out.
    """

    model_config = pydantic.ConfigDict(
        frozen=True, extra="forbid", alias_generator=lambda s: s.replace("_", "-")
    )

    fail_on: FailOn = "warning"
    rules: Mapping[str, RuleSettings] = {}
    suppress: tuple[SuppressEntry, ...] = ()


def find_config(start: Path) -> Path | None:
    """Return the nearest configuration file from ``start`` up to the repository root."""
    for directory in (start, *start.parents):
        candidate = directory / FILE_NAME
        if candidate.is_file():
            return candidate
        if (directory / ".git").exists():
            return None
    return None


def load_config(path: Path, catalog: Catalog) -> Config:
    """Return the settings in a file.

    Raises:
        ConfigError: The file cannot be read, is no mapping, or names something unknown.
    """
    try:
        data = yaml.safe_load(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}", hint="check --config") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: {' '.join(str(error).split())}") from error
    try:
        config = Config.model_validate(data or {})
    except pydantic.ValidationError as error:
        raise ConfigError(f"{path}: {_explain(error)}") from error
    _check_names(config, catalog, path)
    return config


def apply_config(catalog: Catalog, config: Config, keep: Collection[str] = ()) -> Catalog:
    """Return the rules that are enabled, with the user's severities and thresholds.

    Args:
        keep: Rules asked for by name: they run even where the configuration disables them.
    """
    rules = {}
    for id_, rule in catalog.items():
        settings = config.rules.get(id_, RuleSettings())
        if settings.enabled or id_ in keep:
            rules[id_] = with_overrides(rule, severity=settings.severity, options=settings.options)
    return rules


def select_rules(catalog: Catalog, select: Iterable[str], ignore: Iterable[str]) -> Catalog:
    """Return the rules that ``--select`` and ``--ignore`` leave; no selection means all.

    Raises:
        UsageError: A rule does not exist.
    """
    chosen, dropped = list(select), set(ignore)
    for id_ in (*chosen, *dropped):
        if id_ not in catalog:
            raise UsageError(
                f"no rule {id_!r}", hint=did_you_mean(id_, catalog) or "see rules list"
            )
    return {
        id_: rule
        for id_, rule in catalog.items()
        if (not chosen or id_ in chosen) and id_ not in dropped
    }


def did_you_mean(word: str, known: Collection[str]) -> str:
    """Return ``did you mean 'x'?``, or an empty string where nothing is close."""
    close = difflib.get_close_matches(word, known, n=1)
    return f"did you mean {close[0]!r}?" if close else ""


def _check_names(config: Config, catalog: Catalog, path: Path) -> None:
    for id_ in (*config.rules, *(entry.rule for entry in config.suppress)):
        if id_ not in catalog:
            raise ConfigError(
                f"{path}: no rule {id_!r}", hint=did_you_mean(id_, catalog) or "see rules list"
            )
    for id_, settings in config.rules.items():
        options = catalog[id_].options
        for name in settings.options:
            if name not in options:
                hint = did_you_mean(name, options) or f"it has {', '.join(options) or 'none'}"
                raise ConfigError(f"{path}: rules.{id_}: no option {name!r}", hint=hint)


def _explain(error: pydantic.ValidationError) -> str:
    """Return the first complaint in one line, with a suggestion for an unknown key."""
    first = error.errors(include_url=False)[0]
    place = ".".join(map(str, first["loc"]))
    if first["type"] != "extra_forbidden":
        return f"{place or 'file'}: {first['msg'].lower()}"
    known = _KNOWN_KEYS.get(str(first["loc"][0]), _TOP_KEYS) if len(first["loc"]) > 1 else _TOP_KEYS
    hint = did_you_mean(str(first["loc"][-1]), known)
    return f"unknown key {place}" + (f"; {hint}" if hint else "")


_TOP_KEYS = [name.replace("_", "-") for name in Config.model_fields]
_KNOWN_KEYS = {
    "rules": list(RuleSettings.model_fields),
    "suppress": list(SuppressEntry.model_fields),
}
