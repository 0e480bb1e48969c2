"""``.quota-advisor.yaml``: what it may hold, and how it becomes a :class:`Config`.

The models are the contract of the file and the source of its published schema. They stand apart
from :mod:`quota_advisor.rulebook.settings` because a run without such a file should not pay for
them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import pydantic
from pydantic_core import ErrorDetails

from quota_advisor.errors import ConfigError, UsageError, did_you_mean
from quota_advisor.files.reading import MAX_CONFIG_BYTES, read_found, read_named
from quota_advisor.files.writing import reason
from quota_advisor.model.finding import Severity
from quota_advisor.model.lint import LimitsPolicy, RequestsPolicy
from quota_advisor.rulebook import settings as config
from quota_advisor.rulebook.catalogue import Catalog
from quota_advisor.rulebook.removed import REMOVED_RULES, removed_text
from quota_advisor.rulebook.settings_text import Place, Settings, TextError, read_settings
from quota_advisor.units import MAX_CPUS

Reason = Annotated[str, pydantic.StringConstraints(strip_whitespace=True, min_length=1)]
Threshold = Annotated[float, pydantic.Field(strict=True, ge=0, allow_inf_nan=False)]
Pattern = Annotated[str, pydantic.StringConstraints(strict=True, min_length=1)]

REMOVED_OPTIONS = {
    "min_periods": "it is gone: the fewer periods, the lower is the bound that is judged",
}
"""Options of rules that there were once, with what to do without them."""


MAX_PATTERNS = 2_000
"""In one list, each held against each file; more is refused, as in a ``.gitignore``."""

MAX_OVERRIDES = 500
"""Each is held against each file."""

MAX_SUPPRESSIONS = 2_000
"""Each is held against each finding."""


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

    paths: Annotated[tuple[Pattern, ...], pydantic.Field(min_length=1, max_length=MAX_PATTERNS)]
    rules: Mapping[str, RuleSettings]


class LintSettings(_Strict):
    """What lint cannot read from the files.

    Attributes:
        limits: House rule for CPU limits of containers.
        requests: House rule for CPU requests of containers.
        node_cpus: CPUs of the largest node.
        kubernetes_version: Of the cluster, for example ``"1.33"``; quoted, or 1.30 becomes 1.3.
        exclude: Files not to read: patterns as in ``.gitignore``, relative to this file.
    """

    limits: LimitsPolicy = LimitsPolicy.IGNORE
    requests: RequestsPolicy = RequestsPolicy.NOTE
    node_cpus: Annotated[float, pydantic.Field(strict=True, gt=0, le=MAX_CPUS)] | None = None
    kubernetes_version: (
        Annotated[str, pydantic.StringConstraints(strict=True, pattern=r"^v?[0-9]+\.[0-9]+.*$")]
        | None
    ) = None
    exclude: Annotated[tuple[Pattern, ...], pydantic.Field(max_length=MAX_PATTERNS)] = ()


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
    suppress: Annotated[tuple[SuppressEntry, ...], pydantic.Field(max_length=MAX_SUPPRESSIONS)] = ()
    lint: LintSettings = LintSettings()
    overrides: Annotated[tuple[Override, ...], pydantic.Field(max_length=MAX_OVERRIDES)] = ()


def load_config(path: Path, catalog: Catalog, *, found: bool = False) -> config.Config:
    """Return the settings in a file.

    Args:
        path: The file.
        catalog: The rules that it may name.
        found: Nobody named it: it is not followed out of its directory tree.

    Raises:
        ConfigError: The file cannot be read, is no mapping, or names something unknown.
    """
    try:
        text = (read_found if found else read_named)(path, MAX_CONFIG_BYTES)
    except OSError as error:
        hint = "run with --no-config" if found else "check --config"
        raise ConfigError(f"{path}: {reason(error)}", hint=hint) from error
    try:
        written = read_settings(text)
    except TextError as error:
        line = f":{error.line}" if error.line else ""
        raise ConfigError(f"{path}{line}: {error.what}") from error
    try:
        file = ConfigFile.model_validate({} if written.data is None else written.data)
    except pydantic.ValidationError as error:
        complaint = _first(error)
        line_text = f"{path}:{written.line_of(complaint['loc'])}"
        raise ConfigError(f"{line_text}: {explain(complaint)}") from error
    _check_names(file, catalog, path, written)
    return _config(file, path, written)


def _config(file: ConfigFile, path: Path, written: Settings) -> config.Config:
    return config.Config(
        fail_on=file.fail_on,
        rules=_settings(file.rules),
        suppress=tuple(
            config.SuppressEntry(
                rule=e.rule,
                subject=e.subject,
                reason=e.reason,
                line=written.line_of(("suppress", number)),
            )
            for number, e in enumerate(file.suppress)
            if e.rule not in REMOVED_RULES
        ),
        lint=_lint(file.lint, path, written),
        overrides=tuple(
            config.Override(paths=entry.paths, rules=_settings(entry.rules))
            for entry in file.overrides
        ),
        path=path,
        notes=tuple(_notes(file, path, written)),
    )


def _notes(file: ConfigFile, path: Path, written: Settings) -> Iterator[str]:
    """Yield what is said of rules that are gone: an old configuration still works."""
    named: list[tuple[Place, str]] = [(("rules", id_), id_) for id_ in file.rules]
    named += [(("suppress", n, "rule"), e.rule) for n, e in enumerate(file.suppress)]
    for number, override in enumerate(file.overrides):
        named += [(("overrides", number, "rules", id_), id_) for id_ in override.rules]
    for place, id_ in named:
        if id_ in REMOVED_RULES:
            yield f"{path}:{written.line_of(place)}: {removed_text(id_)}"


def _settings(rules: Mapping[str, RuleSettings]) -> Mapping[str, config.RuleSettings]:
    return {
        id_: config.RuleSettings(
            enabled=s.enabled if "enabled" in s.model_fields_set else None,
            severity=s.severity,
            options=s.options,
        )
        for id_, s in rules.items()
        if id_ not in REMOVED_RULES
    }


def _lint(lint: LintSettings, path: Path, written: Settings) -> config.LintSettings:
    try:
        version = config.kubernetes_version(lint.kubernetes_version)
    except UsageError as error:
        place = ("lint", "kubernetes-version")
        raise _wrong(path, written, place, error.what) from error
    return config.LintSettings(
        limits=lint.limits,
        requests=lint.requests,
        node_millicores=config.millicores(lint.node_cpus),
        kubernetes_version=version,
        exclude=lint.exclude,
    )


def _check_names(file: ConfigFile, catalog: Catalog, path: Path, written: Settings) -> None:
    for number, entry in enumerate(file.suppress):
        if entry.rule not in catalog and entry.rule not in REMOVED_RULES:
            raise _no_rule(path, written, ("suppress", number, "rule"), entry.rule, catalog)
    _check_rules(file.rules, (), catalog, path, written)
    for number, override in enumerate(file.overrides):
        _check_rules(override.rules, ("overrides", number), catalog, path, written)


def _check_rules(
    rules: Mapping[str, RuleSettings], above: Place, catalog: Catalog, path: Path, written: Settings
) -> None:
    for id_, settings in rules.items():
        place = (*above, "rules", id_)
        if id_ in REMOVED_RULES:
            continue
        if id_ not in catalog:
            raise _no_rule(path, written, place, id_, catalog)
        options = catalog[id_].options
        for name in settings.options:
            if name not in options:
                hint = (
                    REMOVED_OPTIONS.get(name)
                    or did_you_mean(name, options)
                    or f"it has {', '.join(options) or 'none'}"
                )
                text = f"{'.'.join(map(str, place))}: no option {name!r}"
                where = written.line_of((*place, "options", name))
                raise ConfigError(f"{path}:{where}: {text}", hint=hint)


def _no_rule(
    path: Path, written: Settings, place: Place, id_: str, catalog: Catalog
) -> ConfigError:
    hint = config.rule_hint(id_, catalog)
    return ConfigError(f"{path}:{written.line_of(place)}: no rule {id_!r}", hint=hint)


def _wrong(path: Path, written: Settings, place: Place, what: str) -> ConfigError:
    return ConfigError(f"{path}:{written.line_of(place)}: {'.'.join(map(str, place))}: {what}")


def _first(error: pydantic.ValidationError) -> ErrorDetails:
    """Return the first complaint; a misspelt key says more than the right one that is missing."""
    complaints = error.errors(include_url=False)
    return next((c for c in complaints if c["type"] == "extra_forbidden"), complaints[0])


def explain(complaint: ErrorDetails) -> str:
    """Return a complaint of the validation in the words of this program."""
    place = complaint["loc"]
    where = ".".join(map(str, place)) or "file"
    if complaint["type"] == "extra_forbidden":
        hint = did_you_mean(str(place[-1]), _known_keys(place))
        return f"unknown key {where}" + (f"; {hint}" if hint else "")
    return f"{where}: {_expected(complaint)}{_advice(complaint)}"


def _expected(complaint: ErrorDetails) -> str:
    """Return what should stand at a place."""
    kind, context = complaint["type"], complaint.get("ctx", {})
    if kind in ("enum", "literal_error"):
        return f"one of {context['expected']} is expected"
    for part, text in _EXPECTED:
        if kind.startswith(part):
            return text
    bound = next((context[name] for name in ("gt", "ge", "le", "lt") if name in context), "")
    comparison = _COMPARISONS.get(kind)
    return f"a number {comparison} {bound:g} is expected" if comparison else "not a value for this"


_EXPECTED = (
    ("missing", "it is not there, and has to be"),
    ("bool", "true or false is expected"),
    ("model", "a mapping is expected"),
    ("mapping", "a mapping is expected"),
    ("dict", "a mapping is expected"),
    ("tuple", "a list is expected"),
    ("too_long", "there are too many"),
    ("too_short", "at least one is expected"),
    ("string_too_short", "it is empty"),
    ("string", "a text is expected"),
    ("float", "a number is expected"),
    ("finite", "a number is expected"),
)
_COMPARISONS = {
    "greater_than": "greater than",
    "greater_than_equal": "of at least",
    "less_than_equal": "of at most",
    "less_than": "less than",
}


def _advice(complaint: ErrorDetails) -> str:
    place, found = complaint["loc"], complaint["input"]
    if place[-1:] == ("kubernetes-version",):
        return ' (quote it: "1.33")'
    if place[-2:-1] == ("rules",) and isinstance(found, bool):
        return f"; write {place[-1]}: {{enabled: {str(found).lower()}}}"
    if place[-2:-1] == ("rules",) and isinstance(found, str):
        return f"; write {place[-1]}: {{severity: warning}}"
    return ""


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
