"""What the kernel command line says of CPUs and cgroups.

Sources: Documentation/admin-guide/kernel-parameters.rst (CPU lists) and kernel-parameters.txt,
``lib/cmdline.c`` (quotation), ``kernel/sched/isolation.c`` (flags of ``isolcpus=``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from quota_advisor.model.node import CpuList, Isolation
from quota_advisor.units import parse_cpu_list

_WORD = re.compile(r'(?:"[^"]*"?|[^\s"])+')
_FLAG = re.compile(r"([a-z_]+),", re.IGNORECASE)
_ALL = re.compile(r"\ball\b", re.IGNORECASE)


def parse_isolation(cmdline: str, last_cpu: int) -> Isolation:
    """Return the CPUs set apart by ``isolcpus=``, ``nohz_full=`` and ``rcu_nocbs=``.

    Args:
        cmdline: ``/proc/cmdline``.
        last_cpu: Highest CPU number possible, which ``N`` stands for.

    Raises:
        ValueError: A list of CPUs makes no sense.
    """
    isolated: set[int] = set()
    tickless: set[int] = set()
    callbacks: set[int] = set()
    for name, value in _parameters(cmdline):
        if name == "isolcpus":
            flags, cpus = _flags(value)
            listed = _cpus(cpus, last_cpu)
            isolated.update(listed)
            tickless.update(listed if "nohz" in flags else ())
        elif name == "nohz_full":
            tickless.update(_cpus(value, last_cpu))
        elif name == "rcu_nocbs":
            callbacks.update(_cpus(value, last_cpu))
    return Isolation(
        isolcpus=tuple(sorted(isolated)),
        nohz_full=tuple(sorted(tickless)),
        rcu_nocbs=tuple(sorted(callbacks)),
    )


def parse_disabled_controllers(cmdline: str) -> tuple[str, ...]:
    """Return the cgroup controllers that ``cgroup_disable=`` takes away.

    Source: kernel/cgroup/cgroup.c, ``cgroup_disable``.
    """
    values = (value for name, value in _parameters(cmdline) if name == "cgroup_disable")
    return tuple(dict.fromkeys(word for value in values for word in value.split(",") if word))


def _parameters(cmdline: str) -> Iterator[tuple[str, str]]:
    """Yield name and value of each kernel parameter; what follows ``--`` is for init."""
    for word in _WORD.findall(cmdline):
        if word == "--":
            return
        name, _, value = word.replace('"', "").partition("=")
        # The kernel takes dashes and underscores in names as the same.
        yield name.replace("-", "_"), value


def _flags(value: str) -> tuple[set[str], str]:
    """Split the flags off an ``isolcpus=`` value: words before the first CPU."""
    flags: set[str] = set()
    # "all" is a list of CPUs, though it looks like a flag.
    while (match := _FLAG.match(value)) is not None and match[1].lower() != "all":
        flags.add(match[1])
        value = value[match.end() :]
    return flags, value


def _cpus(value: str, last_cpu: int) -> CpuList:
    """Return the CPUs of a list in which ``N`` is the last CPU and ``all`` is every one."""
    plain = _ALL.sub(f"0-{last_cpu}", value).replace("N", str(last_cpu))
    return parse_cpu_list(plain)
