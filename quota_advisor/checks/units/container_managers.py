"""Units of programs that manage containers, and do not hold them.

Sources: dockerd(8), systemd units of containerd, CRI-O, the kubelet and libvirt, all of which put
containers and machines into slices and scopes of their own; podman-system-service(1).
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from itertools import pairwise

from quota_advisor.derive.units.container_commands import option
from quota_advisor.documents.systemd.command_lines import command_words
from quota_advisor.model.finding import Evidence
from quota_advisor.model.unit import UnitConfig, standing
from quota_advisor.rulebook.catalogue import Rule
from quota_advisor.rulebook.engine import Hit, Verdicts, check

MANAGERS = frozenset(
    {
        "containerd",
        "crio",
        "dockerd",
        "kubelet",
        "libvirtd",
        "virtlxcd",
        "virtqemud",
    }
)
"""Programs whose containers and machines run in cgroups outside of their unit."""


@check(UnitConfig)
def quota_on_container_manager(config: UnitConfig, _rule: Rule) -> Verdicts:
    """Find a quota on what manages containers: it throttles the manager alone."""
    if not isinstance(config.quota_per_sec_usec, int) or config.quota_from is None:
        return
    started = [command_words(a.value) for a in standing(config.files, "Service", "ExecStart")]
    managers = [name for words in started if (name := _manager(words))]
    if not managers:
        return
    yield Hit(
        message=(
            f"CPUQuota={config.quota_from.value} throttles {managers[0]}, and not what it runs:"
            " that is in cgroups of its own"
        ),
        location=config.quota_from.value_location,
        evidence=(Evidence(label="manager", value=managers[0]),),
    )


def _manager(words: Sequence[str]) -> str:
    """Return the name of a manager that a command starts, empty where it starts none."""
    program = posixpath.basename(words[0].lstrip("@-:+!")) if words else ""
    if program == "podman" and ("system", "service") in pairwise(words):
        return "podman system service"
    parent = option(words, "--cgroup-parent")
    # A path, unlike a slice, may be the unit's own.
    is_elsewhere = not parent or parent.endswith(".slice")
    return program if program in MANAGERS and is_elsewhere else ""
