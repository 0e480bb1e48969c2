"""``quota-advisor k8s``: the pods of live clusters."""

from __future__ import annotations

from pathlib import Path

import click

from quota_advisor.cli.options import Number, Output, output_options
from quota_advisor.cli.output import check_outputs, exit_code, load_rules, show
from quota_advisor.errors import UsageError


@click.command("k8s")
@click.option("-n", "--namespace", "namespaces", multiple=True, help="Pods of it. Repeatable.")
@click.option("-A", "--all-namespaces", is_flag=True, help="Pods of all namespaces.")
@click.option(
    "--exclude-namespace", "excluded", multiple=True, help="Not the pods of it. Repeatable."
)
@click.option("-l", "--selector", default="", help="Pods with these labels, as kubectl has it.")
@click.option(
    "--context", "contexts", multiple=True, help="A context of the kubeconfig. Repeatable."
)
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A file in place of KUBECONFIG and ~/.kube/config.",
)
@click.option(
    "--request-timeout",
    "timeout_sec",
    type=Number(min=0.1, max=3600),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="How long one answer may take.",
)
@click.option(
    "--limits",
    type=click.Choice(["ignore", "required", "forbidden"]),
    help="House rule for CPU limits of containers.  [default: ignore]",
)
@output_options
def command(  # noqa: PLR0913 - each is an option of its own
    *,
    output: Output,
    namespaces: tuple[str, ...],
    all_namespaces: bool,
    excluded: tuple[str, ...],
    selector: str,
    contexts: tuple[str, ...],
    kubeconfig: Path | None,
    timeout_sec: float,
    limits: str | None,
) -> int:
    """Find the CPU limits and requests that hurt in a live cluster. Nothing is ever changed there.

    \b
    quota-advisor k8s -n shop
    quota-advisor k8s -A --exclude-namespace kube-system --format json=cluster.json
    quota-advisor k8s -A --context eu --context us
    """  # noqa: D301 - click's mark for lines to keep
    if all_namespaces == bool(namespaces):
        raise UsageError("which pods?", hint="give --namespace NAME, or -A for all")
    check_outputs(output)
    rulebook = load_rules(output)
    # The client of Kubernetes takes a third of a second to import.
    from quota_advisor.collect.cluster.facts import Part  # noqa: PLC0415
    from quota_advisor.k8s.clusters import Request, audit_clusters  # noqa: PLC0415

    request = Request(
        kubeconfig=kubeconfig,
        contexts=contexts,
        part=Part(namespaces=namespaces, excluded=excluded, selector=selector),
        timeout_sec=timeout_sec,
        limits=limits,
    )
    report = audit_clusters(request, rulebook=rulebook)
    show(report, output)
    return exit_code(report, output, rulebook.config)
