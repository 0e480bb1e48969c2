"""The machine: kernel, CPUs, isolation, interrupts, and what else it was busy with.

Sources: Documentation/filesystems/proc.rst, Documentation/ABI/stable/sysfs-devices-system-cpu,
Documentation/accounting/psi.rst, Documentation/core-api/irq/irq-affinity.rst.
"""

from __future__ import annotations

import errno
import re
import zlib
from collections.abc import Callable, Iterator
from typing import TypeVar

from quota_advisor.collect.host.cgroup_files import parse_pressure
from quota_advisor.collect.host.cgroup_tree import CgroupTree, has_cpu_controller, join
from quota_advisor.collect.host.cmdline import parse_disabled_controllers, parse_isolation
from quota_advisor.collect.host.root import HostRoot, describe, why
from quota_advisor.model.limit import Missing, Unlimited
from quota_advisor.model.node import (
    CpuList,
    Irq,
    Isolation,
    KernelFeatures,
    NodeFacts,
    PressureShare,
)
from quota_advisor.model.problem import Problem
from quota_advisor.model.source import Source, SourceKind
from quota_advisor.records import dataclass
from quota_advisor.units import parse_cpu_list

CPU = "/sys/devices/system/cpu"
NODE = "/sys/devices/system/node"
FAIR_SERVER = "/sys/kernel/debug/sched/fair_server"
RESOURCES = ("cpu", "io", "memory")

MAX_CONFIG_BYTES = 4 << 20
"""A kernel configuration has a quarter of a megabyte; a gzip file may claim anything."""

NEEDS_WINDOW = Missing(reason="needs two readings: totals are judged, not a window")

_HZ = re.compile(r"^CONFIG_HZ=([1-9][0-9]{0,4})$", re.MULTILINE)
# "8-edge", "-event" or "27 Level": the name of an interrupt line that no driver uses.
_LINE = re.compile(r"[0-9]*(-\S+)?(\s(Level|Edge))?\Z")
_NUMBERED = re.compile(r"(?:cpu|node)?([0-9]{1,6})\Z")
_STAT_FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
# The kernel's idle times may decrease a little (proc(5) on iowait).
_UNSTEADY = frozenset({"idle", "iowait"})

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReading:
    """Counters of the whole machine at one moment.

    Attributes:
        read_at_usec: Monotonic time.
        cpu_time: Ticks since boot by state, from ``/proc/stat``.
        pressure: ``some`` and ``full`` totals in microseconds of each resource.
        sources: What was read.
        problems: What could not be.
    """

    read_at_usec: int
    cpu_time: dict[str, int] | Missing
    pressure: dict[str, dict[str, int] | Missing]
    sources: tuple[Source, ...]
    problems: tuple[Problem, ...]


def read_node(root: HostRoot, now_usec: Callable[[], int]) -> NodeReading:
    """Take one reading of the machine's counters.

    Args:
        root: The host.
        now_usec: Monotonic clock.
    """
    files = _Files(root)
    return NodeReading(
        read_at_usec=now_usec(),
        cpu_time=files.value("/proc/stat", _parse_cpu_time),
        pressure={r: files.value(f"/proc/pressure/{r}", parse_pressure) for r in RESOURCES},
        sources=tuple(files.sources),
        problems=tuple(files.problems),
    )


def collect_node(
    root: HostRoot,
    tree: CgroupTree | Missing,
    first: NodeReading,
    last: NodeReading | None,
    systemd_version: str | Missing,
) -> tuple[NodeFacts, tuple[Problem, ...]]:
    """Return the facts of the machine, and what could not be read.

    Args:
        root: The host.
        tree: Its cgroups, in which the kernel's features are looked for.
        first: Reading at the start of the window.
        last: Reading at its end; None where totals are judged.
        systemd_version: What the running manager says of itself.
    """
    files = _Files(root)
    cpus, release = _online(files), _release(files)
    config = _kernel_config(root, release)
    cores = _shares(first, last)
    pressure = {name: _pressure(name, first, last) for name in RESOURCES}
    facts = NodeFacts(
        kernel_release=release,
        systemd_version=systemd_version,
        layout=tree if isinstance(tree, Missing) else tree.hierarchy.layout,
        features=_features(root, tree, config),
        cpus_online=cpus,
        thread_siblings=_siblings(files, cpus),
        numa_nodes=_numa(files),
        tick_hz=_tick_hz(files, config),
        isolation=_isolation(files, cpus),
        irqs=tuple(_irqs(files)),
        rt_runtime_usec=files.value("/proc/sys/kernel/sched_rt_runtime_us", _parse_rt_runtime),
        rt_period_usec=files.value("/proc/sys/kernel/sched_rt_period_us", _parse_number),
        fair_server=_fair_server(root),
        disabled_controllers=_disabled_controllers(root),
        steal_ratio=cores if isinstance(cores, Missing) else cores.steal,
        busy_ratio=cores if isinstance(cores, Missing) else cores.busy,
        cpu_pressure=pressure["cpu"],
        io_pressure=pressure["io"],
        memory_pressure=pressure["memory"],
        sources=(*files.sources, *(last or first).sources),
    )
    problems = (*files.problems, *first.problems, *(last.problems if last else ()))
    return facts, tuple(dict.fromkeys(problems))


def tick_hz(root: HostRoot) -> int | Missing:
    """Return CONFIG_HZ of the running kernel, or why it is not known."""
    files = _Files(root)
    return _tick_hz(files, _kernel_config(root, _release(files)))


class _Files:
    """Reads system files, keeping book of sources and problems."""

    def __init__(self, root: HostRoot) -> None:
        self.root = root
        self.sources: list[Source] = []
        self.problems: list[Problem] = []

    def value(self, path: str, parse: Callable[[str], T]) -> T | Missing:
        """Return what a file says. A file that is not there is no problem, only missing."""
        try:
            text = self.root.read(path)
            self.sources.append(Source(kind=SourceKind.SYSTEM_FILE, locator=path, raw=text))
            return parse(text)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.EOPNOTSUPP):
                self.problems.append(Problem(subject=path, reason=why(error)))
            return Missing(reason=describe(error, path))
        except ValueError:
            reason = f"unexpected text {text[:80].strip()!r}"
            self.problems.append(Problem(subject=path, reason=reason))
            return Missing(reason=f"{path}: {reason}")

    def numbered(self, directory: str) -> list[int]:
        """Return the numbers in a directory's names (``cpu3``, ``node0``, ``24``), ascending."""
        try:
            matches = (_NUMBERED.match(name) for name in self.root.names(directory))
        except OSError:
            return []
        return sorted(int(match[1]) for match in matches if match is not None)


def _release(files: _Files) -> str:
    release = files.value("/proc/sys/kernel/osrelease", str.strip)
    return release if isinstance(release, str) else ""


def _online(files: _Files) -> CpuList:
    cpus = files.value(f"{CPU}/online", parse_cpu_list)
    if isinstance(cpus, Missing):
        # Containers may hide sysfs; /proc/stat lists the CPUs that are online.
        cpus = files.value("/proc/stat", _parse_stat_cpus)
    return () if isinstance(cpus, Missing) else cpus


def _siblings(files: _Files, cpus: CpuList) -> tuple[CpuList, ...]:
    names = (f"{CPU}/cpu{cpu}/topology/thread_siblings_list" for cpu in cpus)
    groups = (files.value(name, parse_cpu_list) for name in names)
    return tuple(sorted({group for group in groups if not isinstance(group, Missing)}))


def _numa(files: _Files) -> tuple[CpuList, ...]:
    names = (f"{NODE}/node{number}/cpulist" for number in files.numbered(NODE))
    nodes = (files.value(name, parse_cpu_list) for name in names)
    return tuple(node for node in nodes if not isinstance(node, Missing) and node)


@dataclass(frozen=True, slots=True)
class _KernelConfig:
    """The configuration of the running kernel, and where it was found."""

    path: str
    text: str

    def has(self, option: str) -> bool:
        """Whether an option is built in; what is not set is not mentioned, or commented out."""
        return f"\nCONFIG_{option}=y\n" in f"\n{self.text}\n"


def _kernel_config(root: HostRoot, release: str) -> _KernelConfig | Missing:
    """Return the configuration of the running kernel, from wherever it is kept."""
    for path in ("/proc/config.gz", f"/boot/config-{release}", f"/lib/modules/{release}/config"):
        try:
            data = root.read_bytes(path)
            config = _gunzip(data) if path.endswith(".gz") else data
        except (OSError, zlib.error):
            continue
        text = config.decode("ascii", "replace")
        if _HZ.search(text):
            return _KernelConfig(path, text)
    return Missing(reason="the kernel's configuration is not there (/proc/config.gz, /boot)")


def _tick_hz(files: _Files, config: _KernelConfig | Missing) -> int | Missing:
    """Return CONFIG_HZ of the running kernel."""
    match = None if isinstance(config, Missing) else _HZ.search(config.text)
    if isinstance(config, Missing) or match is None:
        return config if isinstance(config, Missing) else Missing(reason="no CONFIG_HZ")
    line = Source(kind=SourceKind.SYSTEM_FILE, locator=config.path, raw=match[0])
    files.sources.append(line)
    return int(match[1])


def _disabled_controllers(root: HostRoot) -> tuple[str, ...]:
    text = root.try_read("/proc/cmdline")
    return () if isinstance(text, Missing) else parse_disabled_controllers(text)


def _gunzip(data: bytes) -> bytes:
    # 16 + MAX_WBITS: a gzip header is expected.
    return zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(data, MAX_CONFIG_BYTES)


def _fair_server(root: HostRoot) -> bool | Missing:
    """Return whether normal tasks have a server with run time on each CPU (6.12 and later).

    debugfs is for root, and may not be mounted: that it cannot be read is no problem.
    """
    try:
        names = root.names(FAIR_SERVER)
    except OSError as error:
        return Missing(reason=describe(error, FAIR_SERVER))
    cpus = [name for name in names if _NUMBERED.match(name)]
    runtimes = [root.try_read(f"{FAIR_SERVER}/{name}/runtime") for name in cpus]
    unread = next((found for found in runtimes if isinstance(found, Missing)), None)
    if unread is not None or not runtimes:
        return unread or Missing(reason=f"{FAIR_SERVER}: no CPU")
    return all(str(runtime).strip() != "0" for runtime in runtimes)


def _isolation(files: _Files, cpus: CpuList) -> Isolation | Missing:
    possible = files.value(f"{CPU}/possible", parse_cpu_list)
    last = max(cpus if isinstance(possible, Missing) else possible, default=0)
    return files.value("/proc/cmdline", lambda text: parse_isolation(text, last))


def _irqs(files: _Files) -> Iterator[Irq]:
    """Yield the interrupt lines that somebody listens to."""
    names = files.value("/proc/interrupts", parse_interrupts)
    if isinstance(names, Missing):
        return
    for number, name in sorted(names.items()):
        where = f"/proc/irq/{number}"
        cpus = files.value(f"{where}/smp_affinity_list", parse_cpu_list)
        effective = files.value(f"{where}/effective_affinity_list", parse_cpu_list)
        if not isinstance(cpus, Missing):
            yield Irq(number=number, name=name, cpus=cpus, effective_cpus=effective)


def parse_interrupts(text: str) -> dict[int, str]:
    """Return number and name of each numbered line of ``/proc/interrupts``.

    ``show_interrupts`` (``kernel/irq/proc.c``) writes one count a CPU, the chip, the line, and
    after two blanks the names of those who listen; lines without a name are left out.

    Raises:
        ValueError: No heading with the CPUs.
    """
    heading, *lines = text.splitlines() or [""]
    counts = len(heading.split())
    if not heading.lstrip().startswith("CPU"):
        raise ValueError(heading)
    found = {}
    for line in lines:
        number, _, rest = line.partition(":")
        fields = rest.split(maxsplit=counts)
        parts = re.split(r"\s{2,}", fields[-1].rstrip()) if len(fields) > counts else []
        named = len(parts) > 1 and not _LINE.match(parts[-1])
        if named and number.strip().isdecimal():
            found[int(number)] = parts[-1]
    return found


def _features(
    root: HostRoot, tree: CgroupTree | Missing, config: _KernelConfig | Missing
) -> KernelFeatures:
    """Look for files in the cgroups: backports make versions say little."""
    bandwidth, rt_groups = _built(config, "CFS_BANDWIDTH"), _built(config, "RT_GROUP_SCHED")
    if isinstance(tree, Missing):
        unknown = Missing(reason=tree.reason)
        return KernelFeatures(
            burst=unknown,
            stat_local=unknown,
            cgroup_pressure=unknown,
            cpu_controller=unknown,
            cfs_bandwidth=bandwidth,
            rt_group_sched=rt_groups,
        )
    h = tree.hierarchy
    v1 = h.version == 1
    return KernelFeatures(
        burst=_offered(
            root,
            tree,
            "cpu.cfs_burst_us" if v1 else "cpu.max.burst",
            beside="cpu.cfs_quota_us" if v1 else "cpu.max",
        ),
        stat_local=_offered(root, tree, "cpu.stat.local", beside="cpu.stat"),
        cgroup_pressure=_pressure_offered(root, tree),
        cpu_controller=v1 or has_cpu_controller(root, h.cpu),
        cfs_bandwidth=bandwidth,
        rt_group_sched=rt_groups,
    )


def _built(config: _KernelConfig | Missing, option: str) -> bool | Missing:
    return config if isinstance(config, Missing) else config.has(option)


def _offered(root: HostRoot, tree: CgroupTree, name: str, *, beside: str) -> bool | Missing:
    """Tell whether cgroups have a file, judging only those that have its companion."""
    directories = (join(tree.hierarchy.cpu, path) for path in reversed(tree.paths))
    fitting = next((d for d in directories if root.exists(f"{d}/{beside}")), None)
    if fitting is None:
        return Missing(reason=f"no cgroup has {beside}, so nothing tells about {name}")
    return root.exists(f"{fitting}/{name}")


def _pressure_offered(root: HostRoot, tree: CgroupTree) -> bool | Missing:
    where = tree.hierarchy.pressure
    if isinstance(where, Missing):
        return False
    children = [path for path in tree.paths if path != "/" and root.exists(join(where, path))]
    if not children:
        return Missing(reason="there is no cgroup but the root")
    return isinstance(root.try_read(f"{join(where, children[-1])}/cpu.pressure"), str)


@dataclass(frozen=True, slots=True)
class _Shares:
    steal: float
    busy: float


def _shares(first: NodeReading, last: NodeReading | None) -> _Shares | Missing:
    """Return the shares of all CPU time over the window."""
    if last is None:
        return NEEDS_WINDOW
    before, after = first.cpu_time, last.cpu_time
    if isinstance(before, Missing) or isinstance(after, Missing):
        return before if isinstance(before, Missing) else after  # type: ignore[return-value]
    spent = {name: after[name] - before[name] for name in _STAT_FIELDS}
    spent |= {name: max(spent[name], 0) for name in _UNSTEADY}
    total = sum(spent.values())
    if min(spent.values()) < 0:
        return Missing(reason="/proc/stat: CPU time went backwards")
    if total == 0:
        return Missing(reason="/proc/stat: no tick passed during the window")
    idle = spent["idle"] + spent["iowait"] + spent["steal"]
    return _Shares(steal=spent["steal"] / total, busy=(total - idle) / total)


def _pressure(name: str, first: NodeReading, last: NodeReading | None) -> PressureShare | Missing:
    if last is None:
        return NEEDS_WINDOW
    before, after = first.pressure[name], last.pressure[name]
    elapsed = last.read_at_usec - first.read_at_usec
    if isinstance(before, Missing):
        return before
    if isinstance(after, Missing):
        return after
    some = _share(name, "some", elapsed, before, after)
    if isinstance(some, Missing):
        return some
    full = _share(name, "full", elapsed, before, after)
    if name == "cpu":
        # The kernel prints zeros for the sake of old readers (psi.rst).
        full = Missing(reason="not defined for the CPUs of a whole machine")
    return PressureShare(some_ratio=some, full_ratio=full)


def _share(
    name: str, kind: str, elapsed_usec: int, before: dict[str, int], after: dict[str, int]
) -> float | Missing:
    if kind not in before or kind not in after:
        return Missing(reason=f"/proc/pressure/{name}: {kind} is not reported")
    waited = after[kind] - before[kind]
    if waited < 0 or elapsed_usec <= 0:
        return Missing(reason=f"/proc/pressure/{name}: {kind} went backwards")
    # The kernel brings its totals up to date every 2 s, so they may lag behind the clock.
    return min(waited / elapsed_usec, 1.0)


def _parse_cpu_time(text: str) -> dict[str, int]:
    """Parse the first line of ``/proc/stat``.

    Raises:
        ValueError: It is not there, or has fewer fields than any kernel since 2.6.11 writes.
    """
    label, *fields = text.partition("\n")[0].split()
    if label != "cpu":
        raise ValueError(label)
    return dict(zip(_STAT_FIELDS, map(_parse_number, fields[: len(_STAT_FIELDS)]), strict=True))


def _parse_stat_cpus(text: str) -> CpuList:
    return tuple(int(number) for number in re.findall(r"^cpu([0-9]{1,6}) ", text, re.MULTILINE))


def _parse_number(text: str) -> int:
    if not re.fullmatch(r"\s*[0-9]{1,20}\s*", text, re.ASCII):
        raise ValueError(text)
    return int(text)


def _parse_rt_runtime(text: str) -> int | Unlimited:
    return Unlimited() if text.strip() == "-1" else _parse_number(text)
