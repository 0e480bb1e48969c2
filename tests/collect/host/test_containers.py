"""Containers by the names of their cgroups, and their names from engines good and bad."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from quota_advisor.collect.host import containers
from quota_advisor.collect.host.containers import (
    STORAGE,
    TASKS,
    name_containers,
    recognise,
    told_limit,
)
from quota_advisor.collect.host.root import HostRoot
from quota_advisor.model.cgroup import Engine
from quota_advisor.model.limit import Bandwidth, Missing, Unlimited

ID = "0123456789abcdef" * 4
OTHER = "fedcba9876543210" * 4
UID = "8f2b1c3d-0000-4444-aaaa-0123456789ab"
SLICE_UID = UID.replace("-", "_")
BURSTABLE = f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{SLICE_UID}.slice"


@pytest.mark.parametrize(
    ("path", "engine", "identifier"),
    [
        (f"/system.slice/docker-{ID}.scope", Engine.DOCKER, ID),
        (f"/docker/{ID}", Engine.DOCKER, ID),
        (f"/docker/{ID}/init.scope", Engine.DOCKER, ID),
        (f"/machine.slice/libpod-{ID}.scope", Engine.PODMAN, ID),
        (f"/machine.slice/libpod-{ID}.scope/container", Engine.PODMAN, ID),
        (f"/libpod_parent/libpod-{ID}", Engine.PODMAN, ID),
        (f"/system.slice/web.service/libpod-payload-{ID}", Engine.PODMAN, ID),
        (f"{BURSTABLE}/cri-containerd-{ID}.scope", Engine.CONTAINERD, ID),
        (f"{BURSTABLE}/crio-{ID}.scope", Engine.CRIO, ID),
        (f"/kubepods/besteffort/pod{UID}/crio-{ID}", Engine.CRIO, ID),
        (BURSTABLE, Engine.KUBERNETES, UID),
        (f"/kubepods.slice/kubepods-pod{SLICE_UID}.slice", Engine.KUBERNETES, UID),
        (f"/kubepods/burstable/pod{UID}", Engine.KUBERNETES, UID),
        (f"/kubepods/burstable/pod{UID}/{ID}", Engine.KUBERNETES, ID),
        (f"/kubepods/pod{ID[:32]}", Engine.KUBERNETES, ID[:32]),
        (f"/default/{ID}", Engine.CONTAINERD, ID),
        (f"/system.slice/nerdctl-{ID}.scope", Engine.CONTAINERD, ID),
        (f"/docker/{ID}/kubelet/kubepods/pod{UID}/{OTHER}", Engine.KUBERNETES, OTHER),
    ],
)
def test_containers_are_recognised(path: str, engine: Engine, identifier: str) -> None:
    found = recognise(path)

    assert found is not None
    assert (found.engine, found.id) == (engine, identifier)
    assert isinstance(found.name, Missing)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/system.slice/docker.service",
        "/docker",
        f"/docker/{ID[:12]}",
        f"/docker/{ID.upper()}",
        f"/somewhere/{ID}",
        f"/machine.slice/libpod-conmon-{ID}.scope",
        f"{BURSTABLE.rpartition('/')[0]}/crio-conmon-{ID}.scope",
        f"/system.slice/docker-{ID}.scope.bak",
        f"/system.slice/docker-{ID}.scope\n",
        f"/pod{UID}/{ID}",
        "/kubepods.slice/kubepods-burstable.slice",
    ],
)
def test_what_is_no_container_is_left_alone(path: str) -> None:
    assert recognise(path) is None


# ---- engines

Answer = Callable[[socket.socket], None]
DOCKER = f"/system.slice/docker-{ID}.scope"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Callable[[str, Answer], HostRoot]]:
    """Start engines that give one answer to each connection."""
    servers: list[tuple[socket.socket, threading.Thread]] = []

    def start(path: str, answer: Answer) -> HostRoot:
        place = tmp_path / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        server = socket.socket(socket.AF_UNIX)
        bind(server, place)
        server.listen()
        thread = threading.Thread(target=_serve, args=(server, answer), daemon=True)
        thread.start()
        servers.append((server, thread))
        return HostRoot(tmp_path)

    yield start
    for server, thread in servers:
        # Closing alone does not wake who waits for a connection.
        server.shutdown(socket.SHUT_RDWR)
        thread.join(10)
        server.close()


def bind(server: socket.socket, place: Path) -> None:
    # The address of a socket holds 107 bytes, fewer than a temporary directory may have.
    directory = os.open(place.parent, os.O_PATH)
    try:
        server.bind(f"/proc/self/fd/{directory}/{place.name}")
    finally:
        os.close(directory)


def _serve(server: socket.socket, answer: Answer) -> None:
    try:
        while True:
            connection, _ = server.accept()
            with connection:
                connection.recv(4096)
                answer(connection)
    except OSError:
        return


def says(body: object, *, status: str = "200 OK") -> Answer:
    text = body if isinstance(body, str) else json.dumps(body)

    def answer(connection: socket.socket) -> None:
        head = f"HTTP/1.0 {status}\r\nContent-Type: application/json\r\n\r\n"
        connection.sendall((head + text).encode())

    return answer


def name_of(root: HostRoot, path: str) -> str | Missing:
    return name_containers(root, [path])[0][path].name


def test_docker_names_its_containers(engine: Callable[[str, Answer], HostRoot]) -> None:
    root = engine("/run/docker.sock", says([{"Id": ID, "Names": ["/web", "/x/alias"]}]))

    assert name_of(root, DOCKER) == "web"
    other = name_of(root, f"/docker/{OTHER}")
    assert other == Missing(reason="docker does not know this id")


def test_podman_names_its_containers(engine: Callable[[str, Answer], HostRoot]) -> None:
    root = engine("/run/podman/podman.sock", says([{"Id": ID, "Names": ["cache"]}]))

    assert name_of(root, f"/machine.slice/libpod-{ID}.scope") == "cache"


def in_turn(*answers: Answer) -> Answer:
    """Return an answer for each connection; who asks once more gets none."""
    left = iter(answers)

    def answer(connection: socket.socket) -> None:
        for following in left:
            following(connection)
            return

    return answer


LIST = says([{"Id": ID, "Names": ["/web"]}, {"Id": OTHER, "Names": ["/api"]}])


def limits_of(root: HostRoot, *paths: str) -> list[object]:
    found, problems = name_containers(root, paths)
    assert not problems
    return [found[path].limit for path in paths]


def test_docker_says_what_limit_each_container_was_given(
    engine: Callable[[str, Answer], HostRoot],
) -> None:
    limited = says({"HostConfig": {"NanoCpus": 1_500_000_000}})
    free = says({"HostConfig": {"NanoCpus": 0}})
    root = engine("/run/docker.sock", in_turn(LIST, limited, free))

    limits = limits_of(root, DOCKER, f"/docker/{OTHER}")

    told = [Bandwidth(quota_usec=150_000, period_usec=100_000), Unlimited()]
    # Which one is asked first is not promised.
    assert sorted(limits, key=repr) == told


@pytest.mark.parametrize(
    ("config", "limit"),
    [
        ({}, Unlimited()),
        ({"NanoCpus": None, "CpuQuota": -1}, Unlimited()),
        ({"CpuQuota": 50_000}, Bandwidth(quota_usec=50_000, period_usec=100_000)),
        (
            {"CpuQuota": 50_000, "CpuPeriod": 20_000, "NanoCpus": 2_500_000_000},
            Bandwidth(quota_usec=50_000, period_usec=20_000),
        ),
        (
            {"NanoCpus": 500_000_000, "CpuPeriod": 20_000},
            Bandwidth(quota_usec=10_000, period_usec=20_000),
        ),
        ({"NanoCpus": "2"}, Unlimited()),
    ],
)
def test_what_a_description_says_of_the_limit(config: object, limit: object) -> None:
    assert told_limit({"HostConfig": config}) == limit


@pytest.mark.parametrize("inspected", [[], {}, {"HostConfig": 3}, None])
def test_what_is_no_description_is_refused(inspected: object) -> None:
    with pytest.raises(ValueError, match="HostConfig"):
        told_limit(inspected)


@pytest.mark.parametrize("answer", [says("<html>"), says([]), lambda _connection: None])
def test_a_limit_that_cannot_be_told_costs_nothing_else(
    engine: Callable[[str, Answer], HostRoot], answer: Answer
) -> None:
    root = engine("/run/docker.sock", in_turn(LIST, answer))

    found, problems = name_containers(root, [DOCKER])

    assert found[DOCKER].name == "web"
    assert isinstance(found[DOCKER].limit, Missing)
    assert not problems


@pytest.mark.parametrize(
    "answer",
    [
        says("<html>"),
        says({"message": "no"}),
        says("[" * 100_000),
        says([], status="500 Internal Server Error"),
        lambda connection: connection.sendall(b"SSH-2.0-OpenSSH\r\n"),
        lambda _connection: None,
    ],
)
def test_nonsense_costs_the_name_and_one_problem(
    engine: Callable[[str, Answer], HostRoot], answer: Answer
) -> None:
    root = engine("/run/docker.sock", answer)

    found, problems = name_containers(root, [DOCKER, f"/docker/{OTHER}"])

    assert all(isinstance(container.name, Missing) for container in found.values())
    assert [problem.subject for problem in problems] == ["/run/docker.sock"]


ODD_ENTRIES = [
    None,
    7,
    {},
    {"Id": ID},
    {"Id": ID, "Names": []},
    {"Id": ID, "Names": "web"},
    {"Id": [], "Names": [3]},
]


@pytest.mark.parametrize("entry", ODD_ENTRIES)
def test_entries_of_another_shape_are_passed_over(
    engine: Callable[[str, Answer], HostRoot], entry: object
) -> None:
    root = engine("/run/docker.sock", says([entry]))

    assert isinstance(name_of(root, DOCKER), Missing)


def test_an_endless_reply_is_cut_off(
    engine: Callable[[str, Answer], HostRoot], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(containers, "MAX_REPLY_BYTES", 1 << 16)

    def endless(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.0 200 OK\r\n\r\n[")
        while True:
            connection.sendall(b" " * 4096)

    root = engine("/run/docker.sock", endless)

    assert isinstance(name_of(root, DOCKER), Missing)


def test_a_trickling_reply_meets_the_deadline(
    engine: Callable[[str, Answer], HostRoot], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(containers, "DEADLINE_SEC", 0.3)

    def trickle(connection: socket.socket) -> None:
        # Until the caller hangs up.
        while True:
            connection.sendall(b"H")
            time.sleep(0.05)

    root = engine("/run/docker.sock", trickle)

    assert isinstance(name_of(root, DOCKER), Missing)


def test_without_a_socket_the_reason_is_told_and_nothing_is_wrong(tmp_path: Path) -> None:
    found, problems = name_containers(HostRoot(tmp_path), [DOCKER, "/system.slice"])

    assert list(found) == [DOCKER]
    name = found[DOCKER].name
    assert isinstance(name, Missing)
    assert "/run/docker.sock" in name.reason
    assert problems == []


def test_a_file_in_the_place_of_the_socket_is_no_engine(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run/docker.sock").write_text("")

    assert isinstance(name_of(HostRoot(tmp_path), DOCKER), Missing)


# ---- names on disk


def put(top: Path, path: str, content: object) -> HostRoot:
    place = top / path.lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(content if isinstance(content, str) else json.dumps(content))
    return HostRoot(top)


def test_crio_names_come_from_the_container_store(tmp_path: Path) -> None:
    root = put(tmp_path, STORAGE, [{"id": ID, "names": ["k8s_app_web-0_prod_uid_0"]}, 5])

    assert name_of(root, f"{BURSTABLE}/crio-{ID}.scope") == "k8s_app_web-0_prod_uid_0"


def test_a_broken_container_store_is_a_problem(tmp_path: Path) -> None:
    root = put(tmp_path, STORAGE, "{")

    found, problems = name_containers(root, [f"/machine.slice/libpod-{ID}.scope"])

    assert all(isinstance(container.name, Missing) for container in found.values())
    assert [problem.subject for problem in problems] == [STORAGE]


def test_containerd_names_come_from_the_runtime_bundle(tmp_path: Path) -> None:
    annotations = {
        "io.kubernetes.cri.sandbox-namespace": "prod",
        "io.kubernetes.cri.sandbox-name": "web-0",
        "io.kubernetes.cri.container-name": "app",
        "io.kubernetes.cri.sandbox-uid": UID,
    }
    root = put(tmp_path, f"{TASKS}/k8s.io/{ID}/config.json", {"annotations": annotations})

    assert name_of(root, f"{BURSTABLE}/cri-containerd-{ID}.scope") == "prod/web-0/app"
    assert name_of(root, BURSTABLE) == "prod/web-0"
    assert name_of(root, f"/kubepods/burstable/pod{UID}/{ID}") == "prod/web-0/app"


@pytest.mark.parametrize("content", ["{", [], {"annotations": 3}, {"annotations": {}}])
def test_a_bundle_of_another_shape_gives_no_name(tmp_path: Path, content: object) -> None:
    root = put(tmp_path, f"{TASKS}/k8s.io/{ID}/config.json", content)

    name = name_of(root, f"{BURSTABLE}/cri-containerd-{ID}.scope")

    assert isinstance(name, Missing)
    assert TASKS in name.reason
