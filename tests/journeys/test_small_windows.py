"""What a newcomer met in a small window: nothing that was asked for may be out of sight, nor the focus lost."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from .conftest import Complaints, Running, start_console

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def listed(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A console that has listed and counted demo:flat."""
    home = tmp_path_factory.mktemp("small")
    running = start_console(home / "data", home, "demo:flat")
    context = browser.new_context()
    try:
        page = context.new_page()
        page.goto(running.url)
        expect(page.locator("#servers .srv__n")).to_have_text("50", timeout=60_000)
        page.goto(f"{running.base}/catalog/demo-flat/tools")
        expect(page.locator("#pane-findings i")).to_have_text(
            "4", timeout=60_000
        )  # tokens and findings are in
        context.close()
        yield running
    finally:
        running.stop()


@pytest.fixture
def flat(page: Page, listed: Running) -> Iterator[Running]:
    """That console, and a browser that is signed in."""
    page.goto(listed.link())
    expect(page.locator("#servers .srv__n")).to_have_text("50", timeout=60_000)
    yield listed
    page.goto("about:blank")


def in_sight(page: Page, found: Locator) -> bool:
    """Whether the middle of an element is what a click there would hit."""
    return bool(
        found.evaluate(
            """element => { const box = element.getBoundingClientRect();
            const hit = document.elementFromPoint(box.x + box.width / 2, box.y + Math.min(box.height, 40) / 2);
            return element.contains(hit) || (hit?.contains(element) ?? false); }"""
        )
    )


def test_a_tool_opens_in_sight_and_the_row_keeps_the_focus(
    page: Page, flat: Running, complaints: Complaints
) -> None:
    page.set_viewport_size({"width": 760, "height": 1000})
    page.goto(f"{flat.base}/catalog/demo-flat/tools")
    expect(page.locator(".head__srv")).to_have_text("demo:flat")
    row = page.locator("tr#i20")
    row.locator("td.mono").click()
    expect(page.locator("#explain h2").first).to_have_text("search_knowledge_base")
    assert in_sight(page, page.locator("#explain h2").first)
    assert in_sight(page, row)
    expect(row).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#close")).to_have_count(0)
    expect(row).to_be_focused()
    assert complaints.heard == []


def test_the_timeline_column_hides_nothing_and_opens_at_its_newest_row(
    page: Page, flat: Running, complaints: Complaints
) -> None:
    page.set_viewport_size({"width": 1280, "height": 300})
    page.goto(f"{flat.base}/call/demo-flat?tool=list_invoices")
    page.locator("#run").click()
    expect(page.locator("#again")).to_be_visible()
    page.keyboard.press("Escape")
    page.locator("h1").click()
    page.keyboard.press("t")
    column = page.locator("#mini-rows")
    expect(column.locator(".mini").last).to_contain_text("tools/call")
    left = column.evaluate("box => box.scrollHeight - box.clientHeight - box.scrollTop")
    assert left < 4 and column.evaluate("box => box.scrollTop") > 0
    result, pin = page.locator("#result").bounding_box(), page.locator("#pin").bounding_box()
    assert result is not None and pin is not None
    assert result["x"] + result["width"] <= pin["x"]
    assert in_sight(page, page.locator("#again"))
    assert complaints.heard == []


def test_the_keyboard_goes_from_the_filter_to_the_first_argument(
    page: Page, flat: Running, complaints: Complaints
) -> None:
    page.goto(f"{flat.base}/catalog/demo-flat/tools")
    page.keyboard.press("/")
    page.keyboard.type("query met")  # not the first row before it was typed
    page.keyboard.press("Enter")
    expect(page.locator("#explain h2").first).to_have_text("query_metrics")
    page.keyboard.press("c")
    expect(page.locator("#arguments :is(input, select, textarea):focus")).to_have_count(1)
    stop = page.locator('#tools a[tabindex="0"]')
    expect(stop).to_have_text("query_metrics")  # one tab stop, and it is the tool that is shown
    stop.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#tools a").nth(1)).to_be_focused()
    page.keyboard.press("/")
    page.keyboard.type("run_health")
    page.keyboard.press("Enter")
    page.wait_for_url("**tool=run_health_check**")
    expect(page.locator("#arguments :is(input, select, textarea):focus")).to_have_count(1)
    assert complaints.heard == []


def test_a_console_that_has_stopped_is_told_once_in_the_status_line(page: Page, tmp_path: Path) -> None:
    running = start_console(tmp_path / "data", tmp_path)
    page.goto(running.url)
    expect(page.locator("#status")).to_contain_text("recorder healthy")
    running.process.send_signal(signal.SIGTERM)
    expect(page.locator("#status")).to_contain_text("Loupe is not running", timeout=20_000)
    expect(page.locator(".toast")).to_have_count(0)
    page.goto("about:blank")
    running.stop()
