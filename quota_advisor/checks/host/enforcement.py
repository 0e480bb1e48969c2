"""Rules about quotas that the kernel does not apply."""

from __future__ import annotations

import posixpath

from quota_advisor.checks.evidence import limit_evidence
from quota_advisor.checks.host.evidence import limit_source
from quota_advisor.checks.wording import listed
from quota_advisor.derive.host.running_quota import quota_location
from quota_advisor.model.cgroup import CgroupFacts
from quota_advisor.model.finding import Evidence, Recommendation
from quota_advisor.model.limit import Bandwidth, Missing, Unlimited
from quota_advisor.model.unit import UnitConfig, UnitProperties
from quota_advisor.model.workload import Workload
from quota_advisor.records import NamedTuple
from quota_advisor.rulebook.catalogue import Rule
from quota_advisor.rulebook.engine import Hit, Verdicts, check

REALTIME_POLICIES = ("fifo", "rr")


class Void(NamedTuple):
    """Why a quota has no effect, and what would give it one."""

    reason: str
    advice: str


@check(Workload)
def realtime_threads_escape(workload: Workload, _rule: Rule) -> Verdicts:
    """Find some threads of a limited group that no quota binds."""
    group, limit = workload.cgroup, workload.limit
    if isinstance(group, Missing) or not isinstance(limit, Bandwidth):
        return
    realtime, threads = group.realtime_threads, group.threads
    if isinstance(realtime, Missing) or isinstance(threads, Missing) or not realtime:
        return
    if not_enforced(workload) is not None:
        return
    yield Hit(
        message=(
            f"{realtime} of {threads} threads are real-time, and the quota of {limit.text} binds"
            " none of these"
        ),
        location=quota_location(workload),
        evidence=(
            Evidence(label="real-time threads", value=realtime, unit="threads"),
            limit_evidence(limit, limit_source(group)),
        ),
    )


@check(Workload)
def quota_not_enforced(workload: Workload, _rule: Rule) -> Verdicts:
    """Find a configured quota that the kernel does not apply."""
    void = not_enforced(workload)
    if void is None or not isinstance(workload.configured, Bandwidth):
        return
    yield Hit(
        message=(f"the quota of {workload.configured.text} is not in force: {void.reason}"),
        location=quota_location(workload),
        evidence=(limit_evidence(workload.configured, None, label="configured limit"),),
        recommendation=Recommendation(summary=void.advice),
    )


def not_enforced(workload: Workload) -> Void | None:
    """Return why a configured quota has no effect on a running unit, or None if it has."""
    group = workload.cgroup
    if not isinstance(workload.configured, Bandwidth):
        return None
    if isinstance(group, Missing):
        return _without_hierarchy(workload)
    if _realtime(workload.config):
        return Void(
            "CPUSchedulingPolicy= makes it real-time, and a quota binds fair-class tasks only",
            "use AllowedCPUs= or kernel.sched_rt_runtime_us, which do bind real-time tasks",
        )
    if isinstance(workload.limit, Unlimited) and limit_source(group) is None:
        return _without_file(workload, group)
    return (
        _away(workload, group) or _all_realtime(group) or _refused_below_ancestor(workload, group)
    )


def _without_hierarchy(workload: Workload) -> Void | None:
    """Return why a unit that runs has no cgroup in any hierarchy with the CPU controller."""
    properties, layout = workload.properties, workload.node.layout
    if not isinstance(layout, Missing) or not isinstance(properties, UnitProperties):
        return None
    if properties.active_state != "active" or not properties.control_group:
        return None
    return _disabled_at_boot(workload) or Void(
        layout.reason,
        "mount the hierarchy with the cpu controller, as systemd does at boot",
    )


def _disabled_at_boot(workload: Workload) -> Void | None:
    if "cpu" not in workload.node.disabled_controllers:
        return None
    return Void(
        "cgroup_disable=cpu on the kernel command line takes the cpu controller away",
        "take cgroup_disable=cpu off the kernel command line and boot again",
    )


def _without_file(workload: Workload, group: CgroupFacts) -> Void:
    """Return why a cgroup has no file to write a quota to."""
    features = workload.node.features
    name = "cpu.cfs_quota_us" if group.version == 1 else "cpu.max"
    weighted = isinstance(group.weight, int)
    if weighted or features.cfs_bandwidth is False:
        beside = "cpu.shares" if group.version == 1 else "cpu.weight"
        seen = f" ({beside} is there, {name} is not)" if weighted else ""
        return Void(
            f"this kernel is built without CONFIG_CFS_BANDWIDTH{seen}",
            "use a kernel with CONFIG_CFS_BANDWIDTH; until then CPUWeight= ranks the unit, and"
            " AllowedCPUs= bounds it",
        )
    return _disabled_at_boot(workload) or _not_handed_on(workload)


def _not_handed_on(workload: Workload) -> Void:
    """Return which cgroup keeps the CPU controller from those below it."""
    features = workload.node.features
    if features.cpu_controller is False:
        return Void(
            "its cgroup has no cpu.max, because the hierarchy has no cpu controller: it is not in"
            " cgroup.controllers at the top",
            "see whether a cgroup v1 hierarchy holds the cpu controller (/proc/cgroups), or, in a"
            " container, whether the engine hands it on",
        )
    keeper = _keeper(workload)
    reason = (
        f"its cgroup has no cpu.max, because the cpu controller is not enabled there: {keeper}"
        " does not hand it on (cgroup.subtree_control)"
    )
    if features.rt_group_sched is True:
        return Void(
            f"{reason}; this kernel has CONFIG_RT_GROUP_SCHED, which refuses that while real-time"
            " processes run outside of the root group",
            "stop the real-time processes or move them to the root group, then restart the unit;"
            " or use a kernel without CONFIG_RT_GROUP_SCHED",
        )
    properties = workload.properties
    if isinstance(properties, UnitProperties) and properties.manager == "user":
        return Void(
            reason,
            "enable the cpu controller for its parent; for units of a user's manager add"
            " Delegate=cpu to user@.service in a drop-in (systemd 252 does so by itself)",
        )
    return Void(
        reason,
        "run systemctl daemon-reload, which enables it where a unit below asks for a quota; where"
        " it stays off, the journal of the manager says what refused it (journalctl -b _PID=1)",
    )


def _keeper(workload: Workload) -> str:
    """Return the group whose children have no controller: above the topmost one without."""
    without = [g for g in workload.lineage if g.path != "/" and isinstance(g.weight, Missing)]
    return posixpath.dirname(without[-1].path) if without else "the group above it"


def _away(workload: Workload, group: CgroupFacts) -> Void | None:
    """Return why a quota that is in force holds nobody: its processes run elsewhere."""
    elsewhere = "" if workload.unit is None else workload.unit.main_process_group
    if isinstance(elsewhere, str) and elsewhere and not _is_within(elsewhere, group.path):
        return Void(f"its main process runs in {elsewhere}, outside of its cgroup", _HOW_TO_HOLD)
    names = set(group.commands)
    if not names or workload.members or not names <= SENDERS:
        return None
    return Void(
        f"its cgroup holds {listed(sorted(names))} alone, and what that started runs in another",
        _HOW_TO_HOLD,
    )


SENDERS = frozenset({"machinectl", "runuser", "su", "sudo", "systemd-nspawn", "systemd-run"})
"""Commands that wait for what they started in a scope, a session or a container of its own."""

_HOW_TO_HOLD = (
    "set the quota where they run, or keep them in: User= instead of su, sudo and runuser -l, a"
    " plain command instead of systemd-run, --keep-unit for systemd-nspawn"
)


def _is_within(path: str, group: str) -> bool:
    return f"{path}/".startswith(f"{group.rstrip('/')}/")


def _all_realtime(group: CgroupFacts) -> Void | None:
    if not group.realtime_threads or group.realtime_threads != group.threads:
        return None
    if isinstance(group.realtime_threads, Missing):
        return None
    return Void(
        f"all its threads ({group.threads}) are real-time (chrt, sched_setscheduler), and a quota"
        " binds fair-class tasks only",
        "use AllowedCPUs= or kernel.sched_rt_runtime_us, which do bind real-time tasks",
    )


def _refused_below_ancestor(workload: Workload, group: CgroupFacts) -> Void | None:
    """Return whether cgroup v1 refused the quota because an ancestor's is smaller.

    Source: kernel/sched/core.c, ``tg_cfs_schedulable_down``: v1 wants children within their
    parent's ratio and answers EINVAL, which the manager only logs; v2 takes any value.
    """
    wanted, above = workload.configured, workload.tightest
    if group.version != 1 or not isinstance(group.limit, Unlimited):
        return None
    if not isinstance(wanted, Bandwidth) or not isinstance(above, tuple):
        return None
    limit, owner = above
    if wanted.cores <= limit.cores:
        return None
    return Void(
        f"{owner.path} above it allows {limit.text}, and cgroup v1 refuses a larger"
        " quota below that",
        f"raise the limit of {posixpath.basename(owner.path)} first, then set this one again",
    )


def _realtime(config: UnitConfig | Missing) -> bool:
    if isinstance(config, Missing):
        return False
    return config.last("Service", "CPUSchedulingPolicy") in REALTIME_POLICIES
