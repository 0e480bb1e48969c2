"""Facts without names of units, containers, hosts and users: for whoever is not to know them.

Each name becomes another, the same everywhere in the facts, so that what belongs together stays
together and the findings are the same. What says how a name is judged stays: its type, the dashes
of a slice, that it is an instance, the digits by which drop-ins are ordered, ids of containers, and
the names that systemd, the kubelet and engines give to everybody.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter

from quota_advisor.audit.redact import without_secrets
from quota_advisor.audit.texts import with_texts
from quota_advisor.checks.host.enforcement import SENDERS
from quota_advisor.checks.units.container_managers import MANAGERS
from quota_advisor.derive.kept_texts import REDACTED
from quota_advisor.documents.systemd.names import UNIT_TYPES
from quota_advisor.model.cgroup import CgroupFacts, Container
from quota_advisor.model.host import HostFacts
from quota_advisor.model.suppression import Suppression
from quota_advisor.model.unit import Assignment, UnitFacts

HOST = "host"

_HEX = "[0-9a-f]"
_UID = rf"{_HEX}{{8}}(?:[-_]{_HEX}{{4}}){{3}}[-_]{_HEX}{{12}}"
_UNIT = re.compile(
    rf"(?P<prefix>[0-9A-Za-z:_.\\-]+)(?P<at>@(?P<instance>[0-9A-Za-z:_.\\@-]*))?"
    rf"\.(?P<type>{UNIT_TYPES})(?![0-9A-Za-z])"
)
_EVERYBODYS = re.compile(
    rf"(?:-|system|user|machine|app|session|background|user-[0-9]+"
    rf"|kubepods(?:-burstable|-besteffort)?(?:-pod{_UID})?)\.slice"
    rf"|(?:init|session-c?[0-9]+|run-[ru]?{_HEX}+)\.scope|user(?:-runtime-dir)?@[0-9]+\.service"
    rf"|(?:docker|libpod|libpod-payload|cri-containerd|nerdctl|crio)-{_HEX}{{64}}\.scope"
)
"""Units that systemd, the kubelet and engines name."""

_SLICE_WORDS = frozenset({"", "system", "user", "machine", "kubepods", "ecstasks", "docker"})
"""Parts of the names of slices that say what is in them."""

_PREFIXES = re.compile(
    r"(?P<kept>machine-(?:(?:qemu|lxc)(?:-|\\x2d)[0-9]+(?:-|\\x2d))?|systemd-nspawn@)(?P<name>.+)"
)
"""Scopes of machines: what comes before their names says what runs them."""

_GROUP_WORDS = re.compile(
    rf"docker|lxc|ns|kubepods|burstable|besteffort|ecs|pod{_UID}|{_HEX}{{12,64}}|[0-9]+|{_UID}|\.lxc"
)
"""Parts of paths of cgroups that engines give to everybody."""

_LXC = re.compile(r"(lxc\.(?:payload|monitor)\.)(.+)")
_DROP_IN = re.compile(r"(?<=/)(?P<order>[0-9]*-?)(?P<name>[^/\n]+)\.conf(?![0-9A-Za-z])")
_USUAL_DROP_INS = re.compile(r"override|CPU\w+|quota-advisor")
_HOME = re.compile(r"(?<=/home/)[^/\s]+")
_PART = re.compile(r"(?<=/)[^/\s]+")
_PROGRAMS = MANAGERS | SENDERS | {"docker", "podman", "nerdctl", "ctr", "sh"}
"""Programs that rules know by name."""


def anonymous(facts: HostFacts) -> HostFacts:
    """Return facts with other names in place of those that somebody gave.

    Values of variables, arguments and other keys of unit files go as well.
    """
    return with_texts(without_secrets(facts), _Names(facts).changed)


class _Names:
    """Other names for those in the facts, made up as they are met."""

    def __init__(self, facts: HostFacts) -> None:
        self._others: dict[tuple[str, str], str] = {}
        self._numbers: Counter[str] = Counter()
        paths = [*(group.path for group in facts.cgroups), *map(_main_group, facts.units)]
        self._groups = {part for path in paths for part in path.split("/") if part}
        self._odd = sorted((part for part in self._groups if re.search(r"\s", part)), key=len)
        containers = (group.container for group in facts.cgroups)
        self._containers = {c.name for c in containers if c and isinstance(c.name, str)}
        self._host = re.compile(rf"(?<![\w.-]){re.escape(facts.hostname or HOST)}(?![\w-])")

    def changed(self, text: str, owner: object, field: str) -> str:
        """Return a text of the facts without names."""
        if isinstance(owner, Suppression) and field == "reason":
            return REDACTED if text else text
        if isinstance(owner, CgroupFacts) and field == "commands":
            return text if text in _PROGRAMS else REDACTED
        if isinstance(owner, Container):
            return self._other("container", text) if field == "name" else text
        if isinstance(owner, Assignment) and field == "value" and owner.key.startswith("Exec"):
            text = _without_program(text)
        return self._without_names(text)

    def _without_names(self, text: str) -> str:
        for part in reversed(self._odd):
            text = text.replace(part, self._other("group", part))
        text = _HOME.sub(lambda found: self._other("user", found[0]), text)
        text = _DROP_IN.sub(self._drop_in, text)
        text = _PART.sub(self._group, text)
        text = _UNIT.sub(self._unit, text)
        return self._host.sub(HOST, text)

    def _other(self, kind: str, name: str) -> str:
        """Return the name that stands for another one; the first is ``service1``."""
        key = (kind, name)
        if key not in self._others:
            self._numbers[kind] += 1
            self._others[key] = f"{kind}{self._numbers[kind]}"
        return self._others[key]

    def _group(self, found: re.Match[str]) -> str:
        """Return a part of a path, another one where it names a cgroup that is no unit."""
        part = found[0]
        lxc = _LXC.fullmatch(part)
        if lxc is not None:
            return lxc[1] + self._other("guest", lxc[2])
        if part not in self._groups or _UNIT.fullmatch(part) or _GROUP_WORDS.fullmatch(part):
            return part
        return self._other("group", part)

    def _drop_in(self, found: re.Match[str]) -> str:
        if _USUAL_DROP_INS.fullmatch(found["name"]):
            return found[0]
        return f"{found['order']}{self._other('dropin', found['name'])}.conf"

    def _unit(self, found: re.Match[str]) -> str:
        if _EVERYBODYS.fullmatch(found[0]):
            return found[0]
        kind, at = found["type"], found["at"]
        if kind == "slice":
            words = (w if w in _SLICE_WORDS else self._other("part", w) for w in _words(found))
            return f"{'-'.join(words)}.slice"
        prefix = found["prefix"]
        machine = _PREFIXES.fullmatch(prefix)
        kept, name = (machine["kept"], machine["name"]) if machine else ("", prefix)
        # A drop-in of all units that begin alike.
        dash = "-" * name.endswith("-")
        instance = found["instance"] and self._other("instance", found["instance"])
        behind = f"@{instance}" if at else ""
        return f"{kept}{self._other(kind, name.removesuffix('-'))}{dash}{behind}.{kind}"


def _main_group(unit: UnitFacts) -> str:
    return unit.main_process_group if isinstance(unit.main_process_group, str) else ""


def _words(found: re.Match[str]) -> list[str]:
    return str(found["prefix"]).split("-")


def _without_program(command: str) -> str:
    """Return a command whose program is named only if rules know it."""
    first, blank, rest = command.partition(" ")
    bare = first.lstrip("@-:+!")
    # An empty value takes back what came before.
    if not command or posixpath.basename(bare.strip("\"'")) in _PROGRAMS:
        return command
    return f"{first[: len(first) - len(bare)]}/{REDACTED}{blank}{rest}"
