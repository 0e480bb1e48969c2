"""Units that start a container and do not hold it.

Sources: podman-run(1) (``--cgroups``, ``--cgroup-parent``), podman
``libpod/oci_conmon_common.go`` (``moveConmonToCgroupAndSignal``), dockerd(8)
(``--cgroup-parent``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from quota_advisor.derive.units.container_commands import Client, clients, option
from quota_advisor.derive.units.podman_options import INSIDE
from quota_advisor.model.finding import Evidence, Recommendation, Severity
from quota_advisor.model.unit import Assignment, Outcome, UnitConfig, standing
from quota_advisor.rulebook.catalogue import Rule
from quota_advisor.rulebook.engine import Hit, Verdicts, check
from quota_advisor.units import USEC_PER_SEC

_OWN_LIMITS = {"CPUQuota": ("--cpus", "--cpu-quota"), "AllowedCPUs": ("--cpuset-cpus",)}
"""Keys of a unit with the options that set the same for a container."""


@check(UnitConfig)
def quota_on_container_client(config: UnitConfig, _rule: Rule) -> Verdicts:
    """Find CPU limits of a unit that hold what starts a container, not the container."""
    limits = list(_limits(config))
    if not limits:
        return
    outside = [client for client in _starting(config) if _is_outside(client)]
    for written in limits if outside else ():
        yield _hit(written, outside[0], config)


def _starting(config: UnitConfig) -> Iterator[Client]:
    """Yield what starts a container, with the options with which the unit made it before."""
    made = " ".join(_commands(config, "ExecStartPre")).split()
    for client in clients(_commands(config, "ExecStart")):
        before = made if client.verb.endswith("start") else ()
        yield client._replace(arguments=(*before, *client.arguments))


def _commands(config: UnitConfig, key: str) -> list[str]:
    return [written.value for written in standing(config.files, "Service", key)]


def _limits(config: UnitConfig) -> Iterator[Assignment]:
    """Yield what decides the quota and the CPUs of a service."""
    if isinstance(config.quota_per_sec_usec, int) and config.quota_from is not None:
        yield config.quota_from
    cpus = [
        judged.assignment
        for judged in config.judged
        if judged.assignment.key == "AllowedCPUs" and judged.outcome is Outcome.APPLIED
    ]
    if config.allowed_cpus:
        yield cpus[-1]


def _is_outside(client: Client) -> bool:
    """Whether the container's cgroup is known to lie outside of the unit's."""
    if client.program == "podman" and option(client.arguments, "--cgroups") in INSIDE:
        return False
    # A path, unlike a slice, may be the unit's own.
    parent = _parent(client)
    return not parent or parent.endswith(".slice")


def _parent(client: Client) -> str:
    return option(client.arguments, "--cgroup-parent") or option(client.arguments, "--cgroup")


def _hit(written: Assignment, client: Client, config: UnitConfig) -> Hit:
    text = f"{written.key}={written.value}"
    own = _own_limit(client.arguments, written.key)
    limited = f"; what limits the container is its own {own}" if own else ""
    return Hit(
        message=(
            f"{text} limits the client {client.name!r} and not the container, which runs"
            f" {_where(client)}{limited}"
        ),
        severity=Severity.INFO if own else None,
        location=written.value_location,
        evidence=(
            Evidence(label="as written", value=text),
            Evidence(label="client", value=client.name),
        ),
        recommendation=Recommendation(
            summary=f"remove {text}: {own} is enough" if own else _advice(written, client, config)
        ),
    )


def _own_limit(arguments: Sequence[str], key: str) -> str:
    for name in _OWN_LIMITS[key]:
        if value := option(arguments, name):
            return f"{name}={value}"
    return ""


def _where(client: Client) -> str:
    if parent := _parent(client):
        return f"in {parent}"
    if client.program.startswith("podman"):
        return "in a scope of its own outside of the unit"
    return "in a cgroup that the engine makes outside of the unit"


def _advice(written: Assignment, client: Client, config: UnitConfig) -> str:
    if parent := _parent(client):
        return f"move {written.key}= to [Slice] of {parent}, or {_limited(written, client, config)}"
    if client.program == "podman" and client.verb.endswith("run"):
        inside = "write --cgroups=split, which keeps the container in the unit"
        return f"{inside}, or {_limited(written, client, config)}, or make the unit a quadlet"
    return _limited(written, client, config)


def _limited(written: Assignment, client: Client, config: UnitConfig) -> str:
    """Return how the container itself gets the limit that was meant."""
    name, value = "cpuset-cpus", written.value
    if written.key == "CPUQuota" and isinstance(config.quota_per_sec_usec, int):
        name, value = "cpus", f"{config.quota_per_sec_usec / USEC_PER_SEC:g}"
    if "compose" in client.name:
        return f"write {name.replace('-cpus', '')}: {value} for the service in the compose file"
    if "kube" in client.verb:
        return "limit the containers in the YAML file (resources.limits.cpu)"
    if client.verb.endswith("start"):
        return f"create the container with --{name}={value}"
    return f"give {client.name} --{name}={value}"
