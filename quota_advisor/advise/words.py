"""Advice in the words of the knob that its subject has, with commands and their way back."""

from __future__ import annotations

import posixpath

from quota_advisor.derive.host.knob import Keeper, Knob, is_kubernetes, knob_of
from quota_advisor.model.advice import Advice, Decision, Need, Step
from quota_advisor.model.finding import Recommendation
from quota_advisor.model.limit import DEFAULT_PERIOD_USEC, Bandwidth, Missing
from quota_advisor.model.workload import Workload
from quota_advisor.printable import shell_word
from quota_advisor.units import format_number

BOUNDED_FACTOR = 2
"""A limit is lifted to this many times its present value first, not altogether."""

ECS_UNITS_PER_CPU = 1024
MILLI = 1000

WITHOUT_LIMIT_ON_KUBERNETES = (
    "its CPU request ranks it; without a limit a Guaranteed pod becomes Burstable and loses the"
    " exclusive CPUs that the static CPU manager gave it"
)

_ENGINES = (Keeper.DOCKER, Keeper.PODMAN, Keeper.NERDCTL)
_NOTATIONS = {
    Keeper.KUBERNETES: "limits.cpu: {milli}m",
    Keeper.PROXMOX: "cpulimit: {cores}",
    Keeper.LXC: "lxc.cgroup2.cpu.max = {quota} {period}",
    Keeper.ECS: "{ecs} CPU units",
    Keeper.LIBVIRT: "<global_quota>{quota}</global_quota>",
    Keeper.OUTSIDE: "{cores} CPUs (--cpus={cores}, in Kubernetes {milli}m)",
    Keeper.INSIDE: "{percent} %",
    Keeper.UNKNOWN: "{percent} %",
}
_PLACES = {
    Keeper.TRANSIENT: "as a property where the unit is started: nothing of a transient unit lasts",
    Keeper.DOCKER: "and where the container is created: an update ends with the container",
    Keeper.PODMAN: "and where the container is created: an update ends with the container",
    Keeper.NERDCTL: "and where the container is created: an update ends with the container",
    Keeper.KUBERNETES: "in the manifest of the pod",
    Keeper.LXC: "in the configuration of the container",
    Keeper.PROXMOX: "in the configuration of the guest",
    Keeper.ECS: "in the task definition: 1024 are one CPU",
    Keeper.NSPAWN: "as --property= where the machine is started",
    Keeper.LIBVIRT: "in the <cputune> of the domain",
    Keeper.OUTSIDE: "set from outside this container",
    Keeper.INSIDE: "set by what runs inside the container",
    Keeper.UNKNOWN: "set by whoever made this cgroup, who is not known",
}
_RANKS = {
    **dict.fromkeys(_ENGINES, "use --cpu-shares to rank this container"),
    Keeper.KUBERNETES: WITHOUT_LIMIT_ON_KUBERNETES,
    Keeper.PROXMOX: "use cpuunits to rank this guest",
    Keeper.LXC: "use lxc.cgroup2.cpu.weight to rank this container",
    Keeper.LIBVIRT: "use <shares> to rank this domain",
    Keeper.ECS: "on Fargate the task size is what you pay for",
    Keeper.OUTSIDE: (
        f"ask whoever runs this container; in Kubernetes {WITHOUT_LIMIT_ON_KUBERNETES}"
    ),
    Keeper.INSIDE: "use a weight to rank this workload",
    Keeper.UNKNOWN: "use cpu.weight to rank this workload",
}


def worded(workload: Workload, decision: Decision, need: Need | Missing, *reasons: str) -> Advice:
    """Return a decision with what to do, in the words of the workload's own knob.

    Args:
        workload: Has a limit of its own.
        decision: What was decided.
        need: What the demand needs, or why that is not known.
        reasons: Why, the decisive reason first.
    """
    knob, limit = knob_of(workload), workload.limit
    tries: tuple[Step, ...] = ()
    if decision in (Decision.SET, Decision.RAISE, Decision.LOWER) and isinstance(need, Need):
        summary = _change_text(knob, need)
        tries = steps(knob, need.cores, limit if isinstance(limit, Bandwidth) else None)
    elif decision is Decision.REMOVE:
        summary = f"no quota: {reasons[0]}; {without_limit(knob)}"
    elif decision is Decision.KEEP:
        summary = f"keep the quota: {reasons[0]}"
    else:
        summary = f"no number: {reasons[0]}"
    return Advice(decision=decision, need=need, summary=summary, reasons=reasons, steps=tries)


def setting(knob: Knob, cores: float, period_usec: int = DEFAULT_PERIOD_USEC) -> str:
    """Return a limit as its keeper has it written."""
    percent = format_number(cores * 100, 2)
    if knob.is_unit:
        return f"CPUQuota={percent}%"
    if knob.keeper in _ENGINES:
        return f"--cpus={cores:g}"
    return _NOTATIONS[knob.keeper].format(
        cores=f"{cores:g}",
        percent=percent,
        milli=round(cores * MILLI),
        ecs=round(cores * ECS_UNITS_PER_CPU),
        quota=round(cores * period_usec),
        period=period_usec,
    )


def where(knob: Knob) -> str:
    """Return where a limit has to be written so that it stays."""
    if knob.keeper not in (Keeper.SYSTEMD, Keeper.USER_SYSTEMD):
        return _PLACES[knob.keeper]
    at = knob.written_at
    # Files of packages are overwritten by the next update, those below /run by the next boot.
    if at is not None and at.file.startswith("/etc/") and ".control/" not in at.file:
        return f"in {at.file}"
    return f"in a drop-in: {_systemctl(knob)} edit {_option_end(knob.name)}{shell_word(knob.name)}"


def _change_text(knob: Knob, need: Need) -> str:
    """Return what quota to set, for the summary of a decision."""
    at_least = " or more" if need.lower_bound else ""
    share = f"{need.share_of_node_ratio * 100:.3g} % of this node"
    text = f"{setting(knob, need.cores)}{at_least} ({share}), {where(knob)}"
    if need.lower_bound:
        text += "; a lower bound: the limit held the demand back while it was measured"
    return text


def without_limit(knob: Knob) -> str:
    """Return what takes the place of a limit, and what going without it costs."""
    return _RANKS.get(knob.keeper, "use CPUWeight= to rank this workload")


def needless(workload: Workload) -> Recommendation:
    """Return what to do about a limit that limits nothing."""
    return Recommendation(summary=f"remove the quota: {without_limit(knob_of(workload))}")


def more_room(workload: Workload, limit: Bandwidth) -> Recommendation:
    """Return how to find out what a demand needs that its limit cuts: a bounded step first."""
    knob, cpus = knob_of(workload), workload.cpus_available
    cores = limit.cores * BOUNDED_FACTOR
    if 0 < cpus < cores:
        cores = float(cpus)
    risk = f"it may then take up to {cores:g} CPU{'' if cores == 1 else 's'} from its neighbours"
    summary = (
        f"for a measurement, give it {_times(cores / limit.cores)} its quota,"
        f" {setting(knob, cores, limit.period_usec)}, and audit again; {risk}"
    )
    if knob.keeper is Keeper.KUBERNETES:
        summary += f". Do not remove the limit: {WITHOUT_LIMIT_ON_KUBERNETES}"
    return Recommendation(summary=summary, steps=steps(knob, cores, limit))


def _times(factor: float) -> str:
    return "twice" if factor == BOUNDED_FACTOR else f"{factor:.2g} times"


def raise_above(workload: Workload, culprit: str) -> Recommendation:
    """Return what to do about a limit further up.

    Args:
        workload: What it holds back.
        culprit: cgroup that has the limit.
    """
    if culprit == "/":
        return Recommendation(summary="raise the limit of this container, from outside it")
    if is_kubernetes(culprit):
        text = "raise the limits of the pod's containers: theirs add up to the limit of the pod"
        return Recommendation(summary=text)
    text = f"raise or remove the limit of {posixpath.basename(culprit)}"
    if knob_of(workload).keeper in (Keeper.SYSTEMD, Keeper.USER_SYSTEMD):
        text += ", or move this workload to another slice (Slice=)"
    return Recommendation(summary=text)


def to_persist(workload: Workload) -> Recommendation:
    """Return what to do about a live limit that is not the configured one."""
    knob, live, wanted = knob_of(workload), workload.limit, workload.configured
    if isinstance(live, Bandwidth):
        return Recommendation(summary=_to_keep(knob, live))
    if knob.keeper in (Keeper.SYSTEMD, Keeper.USER_SYSTEMD) or not isinstance(wanted, Bandwidth):
        text = (
            "to keep it unlimited, set CPUQuota= to nothing in a drop-in whose name sorts last;"
            f" otherwise restore the unit's own limit with {_systemctl(knob)} daemon-reload"
        )
    else:
        text = f"to have its limit back, set {setting(knob, wanted.cores)}, {where(knob)}"
    return Recommendation(summary=text)


def to_write_again(workload: Workload, told: Bandwidth) -> Recommendation | None:
    """Return what gives a container the limit back that its engine says it has; None for none."""
    command = _command(knob_of(workload), told.cores, told.period_usec)
    return Recommendation(summary=f"{command} writes it again") if command else None


def _to_keep(knob: Knob, live: Bandwidth) -> str:
    """Return how to make a limit last that is only live."""
    text = setting(knob, live.cores, live.period_usec)
    if knob.keeper in (Keeper.SYSTEMD, Keeper.USER_SYSTEMD):
        other = live.period_usec != DEFAULT_PERIOD_USEC
        period = f" and CPUQuotaPeriodSec={live.period_usec}us" if other else ""
        return (
            f"to keep it, write {text}{period} into a drop-in of {knob.name} whose name sorts last,"
            f" then {_systemctl(knob)} daemon-reload"
        )
    return f"to keep it, set {text}, {where(knob)}"


def steps(knob: Knob, cores: float, present: Bandwidth | None) -> tuple[Step, ...]:
    """Return the command that sets a limit for now, with its way back; none where there is none."""
    if knob.is_unit:
        return (_set_property(knob, cores, present),)
    # Engines have no word that takes a limit away again.
    if present is None:
        return ()
    command = _command(knob, cores, present.period_usec)
    if not command:
        return ()
    return (Step(command=command, undo=_command(knob, present.cores, present.period_usec)),)


def _command(knob: Knob, cores: float, period_usec: int) -> str:
    """Return the command of a keeper other than systemd; empty where it has none."""
    name, quota = shell_word(knob.name), round(cores * period_usec)
    end = _option_end(knob.name)
    if knob.keeper in _ENGINES:
        return f"{knob.keeper} update --cpus={cores:g} {end}{name}"
    if knob.keeper is Keeper.PROXMOX:
        return f"pct set {name} --cpulimit {cores:g}"
    if knob.keeper is Keeper.LXC:
        return f"lxc-cgroup -n {name} {_file_and_value(knob, quota, period_usec)}"
    if knob.keeper is Keeper.LIBVIRT:
        limits = f"global_period={period_usec} global_quota={quota}"
        return f"virsh schedinfo {name} --live {limits}"
    if knob.keeper is Keeper.UNKNOWN and knob.limit_file:
        value = str(quota) if knob.version == 1 else f"{quota} {period_usec}"
        return f"echo {shell_word(value)} > {shell_word(knob.limit_file)}"
    return ""


def _file_and_value(knob: Knob, quota_usec: int, period_usec: int) -> str:
    if knob.version == 1:
        return f"cpu.cfs_quota_us {quota_usec}"
    return f"cpu.max '{quota_usec} {period_usec}'"


def _set_property(knob: Knob, cores: float, present: Bandwidth | None) -> Step:
    """Return the command for a unit; the way back leaves no drop-in behind."""
    at = knob.written_at.file if knob.written_at else ""
    lasting = "" if at.startswith("/etc/systemd/") and ".control/" in at else " --runtime"
    name = f"{_option_end(knob.name)}{shell_word(knob.name)}"
    set_property = f"{_systemctl(knob)} set-property{lasting} {name}"
    command = f"{set_property} {setting(knob, cores)}"
    # What set-property wrote before, it writes over; transient units end with their files.
    if ".control/" in at or knob.keeper in (Keeper.TRANSIENT, Keeper.NSPAWN):
        before = "CPUQuota=" if present is None else setting(knob, present.cores)
        return Step(command=command, undo=f"{set_property} {before}")
    drop_in = shell_word(f"{knob.name}.d/50-CPUQuota.conf")
    directory = (
        '"$XDG_RUNTIME_DIR"/systemd/user.control' if knob.user else "/run/systemd/system.control"
    )
    reload = f"{_systemctl(knob)} daemon-reload"
    return Step(command=command, undo=f"rm {directory}/{drop_in} && {reload}")


def _systemctl(knob: Knob) -> str:
    return "systemctl --user" if knob.user else "systemctl"


def _option_end(name: str) -> str:
    """Return what keeps a name with a leading dash, such as ``-.slice``, from being an option."""
    return "-- " if name.startswith("-") else ""


def set_burst(workload: Workload, burst_usec: int) -> tuple[Step, ...]:
    """Return the command that allows a burst, which no keeper of limits has a setting for."""
    knob = knob_of(workload)
    if not knob.limit_file or knob.keeper is Keeper.OUTSIDE:
        return ()
    name = "cpu.cfs_burst_us" if knob.version == 1 else "cpu.max.burst"
    file = shell_word(posixpath.join(posixpath.dirname(knob.limit_file), name))
    return (Step(command=f"echo {burst_usec} > {file}", undo=f"echo 0 > {file}"),)
