"""Rules about the distance between what files say, what the manager holds and what is live."""

from __future__ import annotations

from quota_advisor.advise.words import to_persist
from quota_advisor.checks.evidence import limit_evidence
from quota_advisor.checks.host.enforcement import not_enforced
from quota_advisor.checks.host.evidence import limit_source
from quota_advisor.derive.host.running_quota import kernel_scaling, quota_location
from quota_advisor.model.cgroup import CgroupFacts
from quota_advisor.model.finding import Evidence
from quota_advisor.model.limit import Bandwidth, CpuLimit, Missing, Unlimited
from quota_advisor.model.unit import UnitConfig, UnitProperties
from quota_advisor.model.workload import Workload
from quota_advisor.rulebook.catalogue import Rule
from quota_advisor.rulebook.engine import Hit, Verdicts, check


@check(Workload)
def live_quota_not_persisted(workload: Workload, rule: Rule) -> Verdicts:
    """Find a live limit that the unit's manager (or its files) did not ask for."""
    live, wanted, group = workload.limit, workload.configured, workload.cgroup
    if isinstance(group, Missing) or isinstance(live, Missing) or isinstance(wanted, Missing):
        return
    if isinstance(live, Bandwidth) and kernel_scaling(wanted, live) is not None:
        return
    if not_enforced(workload) is not None or _same(workload, live, wanted, rule):
        return
    live_text, wanted_text = _apart(live, wanted)
    yield Hit(
        message=(
            f"live limit is {live_text}, but the unit asks for {wanted_text}:"
            " the next daemon-reload, restart or property change puts that back"
        ),
        location=quota_location(workload),
        evidence=(
            _limit_evidence("live limit", live, group),
            _limit_evidence("configured limit", wanted, None),
        ),
        recommendation=to_persist(workload),
    )


@check(Workload)
def reload_pending(workload: Workload, _rule: Rule) -> Verdicts:
    """Find files that say something else than the manager holds."""
    properties, config = workload.properties, workload.config
    if not isinstance(properties, UnitProperties) or properties.transient:
        return
    files = config.limit if isinstance(config, UnitConfig) else Missing(reason="not read")
    differs = (
        not isinstance(files, Missing)
        and not isinstance(properties.limit, Missing)
        and files != properties.limit
    )
    if not differs and not _reload_matters(workload):
        return
    if differs:
        files_text, held_text = _apart(files, properties.limit)
        message = (
            f"the files say {files_text}, the manager still holds {held_text}: the next"
            " daemon-reload changes the quota"
        )
    else:
        message = "its files changed after the manager read them; a daemon-reload is pending"
    yield Hit(
        message=message,
        location=quota_location(workload),
        evidence=(
            Evidence(label="NeedDaemonReload", value=str(properties.need_daemon_reload).lower()),
            *(
                (
                    _limit_evidence("limit by the files", files, None),
                    _limit_evidence("limit by the manager", properties.limit, None),
                )
                if differs
                else ()
            ),
        ),
    )


@check(Workload)
def runtime_only_quota(workload: Workload, _rule: Rule) -> Verdicts:
    """Find a quota that only a file under /run sets: the next boot forgets it."""
    config = workload.config
    if not isinstance(config, UnitConfig) or config.quota_from is None or workload.transient:
        return
    # A limit lifted until the next boot is what a measurement asks for.
    if not config.quota_from.value:
        return
    place = config.quota_from.value_location
    # Generators and programs write whole units to /run at every boot; only drop-ins are by hand.
    if not place.file.startswith("/run/") or not place.file.endswith(".conf"):
        return
    if place.file.startswith("/run/systemd/transient/"):
        return
    yield Hit(
        message=(
            f"the quota of {config.quota_from.value} comes from {place.file}, which the next boot"
            " forgets"
        ),
        location=place,
        evidence=(Evidence(label="CPUQuota", value=config.quota_from.value),),
    )


def _same(workload: Workload, live: CpuLimit, wanted: CpuLimit, rule: Rule) -> bool:
    """Whether live and wanted limit agree, with the slack that container engines need.

    Engines hand systemd a quota rounded up to the next whole percent and then write the exact
    value themselves: a container scope, or a pod's slice, may differ by less than that.
    """
    if not isinstance(live, Bandwidth) or not isinstance(wanted, Bandwidth):
        return isinstance(live, Unlimited) and isinstance(wanted, Unlimited)
    drift_cores = abs(live.cores - wanted.cores)
    if _is_container(workload):
        return round(drift_cores, 9) < rule.option("max_container_drift_cores")
    # Two integer divisions, systemd's and ours, may differ by one microsecond per period.
    drift_usec = abs(live.quota_usec - wanted.quota_usec)
    return drift_usec <= 1 and live.period_usec == wanted.period_usec


def _is_container(workload: Workload) -> bool:
    if isinstance(workload.cgroup, Missing):
        return False
    names = workload.cgroup.path.split("/")
    return workload.cgroup.container is not None or any(n.startswith("kubepods") for n in names)


def _reload_matters(workload: Workload) -> bool:
    """Whether a pending reload can change a quota: of the unit itself or in its files."""
    properties, config = workload.properties, workload.config
    if not isinstance(properties, UnitProperties) or not properties.need_daemon_reload:
        return False
    touched = isinstance(config, UnitConfig) and isinstance(config.limit, Bandwidth)
    return touched or isinstance(properties.limit, Bandwidth)


def _apart(one: CpuLimit, other: CpuLimit) -> tuple[str, str]:
    """Return two limits as texts that differ, to the microsecond where percents look alike."""
    texts = _limit_text(one), _limit_text(other)
    if texts[0] != texts[1] or not (isinstance(one, Bandwidth) and isinstance(other, Bandwidth)):
        return texts
    return _exact(one), _exact(other)


def _exact(limit: Bandwidth) -> str:
    return f"{limit.quota_usec} of each {limit.period_usec} us"


def _limit_text(limit: CpuLimit) -> str:
    return limit.text if isinstance(limit, Bandwidth) else "unlimited"


def _limit_evidence(label: str, limit: CpuLimit, group: CgroupFacts | None) -> Evidence:
    source = None if group is None else limit_source(group)
    if isinstance(limit, Bandwidth):
        return limit_evidence(limit, source, label=label)
    return Evidence(label=label, value="unlimited", source=source)
