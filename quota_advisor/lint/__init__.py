"""The ``lint`` verb: from files to a report.

``linter`` finds the files, has them judged and works out fixes; ``run`` judges them in one process
or has a ``pool`` of several do it; ``judge`` is what each process does. ``extents`` and ``fixable``
give findings their ends and their fixes there; ``fixing`` makes the fixes; ``quiet`` tells once
what is true of many places.
"""

from __future__ import annotations

from quota_advisor.lint.linter import Linter, Request
from quota_advisor.lint.quiet import said_once
from quota_advisor.model.report import Report
from quota_advisor.rulebook.chosen import Rulebook, load_rulebook

__all__ = ["Linter", "Request", "lint"]


def lint(
    *paths: str,
    exclude: tuple[str, ...] = (),
    limits: str | None = None,
    requests: str | None = None,
    node_cpus: float | None = None,
    kubernetes_version: str | None = None,
    rulebook: Rulebook | None = None,
) -> Report:
    """Judge manifests, compose files, unit files, quadlets and kubelet configuration.

    Args:
        paths: Files, directories or patterns; the current directory where there is none.
        exclude: Files not to read: patterns as in ``.gitignore``.
        limits: House rule for CPU limits: ``ignore``, ``required`` or ``forbidden``.
        requests: House rule for CPU requests: ``ignore``, ``note`` or ``required``.
        node_cpus: CPUs of the largest node.
        kubernetes_version: Of the cluster, for example ``1.33``.
        rulebook: The rules to run; None for all, with the nearest configuration file.

    Returns:
        Everything that was found; what could not be read is among its problems.

    Raises:
        ConfigError: The configuration file is malformed.
        UsageError: An argument cannot be what it should.
    """
    request = Request(
        paths=paths,
        exclude=exclude,
        limits=limits,
        requests=requests,
        node_cpus=node_cpus,
        kubernetes_version=kubernetes_version,
    )
    return said_once(Linter(request, rulebook or load_rulebook()).judge().report)
