"""What leaves the machine in a snapshot: enough to judge, and nobody's secret."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from quota_advisor.audit.redact import without_secrets
from quota_advisor.model.unit import UnitConfig
from tests.cli.conftest import Audit, audit, host
from tests.rules.facts import Facts, host_facts

__all__ = ["audit", "host"]

SECRET = "hunter2"  # noqa: S105 - what must not get out

UNIT = f"""\
[Unit]
Description={SECRET}
[Service]
Environment=TOKEN={SECRET} OMP_NUM_THREADS=8 "JAVA_OPTS=-Dpw={SECRET} -XX:ActiveProcessorCount=4"
Environment=GOMAXPROCS={SECRET} GODEBUG={SECRET}
Environment=
ExecStartPre=-@/usr/bin/env {SECRET} PASSWORD={SECRET}
ExecStart=!/usr/bin/gunicorn --workers 4 --token {SECRET} --workers={SECRET}
ExecStartPost=/bin/sh -c "curl {SECRET}; docker run --cpus 2 -e {SECRET} --cgroup-parent={SECRET}!"
ExecStop={SECRET}=x
SetCredential=a:{SECRET}
X-Anything={SECRET}
PassEnvironment={SECRET} \\
  {SECRET}
CPUQuota=50%
CPUQuotas=60%
Restart=always
"""


def values(facts_text: str, key: str) -> list[str]:
    facts = json.loads(facts_text)["facts"]["units"][0]["config"]["fragment"]["assignments"]
    return [a["value"] for a in facts if a["key"] == key]


@pytest.fixture
def saved(audit: Audit, host: Path, tmp_path: Path) -> str:
    (host / "etc/systemd/system/api.service").write_text(UNIT)
    drop_in = host / "etc/systemd/system/api.service.d/secret.conf"
    drop_in.parent.mkdir()
    drop_in.write_text(f"[Service]\nLoadCredential={SECRET}\n{SECRET}\n[{SECRET}\n")
    (host / "proc/cmdline").write_text(f"quiet pw={SECRET} isolcpus=1 init={SECRET}\n")
    audit("--save", "facts.json")
    path = tmp_path / "facts.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    return path.read_text()


def test_no_secret_leaves_the_machine(saved: str) -> None:
    assert SECRET not in saved


def test_what_judging_needs_stays(saved: str) -> None:
    assert values(saved, "Environment") == [
        'OMP_NUM_THREADS=8 "JAVA_OPTS=-XX:ActiveProcessorCount=4"',
        "redacted",
        "",
    ]
    assert values(saved, "ExecStartPre") == ["-/usr/bin/env"]
    assert values(saved, "ExecStart") == ["!/usr/bin/gunicorn gunicorn --workers 4"]
    assert values(saved, "ExecStop") == ["redacted"]
    assert values(saved, "CPUQuota") == ["50%"]
    assert values(saved, "CPUQuotas") == ["60%"]
    assert values(saved, "Restart") == ["always"]
    assert values(saved, "Description") == ["redacted"]
    assert '"raw": "isolcpus=1"' in saved


def test_a_second_time_changes_nothing(tmp_path: Path) -> None:
    once = without_secrets(
        host_facts(Facts(files={"/etc/systemd/system/a.service": UNIT}), tmp_path)
    )
    assert isinstance(once.units[0].config, UnitConfig)
    assert without_secrets(once) == once
