"""A real headless browser, and reports about a host with names that nobody should trust."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from quota_advisor.model.cgroup import UseTrace
from quota_advisor.model.host import HostFacts
from quota_advisor.render import render
from quota_advisor.render.view import View
from tests.advise.hosts import judge_all
from tests.programs import needs
from tests.rules.facts import CgroupCase, DemandCase, WindowCase, host_facts_of
from tests.rules.facts import NodeCase as Node

installed = needs("chromium", "chromedriver")

HOSTILE = (
    '<img src="http://192.0.2.1/x" onerror="window.pwned=1">',
    "</script><script>window.pwned=1</script>",
    "\"'><svg onload=window.pwned=1>",
    "{{7*7}}{%raw%}${7*7}",
    "line\nbreak \x1b[31m",
    "right\u202eto left",
    "</style><style>body{display:none}",
    "<!--",
    "&lt;b&gt;",
)
"""Names of cgroups, which may hold anything but a slash."""


def group(throttled: int, quota: str = "50000 100000") -> CgroupCase:
    window = WindowCase(
        elapsed_usec=10_000_000,
        usage_usec=4_000_000,
        periods=100,
        throttled_periods=throttled,
        throttled_usec=throttled * 50_000,
        pressure_full_usec=throttled * 40_000,
    )
    demand = DemandCase(mean_cores=0.4, p95_cores=0.5, censored_windows=throttled)
    return CgroupCase(limit=quota, processes=1, threads=4, window=window, demand=demand)


def facts(cases: dict[str, CgroupCase]) -> HostFacts:
    """Return facts in which each limited group has a trace."""
    found = host_facts_of(Node(cpus=4), cases)
    cores = tuple(0.5 if n % 7 < 4 else 0.02 for n in range(100))
    trace = UseTrace(interval_usec=100_000, cores=cores, held=tuple(c > 0.1 for c in cores))
    groups = tuple(replace(g, trace=trace) if g.path in cases else g for g in found.cgroups)
    return replace(found, hostname="db3 <b>bold</b>", cgroups=groups)


CASES = {
    "/system.slice/api.service": group(66),
    "/system.slice/report.service": group(8),
    "/system.slice/fine.service": group(0, "100000 100000"),
    "/docker/" + "a" * 64: group(40),
    **{f"/odd/{name}": group(30) for name in HOSTILE},
}


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a report about a host as a file."""
    file = tmp_path_factory.mktemp("report") / "report.html"
    file.write_text(render("html", judge_all(facts(CASES)), View()), encoding="utf-8")
    return file


class Browser:
    """A browser that tells what it asked for and what went wrong in it."""

    def __init__(self) -> None:
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
        self.driver.execute_cdp_cmd("Network.enable", {})

    def open(self, page: Path, width: int = 1100, theme: str = "light") -> None:
        """Show a page in a window of a width and a theme, forgetting what was before."""
        feature = {"name": "prefers-color-scheme", "value": theme}
        self.command("Emulation.setEmulatedMedia", media="", features=[feature])
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        self.command("Emulation.setDeviceMetricsOverride", **size)
        self.driver.get("about:blank")
        self.requests()
        self.errors()
        self.driver.get(page.as_uri())

    def command(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Ask the browser itself for something."""
        answer: dict[str, Any] = self.driver.execute_cdp_cmd(name, arguments)
        return answer

    def run(self, script: str, *arguments: Any) -> Any:
        """Return what a script in the page returns."""
        return self.driver.execute_script(script, *arguments)

    def errors(self) -> list[str]:
        """Return what the console has since the last look."""
        return [entry["message"] for entry in self._log("browser")]

    def requests(self) -> list[str]:
        """Return the addresses that were asked for since the last look."""
        messages = [json.loads(entry["message"])["message"] for entry in self._log("performance")]
        return [
            message["params"]["request"]["url"]
            for message in messages
            if message["method"] == "Network.requestWillBeSent"
        ]

    def _log(self, name: str) -> list[dict[str, str]]:
        driver: Any = self.driver
        entries: list[dict[str, str]] = driver.get_log(name)
        return entries


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    found = Browser()
    try:
        yield found
    finally:
        found.driver.quit()


Wait = Callable[[Callable[[], Any]], Any]


@pytest.fixture
def wait() -> Wait:
    """Wait until something holds, and return it."""
    from selenium.webdriver.support.ui import WebDriverWait  # noqa: PLC0415 - of this alone

    def until(holds: Callable[[], Any]) -> Any:
        waiter: Any = WebDriverWait(None, 60)
        return waiter.until(lambda _driver: holds())

    return until
