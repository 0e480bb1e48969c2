"""What is offered for Prometheus: units as systemd reads them, a DaemonSet with few rights."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from quota_advisor.cli import cli
from tests.programs import needs

HERE = Path(__file__).parents[2] / "examples/prometheus"
UNITS = sorted(HERE.glob("*.service"))


def parses(arguments: list[str]) -> None:
    """Have the command line read arguments as the program would, without running anything."""
    command: click.Command = cli
    context = click.Context(cli)
    while isinstance(command, click.Group):
        found = command.get_command(context, arguments.pop(0))
        assert found is not None
        command = found
    command.make_context("quota-advisor", arguments)


@needs("systemd-analyze")
def test_systemd_has_nothing_to_say_about_the_units(tmp_path: Path) -> None:
    for file in HERE.glob("quota-advisor-*.*"):
        # The program and its user are on no machine that runs tests.
        text = file.read_text().replace("/usr/bin/quota-advisor", "/bin/true")
        (tmp_path / file.name).write_text(text.replace("User=prometheus", "User=root"))
    units = sorted(tmp_path.iterdir())
    assert len(units) == 3
    done = subprocess.run(
        ["systemd-analyze", "verify", *map(str, units)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@needs("systemd-analyze")
@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.stem)
def test_systemd_finds_that_a_unit_may_do_little(unit: Path) -> None:
    command = ["systemd-analyze", "security", "--offline=yes", "--threshold=25", str(unit)]
    subprocess.run(command, check=True, capture_output=True)


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.stem)
def test_the_units_start_commands_that_there_are(unit: Path) -> None:
    line = re.search(r"^ExecStart=(.*)$", unit.read_text(), re.MULTILINE)
    assert line is not None
    parses(shlex.split(line[1])[1:])


def test_the_daemon_set_may_do_little() -> None:
    documents: list[dict[str, Any]] = list(
        yaml.safe_load_all((HERE / "daemonset.yaml").read_text())
    )
    pod = documents[1]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert [m["readOnly"] for m in container["volumeMounts"]] == [True]
    assert [v["hostPath"]["path"] for v in pod["volumes"]] == ["/sys/fs/cgroup"]
    listen = [a for a in container["args"] if a.startswith("--listen")]
    assert listen == [f"--listen=:{container['ports'][0]['containerPort']}"]


def test_the_daemon_set_starts_a_command_that_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = list(yaml.safe_load_all((HERE / "daemonset.yaml").read_text()))
    arguments = documents[1]["spec"]["template"]["spec"]["containers"][0]["args"]
    (tmp_path / "host").mkdir()
    monkeypatch.chdir(tmp_path)
    parses([a.replace("--root=/host", "--root=host") for a in arguments])
