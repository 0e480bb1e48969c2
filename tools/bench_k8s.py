#!/usr/bin/env python3
"""Measure ``k8s -A`` on clusters of some sizes, in turns with ``kubectl get pods -A -o json``.

The API server is the real one that the tests build. Pods have two containers; ten belong to one
ReplicaSet.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TOP))

from tests.kube.api import Api, build  # noqa: E402 - found in the checkout

SIZES = (1_000, 10_000)
ROUNDS = 3
NAMESPACES = 10


def main() -> int:
    """Print seconds and peak memory for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    binary = build()
    if isinstance(binary, str):
        print(f"no API server: {binary}", file=sys.stderr)
        return 3
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}")
    for size in options.sizes:
        with tempfile.TemporaryDirectory() as top, Api(binary, Path(top) / "log") as api:
            fill(api, size)
            report(api, binary.parent / "kubectl", size, options.rounds)
    return 0


def report(api: Api, kubectl: Path, size: int, rounds: int) -> None:
    """Print the figures of one cluster."""
    ours = [sys.executable, "-m", "quota_advisor", "k8s", "-A"]
    theirs = [str(kubectl), "get", "pods", "-A", "-o", "json"]
    taken: dict[str, list[float]] = {"ours": [], "theirs": []}
    peak_mib = 0.0
    for _ in range(rounds):
        seconds, mebibytes = timed(ours, api.kubeconfigs["admin"])
        taken["ours"].append(seconds)
        peak_mib = max(peak_mib, mebibytes)
        taken["theirs"].append(timed(theirs, api.kubeconfigs["admin"])[0])
    own, other = (statistics.median(taken[name]) for name in ("ours", "theirs"))
    print(
        f"{size:6} pods  k8s -A {own:6.2f} s  {own / other:.2f} x kubectl ({other:.2f} s)"
        f"  {peak_mib:4.0f} MiB"
    )


def timed(command: Sequence[str], kubeconfig: Path) -> tuple[float, float]:
    """Return the seconds and the peak memory in MiB of a command."""
    start = time.perf_counter()
    child = subprocess.Popen(  # noqa: S603 - this program and kubectl
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "KUBECONFIG": str(kubeconfig)},
    )
    _, _, used = os.wait4(child.pid, 0)
    child.returncode = 0
    return time.perf_counter() - start, used.ru_maxrss / 1024


def fill(api: Api, size: int) -> None:
    """Make the pods."""
    for number in range(NAMESPACES):
        api.post(
            "/api/v1/namespaces",
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"n{number}"}},
        )
    with ThreadPoolExecutor(8) as pool:
        codes = set(pool.map(lambda number: make(api, number), range(size)))
    if codes != {201}:
        raise SystemExit(f"bench: pods could not be made: {codes}")


def make(api: Api, number: int) -> int:
    """Make one pod; return what the server answers."""
    replica_set = number // 10
    namespace = f"n{replica_set % NAMESPACES}"
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": f"web-{replica_set}",
        "uid": str(replica_set),
        "controller": True,
    }
    metadata = {"name": f"web-{number}", "namespace": namespace, "ownerReferences": [owner]}
    spec: dict[str, Any] = {
        "containers": [
            {
                "name": "app",
                "image": "registry.example/web:1",
                "env": [{"name": "GOMAXPROCS", "value": "8"}, {"name": "A", "value": "b" * 200}],
                "resources": {
                    "requests": {"cpu": "100m", "memory": "64Mi"},
                    "limits": {"cpu": "500m", "memory": "64Mi"},
                },
            },
            {"name": "proxy", "image": "registry.example/proxy:1"},
        ]
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    return api.post(f"/api/v1/namespaces/{namespace}/pods", pod).code


if __name__ == "__main__":
    sys.exit(main())
