"""``quota-advisor k8s``: the pods of live clusters."""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from quota_advisor.cli.options import Number, Output, output_options
from quota_advisor.cli.output import check_outputs, exit_code, load_rules, show
from quota_advisor.cli.streams import say
from quota_advisor.errors import UsageError
from quota_advisor.files.reading import read_named
from quota_advisor.files.writing import reason, write_file
from quota_advisor.printable import printable

if TYPE_CHECKING:
    from quota_advisor.collect.cluster.prometheus import Server
    from quota_advisor.model.cluster import KubeletSettings
    from quota_advisor.model.report import Report


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
@click.option("--prometheus", metavar="URL", help="Who measured use and throttling.")
@click.option(
    "--history",
    default="7d",
    show_default=True,
    metavar="SPAN",
    help="How far to look back there: 12h, 7d.",
)
@click.option(
    "--prometheus-token-file",
    "token_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File with its bearer token.",
)
@click.option(
    "--prometheus-user",
    "user",
    metavar="NAME",
    help="User for basic authentication, with --prometheus-password-file.",
)
@click.option(
    "--prometheus-password-file",
    "password_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File with that user's password.",
)
@click.option(
    "--prometheus-header",
    "headers",
    multiple=True,
    metavar="NAME=VALUE",
    help="Sent with each question, for example X-Scope-OrgID=team. Repeatable.",
)
@click.option(
    "--prometheus-ca",
    "ca",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Certificates to trust in place of the system's.",
)
@click.option(
    "--prometheus-insecure", "insecure", is_flag=True, help="Do not look at its certificate."
)
@click.option(
    "--nodes-proxy",
    is_flag=True,
    help="Ask each node for the settings of its kubelet; takes the right to nodes/proxy.",
)
@click.option(
    "--kubelet-config",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The settings of all kubelets, in place of asking them.",
)
@click.option(
    "--patches",
    "patches_to",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIRECTORY",
    help="Write what is advised as patches with a kustomization; nothing is applied.",
)
@click.option(
    "--server-dry-run",
    "dry",
    is_flag=True,
    help="Ask the API server whether it would take the patches. Needs the right to patch.",
)
@click.option(
    "--save",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the facts to this file, for audit snapshot; without values that may be secret.",
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
    history: str,
    nodes_proxy: bool,
    kubelet_config: Path | None,
    patches_to: Path | None,
    dry: bool,
    save: Path | None,
    **prometheus: Any,
) -> int:
    """Find the CPU limits and requests that hurt in a live cluster. Nothing is ever changed there.

    \b
    quota-advisor k8s -n shop
    quota-advisor k8s -A --exclude-namespace kube-system --format json=cluster.json
    quota-advisor k8s -A --context eu --context us
    quota-advisor k8s -n shop --prometheus http://prometheus.monitoring:9090 --patches out/
    """  # noqa: D301 - click's mark for lines to keep
    if all_namespaces == bool(namespaces):
        raise UsageError("which pods?", hint="give --namespace NAME, or -A for all")
    if patches_to is not None and len(contexts) > 1:
        raise UsageError("--patches: of one cluster at a time", hint="give one --context")
    check_outputs(output, *([] if save is None else [save]))
    rulebook = load_rules(output)
    # The client of Kubernetes takes a third of a second to import.
    from quota_advisor.collect.cluster.facts import Part  # noqa: PLC0415
    from quota_advisor.k8s.clusters import Request, audit_clusters, dry_run  # noqa: PLC0415

    request = Request(
        kubeconfig=kubeconfig,
        contexts=contexts,
        part=Part(
            namespaces=namespaces,
            excluded=excluded,
            selector=selector,
            ask_kubelets=nodes_proxy,
            kubelet_settings=_kubelet_settings(kubelet_config),
            ask_metrics=prometheus["prometheus"] is None,
        ),
        timeout_sec=timeout_sec,
        limits=limits,
        history_sec=span_sec(history),
        prometheus=_server(timeout_sec=timeout_sec, **prometheus),
    )
    report = audit_clusters(request, rulebook=rulebook)
    if save is not None:
        # What checks snapshots takes long to build, and few runs save one.
        from quota_advisor.k8s.snapshot import snapshot_text  # noqa: PLC0415

        facts = tuple(cluster.facts for cluster in report.clusters)
        write_file(save, snapshot_text(facts), private=True)
    if patches_to is not None:
        _write_patches(report, patches_to)
    if dry:
        report = replace(report, problems=(*report.problems, *dry_run(request, report)))
    show(report, output)
    return exit_code(report, output, rulebook.config)


def _write_patches(report: Report, directory: Path) -> None:
    from quota_advisor.k8s.patches import patches, write_patches  # noqa: PLC0415 - as above

    found = [patch for cluster in report.clusters for patch in patches(cluster)]
    write_patches(found, directory)
    say(f"{len(found)} patch{'' if len(found) == 1 else 'es'} in {printable(str(directory))}")


_SPANS = {"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def span_sec(text: str) -> int:
    """Return the seconds of ``90m``, ``12h``, ``7d`` or ``2w``.

    Raises:
        UsageError: It is none of these, shorter than ten minutes or longer than a year.
    """
    number, unit = text[:-1], text[-1:]
    if number.isdecimal() and unit in _SPANS:
        seconds = int(number) * _SPANS[unit]
        if MIN_HISTORY_SEC <= seconds <= MAX_HISTORY_SEC:
            return seconds
    raise UsageError(
        f"--history {text!r}", hint="give 10m at least and a year at most, as 12h or 7d"
    )


MIN_HISTORY_SEC = 600
MAX_HISTORY_SEC = 366 * 86400


def _server(  # noqa: PLR0913 - each is an option of its own
    *,
    prometheus: str | None,
    token_file: Path | None,
    user: str | None,
    password_file: Path | None,
    headers: tuple[str, ...],
    ca: Path | None,
    insecure: bool,
    timeout_sec: float,
) -> Server | None:
    """Return where use and throttling were measured.

    Raises:
        UsageError: The options do not fit together, or a file of theirs cannot be read.
    """
    if prometheus is None:
        return None
    sent = dict(_header(header) for header in headers)
    if token_file is not None:
        sent["Authorization"] = f"Bearer {_secret(token_file)}"
    elif user is not None:
        if password_file is None:
            raise UsageError("--prometheus-user", hint="give --prometheus-password-file too")
        pair = f"{user}:{_secret(password_file)}".encode()
        sent["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
    from quota_advisor.collect.cluster.prometheus import Server  # noqa: PLC0415 - as above

    return Server(
        url=prometheus,
        headers=sent,
        ca=None if ca is None else str(ca),
        verify=not insecure,
        timeout_sec=timeout_sec,
    )


def _kubelet_settings(path: Path | None) -> KubeletSettings | None:
    """Return the settings in a file of a kubelet.

    Raises:
        UsageError: It cannot be read, or holds something else.
    """
    if path is None:
        return None
    from quota_advisor.collect.cluster.kubelets import settings_in  # noqa: PLC0415 - as above

    try:
        return settings_in(str(path), read_named(path, MAX_CONFIG_BYTES))
    except OSError as error:
        raise UsageError(f"{path}: {reason(error)}") from None


def _header(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or "\n" in text or "\r" in text:
        raise UsageError("--prometheus-header", hint="give NAME=VALUE")
    return name.strip(), value.strip()


def _secret(path: Path) -> str:
    try:
        return read_named(path, MAX_SECRET_BYTES).decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        why = reason(error) if isinstance(error, OSError) else "no text"
        raise UsageError(f"{path}: {why}") from None


MAX_SECRET_BYTES = 1 << 16
MAX_CONFIG_BYTES = 1 << 20
