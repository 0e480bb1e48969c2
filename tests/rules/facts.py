"""Facts in short form, made into the facts of a host.

The base is a plain machine: 8 CPUs at 250 Hz, kernel 6.12, cgroup v2, nothing isolated. A key that
no field here names is an error, so that a typing mistake cannot make a case pass for nothing.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import pydantic
import yaml

from quota_advisor.collect.host.cgroup_files import parse_cpu_max
from quota_advisor.collect.host.root import HostRoot
from quota_advisor.collect.host.unit_files import UnitFileReader
from quota_advisor.model.cgroup import (
    Basis,
    CgroupFacts,
    Container,
    CounterWindow,
    CpuCounters,
    Demand,
    EndedLife,
    Engine,
)
from quota_advisor.model.host import HostFacts, Observation
from quota_advisor.model.limit import Bandwidth, CpuLimit, Missing, Unlimited, Unset
from quota_advisor.model.node import (
    CgroupLayout,
    Irq,
    Isolation,
    KernelFeatures,
    NodeFacts,
    PressureShare,
)
from quota_advisor.model.source import Source, SourceKind
from quota_advisor.model.unit import UnitConfig, UnitFacts, UnitProperties
from quota_advisor.units import format_cpu_list, parse_cpu_list, parse_quota, parse_time_span

WINDOW_USEC = 10_000_000
NOT_GIVEN = Missing(reason="the case does not give it")


class _Short(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


def _missing(value: object) -> object:
    """Let ``{missing: reason}`` stand wherever a fact may be missing."""
    return Missing(reason=value["missing"]) if isinstance(value, dict) else value


def _cpu_list(value: object) -> object:
    return parse_cpu_list(str(value)) if isinstance(value, str | int) else _missing(value)


def _layout(value: object) -> object:
    return CgroupLayout(value) if isinstance(value, str) else _missing(value)


def _engine(value: object) -> object:
    return Engine(value) if isinstance(value, str) else value


Number = Annotated[int | Missing, pydantic.BeforeValidator(_missing)]
Ratio = Annotated[float | Missing, pydantic.BeforeValidator(_missing)]
Flag = Annotated[bool | Missing, pydantic.BeforeValidator(_missing)]
Cpus = Annotated[tuple[int, ...], pydantic.BeforeValidator(_cpu_list)]
MaybeCpus = Annotated[tuple[int, ...] | Missing, pydantic.BeforeValidator(_cpu_list)]


class IrqCase(_Short):
    number: int
    name: str
    cpus: Cpus
    effective_cpus: MaybeCpus = NOT_GIVEN


class IsolationCase(_Short):
    isolcpus: Cpus = ()
    nohz_full: Cpus = ()
    rcu_nocbs: Cpus = ()


class NodeCase(_Short):
    """What differs from the plain machine."""

    cpus: int = 8
    kernel: str = "6.12.5"
    tick_hz: Number = 250
    numa: tuple[Cpus, ...] = ()
    isolation: Annotated[IsolationCase | Missing, pydantic.Field(union_mode="left_to_right")] = (
        IsolationCase()
    )
    irqs: tuple[IrqCase, ...] = ()
    rt_runtime_usec: Literal["unlimited"] | Number = 950_000
    fair_server: Flag = NOT_GIVEN
    layout: Annotated[CgroupLayout | Missing, pydantic.BeforeValidator(_layout)] = CgroupLayout.V2
    cpu_controller: Flag = NOT_GIVEN
    cfs_bandwidth: Flag = NOT_GIVEN
    rt_group_sched: Flag = NOT_GIVEN
    disabled_controllers: tuple[str, ...] = ()
    steal_ratio: Ratio = 0.0
    busy_ratio: Ratio = 0.2
    cpu_some_ratio: Ratio = NOT_GIVEN
    io_some_ratio: Ratio = NOT_GIVEN
    memory_some_ratio: Ratio = NOT_GIVEN

    @pydantic.field_validator("isolation", mode="before")
    @classmethod
    def _isolation(cls, value: object) -> object:
        return _missing(value) if isinstance(value, dict) and "missing" in value else value


class WindowCase(_Short):
    """Differences of counters; those left out are missing, as on a kernel without them."""

    basis: Basis = Basis.WINDOW
    elapsed_usec: int = WINDOW_USEC
    usage_usec: Number = NOT_GIVEN
    periods: Number = NOT_GIVEN
    throttled_periods: Number = NOT_GIVEN
    throttled_usec: Number = NOT_GIVEN
    local_throttled_usec: Number = NOT_GIVEN
    pressure_full_usec: Number = NOT_GIVEN
    throttled_correlation_ratio: float = 0.0


class TotalsCase(_Short):
    """Counters since the group was created; those left out are missing."""

    periods: Number = NOT_GIVEN
    throttled_periods: Number = NOT_GIVEN
    throttled_usec: Number = NOT_GIVEN


class EndedLifeCase(_Short):
    periods: int
    throttled_periods: int


class DemandCase(_Short):
    windows: int = 100
    interval_usec: int = 100_000
    mean_cores: float
    p95_cores: float
    max_cores: float | None = None
    censored_windows: int = 0
    active_windows: Number = NOT_GIVEN
    burst_cores: Ratio = NOT_GIVEN


class ContainerCase(_Short):
    engine: Annotated[Engine, pydantic.BeforeValidator(_engine)]
    id: str
    name: str | None = None
    limit: str | Missing = NOT_GIVEN

    @pydantic.field_validator("limit", mode="before")
    @classmethod
    def _limit(cls, value: object) -> object:
        return _missing(value)


class CgroupCase(_Short):
    """One cgroup. ``limit`` is the text of cpu.max; ``no file`` where the group has none.

    It has a weight where it has a limit file, unless the case says otherwise.
    """

    version: Literal[1, 2] = 2
    limit: str | Missing = "max 100000"
    burst_usec: Number = 0
    weight: int | None = None
    cpus: MaybeCpus = NOT_GIVEN
    processes: Number = 0
    threads: Number = 0
    realtime_threads: Number = NOT_GIVEN
    commands: tuple[str, ...] = ()
    ended_lives: tuple[EndedLifeCase, ...] = ()
    window: WindowCase | Missing = NOT_GIVEN
    totals: TotalsCase = TotalsCase()
    demand: DemandCase | Missing = NOT_GIVEN
    container: ContainerCase | None = None

    @pydantic.field_validator("limit", "window", "demand", mode="before")
    @classmethod
    def _maybe(cls, value: object) -> object:
        return _missing(value) if isinstance(value, dict) and "missing" in value else value


class UnitCase(_Short):
    """The manager's view of one unit, in the words of a unit file."""

    quota: str = ""
    period: str = ""
    manager: Literal["system", "user"] = "system"
    active_state: str = "active"
    need_daemon_reload: bool = False
    transient: bool = False
    control_group: str | None = None
    slice: str = "system.slice"
    restart: str = "no"
    restarts_in_window: Number = NOT_GIVEN
    main_process_group: str | None = None
    delegate: bool = False


class Facts(_Short):
    """The facts of one host.

    Attributes:
        files: Unit files to write, by path.
        links: Symbolic links to make, path to target.
    """

    node: NodeCase = NodeCase()
    cgroups: Mapping[str, CgroupCase] = {}
    units: Mapping[str, UnitCase] = {}
    files: Mapping[str, str] = {}
    links: Mapping[str, str] = {}


def read_facts(path: Path) -> Facts:
    """Return the facts in a file."""
    return Facts.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))


def host_facts(facts: Facts, directory: Path) -> HostFacts:
    """Return a case's facts; its unit files are written into a directory and really read."""
    return _host(facts, _units(facts, directory))


def host_facts_of(node: NodeCase, cgroups: Mapping[str, CgroupCase]) -> HostFacts:
    """Return the facts of a host without units."""
    return _host(Facts(node=node, cgroups=cgroups), [])


def _host(facts: Facts, units: list[UnitFacts]) -> HostFacts:
    return HostFacts(
        hostname="host",
        observation=Observation(
            taken_at="2026-01-01T00:00:00Z",
            window_usec=WINDOW_USEC,
            interval_usec=100_000,
            samples=101,
        ),
        node=_node(facts.node),
        cgroups=tuple(_cgroups(facts.cgroups)),
        units=tuple(units),
    )


def _node(case: NodeCase) -> NodeFacts:
    online = tuple(range(case.cpus))
    unlimited = case.rt_runtime_usec == "unlimited"
    return NodeFacts(
        kernel_release=case.kernel,
        systemd_version="257",
        layout=case.layout,
        features=KernelFeatures(
            burst=True,
            stat_local=True,
            cgroup_pressure=True,
            cpu_controller=case.cpu_controller,
            cfs_bandwidth=case.cfs_bandwidth,
            rt_group_sched=case.rt_group_sched,
        ),
        cpus_online=online,
        thread_siblings=tuple((cpu,) for cpu in online),
        numa_nodes=case.numa or (online,),
        tick_hz=case.tick_hz,
        isolation=Isolation(**case.isolation.model_dump())
        if isinstance(case.isolation, IsolationCase)
        else case.isolation,
        irqs=tuple(Irq(**{name: getattr(irq, name) for name in _IRQ_FIELDS}) for irq in case.irqs),
        rt_runtime_usec=Unlimited()
        if isinstance(case.rt_runtime_usec, str)
        else case.rt_runtime_usec,
        rt_period_usec=1_000_000,
        fair_server=case.fair_server,
        disabled_controllers=case.disabled_controllers,
        steal_ratio=case.steal_ratio,
        busy_ratio=case.busy_ratio,
        cpu_pressure=_share(case.cpu_some_ratio),
        io_pressure=_share(case.io_some_ratio),
        memory_pressure=_share(case.memory_some_ratio),
        sources=(
            _file("/proc/sys/kernel/sched_rt_runtime_us", "-1" if unlimited else "950000"),
            *(
                _file(f"/proc/irq/{irq.number}/smp_affinity_list", format_cpu_list(irq.cpus))
                for irq in case.irqs
            ),
        ),
    )


_IRQ_FIELDS = ("number", "name", "cpus", "effective_cpus")


def _share(ratio: float | Missing) -> PressureShare | Missing:
    return ratio if isinstance(ratio, Missing) else PressureShare(some_ratio=ratio, full_ratio=0.0)


def _file(path: str, text: str) -> Source:
    return Source(kind=SourceKind.SYSTEM_FILE, locator=path, raw=text)


def _cgroups(cases: Mapping[str, CgroupCase]) -> list[CgroupFacts]:
    """Return the given groups with the root and all parents, parents first."""
    complete = {"/": CgroupCase(limit="no file")}
    for path, case in cases.items():
        above = posixpath.dirname(path)
        while above != "/":
            complete.setdefault(above, CgroupCase(version=case.version))
            above = posixpath.dirname(above)
        complete[path] = case
    return [_cgroup(path, complete[path]) for path in sorted(complete)]


def _cgroup(path: str, case: CgroupCase) -> CgroupFacts:
    return CgroupFacts(
        path=path,
        version=case.version,
        limit=_limit(case.limit),
        burst_usec=case.burst_usec,
        weight=NOT_GIVEN if case.limit == "no file" and case.weight is None else case.weight or 100,
        cpus=case.cpus,
        processes=case.processes,
        threads=case.threads,
        commands=case.commands,
        totals=_totals(case.totals),
        window=_window(case.window),
        demand=_demand(case.demand),
        container=_container(case.container),
        realtime_threads=case.realtime_threads,
        ended_lives=tuple(EndedLife(**life.model_dump()) for life in case.ended_lives),
        sources=tuple(_cgroup_sources(path, case)),
    )


_COUNTERS = (
    "usage_usec",
    "nr_periods",
    "nr_throttled",
    "throttled_usec",
    "nr_bursts",
    "burst_usec",
    "local_throttled_usec",
    "pressure_some_usec",
    "pressure_full_usec",
)


def _totals(case: TotalsCase) -> CpuCounters:
    given = {
        "nr_periods": case.periods,
        "nr_throttled": case.throttled_periods,
        "throttled_usec": case.throttled_usec,
    }
    return CpuCounters(read_at_usec=0, **{**dict.fromkeys(_COUNTERS, NOT_GIVEN), **given})


def _limit(text: str | Missing) -> CpuLimit:
    if isinstance(text, Missing):
        return text
    return Unlimited() if text == "no file" else parse_cpu_max(text)


def _window(case: WindowCase | Missing) -> CounterWindow | Missing:
    if isinstance(case, Missing):
        return case
    lifetime = case.basis is Basis.LIFETIME
    return CounterWindow(
        basis=case.basis,
        elapsed_usec=Missing(reason="totals have no window") if lifetime else case.elapsed_usec,
        usage_usec=case.usage_usec,
        periods=case.periods,
        throttled_periods=case.throttled_periods,
        throttled_usec=case.throttled_usec,
        burst_periods=NOT_GIVEN,
        burst_usec=NOT_GIVEN,
        local_throttled_usec=case.local_throttled_usec,
        pressure_some_usec=NOT_GIVEN,
        pressure_full_usec=case.pressure_full_usec,
        throttled_correlation_ratio=case.throttled_correlation_ratio,
    )


def _demand(case: DemandCase | Missing) -> Demand | Missing:
    if isinstance(case, Missing):
        return case
    highest = case.p95_cores if case.max_cores is None else case.max_cores
    # Dumped, what is missing would become a plain mapping.
    kept = {"active_windows": case.active_windows, "burst_cores": case.burst_cores}
    return Demand(**{**case.model_dump(), **kept, "max_cores": highest})


def _container(case: ContainerCase | None) -> Container | None:
    if case is None:
        return None
    name = Missing(reason="no socket") if case.name is None else case.name
    return Container(engine=case.engine, id=case.id, name=name, limit=_limit(case.limit))


def _cgroup_sources(path: str, case: CgroupCase) -> list[Source]:
    """Return the files behind the facts of a group, by the names of its hierarchy."""
    texts: dict[str, str] = {}
    if isinstance(case.limit, str) and case.limit != "no file":
        limit, period = _limit(case.limit), case.limit.split()[1]
        quota = str(limit.quota_usec) if isinstance(limit, Bandwidth) else "-1"
        v1 = {"cpu.cfs_quota_us": quota, "cpu.cfs_period_us": period}
        texts |= v1 if case.version == 1 else {"cpu.max": case.limit}
    if isinstance(case.window, WindowCase):
        texts["cpu.stat"] = f"nr_periods {case.window.periods}"
        if isinstance(case.window.usage_usec, int) and case.version == 1:
            texts["cpuacct.usage"] = str(case.window.usage_usec * 1000)
        if isinstance(case.window.local_throttled_usec, int):
            texts["cpu.stat.local"] = f"throttled_usec {case.window.local_throttled_usec}"
        if isinstance(case.window.pressure_full_usec, int):
            texts["cpu.pressure"] = f"full total={case.window.pressure_full_usec}"
    return [
        Source(kind=SourceKind.CGROUP_FILE, locator=f"/sys/fs/cgroup{path}/{name}", raw=text)
        for name, text in texts.items()
    ]


def _units(facts: Facts, directory: Path) -> list[UnitFacts]:
    _write(facts, directory)
    reader = UnitFileReader(HostRoot(directory))
    names = sorted({*reader.names(), *facts.units})
    found = [
        UnitFacts(
            name=n,
            properties=_properties(facts, n),
            config=_read(reader, n),
            restarts=facts.units.get(n, UnitCase()).restarts_in_window,
            main_process_group=facts.units.get(n, UnitCase()).main_process_group or NOT_GIVEN,
        )
        for n in names
    ]
    assert not reader.problems
    return found


def _write(facts: Facts, directory: Path) -> None:
    for path, text in facts.files.items():
        place = directory / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode())
    for path, target in facts.links.items():
        place = directory / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(target)


def _read(reader: UnitFileReader, name: str) -> UnitConfig | Missing:
    config = reader.read(name)
    return config if config.files else Missing(reason=f"{name} has no file")


def _properties(facts: Facts, name: str) -> UnitProperties | Missing:
    unit = facts.units.get(name)
    if unit is None:
        return Missing(reason="no manager was asked")
    found = [path for path in facts.cgroups if posixpath.basename(path) == name]
    group = unit.control_group
    if group is None:
        group = found[0] if found else ""
    span = parse_time_span(unit.period) if unit.period else "infinity"
    return UnitProperties(
        name=name,
        manager=unit.manager,
        load_state="loaded",
        active_state=unit.active_state,
        fragment_path="",
        drop_in_paths=(),
        need_daemon_reload=unit.need_daemon_reload,
        transient=unit.transient,
        control_group=group,
        slice=unit.slice,
        restart=unit.restart,
        delegate=unit.delegate,
        quota_per_sec_usec=parse_quota(unit.quota) if unit.quota else Unlimited(),
        period_usec=span if isinstance(span, int) else Unset(),
        cpu_weight=Unset(),
        allowed_cpus=(),
    )
