"""Pages about files, clusters and probes, as a browser shows them."""

from __future__ import annotations

from pathlib import Path

import pytest

from quota_advisor.cli import run
from quota_advisor.probe.report import render as render_probe
from quota_advisor.render import render
from quota_advisor.render.view import View
from tests.browser.conftest import Browser, Wait, installed
from tests.browser.test_report import CONTRAST
from tests.k8s.test_judge import cluster, judged, use
from tests.probe.conftest import MakeResult, make_result, make_run
from tests.recordings import CYCLE, recording

pytestmark = installed

__all__ = ["make_result", "make_run"]

MANIFEST = """\
apiVersion: v1
kind: Pod
metadata: {name: "</script><script>window.pwned=1</script>"}
spec:
  containers:
    - {name: a, image: b, resources: {limits: {cpu: 1}, requests: {cpu: 2}}}
"""


@pytest.fixture(params=["lint", "k8s", "probe", "simulate"])
def page(request: pytest.FixtureRequest, tmp_path: Path, make_result: MakeResult) -> Path:
    file = tmp_path / "report.html"
    if request.param == "lint":
        (tmp_path / "a.yaml").write_text(MANIFEST)
        arguments = ["--no-config", "--format", f"html={file}"]
        assert run(["lint", str(tmp_path / "a.yaml"), *arguments]) == 1
    elif request.param == "k8s":
        facts = cluster(tmp_path, {"one": {"app": use(0.4)}, "two": {"app": use(0.3, 400_000)}})
        file.write_text(render("html", judged(facts), View()), encoding="utf-8")
    elif request.param == "simulate":
        name = "</script><script>window.pwned=1</script>"
        recorded = recording(tmp_path / "recording", CYCLE * 100, subject=name)
        assert run(["simulate", str(recorded), "--sweep", "--format", f"html={file}"]) == 0
    else:
        text = render_probe("html", make_result(notes=("<script>window.pwned=1</script>",)))
        file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_is_quiet_safe_and_readable(
    browser: Browser, page: Path, theme: str, wait: Wait
) -> None:
    browser.open(page, 390, theme)
    for place in browser.run("return [...document.querySelectorAll('.chart')]"):
        browser.run("arguments[0].scrollIntoView()", place)
        wait(lambda: browser.run("return document.querySelector('.chart canvas')"))
    assert browser.errors() == []
    assert browser.requests() == [page.as_uri()]
    assert browser.run("return window.pwned") is None
    assert browser.run("return document.documentElement.scrollWidth") <= 390
    browser.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert browser.run(CONTRAST) == []


def test_rows_lead_to_what_was_found(browser: Browser, page: Path) -> None:
    browser.open(page)
    links = browser.driver.find_elements("css selector", "tbody a")
    assert bool(links) == bool(browser.run("return document.querySelector('#filters')"))
    for link in links:
        anchor = (link.get_attribute("href") or "").partition("#")[2]
        assert browser.driver.find_element("id", anchor).tag_name == "article"


def test_a_row_of_a_cluster_has_the_severity_of_its_worst_replica(tmp_path: Path) -> None:
    facts = cluster(tmp_path, {"two": {"app": use(0.3, 400_000)}})
    text = render("html", judged(facts), View())
    assert '<tr class="item error" data-severity="error" data-kind="container">' in text
