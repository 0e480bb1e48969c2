"""Names of units: what is valid, what an alias may stand for, where files of that name lie.

Source: systemd.unit(5); systemd 252, ``unit_name_is_valid`` and
``unit_validate_alias_symlink_or_warn``.
"""

from __future__ import annotations

import re

from quota_advisor.records import dataclass

SYSTEM_SEARCH_PATH = (
    "/etc/systemd/system.control",
    "/run/systemd/system.control",
    "/run/systemd/transient",
    "/run/systemd/generator.early",
    "/etc/systemd/system",
    "/etc/systemd/system.attached",
    "/run/systemd/system",
    "/run/systemd/system.attached",
    "/run/systemd/generator",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
    "/run/systemd/generator.late",
)
"""Where the system manager looks, highest priority first."""

UNIT_TYPES = (
    "service|socket|target|device|mount|automount|swap|timer|path|slice|scope|snapshot|busname"
)
"""What names of units end in, as a pattern."""

_UNIT_NAME = re.compile(
    rf"(?P<prefix>[0-9A-Za-z:_.\\-]+)(?P<at>@(?P<instance>[0-9A-Za-z:_.\\@-]*))?"
    rf"\.(?P<type>{UNIT_TYPES})"
)
_MAX_NAME = 255
_ALIASABLE = frozenset({"service", "socket", "target", "device", "timer", "path"})


def user_search_path(home: str, runtime_dir: str) -> tuple[str, ...]:
    """Return where a user's own manager looks, highest priority first.

    Args:
        home: The user's home directory; the XDG directories are taken to be the usual ones.
        runtime_dir: ``XDG_RUNTIME_DIR``, as a rule ``/run/user/UID``.
    """
    config, runtime = f"{home}/.config/systemd", f"{runtime_dir}/systemd"
    return (
        f"{config}/user.control",
        f"{runtime}/user.control",
        f"{runtime}/transient",
        f"{runtime}/generator.early",
        f"{config}/user",
        "/etc/xdg/systemd/user",
        "/etc/systemd/user",
        f"{runtime}/user",
        "/run/systemd/user",
        f"{runtime}/generator",
        f"{home}/.local/share/systemd/user",
        "/usr/local/share/systemd/user",
        "/usr/share/systemd/user",
        "/usr/local/lib/systemd/user",
        "/usr/lib/systemd/user",
        "/lib/systemd/user",
        f"{runtime}/generator.late",
    )


@dataclass(frozen=True, slots=True)
class UnitName:
    """A unit name, taken apart."""

    full: str
    prefix: str
    at: bool
    instance: str
    type: str

    @property
    def is_template(self) -> bool:
        """Whether it stands for no unit, but for all its instances."""
        return self.at and not self.instance

    @property
    def template(self) -> str:
        """The template that an instance is made from."""
        return f"{self.prefix}@.{self.type}"

    def instantiate(self, instance: str) -> str:
        """Return the name of an instance."""
        return f"{self.prefix}@{instance}.{self.type}"


def parse_name(text: str) -> UnitName | None:
    """Return the parts of a valid unit name."""
    match = _UNIT_NAME.fullmatch(text) if len(text) <= _MAX_NAME else None
    if match is None:
        return None
    return UnitName(
        text, match["prefix"], bool(match["at"]), match["instance"] or "", match["type"]
    )


def names_with_drop_ins(name: str) -> list[str]:
    """Return the names whose drop-ins apply to a unit, most specific first.

    The unit itself, its template, and both again for each prefix that ends in a dash:
    ``a-b@1.service``, ``a-b@.service``, ``a-.service``, ``a-@1.service``, ``a-@.service``.
    """
    parsed = parse_name(name)
    if parsed is None:
        return []
    names = [name]
    if parsed.instance:
        names += names_with_drop_ins(parsed.template)
    # A dash at the end is what a shortened prefix has; the next shorter one has another dash.
    cut = parsed.prefix.removesuffix("-").rfind("-")
    if cut > 0:
        prefix = parsed.prefix[: cut + 1]
        at = f"@{parsed.instance}" if parsed.instance else ""
        names += names_with_drop_ins(f"{prefix}{at}.{parsed.type}")
    return list(dict.fromkeys(names))


def may_alias(name: UnitName, target: UnitName) -> bool:
    """Whether systemd lets a link of this name stand for that unit."""
    if name.type != target.type or name.type not in _ALIASABLE:
        return False
    if name.instance and target.instance:
        return name.instance == target.instance
    same_kind = (name.at, name.is_template) == (target.at, target.is_template)
    return same_kind or bool(name.instance and target.is_template)


def is_prefix(name: str) -> bool:
    """Whether drop-ins of this name are for all units that begin so, not for one unit."""
    return name.rpartition(".")[0].endswith("-") and name != "-.slice"
