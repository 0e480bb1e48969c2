"""Options of the kubelet's static CPU manager policy.

Source: kubernetes ``pkg/kubelet/cm/cpumanager/policy_options.go``.
"""

from __future__ import annotations

FULL_CORES = "full-pcpus-only"
ACROSS_NUMA = "distribute-cpus-across-numa"
ACROSS_CORES = "distribute-cpus-across-cores"
BY_SOCKET = "align-by-socket"
BY_CACHE = "prefer-align-cpus-by-uncorecache"

KNOWN_OPTIONS = (
    FULL_CORES,
    "strict-cpu-reservation",
    BY_CACHE,
    ACROSS_NUMA,
    ACROSS_CORES,
    BY_SOCKET,
)
ALPHA_OPTIONS = (ACROSS_CORES, BY_SOCKET)
REFUSED_PAIRS = (
    (FULL_CORES, ACROSS_CORES),
    (ACROSS_NUMA, ACROSS_CORES),
    (BY_CACHE, ACROSS_CORES),
    (BY_CACHE, ACROSS_NUMA),
)
"""Options of which the kubelet takes only one."""
