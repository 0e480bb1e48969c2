"""What a quadlet says of CPU: options for podman, the service around it, numbers of threads."""

from __future__ import annotations

import re
from decimal import Decimal
from itertools import pairwise
from typing import Self

from quota_advisor.derive.lazy import derived
from quota_advisor.derive.thread_counts import ThreadCount, thread_counts
from quota_advisor.derive.units.podman_options import INSIDE, PodmanOption, place, podman_options
from quota_advisor.documents.compose.values import INTEGER, NUMBER
from quota_advisor.documents.systemd.command_lines import split_words
from quota_advisor.model.limit import DEFAULT_PERIOD_USEC, Bandwidth
from quota_advisor.model.manifest import Quadlet, Scalar
from quota_advisor.model.source import Location
from quota_advisor.model.unit import Assignment, standing
from quota_advisor.records import NamedTuple, dataclass

USEC_OPTIONS = ("--cpu-quota", "--cpu-period")
CPU_OPTIONS = ("--cpus", *USEC_OPTIONS)


class OwnLimit(NamedTuple):
    """The limit that podman sets, and the option that decides it."""

    cpus: Decimal
    by: PodmanOption


class WrittenWord(Scalar):
    """A word of an assignment, which is looked for in it only once its place matters.

    Attributes:
        written: The assignment.
        before: What stands before the word: a variable's name, another word.
    """

    written: Assignment
    before: str

    @classmethod
    def of(cls, written: Assignment, before: str, text: str) -> Self:
        """Return a word of an assignment."""
        at = written.value_location
        made = cls(text, False, at.line, at.column)
        made.written, made.before = written, before
        return made

    @property
    def location(self) -> Location:
        """Where it stands."""
        return place(self.written, self.before, self.text)


@dataclass(eq=False)
class QuadletCpu:
    """The CPU settings of a quadlet.

    Attributes:
        quadlet: The quadlet.
        options: CPU options of a container, in the order in which podman reads them.
        pod_options: Likewise of a pod.
    """

    quadlet: Quadlet
    options: tuple[PodmanOption, ...]
    pod_options: tuple[PodmanOption, ...]

    def last(self, name: str) -> PodmanOption | None:
        """Return the option that counts: the last of its name."""
        return next((o for o in reversed(self.options) if o.name == name), None)

    @derived
    def cgroups_mode(self) -> str:
        """The cgroups mode that counts: arguments come last; quadlet's own default is split."""
        chosen = standing(self.quadlet.files, "Container", "CgroupsMode")
        mode = chosen[-1].value if chosen else "split"
        return next((o.value for o in reversed(podman_options(self.quadlet, "--cgroups"))), mode)

    @property
    def is_inside(self) -> bool:
        """Whether the container runs in the cgroup of the service."""
        return self.cgroups_mode in INSIDE

    @derived
    def own_limit(self) -> OwnLimit | None:
        """The limit that podman sets."""
        cpus, quota = self.last("--cpus"), self.last("--cpu-quota")
        if cpus is not None:
            value = _number(cpus, NUMBER)
            return OwnLimit(value, cpus) if value else None
        value = _number(quota, INTEGER)
        if quota is None or value is None:
            return None
        period = _number(self.last("--cpu-period"), INTEGER) or DEFAULT_PERIOD_USEC
        return OwnLimit(value / period, quota)

    @derived
    def service_cpus(self) -> Decimal | None:
        """The quota of the service around it, in CPUs."""
        limit = self.quadlet.service.limit
        if not isinstance(limit, Bandwidth):
            return None
        return Decimal(limit.quota_usec) / limit.period_usec

    @derived
    def tightest(self) -> Decimal | None:
        """The smallest limit that holds the container, in CPUs."""
        limits = [self.own_limit.cpus] if self.own_limit else []
        if self.quadlet.kind == "container" and self.is_inside and self.service_cpus is not None:
            limits.append(self.service_cpus)
        return min(limits, default=None)

    @derived
    def thread_counts(self) -> tuple[ThreadCount, ...]:
        """Numbers of threads in environment and command; each is held by a :class:`WrittenWord`."""
        return thread_counts(_environment(self.quadlet), _command(self.quadlet))


def derive_quadlet_cpu(quadlet: Quadlet) -> QuadletCpu:
    """Return what a quadlet says of CPU."""
    return QuadletCpu(
        quadlet,
        tuple(podman_options(quadlet, *CPU_OPTIONS)),
        tuple(podman_options(quadlet, "--cpus", section="Pod")),
    )


def written_at(word: Scalar) -> Location | None:
    """Return where a word of a quadlet stands."""
    return word.location if isinstance(word, WrittenWord) else None


def _number(option: PodmanOption | None, grammar: re.Pattern[str]) -> Decimal | None:
    """Return a value above zero, which stands for "no limit" as podman has it."""
    if option is None or not grammar.fullmatch(option.value):
        return None
    value = Decimal(option.value)
    return value if value > 0 else None


def _environment(quadlet: Quadlet) -> dict[str, Scalar]:
    environment: dict[str, Scalar] = {}
    for written in standing(quadlet.files, "Container", "Environment"):
        for word in split_words(written.value):
            name, _, text = word.partition("=")
            environment[name] = WrittenWord.of(written, name, text)
    return environment


def _command(quadlet: Quadlet) -> list[Scalar]:
    return [
        WrittenWord.of(written, before, text)
        for key in ("Entrypoint", "Exec")
        for written in standing(quadlet.files, "Container", key)[-1:]
        for before, text in pairwise(["", *split_words(written.value)])
    ]
