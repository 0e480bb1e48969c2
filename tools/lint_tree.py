#!/usr/bin/env python3
"""Writes a tree of manifests to measure lint on: the same for the same arguments, everywhere.

    tools/lint_tree.py DIRECTORY [--shape mixed|workloads] [--documents N] [--per-file N]

``mixed`` is what a repository of a platform team looks like: per hundred documents 30 workloads,
5 custom resources with a pod template, 2 CustomResourceDefinitions of 40 KB, 6 ConfigMaps with a
dashboard of 30 KB, and 57 small objects. ``workloads`` is nothing but workloads. There is something
to find in about one workload of four.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterator
from pathlib import Path

SEED = 20
PER_FILE = 5

_NAMES = ("api", "web", "worker", "billing", "search", "cart", "mail", "auth", "report", "import")
_TEAMS = ("core", "shop", "data", "edge", "payments")
# Request, limit and the threads that go with it.
_CPUS = (
    ("50m", "100m", 1), ("100m", '"500m"', 1), ("250m", "1", 1), ('"500m"', "1000m", 1),
    ("1", '"2"', 2), ("0.5", "2", 2), ("1500m", "3", 3), ("1", "4", 4), ("200m", "0.5", 1),
)  # fmt: skip
_MEMORY = ("64Mi", "128Mi", "256Mi", '"512Mi"', "1Gi", "2Gi", "4Gi")
_IMAGES = ("api:1.24", "worker:7", "shop/web:2.1.0", "eclipse-temurin:21", "python:3.12-slim")
_WORDS = (
    "serves requests of the shop", "retries after a pause", "keeps a queue in memory",
    "is called by other teams", "runs at night", "must stay below its budget",
)  # fmt: skip

Random = random.Random


def _indent(text: str, by: int) -> str:
    return "".join(f"{' ' * by}{line}" if line.strip() else line for line in text.splitlines(True))


def _name(rng: Random) -> str:
    return f"{rng.choice(_NAMES)}-{rng.choice(_NAMES)}-{rng.randrange(10_000)}"


def _resources(rng: Random, request: str, limit: str) -> str:
    kind = rng.random()
    memory = rng.choice(_MEMORY)
    if kind < 0.03:  # noqa: PLR2004
        return "resources: {}\n"
    if kind < 0.1:  # noqa: PLR2004
        return f"resources: {{limits: {{cpu: {limit}, memory: {memory}}}}}\n"
    if kind < 0.11:  # noqa: PLR2004
        request, limit = limit, request
    limits = f"    cpu: {limit}\n" if kind < 0.6 else ""  # noqa: PLR2004
    return (
        f"resources:\n  requests:\n    cpu: {request}\n    memory: {memory}\n"
        f"  limits:\n{limits}    memory: {memory}\n"
    )


def _environment(rng: Random, threads: int) -> str:
    entries = [f'- name: LOG_LEVEL\n  value: "{rng.choice(("info", "debug"))}"\n']
    if rng.random() < 0.3:  # noqa: PLR2004
        entries.append(f'- name: GOMAXPROCS\n  value: "{threads}"\n')
    if rng.random() < 0.2:  # noqa: PLR2004
        entries.append(
            "- name: CPU_LIMIT\n  valueFrom:\n    resourceFieldRef:\n"
            "      resource: limits.cpu\n      divisor: 1m\n"
        )
    if rng.random() < 0.3:  # noqa: PLR2004
        entries.append(
            "- name: TOKEN\n  valueFrom:\n    secretKeyRef:\n      name: tokens\n      key: api\n"
        )
    if rng.random() < 0.2:  # noqa: PLR2004
        entries.append("- name: JAVA_TOOL_OPTIONS\n  value: -XX:+UseG1GC -Xmx512m\n")
    return "env:\n" + "".join(entries)


def _command(rng: Random, threads: int) -> str:
    kind = rng.random()
    if kind < 0.25:  # noqa: PLR2004
        return f'command: ["/bin/server", "-v"]\nargs: ["--workers", "{threads}"]\n'
    if kind < 0.4:  # noqa: PLR2004
        return (
            "command:\n- sh\n- -c\n- |\n  set -eu\n  # waits for the database first\n"
            "  until nc -z db 5432; do sleep 1; done\n\n"
            f"  exec server --threads={threads}\n"
        )
    if kind < 0.6:  # noqa: PLR2004
        return f"args:\n- --port=8080\n- --threads={threads}\n- '--verbose'\n"
    return ""


def _probe(rng: Random) -> str:
    return (
        "readinessProbe:\n  httpGet:\n    path: /healthz\n    port: http\n"
        f"  initialDelaySeconds: {rng.randrange(1, 30)}\n  periodSeconds: 10\n"
    )


def _container(rng: Random, name: str) -> str:
    request, limit, threads = rng.choice(_CPUS)
    if rng.random() < 0.05:  # noqa: PLR2004
        threads *= 4
    body = f"name: {name}\nimage: registry.example.com/{rng.choice(_IMAGES)}\n"
    if rng.random() < 0.3:  # noqa: PLR2004
        body += f"# {rng.choice(_WORDS)}\n"
    body += _command(rng, threads) + "ports:\n- name: http\n  containerPort: 8080\n"
    body += _environment(rng, threads) + _resources(rng, request, limit)
    if rng.random() < 0.2:  # noqa: PLR2004
        body += _probe(rng)
    body += "volumeMounts:\n- name: config\n  mountPath: /etc/app\n  readOnly: true\n"
    return "- " + _indent(body, 2)[2:]


def _pod_spec(rng: Random) -> str:
    spec = "serviceAccountName: runner\nsecurityContext:\n  runAsNonRoot: true\n"
    if rng.random() < 0.1:  # noqa: PLR2004
        spec += "initContainers:\n" + _container(rng, "migrate")
    spec += "containers:\n" + _container(rng, "main")
    if rng.random() < 0.1:  # noqa: PLR2004
        spec += _container(rng, "proxy")
    return spec + "volumes:\n- name: config\n  configMap:\n    name: settings\n"


def _head(kind: str, api: str, rng: Random) -> str:
    name, team = _name(rng), rng.choice(_TEAMS)
    comment = f"# {name}: {rng.choice(_WORDS)}\n" if rng.random() < 0.4 else ""  # noqa: PLR2004
    return (
        f"{comment}apiVersion: {api}\nkind: {kind}\nmetadata:\n  name: {name}\n"
        f"  namespace: {team}\n  labels:\n    app.kubernetes.io/name: {name}\n    team: {team}\n"
    )


def _templated(rng: Random) -> str:
    app = _name(rng)
    labels, used = f"{{app: {app}}}", f"{{app: {app}}}"
    if rng.random() < 0.02:  # noqa: PLR2004
        labels, used = f"&labels {labels}", "*labels"
    annotations = ""
    if rng.random() < 0.5:  # noqa: PLR2004
        annotations = '    annotations:\n      prometheus.io/scrape: "true"\n'
    return (
        f"selector:\n  matchLabels: {labels}\ntemplate:\n  metadata:\n    labels: {used}\n"
        f"{annotations}  spec:\n{_indent(_pod_spec(rng), 4)}"
    )


def workload(rng: Random) -> str:
    """Return a Deployment, or one of its relatives."""
    kind = rng.random()
    if kind < 0.65:  # noqa: PLR2004
        return (
            _head("Deployment", "apps/v1", rng)
            + f"spec:\n  replicas: {rng.randrange(1, 9)}\n{_indent(_templated(rng), 2)}"
        )
    if kind < 0.85:  # noqa: PLR2004
        name = "StatefulSet" if kind < 0.75 else "DaemonSet"  # noqa: PLR2004
        return _head(name, "apps/v1", rng) + f"spec:\n{_indent(_templated(rng), 2)}"
    if kind < 0.95:  # noqa: PLR2004
        job = f"template:\n  spec:\n    restartPolicy: Never\n{_indent(_pod_spec(rng), 4)}"
        return (
            _head("CronJob", "batch/v1", rng)
            + f'spec:\n  schedule: "*/5 * * * *"\n  jobTemplate:\n    spec:\n{_indent(job, 6)}'
        )
    return _head("Pod", "v1", rng) + f"spec:\n{_indent(_pod_spec(rng), 2)}"


def custom_resource(rng: Random) -> str:
    """Return an object of another API group that holds a pod template."""
    if rng.random() < 0.5:  # noqa: PLR2004
        strategy = (
            "  strategy:\n    canary:\n      steps:\n      - setWeight: 20\n      - pause: {}\n"
        )
        head = _head("Rollout", "argoproj.io/v1alpha1", rng)
        return f"{head}spec:\n{strategy}{_indent(_templated(rng), 2)}"
    template = f"template:\n  spec:\n    containerConcurrency: 50\n{_indent(_pod_spec(rng), 4)}"
    return _head("Service", "serving.knative.dev/v1", rng) + f"spec:\n{_indent(template, 2)}"


def resource_definition(rng: Random) -> str:
    """Return a CustomResourceDefinition of about 40 KB, whose schema speaks of containers."""
    group = f"{_name(rng)}.example.com"
    body = (
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n"
        f"  name: things.{group}\nspec:\n  group: {group}\n  names:\n    kind: Thing\n"
        "    plural: things\n  scope: Namespaced\n  versions:\n  - name: v1\n    served: true\n"
        "    storage: true\n    schema:\n      openAPIV3Schema:\n        type: object\n"
        "        properties:\n          spec:\n            type: object\n            properties:\n"
        "              containers:\n                type: array\n"
    )
    parts = [body]
    size = len(body)
    while size < 40_000:  # noqa: PLR2004
        field = (
            f"              field{rng.randrange(10**6)}:\n                description: >-\n"
            f"                  {rng.choice(_WORDS)} and {rng.choice(_WORDS)}.\n"
            "                  Cannot be changed.\n                type: string\n"
        )
        parts.append(field)
        size += len(field)
    return "".join(parts)


def dashboard(rng: Random) -> str:
    """Return a ConfigMap with a dashboard of about 30 KB as text."""
    parts = [
        _head("ConfigMap", "v1", rng),
        'data:\n  dashboard.json: |\n    {\n      "panels": [\n',
    ]
    size = 0
    while size < 30_000:  # noqa: PLR2004
        panel = (
            f'        {{"id": {rng.randrange(10**6)}, "title": "{rng.choice(_WORDS)}",\n'
            '         "targets": [{"expr": "sum(rate(container_cpu_usage_seconds_total'
            '{container!=\\"\\"}[5m])) by (pod)",\n'
            '                      "legendFormat": "{{pod}}"}]},\n'
        )
        parts.append(panel)
        size += len(panel)
    return "".join((*parts, "        {}\n      ]\n    }\n"))


def small_object(rng: Random) -> str:
    """Return one of the objects that stand between workloads."""
    kind = rng.randrange(4)
    if kind == 0:
        ports = "  ports:\n  - name: http\n    port: 80\n    targetPort: http\n"
        return f"{_head('Service', 'v1', rng)}spec:\n  selector:\n    app: {_name(rng)}\n{ports}"
    if kind == 1:
        rules = "rules:\n- apiGroups: ['']\n  resources: [pods, services]\n  verbs: [get, list]\n"
        return _head("Role", "rbac.authorization.k8s.io/v1", rng) + rules
    if kind == 2:  # noqa: PLR2004
        values = "".join(f"  KEY_{i}: value of {rng.choice(_WORDS)}\n" for i in range(6))
        return f"{_head('ConfigMap', 'v1', rng)}data:\n{values}"
    target = (
        "  scaleTargetRef:\n    apiVersion: apps/v1\n    kind: Deployment\n"
        f"    name: {_name(rng)}\n"
    )
    metric = "  metrics:\n  - type: Resource\n    resource:\n      name: cpu\n"
    return (
        f"{_head('HorizontalPodAutoscaler', 'autoscaling/v2', rng)}spec:\n{target}"
        f"  minReplicas: 2\n  maxReplicas: 9\n{metric}"
    )


Maker = Callable[[Random], str]
_SHARES: dict[str, tuple[tuple[Maker, int], ...]] = {
    "mixed": (
        (workload, 30),
        (custom_resource, 5),
        (resource_definition, 2),
        (dashboard, 6),
        (small_object, 57),
    ),
    "workloads": ((workload, 100),),
}
SHAPES = tuple(_SHARES)


def documents(shape: str, count: int) -> Iterator[str]:
    """Yield the documents of a tree."""
    rng = random.Random(SEED)  # noqa: S311 - not a secret
    hundred = [maker for maker, share in _SHARES[shape] for _ in range(share)]
    for number in range(count):
        if number % len(hundred) == 0:
            rng.shuffle(hundred)
        yield hundred[number % len(hundred)](rng)


def write_tree(directory: Path, shape: str, count: int, per_file: int = PER_FILE) -> None:
    """Write a tree, a hundred files to a directory."""
    waiting: list[str] = []
    number = 0
    for index, document in enumerate(documents(shape, count), start=1):
        waiting.append(document)
        if len(waiting) == per_file or index == count:
            path = directory / f"{number // 100:03}" / f"{number:05}.yaml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("---\n".join(waiting), encoding="utf-8")
            waiting.clear()
            number += 1


def main() -> None:
    """Write the tree that the arguments describe."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--shape", choices=SHAPES, default="mixed")
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--per-file", type=int, default=PER_FILE)
    arguments = parser.parse_args()
    write_tree(arguments.directory, arguments.shape, arguments.documents, arguments.per_file)


if __name__ == "__main__":
    main()
