"""Every address of the map, full of hostile texts, in a real Chromium: nothing runs, nothing leaves.

The addresses are found by walking from the start page, so that a new screen is covered by itself; what no page leads to
is named below, with why.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from .axe import Axe
from .conftest import Complaints

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "security"))

from sweeping import Hostile, Walk, hidden_in, hostile

pytestmark = [pytest.mark.browser, pytest.mark.timeout(400)]

NOT_LED_TO = {
    "static", "favicon", "live", "guard.login",  # no screens
    "apps.show", "apps.frame",  # run what a server made, on purpose: tests/journeys/test_client_half.py
    "compare.rows", "compare.wait", "code.show", "raw.shot", "replay_runs.wait", "servers.row", "traces.opening",
    "lab.wait", "lab.side", "lab.growth_wait",  # asked for while something runs
    "calls.item", "traces.exports.file", "lab_evaluate.report",  # downloads of what was made
    "lab_files.save", "lab_files.recorded", "lab_files.report", "lab_files.report_page",
    "servers.confirm", "servers.imports.choose",
    "timeline.raw",
}  # fmt: skip
LOOKS = Path(__file__).with_name("every_screen.js")


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Hostile, Walk]]:
    with hostile(tmp_path_factory.mktemp("hostile")) as site:
        walk = Walk(site)
        walk.run("/", *site.led_to)
        yield site, walk


@pytest.fixture(scope="module")
def opened(browser: Browser, walked: tuple[Hostile, Walk]) -> Iterator[tuple[Page, Complaints, list[str]]]:
    """A page that is signed in and notes what it asked elsewhere."""
    site, _ = walked
    context = browser.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    context.set_default_timeout(60_000)
    name, _, value = site.cookie.partition("=")
    context.add_cookies([{"name": name, "value": value, "url": site.base, "sameSite": "Strict"}])
    context.add_init_script(path=LOOKS)
    away: list[str] = []
    context.on(
        "request",
        lambda asked: away.append(asked.url) if not asked.url.startswith((site.base, "data:")) else None,
    )
    page, complaints = context.new_page(), Complaints()
    complaints.listen(page)
    yield page, complaints, away
    context.close()


def elsewhere(asked: list[str], site: Hostile) -> list[str]:
    return [f"asked {url}" for url in asked if not url.startswith((f"{site.base}/", "data:"))]


def test_every_address_of_the_map_was_met_and_none_is_a_fault(walked: tuple[Hostile, Walk]) -> None:
    site, walk = walked
    every = {rule.endpoint for rule in site.app.url_map.iter_rules() if "GET" in (rule.methods or ())}
    assert every - walk.endpoints - NOT_LED_TO == set()
    assert [(url, status) for (url, _), (_, status, _) in walk.asked.items() if status >= 500] == []
    for text in walk.texts.values():
        assert "829348951" not in text, "a template was evaluated"


def test_no_hidden_character_stands_in_a_page_but_where_it_is_sent_back_or_edited(
    walked: tuple[Hostile, Walk],
) -> None:
    """BiDi overrides, escapes and zero-width characters are marks everywhere a person reads."""
    _, walk = walked
    raw = {url: found for url, text in walk.texts.items() if (found := hidden_in(text))}
    assert raw == {}


def test_no_text_of_a_server_or_file_becomes_markup_script_or_a_request(
    walked: tuple[Hostile, Walk], opened: tuple[Page, Complaints, list[str]]
) -> None:
    site, walk = walked
    page, complaints, away = opened
    page.goto(f"{site.base}/frame")  # a document with our policy and without our scripts
    assert len(walk.texts) > 100
    wrong = {url: found for url, text in walk.texts.items() if (found := page.evaluate("putIn", [text, url]))}
    assert wrong == {}
    assert elsewhere(away, site) == []
    assert complaints.heard == []


@pytest.fixture(scope="module")
def looked(
    walked: tuple[Hostile, Walk], opened: tuple[Page, Complaints, list[str]]
) -> dict[str, tuple[list[str], list[str]]]:
    """Each screen opened once: what it complained of, and what axe has against it; against the frame once."""
    site, walk = walked
    page, complaints, away = opened
    found, axe = dict[str, tuple[list[str], list[str]]](), Axe()
    for endpoint, url in walk.screens().items():
        complaints.heard.clear()
        away.clear()
        page.goto(url)
        wrong = page.evaluate("pointerOnly") + page.evaluate("ran") + complaints.heard + elsewhere(away, site)
        found[f"{endpoint} {url}"] = wrong, axe.violations(page, "#main" if found else "html")
    page.goto("about:blank")
    assert len(found) >= 20
    return found


def test_every_screen_opens_without_a_complaint_and_works_without_a_pointer(
    looked: dict[str, tuple[list[str], list[str]]],
) -> None:
    assert {screen: wrong for screen, (wrong, _) in looked.items() if wrong} == {}


def test_axe_finds_nothing_on_any_screen_in_either_theme(
    looked: dict[str, tuple[list[str], list[str]]],
) -> None:
    """Screens that are full, and failing: one server cannot be started, others answer with errors."""
    assert {screen: wrong for screen, (_, wrong) in looked.items() if wrong} == {}
