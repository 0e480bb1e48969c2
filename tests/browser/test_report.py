"""The HTML report in a real browser: safe, quiet, usable by keyboard, readable everywhere."""

from __future__ import annotations

import base64
import socket
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from quota_advisor.printable import printable
from tests.browser.conftest import CASES, HOSTILE, Browser, Wait, installed

pytestmark = installed

CONTRAST = """
const parse = (text) => {
  const [r, g, b, a] = text.match(/[\\d.]+/g).map(Number);
  return [r, g, b, a === undefined ? 1 : a];
};
const light = ([r, g, b]) => {
  const part = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
};
const ground = (element) => {
  for (let e = element; e; e = e.parentElement) {
    const colour = parse(getComputedStyle(e).backgroundColor);
    if (colour[3] > 0) return colour;
  }
  return [255, 255, 255, 1];
};
const seen = new Map();
for (const element of document.querySelectorAll("body *")) {
  const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
  if (!own || !element.checkVisibility() || element.closest("script, .unseen, .skip")) continue;
  const [a, b] = [light(parse(getComputedStyle(element).color)), light(ground(element))];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5) seen.set(`${element.tagName}.${element.className}`, ratio);
}
return [...seen];
"""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1100, 390])
def test_nothing_goes_wrong_and_nobody_is_asked(
    browser: Browser, page: Path, width: int, theme: str, wait: Wait
) -> None:
    browser.open(page, width, theme)
    # All plots are made once they were in sight.
    for place in browser.run("return [...document.querySelectorAll('.chart')]"):
        browser.run("arguments[0].scrollIntoView()", place)
        wait(partial(browser.run, "return arguments[0].querySelector('canvas')", place))
    assert browser.errors() == []
    assert browser.requests() == [page.as_uri()]


def test_names_are_texts_whatever_is_in_them(browser: Browser, page: Path) -> None:
    browser.open(page)
    assert browser.run("return window.pwned") is None
    assert browser.run("return document.querySelectorAll('img, svg, b:not(.count b)').length") == 0
    shown = browser.run(
        "return [...document.querySelectorAll('tbody .name')].map(e => e.textContent)"
    )
    for name in HOSTILE:
        assert any(printable(name) in text for text in shown), name
    heading = browser.run("return document.querySelector('h1').textContent")
    assert heading == "CPU quotas of db3 <b>bold</b>"
    assert browser.run("return document.title") == heading
    assert len(browser.run("return [...document.querySelectorAll('article')]")) == len(CASES) - 1


def test_the_page_runs_no_script_but_its_own_and_fetches_nothing(
    browser: Browser, page: Path, wait: Wait
) -> None:
    browser.open(page)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        listening.setblocking(False)
        browser.run(
            "const s = document.createElement('script'); s.textContent = 'window.pwned = 1';"
            "document.body.append(s);"
            "const d = document.createElement('div'); d.innerHTML = '<p onclick=\"pwned=1\">x';"
            "document.body.append(d); d.firstChild.click();"
            "const i = new Image(); i.src = arguments[0]; document.body.append(i);"
            "fetch(arguments[0]).catch(() => { window.stopped = true; });",
            f"http://127.0.0.1:{listening.getsockname()[1]}/x",
        )
        wait(lambda: browser.run("return window.stopped"))
        said = "".join(browser.errors())
        assert browser.run("return window.pwned") is None
        with pytest.raises(BlockingIOError):
            listening.accept()
    assert all(f"{kind}-src" in said for kind in ("script", "img", "connect"))


def rows(browser: Browser) -> list[str]:
    script = "return [...document.querySelectorAll('tr.item:not(.out) th')].map(e => e.innerText)"
    found: list[str] = browser.run(script)
    return found


def test_filters_leave_out_what_does_not_match(browser: Browser, page: Path) -> None:
    browser.open(page)
    everything = rows(browser)
    assert len(everything) == len(CASES)
    search = browser.driver.find_element("id", "search")
    search.send_keys("API service")
    assert [name.split()[-1] for name in rows(browser)] == ["api.service"]
    assert len(browser.run("return [...document.querySelectorAll('article:not(.out)')]")) == 1
    assert browser.driver.find_element("id", "shown").text == f"1 of {len(CASES)} shown"
    search.send_keys(Keys.CONTROL + "a", Keys.DELETE)
    assert rows(browser) == everything
    for box in browser.driver.find_elements("name", "severity"):
        if box.get_attribute("value"):
            box.click()
    assert [name.split()[-1] for name in rows(browser)] == ["fine.service"]
    browser.open(page)
    kind = browser.driver.find_element("id", "kind")
    kind.send_keys("service")
    assert len(rows(browser)) == 3
    search = browser.driver.find_element("id", "search")
    search.send_keys("no such thing")
    assert rows(browser) == []


def test_everything_can_be_done_by_keyboard(browser: Browser, page: Path) -> None:
    browser.open(page)
    reached: list[str] = []
    for _ in range(12):
        browser.driver.switch_to.active_element.send_keys(Keys.TAB)
        name, outline = browser.run(
            "const e = document.activeElement, s = getComputedStyle(e);"
            "return [e.id || e.name || e.className || e.tagName, s.outlineStyle + s.outlineWidth]"
        )
        reached.append(name)
        assert outline not in ("none0px", "none3px"), name
    assert reached[:3] == ["skip", "theme", "search"]
    assert {"severity", "kind", "scroll"} <= set(reached)
    summary = browser.driver.find_element("css selector", "article summary")
    summary.send_keys(Keys.ENTER)
    assert browser.run("return document.querySelector('article details').open") is True


def test_commands_can_be_copied(browser: Browser, page: Path, wait: Wait) -> None:
    browser.open(page)
    browser.command(
        "Browser.grantPermissions",
        permissions=["clipboardReadWrite", "clipboardSanitizedWrite"],
    )
    button = browser.driver.find_element("css selector", ".step button")
    command = browser.run("return document.querySelector('.step code').textContent")
    assert button.get_attribute("aria-label") == f"Copy: {command}"
    button.send_keys(Keys.ENTER)
    wait(lambda: button.text == "Copied")
    search = browser.driver.find_element("id", "search")
    search.send_keys(Keys.CONTROL + "v")
    assert search.get_attribute("value") == command


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_text_stands_out_from_its_ground(browser: Browser, page: Path, theme: str) -> None:
    browser.open(page, theme=theme)
    browser.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert browser.run(CONTRAST) == []


def test_the_theme_can_be_chosen(browser: Browser, page: Path) -> None:
    def paper() -> Any:
        return browser.run("return getComputedStyle(document.body).backgroundColor")

    browser.open(page, theme="dark")
    dark = paper()
    button = browser.driver.find_element("id", "theme")
    button.click()
    assert (button.text, paper() != dark) == ("Theme: light", True)
    button.click()
    assert (button.text, paper()) == ("Theme: dark", dark)


@pytest.mark.parametrize("width", [320, 390, 768, 1100])
def test_no_page_is_wider_than_its_window(browser: Browser, page: Path, width: int) -> None:
    browser.open(page, width)
    browser.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert browser.run("return document.documentElement.scrollWidth") <= width


def test_plots_say_in_words_what_they_show(browser: Browser, page: Path) -> None:
    browser.open(page)
    label = browser.run("return document.querySelector('#s0 .chart').getAttribute('aria-label')")
    use = "Mean 0.4 cores, highest 0.5 cores; quota 0.5 cores"
    assert label == f"{use}; held back in 58 of 100 points (shaded)."
    labels = "return [...document.querySelectorAll('#s0 .u-legend .u-label')].map(e => e.innerText)"
    assert browser.run(labels) == ["seconds", "use", "quota", "advised, at least"]


def test_on_paper_there_are_no_buttons_and_every_plot(browser: Browser, page: Path) -> None:
    browser.open(page, theme="dark")
    pdf = base64.b64decode(browser.command("Page.printToPDF", printBackground=False)["data"])
    assert pdf.startswith(b"%PDF")
    made = browser.run("return document.querySelectorAll('.chart canvas').length")
    assert made == browser.run("return document.querySelectorAll('.chart').length")
    browser.command("Emulation.setEmulatedMedia", media="print")
    assert not browser.driver.find_element("id", "filters").is_displayed()
    paper = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert paper == "rgb(255, 255, 255)"


def test_it_can_be_read_without_scripts(browser: Browser, page: Path) -> None:
    browser.command("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(page)
        text = browser.driver.find_element("tag name", "body").text
        assert "throttled in 66 of 100 periods" in text
        assert "Copy" not in text
    finally:
        browser.command("Emulation.setScriptExecutionDisabled", value=False)
