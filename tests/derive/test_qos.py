"""Quality of service, exclusive CPUs, and the quota that the kubelet makes of a limit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quota_advisor.derive.kubernetes.qos import (
    Need,
    QosClass,
    guarantee_gaps,
    is_whole,
    kubelet_limit,
    qos_class,
    running_millicores,
    starting_millicores,
)
from quota_advisor.model.manifest import Role

GIB = 2**30


def need(
    request: int | None = None,
    limit: int | None = None,
    memory: tuple[int | None, int | None] = (None, None),
    role: Role = Role.APP,
) -> Need:
    return Need("it", role, request, limit, *memory)


FULL = need(1000, 1000, (GIB, GIB))
EMPTY = need()


@pytest.mark.parametrize(
    ("needs", "expected"),
    [
        ([FULL], QosClass.GUARANTEED),
        ([FULL, FULL._replace(role=Role.INIT)], QosClass.GUARANTEED),
        ([FULL, EMPTY], QosClass.BURSTABLE),
        ([FULL, EMPTY._replace(role=Role.INIT)], QosClass.BURSTABLE),
        ([FULL, EMPTY._replace(role=Role.SIDECAR)], QosClass.BURSTABLE),
        ([FULL, EMPTY._replace(role=Role.EPHEMERAL)], QosClass.GUARANTEED),
        ([EMPTY], QosClass.BEST_EFFORT),
        ([need(0, 0, (0, 0))], QosClass.BEST_EFFORT),
        ([need(1000, 1000)], QosClass.BURSTABLE),
        ([need(500, 1000, (GIB, GIB))], QosClass.BURSTABLE),
        ([need(1000, 1000, (GIB, 2 * GIB))], QosClass.BURSTABLE),
        ([need(memory=(GIB, GIB))], QosClass.BURSTABLE),
        ([need(request=1)], QosClass.BURSTABLE),
    ],
)
def test_the_class_follows_from_all_containers_but_ephemeral_ones(
    needs: list[Need], expected: QosClass
) -> None:
    assert qos_class(needs) is expected


def test_pod_level_resources_take_the_place_of_the_containers() -> None:
    whole = Need("the pod", None, 1000, 1000, GIB, GIB)
    assert qos_class([EMPTY, EMPTY], whole) is QosClass.GUARANTEED
    assert qos_class([FULL], whole._replace(memory_limit=None)) is QosClass.BURSTABLE
    assert qos_class([FULL], Need("the pod", None)) is QosClass.BURSTABLE


def test_gaps_name_what_is_missing() -> None:
    assert list(guarantee_gaps([FULL])) == []
    assert list(guarantee_gaps([need(1000, 1000)])) == ["it has no memory limit"]
    assert list(guarantee_gaps([need(1, 2, (1, 2))])) == [
        "the CPU request of it is not its limit",
        "the memory request of it is not its limit",
    ]


@given(st.lists(st.sampled_from([FULL, EMPTY, need(500, 500), need(memory=(GIB, GIB))])))
def test_a_pod_is_guaranteed_exactly_when_nothing_is_missing(needs: list[Need]) -> None:
    guaranteed = qos_class(needs) is QosClass.GUARANTEED
    assert guaranteed == (bool(needs) and not list(guarantee_gaps(needs)))


@pytest.mark.parametrize(
    ("millicores", "whole"),
    [(1000, True), (4000, True), (1500, False), (999, False), (0, False), (None, False)],
)
def test_whole_cpus(millicores: int | None, *, whole: bool) -> None:
    assert is_whole(millicores) is whole


def test_the_start_needs_the_largest_init_container_beside_the_sidecars_before_it() -> None:
    needs = [
        need(500, role=Role.INIT),
        need(1000, role=Role.SIDECAR),
        need(2000, role=Role.INIT),
        need(1500, role=Role.INIT),
        need(300, role=Role.SIDECAR),
        need(700),
    ]
    assert starting_millicores(needs) == 3000
    assert running_millicores(needs) == 2000


@pytest.mark.parametrize(
    ("millicores", "quota_usec"),
    [
        (1, 1_000),
        (5, 1_000),
        (10, 1_000),
        (51, 5_100),
        (100, 10_000),
        (130, 13_000),
        (417, 41_700),
        (500, 50_000),
        (1_000, 100_000),
        (1_500, 150_000),
        (4_000, 400_000),
        (4_096, 409_600),
    ],
)
def test_the_quota_of_a_limit(millicores: int, quota_usec: int) -> None:
    limit = kubelet_limit(millicores)
    assert (limit.quota_usec, limit.period_usec) == (quota_usec, 100_000)
