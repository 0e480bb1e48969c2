"""The rulebook: ``rules/*.yaml`` loaded, checked, and given the user's settings."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated

import pydantic
import yaml

import quota_advisor
from quota_advisor.errors import CatalogError
from quota_advisor.model.finding import Confidence, Severity

_STRICT = pydantic.ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

Kebab = Annotated[str, pydantic.StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
Prose = Annotated[str, pydantic.StringConstraints(strip_whitespace=True, min_length=1)]


class RuleOption(pydantic.BaseModel):
    """A threshold of a rule: its default, its unit, and what it means."""

    model_config = _STRICT

    default: float
    unit: str
    help: Prose


class Rule(pydantic.BaseModel):
    """One rule: identity, severity, thresholds and prose. The condition is code.

    Attributes:
        id: Name of the rule, of its file, its function, its fixtures and its page.
        title: One line for tables and headings.
        severity: Severity of its findings unless the check or the configuration says otherwise.
        confidence: How sure a finding is.
        since: Version that brought the rule.
        options: Thresholds.
        why: Why the finding matters.
        fix: What to do about it, in words; numbers come from the check.
        silent: When the rule says nothing although something may look wrong.
        references: Where the facts behind the rule are documented.
        severity_fixed: The user set the severity: it counts whatever degree a check sees.
    """

    model_config = _STRICT

    id: Kebab
    title: Prose
    severity: Severity
    confidence: Confidence
    since: str
    options: Mapping[str, RuleOption] = {}
    why: Prose
    fix: Prose
    silent: Prose
    references: tuple[str, ...] = ()
    severity_fixed: Annotated[bool, pydantic.Field(exclude=True)] = False

    def option(self, name: str) -> float:
        """Return a threshold, in the unit that its name ends in."""
        return self.options[name].default


Catalog = Mapping[str, Rule]


@cache
def data_directory(name: str) -> Path:
    """Return a directory of shipped data: in the wheel, or at the top of a checkout.

    Args:
        name: ``rules`` or ``probes``.

    Raises:
        CatalogError: Neither place has it.
    """
    package = Path(quota_advisor.__file__).parent
    # A checkout's own files come first: an editable install also holds copies from its build.
    checkout = [package.parent / name] if (package.parent / "pyproject.toml").is_file() else []
    for candidate in (*checkout, package / f"_{name}"):
        if candidate.is_dir():
            return candidate
    raise CatalogError(f"the directory {name} is missing", hint="reinstall quota-advisor")


@cache
def load_catalog() -> Catalog:
    """Return every rule by id, sorted by id.

    Raises:
        CatalogError: A rule file is malformed.
    """
    paths = sorted(data_directory("rules").glob("*.yaml"))
    return {path.stem: load_rule(path) for path in paths}


def load_rule(path: Path) -> Rule:
    """Return the rule in a file.

    Raises:
        CatalogError: The file is no mapping, has unknown or missing fields, or another name.
    """
    try:
        rule = Rule.model_validate(yaml.load(path.read_bytes(), Loader=_LOADER))  # noqa: S506
    except (OSError, yaml.YAMLError, pydantic.ValidationError) as error:
        raise CatalogError(f"{path.name}: {_first_line(error)}") from error
    if rule.id != path.stem:
        raise CatalogError(f"{path.name}: id {rule.id!r} must equal the file name")
    return rule


def with_overrides(rule: Rule, *, severity: Severity | None, options: Mapping[str, float]) -> Rule:
    """Return the rule with the user's severity and thresholds in place of the defaults."""
    changed = {
        name: option.model_copy(update={"default": options.get(name, option.default)})
        for name, option in rule.options.items()
    }
    update: dict[str, object] = {"options": changed}
    if severity is not None:
        update |= {"severity": severity, "severity_fixed": True}
    return rule.model_copy(update=update)


# libyaml reads the rulebook ten times faster; both are safe loaders.
_LOADER: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _first_line(error: Exception) -> str:
    if isinstance(error, pydantic.ValidationError):
        first = error.errors(include_url=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return " ".join(str(error).split())
