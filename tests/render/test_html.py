"""What holds of a page before any browser has seen it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path

from quota_advisor.render import render
from quota_advisor.render.html.page import ASSETS, Page, Panel, Row, Table
from quota_advisor.render.html.page import render as render_page
from quota_advisor.render.view import View
from tests.advise.hosts import judge_all
from tests.render.test_table import many_units, throttled
from tests.rules.facts import Facts, host_facts

EVIL = "</script><!--<script>&\"' \udcff \x00 \u2028"


def page(**more: object) -> str:
    panel = Panel(anchor="s0", title=EVIL, chart={"title": EVIL, "text": EVIL, "x": [1]})
    row = Row(cells=(EVIL, EVIL), severity="error", kind=EVIL, anchor="s0")
    table = Table(title=EVIL, headings=("A", EVIL), rows=(row,))
    return "".join(
        render_page(Page(title=EVIL, lead=(EVIL,), tables=(table,), panels=(panel,), **more))  # type: ignore[arg-type]
    )


def test_the_policy_allows_exactly_what_is_in_the_page() -> None:
    text = page()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    allowed = set(re.findall(r"&#39;(sha256-[^&]+)&#39;", policy[1]))
    inline = re.findall(r"<(?:script|style)>(.*?)</(?:script|style)>", text, re.DOTALL)
    digests = {hashlib.sha256(code.encode()).digest() for code in inline}
    assert {f"sha256-{base64.b64encode(digest).decode()}" for digest in digests} == allowed
    assert len(allowed) == 4
    assert policy[1].startswith("default-src &#39;none&#39;; ")
    assert "unsafe" not in policy[1]


def test_no_text_ends_an_element_or_breaks_the_encoding() -> None:
    text = page(texts=((EVIL, (EVIL,)),), plain=((EVIL, EVIL),), counts=None)
    text.encode()
    assert "\x00" not in text
    opened = re.findall(r"<script[^>]*>", text)
    assert len(opened) == 3
    assert text.count("</script>") == 3
    assert "<!--" not in text.replace("<!doctype", "")
    data = re.search(r'id="charts">(.*?)</script>', text)
    assert data is not None
    assert json.loads(data[1])["s0"]["title"] == EVIL


def test_a_page_without_plots_does_not_carry_what_draws_them() -> None:
    text = "".join(render_page(Page(title="nothing")))
    assert "uPlot" not in text.replace("new uPlot(", "").replace("uPlot.paths", "")
    assert len(text) < 25_000


def test_the_library_goes_with_its_licence() -> None:
    licence = (ASSETS / "uPlot.LICENSE").read_text()
    assert "MIT License" in licence
    assert licence.strip() in page()


def test_all_that_matter_are_listed_and_all_that_are_there_on_request(tmp_path: Path) -> None:
    report = many_units(tmp_path)
    assert len(re.findall(r'<tr class="item', render("html", report, View()))) == 300
    free = throttled().model_copy(update={"limit": "max 100000"})
    facts = Facts(cgroups={"/system.slice/a.service": throttled(), "/system.slice/b.service": free})
    found = judge_all(host_facts(facts, tmp_path))
    shown = [render("html", found, View(all=everything)) for everything in (False, True)]
    assert ["b.service" in text for text in shown] == [False, True]
