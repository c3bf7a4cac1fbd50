"""More comes than a page can draw, in Chromium: the newest rows, a true count of the others, a list that stops."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Browser, Page, expect

from inspector.console.console import Console
from inspector.settings.paths import Paths
from inspector.web.app import WebServer, create_app, listen
from inspector.web.guard import Guard
from inspector.wire.events import LOCAL, S2C, Event

from .conftest import WAIT_MS, Complaints

pytestmark = pytest.mark.browser

COUNT_ADDED = """() => {
  window.added = 0;
  const rows = all => all.flatMap(one => [...one.addedNodes]).filter(node => node.matches?.("tr.frame"));
  new MutationObserver(all => { added += rows(all).length; })
    .observe(document.querySelector("#timeline-rows"), {childList: true});
}"""
SHOWN = "() => [...document.querySelectorAll('tr.frame')].map(row => Number(row.id.slice(1)))"
LAST = "last => [...document.querySelectorAll('tr.frame')].at(-1)?.id === `e${last}`"


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    with Console(Paths.locate(tmp_path_factory.mktemp("flood"))) as console:
        yield console


@pytest.fixture(scope="module")
def timeline(recording: Console, browser: Browser) -> Iterator[tuple[Page, Complaints]]:
    """The timeline of a console in this process, signed in, with its socket open."""
    listening = listen("127.0.0.1", 0)
    guard = Guard(listening.getsockname()[1])
    server = WebServer(create_app(recording, guard), listening)
    thread = threading.Thread(target=server.run)
    thread.start()
    complaints = Complaints()
    try:
        with closing(browser.new_context(viewport={"width": 1440, "height": 900})) as context:
            context.set_default_timeout(WAIT_MS)
            page = context.new_page()
            complaints.listen(page)
            base = f"http://127.0.0.1:{guard.port}"
            page.goto(f"{base}/login?token={guard.mint()}")
            emit(recording, 120)
            page.goto(f"{base}/timeline")
            emit(recording, 1)
            page.wait_for_function(LAST, arg=121)
            yield page, complaints
    finally:
        server.stop()
        thread.join(20)


def emit(console: Console, many: int) -> int:
    """Record log lines; the seq of the last."""
    last = 0
    for n in range(many):
        last = console.journal.emit(Event("stderr", 0, S2C, {}, f"line {n}".encode()))
    assert console.recorder.flush(20)
    return last


def told(page: Page) -> int:
    found = re.search(r"([\d,]+) too fast to draw", page.locator("#list-note").inner_text())
    return int(found[1].replace(",", "")) if found else 0


def told_of(page: Page, recording: Console) -> int:
    """How many events a stopped list was told of. The console hears that it is stopped a moment after the page knows."""
    button = page.locator(".foot [data-new]")
    for _ in range(50):
        last = emit(recording, 1)
        page.wait_for_function(
            f"last => !document.querySelector('.foot [data-new]').hidden || ({LAST})(last)", arg=last
        )
        if button.is_visible():
            return int(button.inner_text().split()[0])
    raise AssertionError("the list goes on")


def test_a_flood_ends_with_the_newest_rows_and_every_other_one_counted_recorded_and_reachable(
    timeline: tuple[Page, Complaints], recording: Console
) -> None:
    page, complaints = timeline
    page.evaluate(COUNT_ADDED)
    before = recording.recorder.feed.last_seq
    last = emit(recording, 4000)
    page.wait_for_function(LAST, arg=last)
    shown = page.evaluate(SHOWN)
    assert shown == list(range(shown[0], last + 1))
    assert len(shown) <= 300
    assert page.evaluate("added") + told(page) == last - before == 4000
    with recording.store() as reader:
        assert sum(1 for _ in reader.page(recording.recorder.session, after=before, limit=5000)) == 4000
    # What was not drawn is above, with no hole.
    expect(page.locator("tr.more").first).to_contain_text("all are recorded")
    page.locator("#main [data-follow]").evaluate("box => { box.scrollTop = 0; }")
    page.wait_for_function(
        "first => document.querySelector('tr.frame')?.id === `e${first}`", arg=shown[0] - 200
    )
    assert page.evaluate(SHOWN) == list(range(shown[0] - 200, last + 1))
    assert complaints.heard == []


def test_a_stopped_list_stays_as_it_is_and_goes_on_with_what_is_new(
    timeline: tuple[Page, Complaints], recording: Console
) -> None:
    page, complaints = timeline
    box, button = page.locator("#main [data-follow]"), page.locator(".foot [data-new]")
    if box.get_attribute("data-follow") != "paused":
        page.keyboard.press("l")
    expect(box).to_have_attribute("data-follow", "paused")
    already = told_of(page, recording)
    kept = page.evaluate(SHOWN)
    emit(recording, 700)
    expect(button).to_have_text(f"{already + 700} new")
    assert page.evaluate(SHOWN) == kept
    button.click()
    last = recording.recorder.feed.last_seq
    page.wait_for_function(LAST, arg=last)
    shown = page.evaluate(SHOWN)
    assert shown == list(range(shown[0], last + 1))
    expect(page.locator("tr.more").first).to_have_text("older events")
    expect(page.locator("[data-range]")).to_have_text(f"#{shown[0]:,}–#{last:,}")
    expect(page.locator("#list-total")).to_have_text(f"{last:,}")
    expect(button).to_be_hidden()
    assert complaints.heard == []


def test_a_row_of_a_flood_opens_like_any_other(timeline: tuple[Page, Complaints], recording: Console) -> None:
    page, complaints = timeline
    last = emit(recording, 900)
    page.wait_for_function(LAST, arg=last)
    page.locator(f"#e{last}").click()
    expect(page.locator("#explain")).to_contain_text(f"#{last}")
    expect(page.locator(f"#e{last}")).to_have_class(re.compile("frame--on"))
    assert f"e={last}" in page.url
    page.keyboard.press("ArrowUp")
    expect(page.locator(f"#e{last - 1}")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#explain")).to_contain_text(f"#{last - 1}")
    assert complaints.heard == []


def test_what_a_live_filter_leaves_out_is_counted_and_the_first_error_can_be_gone_to(
    timeline: tuple[Page, Complaints], recording: Console
) -> None:
    page, complaints = timeline
    with recording.store() as reader:
        known = reader.counts(recording.recorder.session)
    assert known["errors"] == 0
    page.goto(f"{page.url.partition('?')[0]}?kind=errors")
    expect(page.locator("#n-stderr")).to_have_text(f"{known['stderr']:,}")
    button = page.get_by_role("button", name="Next error")
    expect(button).to_be_disabled()
    emit(recording, 3)
    expect(page.locator("#n-stderr")).to_have_text(f"{known['stderr'] + 3:,}")
    seq = recording.journal.emit(Event("error", 0, LOCAL, {"class": "timeout", "message": "nothing came"}))
    assert recording.recorder.flush(20)
    for count in ("#n-errors", "#n-errors-only"):
        expect(page.locator(count)).to_have_text("1")
    expect(button).to_be_enabled()
    page.keyboard.press("e")
    expect(page.locator("#explain")).to_contain_text(f"#{seq}")
    assert complaints.heard == []
