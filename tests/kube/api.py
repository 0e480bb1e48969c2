"""A Kubernetes API server to ask: the real one, built from its own sources."""

from __future__ import annotations

import json
import signal
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

SERVER = Path(__file__).parent / "server"
START_SEC = 60
# No default service account exists without controllers, and pods would be refused for that.
FLAGS = ("--", "--disable-admission-plugins=ServiceAccount")


class Answer(NamedTuple):
    """What the server says.

    Attributes:
        code: HTTP status.
        body: The object, or a Status.
    """

    code: int
    body: dict[str, Any]

    @property
    def message(self) -> str:
        """Why it refuses."""
        return str(self.body.get("message", ""))


class Api:
    """A server that runs as long as it is open.

    Args:
        binary: What ``server/build.sh`` printed.
        log: Where its own messages go.
        flags: For the server itself.
        users: Who may log in without having any rights yet, as ``name`` or ``name=group,…``.

    Attributes:
        kubeconfigs: Of these users, and of ``admin``.
    """

    def __init__(self, binary: Path, log: Path, *flags: str, users: Sequence[str] = ()) -> None:
        named = [word for user in users for word in ("-user", user)]
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                [binary, "-stdin", *named, *FLAGS, *flags],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, log.read_text(errors="replace")[-2000:]
        info = json.loads(line)
        self._url = info["url"]
        self._tls = ssl.create_default_context(cafile=info["ca"])
        self.kubeconfigs: dict[str, Path] = {u: Path(p) for u, p in info["kubeconfigs"].items()}
        config = json.loads(self.kubeconfigs["admin"].read_text())
        self._token = config["users"][0]["user"]["token"]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        self._process.communicate()

    def expire_tokens(self) -> None:
        """Make tokens for the rest of a list expire, as they do in minutes on a busy cluster."""
        self._process.send_signal(signal.SIGUSR1)

    def get(self, path: str) -> Answer:
        """Return an object."""
        return self._ask("GET", path, b"")

    def post(self, path: str, body: bytes | dict[str, Any]) -> Answer:
        """Send an object as it is written, or one that the server gave."""
        return self._ask("POST", path, body)

    def put(self, path: str, body: dict[str, Any]) -> Answer:
        """Replace an object."""
        return self._ask("PUT", path, body)

    def _ask(self, method: str, path: str, body: bytes | dict[str, Any]) -> Answer:
        is_text = isinstance(body, bytes)
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        kind = "application/yaml" if is_text else "application/json"
        request = urllib.request.Request(  # noqa: S310 - the server's own address
            self._url + path,
            data=data or None,
            method=method,
            headers={"Content-Type": kind, "Authorization": f"Bearer {self._token}"},
        )
        try:
            with urllib.request.urlopen(request, context=self._tls) as answer:  # noqa: S310
                return Answer(answer.status, json.loads(answer.read()))
        except urllib.error.HTTPError as error:
            return Answer(error.code, _status(error.read()))


def _status(data: bytes) -> dict[str, Any]:
    """Return why the server refuses; a path that it does not have yet gets plain text."""
    try:
        body: dict[str, Any] = json.loads(data)
    except ValueError:
        return {"message": data.decode(errors="replace")}
    return body


def build() -> Path | str:
    """Return the server's binary, or why there is none."""
    try:
        done = subprocess.run([SERVER / "build.sh"], capture_output=True, text=True, check=False)
    except OSError as error:
        return str(error)
    if done.returncode:
        return done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "the build failed"
    return Path(done.stdout.strip())
