"""A connection to one API server, made as kubectl would make it.

The official client knows kubeconfig files, plugins that fetch tokens, proxies and certificates; its
models of objects take ten times as long as the JSON they are made of, so answers stay raw here.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import quota_advisor
from quota_advisor.errors import CollectError, UsageError

AGENT = f"quota-advisor/{quota_advisor.__version__}"
EXTRA_HINT = "pip install 'quota-advisor[k8s]'"
IN_CLUSTER = "in-cluster"
MAX_MESSAGE = 200
"""Characters of a server's own words that are repeated: it may answer with a whole page."""


class RefusedError(CollectError):
    """The API server answered, but not with what was asked for.

    Attributes:
        code: HTTP status.
        body: Its answer where that was a Status, else empty.
    """

    def __init__(self, what: str, code: int, body: Mapping[str, Any], *, hint: str = "") -> None:
        super().__init__(what, hint=hint)
        self.code = code
        self.body = body


class Connection:
    """Asks one API server.

    Args:
        configuration: Of the official client, with address and credentials.
        context: Name of the context, for people.
        timeout_sec: How long one answer may take to come.
    """

    def __init__(self, configuration: Any, context: str, timeout_sec: float) -> None:
        from kubernetes.client import ApiClient  # noqa: PLC0415 - takes a third of a second

        self.context = context
        self._configuration = configuration
        self._timeout_sec = timeout_sec
        # Made by the client, for it knows proxies and certificates.
        self._pool = ApiClient(configuration).rest_client.pool_manager

    def get(self, path: str, query: Mapping[str, str | int] | None = None, accept: str = "") -> Any:
        """Return the decoded answer of the server.

        Args:
            path: For example ``/api/v1/pods``.
            query: Parameters.
            accept: A representation other than plain JSON.

        Raises:
            RefusedError: The server refuses.
            CollectError: There is no answer, or none that can be read.
        """
        return self._decode(path, self._ask("GET", path, query, {"Accept": accept or _JSON}))

    def send(self, method: str, path: str, body: bytes, content_type: str, query: str) -> Any:
        """Return the answer to a request with a body; only dry runs are sent.

        Raises:
            ValueError: It is no dry run.
            RefusedError, CollectError: As for :meth:`get`.
        """
        if query != "dryRun=All":
            raise ValueError("nothing is written to a cluster")
        headers = {"Accept": _JSON, "Content-Type": content_type}
        answer = self._ask(method, path, {"dryRun": "All"}, headers, body)
        return self._decode(path, answer)

    def _ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str | int] | None,
        headers: dict[str, str],
        body: bytes | None = None,
    ) -> bytes:
        import urllib3  # noqa: PLC0415 - comes with the client

        url = self._configuration.host + path + (f"?{urlencode(query)}" if query else "")
        try:
            answer = self._pool.request(
                method,
                url,
                body=body,
                headers={"User-Agent": AGENT, **headers, **self._credentials()},
                timeout=self._timeout_sec,
                retries=False,
                redirect=False,
            )
        except urllib3.exceptions.HTTPError as error:
            raise self._unreachable(error) from None
        data: bytes = answer.data
        if answer.status >= HTTPStatus.MULTIPLE_CHOICES:
            raise _refusal(path, answer.status, data)
        return data

    def _credentials(self) -> dict[str, str]:
        settings = self._configuration.auth_settings().values()
        return {s["key"]: s["value"] for s in settings if s.get("value")}

    def _decode(self, path: str, data: bytes) -> Any:
        try:
            return json.loads(data)
        except ValueError:
            raise CollectError(f"{path}: the answer of {self.context} broke off") from None

    def _unreachable(self, error: Exception) -> CollectError:
        # Their texts repeat addresses with whatever stands in them; the kind says enough.
        kinds = {
            "ConnectTimeoutError": "no answer",
            "ReadTimeoutError": f"no answer within {self._timeout_sec:g} s",
            "NewConnectionError": "nobody listens there",
            "NameResolutionError": "its name is not known",
            "SSLError": "its certificate is not trusted",
            "ProtocolError": "the connection broke off",
            "ProxyError": "the proxy does not let it through",
            "IncompleteRead": "the answer broke off",
        }
        why = kinds.get(type(error).__name__, type(error).__name__)
        return CollectError(
            f"API server of {self.context} at {_without_user(self._configuration.host)}: {why}",
            hint="does kubectl reach it? --context and --kubeconfig choose another",
        )


_JSON = "application/json"


def connect(kubeconfig: Path | None, context: str | None, timeout_sec: float) -> Connection:
    """Return a connection to the cluster that kubectl would use, or to that of a context.

    Args:
        kubeconfig: A file in place of ``KUBECONFIG`` and ``~/.kube/config``; without any of them,
            the service account of the pod this runs in.
        context: A context in place of the current one.
        timeout_sec: How long one answer may take to come.

    Raises:
        UsageError: The client is not installed, or there is no such context.
        CollectError: There is no configuration, or it cannot be read.
    """
    try:
        import kubernetes.config as module  # noqa: PLC0415 - takes a third of a second
        from kubernetes.client import Configuration  # noqa: PLC0415 - as above
    except ModuleNotFoundError:
        raise UsageError("k8s needs the Kubernetes client", hint=EXTRA_HINT) from None
    # A plugin that fails is logged there, with its whole command line.
    logging.getLogger("kubernetes").setLevel(logging.CRITICAL)
    config: Any = module  # it has no types for these
    settings = Configuration()
    with _readable(kubeconfig):
        if _is_in_cluster(kubeconfig, context, config):
            config.load_incluster_config(client_configuration=settings)
            return Connection(settings, IN_CLUSTER, timeout_sec)
        file = None if kubeconfig is None else str(kubeconfig)
        contexts, current = config.list_kube_config_contexts(file)
        name = context or (current or {}).get("name", "")
        if context is not None and context not in [c["name"] for c in contexts]:
            known = ", ".join(sorted(c["name"] for c in contexts)[:10])
            raise UsageError(
                f"no context {context!r} in the kubeconfig", hint=f"there are: {known}"
            )
        config.load_kube_config(
            file, context=context, client_configuration=settings, persist_config=False
        )
    return Connection(settings, name, timeout_sec)


def _is_in_cluster(kubeconfig: Path | None, context: str | None, config: Any) -> bool:
    if kubeconfig is not None or context is not None:
        return False
    default = config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION
    return not any(Path(p).expanduser().exists() for p in str(default).split(":") if p)


@contextmanager
def _readable(kubeconfig: Path | None) -> Iterator[None]:
    """Turn what the client raises into one line that repeats nothing of the file."""
    import yaml  # noqa: PLC0415 - as above
    from kubernetes.config import ConfigException  # noqa: PLC0415 - as above

    where = "kubeconfig" if kubeconfig is None else str(kubeconfig)
    try:
        yield
    except ConfigException as error:
        if "Service" in str(error) or "Cert" in str(error):
            raise CollectError(
                "no kubeconfig, and not inside a pod", hint="name one with --kubeconfig"
            ) from None
        raise CollectError(
            f"{where}: not a usable kubeconfig", hint="does kubectl accept it?"
        ) from None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, yaml.YAMLError) as error:
        why = (error.strerror or "").lower() if isinstance(error, OSError) else "malformed"
        raise CollectError(f"{where}: {why}", hint="does kubectl accept it?") from None


def _refusal(path: str, code: int, data: bytes) -> RefusedError:
    """Return an answer that is none, with the server's own reason where it gives one."""
    try:
        decoded: Any = json.loads(data)
    except ValueError:
        decoded = None
    body = decoded if isinstance(decoded, dict) else {}
    said = str(body.get("message", ""))[:MAX_MESSAGE] if body.get("kind") == "Status" else ""
    return RefusedError(f"{path}: {said or f'HTTP {code}'}", code, body, hint=_HINTS.get(code, ""))


_HINTS = {
    int(HTTPStatus.UNAUTHORIZED): "the token has expired, or the plugin that fetches it failed",
    int(HTTPStatus.FORBIDDEN): "examples/kubernetes/rbac.yaml has the rights it takes",
}


def _without_user(url: str) -> str:
    scheme, separator, rest = url.partition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"
