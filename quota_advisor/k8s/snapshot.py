"""Facts of clusters in a file: recorded here, judged elsewhere."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

import pydantic

import quota_advisor
from quota_advisor.derive.kept_texts import kept_program, kept_threads, kept_variable
from quota_advisor.errors import SnapshotError
from quota_advisor.files.reading import MAX_RECORD_BYTES, read_named
from quota_advisor.files.writing import reason
from quota_advisor.k8s.judge import judge
from quota_advisor.model.cluster import ClusterFacts, LiveWorkload
from quota_advisor.model.lint import LimitsPolicy
from quota_advisor.model.manifest import Container, Pod, ResourceRef, Scalar
from quota_advisor.model.report import Report
from quota_advisor.rulebook.chosen import Rulebook, load_rulebook

FORMAT: Literal["quota-advisor/clusters/v1"] = "quota-advisor/clusters/v1"

_MARK_BYTES = 200
"""The format stands first in a file that this program wrote."""


class ClusterSnapshot(pydantic.BaseModel):
    """A snapshot of clusters.

    Attributes:
        format: Name and version of the format; another one is refused, never guessed at.
        made_by: Version of the program that wrote it.
        clusters: All facts of each, as :class:`~quota_advisor.model.cluster.ClusterFacts` names
            them.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    format: Literal["quota-advisor/clusters/v1"]
    made_by: str
    clusters: tuple[ClusterFacts, ...]


def is_cluster_snapshot(path: Path) -> bool:
    """Whether a file looks like a snapshot of clusters; one that cannot be read does not."""
    try:
        return FORMAT.encode() in read_named(path, MAX_RECORD_BYTES)[:_MARK_BYTES]
    except OSError:
        return False


def snapshot_text(clusters: tuple[ClusterFacts, ...]) -> str:
    """Return facts as the text of a snapshot: what judging needs, and nobody's secrets."""
    snapshot = ClusterSnapshot(
        format=FORMAT,
        made_by=quota_advisor.__version__,
        clusters=tuple(map(without_secrets, clusters)),
    )
    return snapshot.model_dump_json(indent=1) + "\n"


def judge_clusters(
    file: Path | str, *, limits: str | None = None, rulebook: Rulebook | None = None
) -> Report:
    """Judge a snapshot that ``k8s --save`` wrote, here or on another machine.

    Args:
        file: The snapshot.
        limits: House rule for CPU limits; that of the configuration where None.
        rulebook: The rules to run; None for all, with the nearest configuration file.

    Raises:
        ConfigError: The configuration file is malformed.
        SnapshotError: The file cannot be read, is no snapshot, or is of another version.
    """
    rulebook = rulebook or load_rulebook()
    policy = LimitsPolicy(limits or rulebook.config.lint.limits)
    return judge(load(Path(file)), rulebook, policy)


def load(path: Path) -> tuple[ClusterFacts, ...]:
    """Return the facts in a snapshot.

    Raises:
        SnapshotError: As for :func:`judge_clusters`.
    """
    try:
        return ClusterSnapshot.model_validate_json(read_named(path, MAX_RECORD_BYTES)).clusters
    except OSError as error:
        raise SnapshotError(f"{path}: {reason(error)}") from error
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        hint = "record it again with k8s --save"
        raise SnapshotError(f"{path}: {place}: {first['msg'].lower()}", hint=hint) from error


def without_secrets(facts: ClusterFacts) -> ClusterFacts:
    """Return facts without values of variables and commands that no rule looks at."""
    return replace(facts, workloads=tuple(map(_workload, facts.workloads)))


def _workload(workload: LiveWorkload) -> LiveWorkload:
    known: dict[int, Pod] = {}
    pods = []
    for live in workload.pods:
        # Replicas share their spec, and keep sharing it.
        pod = known.setdefault(id(live.pod), _pod(live.pod))
        pods.append(replace(live, pod=pod))
    return replace(workload, pods=tuple(pods))


def _pod(pod: Pod) -> Pod:
    return pod._replace(containers=tuple(map(_container, pod.containers)))


def _container(container: Container) -> Container:
    env: dict[str, Scalar | ResourceRef] = {}
    for name, value in container.env.items():
        if isinstance(value, ResourceRef):
            env[name] = value
        elif kept := kept_variable(name, value.text):
            env[name] = value._replace(text=kept)
    words = [word.text for word in container.command]
    said = [word for some in kept_threads(words) for word in some]
    command = [kept_program(words), *said] if words else []
    return container._replace(env=env, command=tuple(Scalar(w, False, 0, 0) for w in command))
