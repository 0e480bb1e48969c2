"""Use and throttling as a real Prometheus computes them, with the labels that runtimes give."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from quota_advisor.collect.cluster.prometheus import PodName, Prometheus, Server, measure
from quota_advisor.errors import CollectError
from quota_advisor.model.cgroup import CounterWindow, Demand
from quota_advisor.model.cluster import POD_AS_A_WHOLE, Use
from quota_advisor.model.limit import Missing
from tests.kube.prometheus import Series, missing, prometheus

pytestmark = [
    pytest.mark.kube,
    pytest.mark.skipif(bool(missing()), reason=missing() or "it is there"),
]

SPAN_SEC = 6 * 3600

CONTAINERD = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{uid}.slice"


def usual(pod: str, container: str, **more: str) -> dict[str, str]:
    """Return the labels of cAdvisor below containerd with cgroup v2."""
    return {
        "namespace": "shop",
        "pod": pod,
        "container": container,
        "id": f"{CONTAINERD.format(uid=pod)}/cri-containerd-{container}0.scope",
        "image": "registry.example/web:1",
        **more,
    }


def steady(cores: float) -> Callable[[int], float]:
    return lambda _at: cores


def bursts(at: int) -> float:
    """Use 0.2 cores, and 0.8 in ten of every sixty minutes."""
    return 0.8 if at % 3600 < 600 else 0.2


def counters(labels: dict[str, str], throttled_ratio: float) -> Iterator[Series]:
    yield Series("container_cpu_cfs_periods", labels, steady(10))
    yield Series("container_cpu_cfs_throttled_periods", labels, steady(10 * throttled_ratio))
    yield Series("container_cpu_cfs_throttled_seconds", labels, steady(0.2 * throttled_ratio))


def series() -> Iterator[Series]:
    yield Series("container_cpu_usage_seconds", usual("web-1", "app"), bursts)
    yield from counters(usual("web-1", "app"), 0.3)
    # Unlimited: cAdvisor has no periods for it.
    yield Series("container_cpu_usage_seconds", usual("web-1", "proxy"), steady(0.05))
    # The sandbox container of the pod, and the pod's own cgroup.
    yield Series("container_cpu_usage_seconds", usual("web-1", "POD"), steady(0.001))
    pod = {"namespace": "shop", "pod": "web-1", "id": CONTAINERD.format(uid="web-1")}
    yield Series("container_cpu_usage_seconds", pod, steady(0.4))
    yield from counters(pod, 0.1)
    # Two scrapers of one kubelet.
    for replica in ("a", "b"):
        twice = usual("twice", "app", prometheus_replica=replica)
        yield Series("container_cpu_usage_seconds", twice, steady(0.5))
        yield from counters(twice, 0.2)
    # A container that restarted: a second cgroup of the same name.
    for life in ("0", "1"):
        again = usual("again", "app") | {"id": f"/kubepods/burstable/podagain/crio-{life}.scope"}
        yield Series("container_cpu_usage_seconds", again, steady(0.1))
        yield from counters(again, 0.5)
    # Some runtimes give nothing but the pod.
    bare = {"namespace": "shop", "pod": "bare", "id": "/kubepods/burstable/podbare"}
    yield Series("container_cpu_usage_seconds", bare, steady(0.25))
    # A pod whose name would match another one's pattern if it were taken for one.
    yield Series("container_cpu_usage_seconds", usual("web.1", "app"), steady(3))


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with prometheus(tmp_path_factory.mktemp("prometheus"), series(), SPAN_SEC) as address:
        yield address


@pytest.fixture(scope="module")
def uses(url: str) -> dict[tuple[str, str], Use]:
    """Return what was measured of each pod and container."""
    pods = [PodName("shop", name) for name in ("web-1", "twice", "again", "bare", "idle")]
    found = measure(Prometheus(Server(url=url)), pods, SPAN_SEC)
    return {(pod, container): use for (_, pod, container), use in found}


def demand(use: Use) -> Demand:
    assert isinstance(use.demand, Demand)
    return use.demand


def window(use: Use) -> CounterWindow:
    assert isinstance(use.counters, CounterWindow)
    return use.counters


def test_the_peak_is_the_percentile_of_five_minute_maxima(uses: dict[tuple[str, str], Use]) -> None:
    seen = demand(uses["web-1", "app"])
    # One window in six, and a bit, holds a burst.
    assert seen.p95_cores == pytest.approx(0.8, rel=0.01)
    assert seen.max_cores == pytest.approx(0.8, rel=0.01)
    assert seen.mean_cores == pytest.approx(0.3, rel=0.05)
    assert seen.windows == pytest.approx(SPAN_SEC / 300, abs=2)


def test_throttled_periods_are_counted_over_the_whole_span(
    uses: dict[tuple[str, str], Use],
) -> None:
    counted = window(uses["web-1", "app"])
    assert counted.throttled_ratio == pytest.approx(0.3, abs=0.001)
    assert counted.periods == pytest.approx(10 * SPAN_SEC, rel=0.01)


def test_a_container_without_a_limit_has_no_throttling_and_no_zero(
    uses: dict[tuple[str, str], Use],
) -> None:
    assert isinstance(uses["web-1", "proxy"].counters, Missing)
    assert demand(uses["web-1", "proxy"]).p95_cores == pytest.approx(0.05, rel=0.01)


def test_the_pods_own_cgroup_stands_apart_and_its_sandbox_is_left_out(
    uses: dict[tuple[str, str], Use],
) -> None:
    assert window(uses["web-1", POD_AS_A_WHOLE]).throttled_ratio == pytest.approx(0.1, abs=0.001)
    assert ("web-1", "POD") not in uses


def test_two_scrapers_of_one_kubelet_count_once(uses: dict[tuple[str, str], Use]) -> None:
    assert demand(uses["twice", "app"]).p95_cores == pytest.approx(0.5, rel=0.01)
    assert window(uses["twice", "app"]).periods == pytest.approx(10 * SPAN_SEC, rel=0.01)


def test_the_lives_of_a_restarted_container_are_added(uses: dict[tuple[str, str], Use]) -> None:
    assert window(uses["again", "app"]).periods == pytest.approx(20 * SPAN_SEC, rel=0.01)
    assert window(uses["again", "app"]).throttled_ratio == pytest.approx(0.5, abs=0.001)


def test_a_pod_without_containers_in_its_labels_is_measured_as_a_whole(
    uses: dict[tuple[str, str], Use],
) -> None:
    assert demand(uses["bare", POD_AS_A_WHOLE]).p95_cores == pytest.approx(0.25, rel=0.01)


def test_names_are_names_and_no_patterns(uses: dict[tuple[str, str], Use], url: str) -> None:
    assert ("web.1", "app") not in uses
    found = dict(measure(Prometheus(Server(url=url)), [PodName("shop", "web.1")], SPAN_SEC))
    assert set(found) == {("shop", "web.1", "app")}


def test_a_pod_that_nobody_measured_is_not_there(uses: dict[tuple[str, str], Use]) -> None:
    assert not any(pod == "idle" for pod, _ in uses)


def test_nobody_listens(tmp_path: Path) -> None:
    del tmp_path
    with pytest.raises(CollectError, match="does it answer there"):
        list(measure(Prometheus(Server(url="http://127.0.0.1:1")), [PodName("a", "b")], 600))


def test_what_the_server_says_is_repeated(url: str) -> None:
    with pytest.raises(CollectError, match="parse error"):
        Prometheus(Server(url=url)).query("rate(")
