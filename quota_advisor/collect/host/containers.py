"""Containers: recognised by the names of their cgroups, named by whoever runs them.

Names are a courtesy to people. An engine that does not answer, answers nonsense or takes too long
costs the name and nothing else.
"""

from __future__ import annotations

import io
import json
import os
import posixpath
import re
import socket
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from typing import Any

from quota_advisor.collect.host.root import HostRoot, describe
from quota_advisor.model.cgroup import Container, Engine
from quota_advisor.model.limit import (
    DEFAULT_PERIOD_USEC,
    Bandwidth,
    CpuLimit,
    Missing,
    Unlimited,
)
from quota_advisor.model.problem import Problem

DEADLINE_SEC = 2.0
"""Longest wait for one engine, all in all: an audit does not hang on a name."""

MAX_REPLY_BYTES = 8 << 20
"""Several thousand containers; more is not an answer to this question."""

SOCKETS: Mapping[Engine, tuple[str, ...]] = {
    Engine.DOCKER: ("/run/docker.sock", "/var/run/docker.sock"),
    Engine.PODMAN: ("/run/podman/podman.sock", "/var/run/podman/podman.sock"),
}
STORAGE = "/var/lib/containers/storage/overlay-containers/containers.json"
"""Where podman and CRI-O keep the names (containers/storage)."""

TASKS = "/run/containerd/io.containerd.runtime.v2.task"
"""Where containerd keeps the bundle of each running container, by namespace."""

_ID = "([0-9a-f]{64})"
_UID = "([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})"
_POD_SLICE = re.compile(rf"kubepods(?:-burstable|-besteffort)?-pod{_UID}\.slice\Z")
_NAMES = (
    (re.compile(rf"docker-{_ID}\.scope\Z"), Engine.DOCKER),
    (re.compile(rf"libpod-(?:payload-)?{_ID}(?:\.scope)?\Z"), Engine.PODMAN),
    (re.compile(rf"(?:cri-containerd|nerdctl)-{_ID}\.scope\Z"), Engine.CONTAINERD),
    (re.compile(rf"crio-{_ID}(?:\.scope)?\Z"), Engine.CRIO),
    (_POD_SLICE, Engine.KUBERNETES),
)
_POD = re.compile(rf"pod{_UID}\Z")
_BARE_ID = re.compile(_ID + r"\Z")
# Only the directory around a bare id tells which engine made the container.
_PARENTS = {"docker": Engine.DOCKER, "default": Engine.CONTAINERD, "k8s.io": Engine.CONTAINERD}

_CRI = "io.kubernetes.cri."


def recognise(path: str) -> Container | None:
    """Return the container that a cgroup belongs to, as far as its path tells.

    The innermost wins: a node of kind is a container that holds pods. Helpers of engines
    (``libpod-conmon-….scope``) are no containers. The name is not known yet.
    """
    parts = path.split("/")[1:]
    for index in range(len(parts) - 1, -1, -1):
        found = _recognise_part(parts, index)
        if found is not None:
            engine, identifier = found
            unknown = Missing(reason="no engine was asked")
            return Container(engine=engine, id=identifier, name=unknown)
    return None


def pod_uid(path: str) -> str:
    """Return the uid of the pod that a cgroup belongs to; empty where there is none."""
    parts = path.split("/")[1:]
    for index in range(len(parts) - 1, -1, -1):
        match = _POD_SLICE.match(parts[index])
        if match is None and "kubepods" in parts[:index]:
            match = _POD.match(parts[index])
        if match is not None:
            return _uid(match[1])
    return ""


def name_containers(
    root: HostRoot, paths: Iterable[str], *, limits: bool = True
) -> tuple[dict[str, Container], list[Problem]]:
    """Return the containers among cgroups, named where their engine could be asked.

    Args:
        root: The host; below a directory, its sockets are asked only if they are there.
        paths: cgroups.
        limits: Ask engines for the limits too, which takes a request for each container.

    Returns:
        Container of each cgroup that belongs to one, and no more than one problem for each engine
        whose answer made no sense. That an engine is not there, or not for us, is no problem.
    """
    found = {path: container for path in paths if (container := recognise(path)) is not None}
    wanted = {(container.engine, container.id) for container in found.values()}
    names = _ContainerNames(root, wanted, limits=limits)
    return {path: _named(container, names) for path, container in found.items()}, names.problems


def _recognise_part(parts: list[str], index: int) -> tuple[Engine, str] | None:
    part, parent = parts[index], parts[index - 1] if index else ""
    for pattern, engine in _NAMES:
        match = pattern.match(part)
        if match is not None:
            return engine, _uid(match[1]) if engine is Engine.KUBERNETES else match[1]
    pod = _POD.match(part)
    if pod is not None and "kubepods" in parts[:index]:
        return Engine.KUBERNETES, _uid(pod[1])
    if not _BARE_ID.match(part):
        return None
    if _POD.match(parent) and "kubepods" in parts[:index]:
        return Engine.KUBERNETES, part
    return (_PARENTS[parent], part) if parent in _PARENTS else None


def _uid(text: str) -> str:
    """Return a pod's uid; systemd slices write its dashes as underscores."""
    return text.replace("_", "-")


def _named(container: Container, names: _ContainerNames) -> Container:
    name = names.name(container.engine, container.id)
    limit = names.limits.get(container.id, container.limit)
    return Container(engine=container.engine, id=container.id, name=name, limit=limit)


class _ContainerNames:
    """Names and limits of one host's containers, asked for once for each engine that has any."""

    def __init__(self, root: HostRoot, wanted: set[tuple[Engine, str]], *, limits: bool) -> None:
        self._root = root
        self._with_limits = limits
        self._names: dict[str, str] = {}
        self._why: dict[Engine, str] = {}
        self.limits: dict[str, CpuLimit] = {}
        self.problems: list[Problem] = []
        for engine in sorted({engine for engine, _ in wanted}):
            self._ask(engine, [i for e, i in wanted if e is engine])

    def name(self, engine: Engine, identifier: str) -> str | Missing:
        name = self._names.get(identifier)
        return name or Missing(reason=self._why.get(engine) or f"{engine} does not know this id")

    def _ask(self, engine: Engine, ids: list[str]) -> None:
        if engine in SOCKETS:
            self._from_socket(engine, ids)
        if engine in (Engine.PODMAN, Engine.CRIO):
            self._from_storage(engine)
        if engine in (Engine.CONTAINERD, Engine.KUBERNETES):
            self._from_bundles(engine, ids)

    def _from_socket(self, engine: Engine, ids: list[str]) -> None:
        path = next((p for p in SOCKETS[engine] if self._root.exists(p)), None)
        if path is None:
            self._why[engine] = f"the socket of {engine} is not there ({SOCKETS[engine][0]})"
            return
        deadline = time.monotonic() + DEADLINE_SEC
        try:
            reply = _get(self._root.socket_path(path), "/containers/json", deadline)
            named = dict(_listed_names(reply, "Id", "Names"))
            self._names |= named
        except ValueError as error:
            self._nonsense(engine, path, error)
        except OSError as error:
            self._why[engine] = describe(error, path)
        else:
            if self._with_limits:
                self._ask_limits(path, [i for i in ids if i in named], deadline)

    def _ask_limits(self, path: str, ids: list[str], deadline: float) -> None:
        """Ask for the limit of each container, as long as there is time. It is a courtesy too."""
        for identifier in ids:
            target = f"/containers/{identifier}/json"
            try:
                reply = _get(self._root.socket_path(path), target, deadline)
                self.limits[identifier] = told_limit(reply)
            except ValueError as error:
                self.limits[identifier] = Missing(reason=f"{path}{target}: {str(error)[:80]}")
            except OSError as error:
                self.limits[identifier] = Missing(reason=describe(error, path))
                return

    def _from_storage(self, engine: Engine) -> None:
        text = self._root.try_read(STORAGE)
        if isinstance(text, Missing):
            self._why.setdefault(engine, text.reason)
            return
        try:
            stored = dict(_listed_names(_json(text), "id", "names"))
        except ValueError as error:
            self._nonsense(engine, STORAGE, error)
        else:
            self._names = stored | self._names

    def _from_bundles(self, engine: Engine, ids: list[str]) -> None:
        """Read the annotations that the CRI plugin leaves with each running container."""
        if not self._root.exists(TASKS):
            self._why[engine] = f"{TASKS}: containerd keeps no containers there"
            return
        self._why[engine] = f"{TASKS}: no readable description of this container"
        listed = _names_in(self._root, f"{TASKS}/k8s.io") if engine is Engine.KUBERNETES else ids
        for identifier in filter(_BARE_ID.match, listed):
            for namespace in ("k8s.io", "default"):
                text = self._root.try_read(f"{TASKS}/{namespace}/{identifier}/config.json")
                if isinstance(text, str):
                    with suppress(ValueError):
                        self._names |= dict(_bundle_names(identifier, _json(text)))

    def _nonsense(self, engine: Engine, path: str, error: Exception) -> None:
        reason = f"the answer made no sense: {str(error)[:80]}"
        self._why[engine] = f"{path}: {reason}"
        self.problems.append(Problem(subject=path, reason=reason))


def told_limit(inspected: Any) -> CpuLimit:
    """Return the limit in an engine's description of a container.

    ``HostConfig`` of ``GET /containers/ID/json`` in the Docker API: NanoCpus, or CpuQuota with
    CpuPeriod in microseconds, 0 for the default and no quota for none.

    Raises:
        ValueError: It is no description of a container.
    """
    config = inspected.get("HostConfig") if isinstance(inspected, dict) else None
    if not isinstance(config, dict):
        raise ValueError("no HostConfig")  # noqa: TRY004 - it is input that is wrong
    numbers = (config.get(key) or 0 for key in ("NanoCpus", "CpuQuota", "CpuPeriod"))
    nano, quota, period = (n if isinstance(n, int) else 0 for n in numbers)
    period = period if period > 0 else DEFAULT_PERIOD_USEC
    quota = quota if quota > 0 else nano * period // 1_000_000_000
    return Bandwidth(quota_usec=quota, period_usec=period) if quota > 0 else Unlimited()


def _get(socket_path: str, target: str, deadline: float) -> Any:
    """Return the JSON that an engine answers.

    HTTP/1.0, so that the engine closes the connection at the end and one deadline can stand over
    everything, a reply that trickles included.

    Args:
        socket_path: The engine's socket.
        target: What to ask for.
        deadline: Monotonic time at which the wait ends.

    Raises:
        OSError: No connection, or no full answer in time.
        ValueError: Not HTTP, not JSON, or too much of it.
    """
    import http.client  # noqa: PLC0415 - a tenth of the start, and most hosts have no such socket

    with closing(_connect(socket_path)) as connection:
        connection.sendall(f"GET {target} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
        data = _read_all(connection, deadline)
    response = http.client.HTTPResponse(_Buffer(data))  # type: ignore[arg-type]
    try:
        response.begin()
    # RemoteDisconnected is an HTTPException and an OSError: the engine answered, but badly.
    except http.client.HTTPException as error:
        raise ValueError(str(error) or type(error).__name__) from error
    if response.status != http.client.OK:
        raise ValueError(f"HTTP status {response.status}")
    return _json(response.read().decode("utf-8", "replace"))


class _Buffer:
    """Stands in for the socket that HTTPResponse reads from: the bytes are already here."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, _mode: str) -> io.BytesIO:
        return io.BytesIO(self._data)


def _connect(path: str) -> socket.socket:
    # A socket address holds 107 bytes, and --root may be longer; a path below /proc is short.
    directory, name = posixpath.split(path)
    descriptor = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(DEADLINE_SEC)
        connection.connect(f"/proc/self/fd/{descriptor}/{name}")
    except OSError:
        connection.close()
        raise
    finally:
        os.close(descriptor)
    return connection


def _read_all(connection: socket.socket, deadline: float) -> bytes:
    data = bytearray()
    while len(data) <= MAX_REPLY_BYTES:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"no full answer within {DEADLINE_SEC:g} s")
        connection.settimeout(left)
        chunk = connection.recv(1 << 16)
        if not chunk:
            return bytes(data)
        data += chunk
    raise ValueError(f"more than {MAX_REPLY_BYTES >> 20} MiB")


def _json(text: str) -> Any:
    """Parse JSON.

    Raises:
        ValueError: Malformed, or nested beyond reason.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _listed_names(content: Any, id_key: str, names_key: str) -> Iterator[tuple[str, str]]:
    """Yield id and first name from a list of containers.

    ``Id`` and ``Names`` in ``GET /containers/json`` of the Docker API, which podman speaks too;
    ``id`` and ``names`` in the list that containers/storage keeps.

    Raises:
        ValueError: It is no list.
    """
    if not isinstance(content, list):
        raise ValueError("no list of containers")  # noqa: TRY004 - it is input that is wrong
    for entry in content:
        names = entry.get(names_key) if isinstance(entry, dict) else None
        if isinstance(names, list) and names and isinstance(names[0], str):
            yield str(entry.get(id_key)), names[0].removeprefix("/")


def _bundle_names(identifier: str, config: Any) -> Iterator[tuple[str, str]]:
    """Yield id and name of a container, and uid and name of its pod, from its runtime spec."""
    annotations = config.get("annotations") if isinstance(config, dict) else None
    if not isinstance(annotations, dict):
        return
    parts = [annotations.get(_CRI + key) for key in ("sandbox-namespace", "sandbox-name")]
    pod = "/".join(part for part in parts if isinstance(part, str))
    name = annotations.get(_CRI + "container-name")
    own = "/".join(part for part in (pod, name) if part and isinstance(part, str))
    if own:
        yield identifier, own
    uid = annotations.get(_CRI + "sandbox-uid")
    if pod and isinstance(uid, str):
        yield uid, pod


def _names_in(root: HostRoot, directory: str) -> list[str]:
    try:
        return root.names(directory)
    except OSError:
        return []
