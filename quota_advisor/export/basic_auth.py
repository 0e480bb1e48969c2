"""Who may scrape: names and passwords against the bcrypt hashes of a web configuration."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import bcrypt

Application = Callable[[dict[str, Any], Any], Iterable[bytes]]

MAX_PASSWORD_BYTES = 72
"""bcrypt looks at no more."""

# Compared with where nobody has the name: an unknown name must take as long as a wrong password.
_NOBODY = bcrypt.hashpw(secrets.token_bytes(16), bcrypt.gensalt(10))


class Gate:
    """Lets those through who know a password.

    bcrypt takes a tenth of a second by intent, and Prometheus comes every few seconds: what was
    right once is remembered as a keyed digest.

    Args:
        inner: What stands behind.
        users: Hash of each user's password.
    """

    def __init__(self, inner: Application, users: Mapping[str, bytes]) -> None:
        self._inner = inner
        self._users = users
        self._key = secrets.token_bytes(32)
        self._right: set[bytes] = set()

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Answer, or ask for a password."""
        if self._is_known(environ.get("HTTP_AUTHORIZATION", "")):
            return self._inner(environ, start_response)
        text = b"a name and a password are needed\n"
        headers = [
            ("WWW-Authenticate", 'Basic realm="quota-advisor", charset="UTF-8"'),
            ("Content-Type", "text/plain; charset=utf-8"),
            ("Content-Length", str(len(text))),
        ]
        start_response("401 Unauthorized", headers)
        return [text]

    def _is_known(self, header: str) -> bool:
        digest = hmac.digest(self._key, header.encode("latin-1", "replace"), hashlib.sha256)
        if digest in self._right:
            return True
        name, password = _credentials(header)
        hashed = self._users.get(name, _NOBODY)
        right = bcrypt.checkpw(password[:MAX_PASSWORD_BYTES], hashed) and name in self._users
        if right:
            # One header in use for each user, give or take: the set stays small.
            if len(self._right) > len(self._users):
                self._right.clear()
            self._right.add(digest)
        return right


def _credentials(header: str) -> tuple[str, bytes]:
    """Return name and password of a header; empty ones where it holds none."""
    scheme, _, rest = header.partition(" ")
    if scheme.lower() != "basic":
        return "", b""
    try:
        name, _, password = base64.b64decode(rest.strip(), validate=True).partition(b":")
        return name.decode(), password
    except (binascii.Error, ValueError):
        return "", b""
