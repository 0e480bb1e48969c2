"""Rules about kubelet configuration files.

Source: kubernetes ``pkg/kubelet/apis/config/validation``, ``pkg/kubelet/cm/cpumanager``
(``policy_options.go``, ``policy_none.go``) and ``pkg/kubelet/cm/topologymanager``.
"""

from __future__ import annotations

from collections.abc import Iterator

from quota_advisor.derive.kubernetes.amounts import cpu_amount
from quota_advisor.documents.kubernetes.cpu_manager import (
    ALPHA_OPTIONS,
    BY_SOCKET,
    KNOWN_OPTIONS,
    REFUSED_PAIRS,
)
from quota_advisor.documents.kubernetes.duration import parse_duration
from quota_advisor.model.finding import Evidence, Recommendation, Related, Severity
from quota_advisor.model.limit import DEFAULT_PERIOD_USEC, MAX_PERIOD_USEC, MIN_QUOTA_USEC
from quota_advisor.model.manifest import KubeletConfig, Scalar
from quota_advisor.records import NamedTuple
from quota_advisor.rulebook.catalogue import Rule
from quota_advisor.rulebook.engine import Hit, Skip, Verdicts, check
from quota_advisor.units import parse_cpu_list

_OPTIONS = "cpuManagerPolicyOptions."
_GATES = "featureGates."

POLICIES = ("none", "static")
TOPOLOGY_POLICIES = ("none", "best-effort", "restricted", "single-numa-node")

_TRUE = frozenset(("1", "t", "T", "true", "TRUE", "True", "yes", "Yes", "YES", "on", "On", "ON"))
_FALSE = frozenset(
    ("0", "f", "F", "false", "FALSE", "False", "no", "No", "NO", "off", "Off", "OFF")
)


@check(KubeletConfig)
def cpu_manager_config(config: KubeletConfig, _rule: Rule) -> Verdicts:
    """Find settings with which the kubelet does not start, or hands out CPUs across NUMA nodes."""
    settings = config.settings
    policy = settings.get("cpuManagerPolicy")
    topology = settings.get("topologyManagerPolicy")
    for key, value, known in (
        ("cpuManagerPolicy", policy, POLICIES),
        ("topologyManagerPolicy", topology, TOPOLOGY_POLICIES),
    ):
        if value is not None and value.text not in (*known, ""):
            text = f"{key} {value.text!r} is unknown to the kubelet, which does not start"
            yield _hit(config, value, text, f"one of {', '.join(known)}")
    options = {
        key.removeprefix(_OPTIONS): value
        for key, value in settings.items()
        if key.startswith(_OPTIONS)
    }
    is_static = policy is not None and policy.text == "static"
    yield from _option_hits(config, options, is_static=is_static)
    yield from _reservation_hits(config)
    if policy is not None and is_static:
        yield from _static_hits(config, policy, topology)


@check(KubeletConfig)
def cfs_period_needs_gate(config: KubeletConfig, _rule: Rule) -> Verdicts:
    """Find a period of the quota that the kubelet refuses."""
    written = config.settings.get("cpuCFSQuotaPeriod")
    if written is None:
        return
    usec = parse_duration(written.text)
    if usec is None:
        problem = f"cpuCFSQuotaPeriod {written.text!r} is no duration such as 100ms"
        yield _hit(config, written, f"{problem}: the kubelet does not start", "remove the key")
        return
    if usec == DEFAULT_PERIOD_USEC:
        return
    evidence = (Evidence(label="period", value=usec, unit="usec", threshold=DEFAULT_PERIOD_USEC),)
    gate = _gate(config, "CustomCPUCFSQuotaPeriod")
    if gate is False:
        yield Hit(
            message=(
                f"cpuCFSQuotaPeriod of {written.text} needs the feature gate"
                " CustomCPUCFSQuotaPeriod, which is off: the kubelet does not start"
            ),
            location=config.at(written),
            evidence=evidence,
        )
    elif not MIN_QUOTA_USEC <= usec <= MAX_PERIOD_USEC:
        yield Hit(
            message=(
                f"cpuCFSQuotaPeriod of {written.text} is outside of 1 ms to 1 s: the kubelet"
                " does not start"
            ),
            location=config.at(written),
            evidence=evidence,
            recommendation=Recommendation(summary="leave it at 100ms"),
        )
    elif gate is None:
        yield _elsewhere("the feature gate CustomCPUCFSQuotaPeriod")


@check(KubeletConfig)
def cfs_quota_disabled(config: KubeletConfig, _rule: Rule) -> Verdicts:
    """Find nodes on which no CPU limit holds anybody."""
    written = config.settings.get("cpuCFSQuota")
    if written is not None and written.text in _FALSE:
        yield Hit(
            message="cpuCFSQuota is off: no CPU limit of any pod on the node is enforced",
            location=config.at(written),
            evidence=(Evidence(label="cpuCFSQuota", value=written.text),),
        )


class _Reserved(NamedTuple):
    """CPUs kept for the system.

    Attributes:
        millicores: None where a value cannot be read.
        at: Where the first amount is written.
    """

    millicores: int | None
    at: Scalar | None


def _option_hits(config: KubeletConfig, options: dict[str, Scalar], *, is_static: bool) -> Verdicts:
    """Yield what is wrong with the options of the static policy."""
    policy = config.settings.get("cpuManagerPolicy")
    if options and policy is None and config.partial:
        yield _elsewhere("cpuManagerPolicy")
    elif options and not is_static and (policy is None or policy.text in ("none", "")):
        unless = " unless a flag sets the policy" if policy is None else ""
        text = "cpuManagerPolicyOptions need cpuManagerPolicy: static: the kubelet does not start"
        first = next(iter(options.values()))
        hit = _hit(config, first, text + unless, "remove the options or set the policy", policy)
        yield hit._replace(severity=Severity.WARNING) if unless else hit
    for name, value in options.items():
        if name not in KNOWN_OPTIONS:
            text = f"cpuManagerPolicyOptions has no {name!r}: the kubelet does not start"
            yield _hit(config, value, text, f"one of {', '.join(KNOWN_OPTIONS)}")
        elif value.text not in _TRUE | _FALSE:
            text = f"{name}: {value.text!r} is neither true nor false: the kubelet does not start"
            yield _hit(config, value, text, 'write "true" or "false"')
    on = [name for name, value in options.items() if _is_on(value)]
    for one, other in REFUSED_PAIRS:
        if one in on and other in on:
            text = f"{one} and {other} exclude each other: the kubelet does not start"
            yield _hit(config, options[other], text, "keep one of the two", options[one])
    yield from _gate_hits(config, {name: options[name] for name in on if name in ALPHA_OPTIONS})


def _gate_hits(config: KubeletConfig, alpha: dict[str, Scalar]) -> Verdicts:
    gate = "CPUManagerPolicyAlphaOptions"
    is_on = _gate(config, gate)
    if is_on is None and alpha:
        yield _elsewhere(f"the feature gate {gate}")
    if is_on is not False:
        return
    for name, value in alpha.items():
        yield Hit(
            message=(
                f"{name} is an alpha option and the gate {gate} is not on in this file: unless a"
                " flag turns it on, the kubelet does not start"
            ),
            severity=Severity.WARNING,
            location=config.at(value),
            evidence=(Evidence(label="option", value=name),),
            recommendation=Recommendation(summary=f"set featureGates.{gate}: true"),
        )


def _reservation_hits(config: KubeletConfig) -> Iterator[Hit]:
    """Yield what is wrong with a list of reserved CPUs, whatever the policy."""
    listed = config.settings.get("reservedSystemCPUs")
    if listed is None or not listed.text:
        return
    try:
        parse_cpu_list(listed.text)
    except ValueError as error:
        text = f"reservedSystemCPUs is no list of CPUs: {error}; the kubelet does not start"
        yield _hit(config, listed, text, "write a list such as 0-1,8")
    for key in ("systemReservedCgroup", "kubeReservedCgroup"):
        other = config.settings.get(key)
        if other is not None and other.text:
            text = f"reservedSystemCPUs and {key} exclude each other: the kubelet does not start"
            yield _hit(config, listed, text, "keep one of the two", other)


def _static_hits(config: KubeletConfig, policy: Scalar, topology: Scalar | None) -> Verdicts:
    """Yield what the static policy lacks."""
    reserved = _reserved(config)
    if reserved.millicores == 0 and config.partial:
        yield _elsewhere("a reservation of CPUs")
    elif reserved.millicores == 0:
        yield Hit(
            message=(
                "the static policy reserves no CPU for the system: the kubelet does not start"
                " without reservedSystemCPUs, or cpu in kubeReserved or systemReserved"
            ),
            location=config.at(reserved.at or policy),
            evidence=(Evidence(label="reserved CPU", value=0, unit="millicores", threshold=0),),
            recommendation=Recommendation(summary="set reservedSystemCPUs to a list of CPUs"),
        )
    by_socket = config.settings.get(_OPTIONS + BY_SOCKET)
    numa = topology is not None and topology.text == "single-numa-node"
    if topology is not None and numa and by_socket is not None and _is_on(by_socket):
        text = f"{BY_SOCKET} excludes topologyManagerPolicy single-numa-node"
        advice = "keep one of the two"
        yield _hit(config, by_socket, f"{text}: the kubelet does not start", advice, topology)
    if topology is None and config.partial:
        return
    if topology is None or topology.text in ("none", ""):
        yield Hit(
            message=(
                "exclusive CPUs of a container may lie on several NUMA nodes:"
                " topologyManagerPolicy is none"
            ),
            severity=Severity.INFO,
            location=config.at(topology or policy),
            evidence=(Evidence(label="topologyManagerPolicy", value="none"),),
            recommendation=Recommendation(
                summary="on nodes with several NUMA nodes set topologyManagerPolicy:"
                " single-numa-node"
            ),
        )


def _reserved(config: KubeletConfig) -> _Reserved:
    listed = config.settings.get("reservedSystemCPUs")
    if listed is not None and listed.text:
        return _Reserved(None, listed)
    total, at = 0, None
    for key in ("kubeReserved.cpu", "systemReserved.cpu"):
        written = config.settings.get(key)
        amount = None if written is None else cpu_amount(written)
        if isinstance(amount, str):
            return _Reserved(None, written)
        total += amount or 0
        at = at or written
    return _Reserved(total, at)


def _hit(
    config: KubeletConfig, at: Scalar, message: str, advice: str, other: Scalar | None = None
) -> Hit:
    """Return a finding about a value, and about another that contradicts it."""
    contradicts = "what contradicts it"
    return Hit(
        message=message,
        location=config.at(at),
        related=() if other is None else (Related(location=config.at(other), message=contradicts),),
        evidence=(Evidence(label="as written", value=at.text),),
        recommendation=Recommendation(summary=advice),
    )


def _elsewhere(what: str) -> Skip:
    return Skip(f"{what} may stand elsewhere: this is a part of the kubelet's configuration")


def _gate(config: KubeletConfig, name: str) -> bool | None:
    """Return whether an alpha gate is on; None where the rest of the configuration says so."""
    written = config.settings.get(_GATES + name)
    if written is not None:
        return _is_on(written)
    if _is_on(config.settings.get(f"{_GATES}AllAlpha")):
        return True
    return None if config.partial else False


def _is_on(value: Scalar | None) -> bool:
    return value is not None and value.text in _TRUE
