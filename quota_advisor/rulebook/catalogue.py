"""The rulebook: ``rules/*.yaml`` loaded, checked, and given the user's settings.

Reading seventy files of YAML takes longer than linting a small one, so what they hold is also kept
in one file of JSON beside the code (``make generate``). A checkout whose rule files have changed
since then reads the rule files.
"""

from __future__ import annotations

import dataclasses
import json
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from quota_advisor.errors import CatalogError
from quota_advisor.model.finding import Confidence, Severity
from quota_advisor.patterns import pattern
from quota_advisor.records import dataclass
from quota_advisor.shipped import data_directory, is_checkout

COMPILED = Path(__file__).with_name("compiled.json")
"""All rules in one file; made by ``tools/generate.py``."""

_KEBAB = pattern("[a-z0-9]+(-[a-z0-9]+)*")


class AppliesTo(StrEnum):
    """What a rule judges, in the words of those who have it."""

    HOSTS = "hosts"
    WORKLOADS = "workloads"
    UNITS = "units"
    QUADLETS = "quadlets"
    PODS = "pods"
    RUNNING_PODS = "running pods"
    KUBELETS = "kubelet configuration"
    COMPOSE_SERVICES = "compose services"
    DOCUMENTS = "documents"
    SUPPRESSIONS = "suppression comments"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleOption:
    """A threshold of a rule: its default, its unit, and what it means."""

    default: float
    unit: str
    help: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule: identity, severity, thresholds and prose. The condition is code.

    Plain dataclasses, checked by hand: every command loads the rulebook, and a validation
    library would take longer to import than a small file takes to lint.

    Attributes:
        id: Name of the rule, of its file, its function, its fixtures and its page.
        title: One line for tables and headings.
        severity: Severity of its findings unless the check or the configuration says otherwise.
        confidence: How sure a finding is.
        since: Version that brought the rule.
        applies_to: What it judges.
        fixable: ``lint --fix`` mends some of its findings.
        options: Thresholds.
        why: Why the finding matters.
        fix: What to do about it, in words; numbers come from the check.
        silent: When the rule says nothing although something may look wrong.
        references: Where the facts behind the rule are documented.
        severity_fixed: The user set the severity: it counts whatever degree a check sees.
    """

    id: str
    title: str
    severity: Severity
    confidence: Confidence
    since: str
    applies_to: tuple[AppliesTo, ...]
    fixable: bool = False
    options: Mapping[str, RuleOption] = field(default_factory=dict)
    why: str
    fix: str
    silent: str
    references: tuple[str, ...] = ()
    severity_fixed: bool = False

    def option(self, name: str) -> float:
        """Return a threshold, in the unit that its name ends in."""
        return self.options[name].default


Catalog = Mapping[str, Rule]


@cache
def load_catalog() -> Catalog:
    """Return every rule by id, sorted by id.

    Raises:
        CatalogError: A rule file is malformed.
    """
    if (compiled := _compiled()) is not None:
        return compiled
    return {path.stem: load_rule(path) for path in rule_files()}


def rule_files() -> list[Path]:
    """Return the file of each rule, sorted by name."""
    return sorted(data_directory("rules").glob("*.yaml"))


def compiled_rulebook() -> str:
    """Return what :data:`COMPILED` has to hold: a line for each rule, so that changes show."""
    paths = rule_files()
    checked = {path.stem: _checked(_parse(path)) for path in paths}
    lines = (f'"{name}": {json.dumps(rule, ensure_ascii=False)}' for name, rule in checked.items())
    rules = ",\n".join(lines)
    return f'{{"checksum": {_checksum(paths)}, "rules": {{\n{rules}\n}}}}\n'


def _compiled() -> Catalog | None:
    """Return the rules as they were compiled, None where a checkout's files say otherwise."""
    try:
        data = json.loads(COMPILED.read_bytes())
        if is_checkout() and data["checksum"] != _checksum(rule_files()):
            return None
        # They were checked when they were compiled.
        return {name: _made(fields) for name, fields in data["rules"].items()}
    except (OSError, ValueError, LookupError, TypeError):
        return None  # the rule files themselves are there too


def _checksum(paths: Sequence[Path]) -> int:
    total = 0
    for path in paths:
        total = zlib.crc32(_content(path), zlib.crc32(path.name.encode(), total))
    return total


def _content(path: Path) -> bytes:
    # What Path.read_bytes() asks of the system besides takes longer than reading.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        size = os.fstat(descriptor).st_size
        return os.read(descriptor, size)
    finally:
        os.close(descriptor)


def load_rule(path: Path) -> Rule:
    """Return the rule in a file.

    Raises:
        CatalogError: The file is no mapping, has unknown or missing fields, or another name.
    """
    try:
        rule = _made(_checked(_parse(path)))
    except (OSError, ValueError) as error:
        raise CatalogError(f"{path.name}: {' '.join(str(error).split())}") from error
    if rule.id != path.stem:
        raise CatalogError(f"{path.name}: id {rule.id!r} must equal the file name")
    return rule


def _parse(path: Path) -> Any:
    # Only a checkout with changed rules needs the parser, which takes long to import.
    import yaml  # noqa: PLC0415

    # libyaml reads the rulebook ten times faster; both are safe loaders.
    loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return yaml.load(path.read_bytes(), Loader=loader)  # noqa: S506 - a safe loader
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def _made(fields: Mapping[str, Any]) -> Rule:
    """Return a rule of fields that were checked."""
    options = fields["options"].items()
    made = {
        "severity": Severity(fields["severity"]),
        "confidence": Confidence(fields["confidence"]),
        "options": {name: RuleOption(**option) for name, option in options},
        "applies_to": tuple(map(AppliesTo, fields["applies_to"])),
        "references": tuple(fields["references"]),
    }
    return Rule(**{**fields, **made})


def _checked(data: Any) -> dict[str, Any]:
    """Return the fields of a rule file, blanks around texts left out.

    Raises:
        ValueError: They are not what they have to be.
    """
    fields = dict(_record(data, "file", _FIELDS, _OPTIONAL))
    for name in (*_TEXTS, "severity", "confidence"):
        fields[name] = _text(fields[name], name)
    if _KEBAB.fullmatch(fields["id"]) is None:
        raise ValueError(f"id: {fields['id']!r} is not in lower case with dashes")
    if not isinstance(fields.get("fixable", False), bool):
        raise ValueError("fixable: neither true nor false")  # noqa: TRY004 - one type for all
    if not fields["applies_to"]:
        raise ValueError("applies_to: empty")
    options = _mapping(fields.get("options", {}), "options")
    return {
        **fields,
        "options": {name: _option(option, name) for name, option in options.items()},
        "applies_to": _texts(fields, "applies_to"),
        "references": _texts(fields, "references"),
    }


def _option(data: Any, name: str) -> dict[str, Any]:
    place = f"options.{name}"
    fields = _record(data, place, {"default", "unit", "help"}, set())
    default = fields["default"]
    if isinstance(default, bool) or not isinstance(default, int | float):
        raise ValueError(f"{place}.default: {default!r} is not a number")  # noqa: TRY004 - one type for all
    return {
        "default": float(default),
        "unit": _text(fields["unit"], f"{place}.unit"),
        "help": _text(fields["help"], f"{place}.help"),
    }


def _record(data: Any, place: str, fields: set[str], optional: set[str]) -> Mapping[str, Any]:
    found = _mapping(data, place)
    if unknown := found.keys() - fields - optional:
        raise ValueError(f"{place}: unknown field {min(unknown)!r}")
    if missing := fields - found.keys():
        raise ValueError(f"{place}: no field {min(missing)!r}")
    return found


def _mapping(data: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
        raise ValueError(f"{place}: not a mapping")
    return data


def _text(data: Any, place: str) -> str:
    if not isinstance(data, str) or not data.strip():
        raise ValueError(f"{place}: not a text")
    return data.strip()


def _texts(fields: Mapping[str, Any], name: str) -> list[str]:
    found = fields.get(name, [])
    if not isinstance(found, list):
        raise ValueError(f"{name}: not a list")  # noqa: TRY004 - one type for all
    return [_text(text, name) for text in found]


_TEXTS = ("id", "title", "since", "why", "fix", "silent")
_FIELDS = {*_TEXTS, "severity", "confidence", "applies_to"}
_OPTIONAL = {"fixable", "options", "references"}


def with_overrides(rule: Rule, *, severity: Severity | None, options: Mapping[str, float]) -> Rule:
    """Return the rule with the user's severity and thresholds in place of the defaults."""
    if severity is None and not options:
        return rule
    changed = {
        name: dataclasses.replace(option, default=options.get(name, option.default))
        for name, option in rule.options.items()
    }
    return dataclasses.replace(
        rule,
        options=changed,
        severity=severity or rule.severity,
        severity_fixed=rule.severity_fixed or severity is not None,
    )
