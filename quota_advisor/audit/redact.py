"""Facts without what is nobody's business: they leave the machine in a snapshot.

Unit files hold passwords in ``Environment=``, tokens in ``ExecStart=``, and anything at all in
other keys; the kernel's command line may too. What stays is what rules look at: the CPU keys,
numbers of threads by the names of their settings, names of programs, and the options of container
clients that tell where and how large a container is. Everything else becomes :data:`REDACTED`,
also in lines that nobody understands.

Findings of the facts are the same before and after.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from quota_advisor.derive.kept_texts import REDACTED, kept_program, kept_threads, kept_variable
from quota_advisor.derive.thread_counts import COUNT_VARIABLES
from quota_advisor.derive.units.container_commands import Client, clients, options
from quota_advisor.documents.systemd.command_lines import (
    COMMAND_PREFIXES,
    command_words,
    split_words,
)
from quota_advisor.documents.systemd.merge import is_cpu_key
from quota_advisor.model.host import HostFacts
from quota_advisor.model.limit import Missing
from quota_advisor.model.source import Source
from quota_advisor.model.unit import Assignment, SwallowedLine, UnitConfig, UnitFacts, UnitFile

_PLAIN_KEYS = {"Delegate", "Restart", "Slice", "Type"}
"""Keys with words of systemd or names of units."""

_CLIENT_OPTIONS = (
    *("--cgroups", "--cgroup-parent", "--cgroup"),
    *("--cpus", "--cpu-quota", "--cpu-period", "--cpuset-cpus"),
)
_HARMLESS = re.compile(r"(?:[A-Za-z0-9_./:@,-]|%[nNpPiIjJ]){1,100}")
"""Sizes, sets of CPUs, names of slices and units; nothing that a shell takes apart."""

_PODMAN_SERVICE = ("system", "service")
"""Words of podman that make it a manager of containers."""

_KERNEL_OPTION = re.compile(r"(?:isolcpus|nohz_full|rcu_nocbs)=[A-Za-z0-9_,:/-]+")
_KEY = re.compile(r"([A-Za-z]+)\s*=")


def without_secrets(facts: HostFacts) -> HostFacts:
    """Return the facts with nothing in them that rules do not look at."""
    node = dataclasses.replace(facts.node, sources=tuple(map(_source, facts.node.sources)))
    return dataclasses.replace(facts, node=node, units=tuple(map(_unit, facts.units)))


def _source(source: Source) -> Source:
    if not source.locator.endswith("/cmdline"):
        return source
    return dataclasses.replace(source, raw=" ".join(_KERNEL_OPTION.findall(source.raw)))


def _unit(unit: UnitFacts) -> UnitFacts:
    if isinstance(unit.config, Missing):
        return unit
    return dataclasses.replace(unit, config=_config(unit.config))


def _config(config: UnitConfig) -> UnitConfig:
    judged = [
        dataclasses.replace(
            j, assignment=_assignment(j.assignment), overridden_by=_optional(j.overridden_by)
        )
        for j in config.judged
    ]
    fragment = config.fragment
    return dataclasses.replace(
        config,
        fragment=fragment if isinstance(fragment, Missing) else _file(fragment),
        drop_ins=tuple(map(_file, config.drop_ins)),
        quota_from=_optional(config.quota_from),
        period_from=_optional(config.period_from),
        judged=tuple(judged),
    )


def _file(file: UnitFile) -> UnitFile:
    return dataclasses.replace(file, assignments=tuple(map(_assignment, file.assignments)))


def _optional(assignment: Assignment | None) -> Assignment | None:
    return None if assignment is None else _assignment(assignment)


def _assignment(assignment: Assignment) -> Assignment:
    return dataclasses.replace(
        assignment,
        value=_value(assignment.key, assignment.value),
        swallowed=tuple(map(_swallowed, assignment.swallowed)),
    )


def _swallowed(line: SwallowedLine) -> SwallowedLine:
    match = _KEY.match(line.text)
    if match is not None and is_cpu_key(match[1]):
        return line
    return dataclasses.replace(line, text=REDACTED)


def _value(key: str, value: str) -> str:
    # An empty value takes back what came before, and hides nothing.
    if not value or key in _PLAIN_KEYS or is_cpu_key(key):
        return value
    if key == "Environment":
        return " ".join(_variables(value)) or REDACTED
    if key.startswith("Exec"):
        return _command(value)
    return REDACTED


def _variables(value: str) -> Iterator[str]:
    """Yield the variables that are numbers of threads, each as it would be written alone."""
    for word in split_words(value):
        name, _, text = word.partition("=")
        if kept := kept_variable(name, text):
            yield f"{name}={kept}" if name in COUNT_VARIABLES else f'"{name}={kept}"'


def _command(value: str) -> str:
    """Return a command that says the same to rules: program, container clients, threads."""
    bare = value.lstrip(COMMAND_PREFIXES + " ")
    prefix = value[: len(value) - len(bare)].replace("@", "").replace(" ", "")
    words = command_words(value)
    program = kept_program(words)
    known = [_client(client) for client in clients([value])]
    if known:
        return f'{prefix}/bin/sh -c "{"; ".join(known)}"'
    is_service = program.endswith("podman") and _PODMAN_SERVICE in pairwise(words)
    kept = _PODMAN_SERVICE if is_service else ()
    return " ".join([prefix + program, *kept, *_options(words), *_threads(words)])


def _client(client: Client) -> str:
    return " ".join([client.program, client.verb, *_options(client.arguments)])


def _options(words: Iterable[str]) -> Iterator[str]:
    """Yield the options about cgroup and CPUs of a container."""
    for name, value in options(words, *_CLIENT_OPTIONS):
        if _HARMLESS.fullmatch(value):
            yield f"{name}={value}"


def _threads(words: Sequence[str]) -> Iterator[str]:
    for kept in kept_threads(words):
        yield f'"{kept[0]}"' if kept[0].endswith(";") else " ".join(kept)
