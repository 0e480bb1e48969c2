"""A really throttled process, a running exporter, a real Prometheus, and its alert."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from quota_advisor.cli import run
from tests.kube.prometheus import running
from tests.native.conftest import PATIENCE_SEC, Sandbox
from tests.programs import needs

pytestmark = pytest.mark.native

CONFIG = """\
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [{directory}/rules.yml]
scrape_configs:
  - job_name: quota-advisor
    static_configs: [{{targets: ['{target}']}}]
"""


@contextmanager
def exporter() -> Iterator[str]:
    """Run the program on a free port; gives its host and port."""
    command = [sys.executable, "-m", "quota_advisor", "export", "serve", "--listen", "127.0.0.1:0"]
    program = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert program.stderr is not None
        for line in program.stderr:
            if " on http://" in line:
                yield line.split(" on http://")[1].partition("/")[0]
                break
        else:
            raise AssertionError("it did not start")
    finally:
        program.terminate()
        program.communicate()
    assert program.returncode == 0


def alerts(url: str) -> list[dict[str, Any]]:
    with urllib.request.urlopen(f"{url}/api/v1/alerts") as answer:  # noqa: S310 - loopback
        found: list[dict[str, Any]] = json.load(answer)["data"]["alerts"]
    return found


@needs("prometheus")
def test_the_alert_fires_for_what_is_throttled_and_for_nothing_else(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    sandbox.hand_down(sandbox.name)
    throttled = sandbox.group(f"{sandbox.name}/throttled")
    roomy = sandbox.group(f"{sandbox.name}/roomy")
    sandbox.limit(throttled, 10_000)
    sandbox.limit(roomy, 800_000)
    assert (
        run(["export", "rules", "host", "--for", "15s", "--output", str(tmp_path / "rules.yml")])
        == 0
    )
    sandbox.burn(roomy, 1)
    sandbox.burn_until_throttled(throttled, 2, throttled)
    with exporter() as target:
        config = CONFIG.format(directory=tmp_path, target=target)
        with running(tmp_path, config) as url:
            deadline = time.monotonic() + PATIENCE_SEC
            firing: list[dict[str, Any]] = []
            while not firing and time.monotonic() < deadline:
                time.sleep(0.5)
                found = [a for a in alerts(url) if sandbox.name in a["labels"]["cgroup"]]
                firing = [alert for alert in found if alert["state"] == "firing"]
            (alert,) = firing
    assert alert["labels"]["alertname"] == "CPUQuotaThrottles"
    assert alert["labels"]["cgroup"] == throttled
    assert 0.5 < float(alert["value"]) <= 1
    assert {a["labels"]["cgroup"] for a in found} == {throttled}
