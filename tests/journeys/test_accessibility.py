"""The console without a pointer, without motion, and through axe-core where nothing is there yet or something runs.

Screens that are full and failing: test_every_screen.py.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from .axe import Axe
from .conftest import WAIT_MS, Running, start_console

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

SCREENS = (
    "servers",
    "catalog",
    "call",
    "timeline",
    "replay",
    "compare",
    "lab",
    "traces",
    "code",
    "findings",
    "codes",
)
MUTE = shlex.join([sys.executable, "-m", "inspector", "demo", "chaos", "--fault", "mute"])
MOVES = """[...document.querySelectorAll("*")].filter(e => {
  const s = getComputedStyle(e);
  return [s.animationDuration, s.transitionDuration].some(all => all.split(",").some(one => parseFloat(one) > 0));
}).map(e => e.outerHTML.slice(0, 100))"""

LIVE = """[...document.querySelectorAll("[aria-live], [role=status], [role=alert], [role=log]")]
  .map(e => e.getAttribute("aria-live") ?? e.getAttribute("role"))"""


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A console nobody has used."""
    home = tmp_path_factory.mktemp("home")
    running = start_console(home / "data", home)
    try:
        yield running
    finally:
        running.stop()


@pytest.fixture(scope="module")
def page(browser: Browser, empty: Running) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(WAIT_MS)
    opened = context.new_page()
    opened.goto(empty.url)
    yield opened
    context.close()


@pytest.fixture(scope="module")
def axe() -> Axe:
    return Axe()


def test_axe_finds_nothing_where_nothing_is_there_yet(page: Page, empty: Running, axe: Axe) -> None:
    found = dict[str, list[str]]()
    for screen in SCREENS:
        answer = page.goto(f"{empty.base}/{screen}")
        assert answer and answer.status == 200, screen
        found[screen] = axe.violations(page)
    assert {screen: wrong for screen, wrong in found.items() if wrong} == {}


def test_a_server_is_added_looked_through_and_called_by_keyboard_alone(page: Page, empty: Running) -> None:
    page.goto(f"{empty.base}/servers")
    keys = page.keyboard
    page.locator("#target").focus()
    keys.type("demo:flat")
    keys.press("Control+Enter")
    expect(page.locator("#do-connect")).to_be_visible()
    # Looking at it left the focus in the form: the button is reached from there.
    tab_to(page, "#do-connect")
    keys.press("Enter")
    expect(page.locator("#status")).to_contain_text("2026-07-28")
    for number, heading in (("4", "Timeline"), ("2", "Catalog")):
        keys.press("g")
        keys.press(number)
        arrived(page, heading)
    # Listed and weighed: until then the page renews itself.
    expect(page.locator("#watch:not([hx-trigger^='every'])")).to_be_attached()
    keys.press("/")
    keys.type("search_knowledge")
    keys.press("Enter")
    expect(page.locator("#explain")).to_contain_text("search_knowledge_base")
    keys.press("c")
    arrived(page, "Call")
    tab_to(page, "#call-form [name='a.query'], #arguments input")
    keys.type("refund")
    keys.press("Control+Enter")
    expect(page.locator("#result")).to_contain_text("refund")


def arrived(page: Page, heading: str) -> None:
    """The page of that heading is here, and its keys work."""
    expect(page.locator("h1")).to_have_text(heading)
    page.wait_for_load_state()


def tab_to(page: Page, selector: str, most: int = 60) -> None:
    """Press Tab until what `selector` names has the focus."""
    for _ in range(most):
        if page.evaluate("selector => !!document.activeElement?.matches(selector)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{selector} is not reached by {most} tabs")


def test_the_focus_is_where_it_was_after_a_swap_and_what_is_announced_is_polite(page: Page) -> None:
    """What ran before is on the page still: the tool, its result, the pinned rows that came by themselves."""
    run = page.locator("#run")
    run.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#recent a")).to_have_count(2)
    expect(run).to_be_focused()
    live = page.evaluate(LIVE)
    assert "polite" in live
    assert {"assertive", "alert", "log"} & set(live) == set()


def test_axe_finds_nothing_while_something_runs_and_then_fails(page: Page, empty: Running, axe: Axe) -> None:
    page.goto(f"{empty.base}/servers")
    for target in (f"{MUTE}", "demo:chaos"):
        page.locator("#target").fill(target)
        page.locator("#do-check").click()
        page.locator("#do-connect").click()
        if target == MUTE:
            page.wait_for_url("**/servers/inspector")
            expect(page.locator("main")).to_contain_text("connecting", ignore_case=True)
            connecting = axe.violations(page)
            page.goto(f"{empty.base}/servers")
    expect(page.locator("#status")).to_contain_text("2026-07-28")
    page.goto(f"{empty.base}/call/demo-chaos?tool=never_answer&mode=json")
    page.locator("#run").click()
    expect(page.locator("#result")).to_contain_text("Cancel")
    running = axe.violations(page)
    page.goto(f"{empty.base}/call/demo-chaos?tool=custom_error_code&mode=json")
    page.locator("#run").click()
    expect(page.locator("#result")).to_contain_text("Likely cause")
    assert (connecting, running, axe.violations(page)) == ([], [], [])


def test_nothing_moves_for_who_wants_no_motion(page: Page, empty: Running) -> None:
    page.goto(f"{empty.base}/findings")
    # What moves is the bar that says an answer is awaited: none is let through from here.
    page.route("**", lambda route: None if "hx-request" in route.request.headers else route.continue_())
    page.keyboard.press("Control+k")
    expect(page.locator("html")).to_have_class(re.compile(r"\bis-busy\b"))
    assert page.evaluate(MOVES) != [], "there is nothing this could see"
    page.emulate_media(reduced_motion="reduce")
    assert page.evaluate(MOVES) == []
