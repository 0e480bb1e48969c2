"""Web configuration files as every exporter of Prometheus takes them: TLS and passwords.

Source: https://github.com/prometheus/exporter-toolkit, ``docs/web-configuration.md``. What this
server cannot do is refused, never passed over: a setting about security that has no effect is worse
than an error.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

import yaml

from quota_advisor.errors import ConfigError, did_you_mean
from quota_advisor.records import dataclass

MAX_BYTES = 1 << 20

_TOP = ("tls_server_config", "http_server_config", "basic_auth_users")
_TLS = ("cert_file", "key_file", "client_auth_type", "client_ca_file", "min_version", "max_version")
_HTTP = ("headers",)
_HEADERS = (
    "Content-Security-Policy",
    "Strict-Transport-Security",
    "X-Content-Type-Options",
    "X-Frame-Options",
    "X-XSS-Protection",
    "Cache-Control",
)
_VERSIONS = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}
_CLIENTS = {
    "NoClientCert": ssl.CERT_NONE,
    "VerifyClientCertIfGiven": ssl.CERT_OPTIONAL,
    "RequireAndVerifyClientCert": ssl.CERT_REQUIRED,
}
_BCRYPT = ("$2a$", "$2b$", "$2y$")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebConfig:
    """How a server talks to its clients.

    Attributes:
        tls: Certificate and versions; None for plain HTTP.
        users: bcrypt hash of each user's password; without any, nobody is asked for one.
        headers: Headers that every answer gets.
    """

    tls: ssl.SSLContext | None = None
    users: Mapping[str, bytes] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


def load_web_config(path: Path) -> WebConfig:
    """Read a web configuration file; files named in it are relative to it.

    Raises:
        ConfigError: It cannot be read, is malformed, or wants what this server cannot do.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise ConfigError(f"{path}: larger than {MAX_BYTES >> 20} MiB")
        document = yaml.safe_load(data.decode())
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ConfigError(f"{path}: cannot be read: {reason}") from error
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        place = getattr(error, "problem_mark", None)
        line = "" if place is None else f":{place.line + 1}"
        raise ConfigError(f"{path}{line}: no YAML in UTF-8") from error
    top = _mapping(path, "", {} if document is None else document, _TOP)
    http = _mapping(path, "http_server_config", top.get("http_server_config", {}), _HTTP)
    where = "http_server_config.headers"
    return WebConfig(
        tls=_tls(path, top["tls_server_config"]) if "tls_server_config" in top else None,
        users=_users(path, top.get("basic_auth_users") or {}),
        headers={
            k: _line(path, where, v)
            for k, v in _mapping(path, where, http.get("headers", {}), _HEADERS).items()
        },
    )


def _mapping(path: Path, where: str, value: Any, known: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError(f"{path}: {where or 'the file'} holds no settings")
    for key in value:
        if key not in known:
            hint = did_you_mean(str(key), known) or f"this server knows {', '.join(known)}"
            name = f"{where}.{key}" if where else key
            raise ConfigError(f"{path}: setting {name!r} is not supported", hint=hint)
    return value


def _line(path: Path, where: str, value: Any) -> str:
    if not isinstance(value, str) or not value.isprintable():
        raise ConfigError(f"{path}: {where} wants a text of one line, not {value!r}")
    return value


def _tls(path: Path, value: Any) -> ssl.SSLContext:
    where = "tls_server_config"
    tls = _mapping(path, where, value, _TLS)
    for key in ("cert_file", "key_file"):
        if key not in tls:
            raise ConfigError(f"{path}: {where} lacks {key}")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = _one_of(
        path, "min_version", tls.get("min_version", "TLS12"), _VERSIONS
    )
    context.maximum_version = _one_of(
        path, "max_version", tls.get("max_version", "TLS13"), _VERSIONS
    )
    verify = _one_of(
        path, "client_auth_type", tls.get("client_auth_type", "NoClientCert"), _CLIENTS
    )
    _load(
        path,
        tls,
        "cert_file",
        lambda file: context.load_cert_chain(file, _file(path, tls, "key_file")),
    )
    if "client_ca_file" in tls:
        _load(path, tls, "client_ca_file", context.load_verify_locations)
    elif verify is not ssl.CERT_NONE:
        raise ConfigError(f"{path}: {where}: client_auth_type needs client_ca_file")
    context.verify_mode = verify
    return context


def _load(path: Path, tls: Mapping[str, Any], key: str, load: Any) -> None:
    file = _file(path, tls, key)
    try:
        load(file)
    except (OSError, ValueError) as error:
        reason = (
            str(error) if isinstance(error, ssl.SSLError) else getattr(error, "strerror", error)
        )
        raise ConfigError(
            f"{path}: tls_server_config.{key} {file} cannot be used: {reason}"
        ) from error


def _file(path: Path, tls: Mapping[str, Any], key: str) -> Path:
    return path.parent / _line(path, f"tls_server_config.{key}", tls[key])


def _one_of(path: Path, key: str, value: Any, known: Mapping[str, Any]) -> Any:
    if value not in known:
        choice = ", ".join(known)
        raise ConfigError(
            f"{path}: tls_server_config.{key}: {value!r}", hint=f"choose from {choice}"
        )
    return known[value]


def _users(path: Path, value: Any) -> dict[str, bytes]:
    if not isinstance(value, dict):
        raise ConfigError(f"{path}: basic_auth_users wants names with their bcrypt hashes")
    for name, hashed in value.items():
        if not isinstance(name, str) or not isinstance(hashed, str):
            raise ConfigError(f"{path}: basic_auth_users: {name!r} has no text for a hash")
        if not hashed.startswith(_BCRYPT) or len(hashed) != 60:  # noqa: PLR2004 - bcrypt's length
            hint = "make one with: htpasswd -nBC 10 NAME"
            raise ConfigError(f"{path}: basic_auth_users.{name} is no bcrypt hash", hint=hint)
    return {name: hashed.encode() for name, hashed in value.items()}
