"""Every key of the list behind `?`, pressed on its screen; the command palette; addresses that show what was there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import psutil
import pytest
from playwright.sync_api import Browser, Page, Route, expect

from inspector.web.keys import COLUMN, FRAME, OF

from .conftest import WAIT_MS, Running, start_console

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

Driver = Callable[[Page], None]
LAB = "lab?catalog=demo-flat&task=a+billing+question&strategy=search_stable"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    home = tmp_path_factory.mktemp("keys")
    console = start_console(home / "data", home, "demo:flat")
    try:
        yield console
    finally:
        console.stop()


@pytest.fixture(scope="module")
def page(browser: Browser, running: Running) -> Iterator[Page]:
    """A server listed, a recording opened, and one call that failed: sent by Ctrl+Enter on a fresh page."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, base_url=f"{running.base}/")
    context.set_default_timeout(WAIT_MS)
    opened = context.new_page()
    opened.goto(running.url)
    expect(opened.locator("#servers .srv__n")).to_have_text("50")
    opened.goto("traces")
    opened.locator("form", has_text="git-refusals").get_by_role("button").click()
    opened.wait_for_url("**session=**")
    opened.goto("call/demo-flat?tool=no_such_tool&mode=json")
    opened.keyboard.press("Control+Enter")
    opened.wait_for_url("**call=call-**")
    expect(opened.locator("#result")).to_contain_text("32602")
    yield opened
    context.close()


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def blur(page: Page) -> None:
    page.evaluate("document.activeElement?.blur()")


def filters(page: Page) -> None:
    field = page.locator("#main [data-filter]")
    expect(field).to_be_visible()
    press(page, "/")
    expect(field).to_be_focused()
    press(page, "Escape")


def moves(page: Page) -> None:
    blur(page)
    rows = page.locator("#main .tbl tbody tr:is([hx-get], [data-href], [data-get])")
    expect(rows.first).to_be_visible()
    press(page, "j")
    at = int(rows.evaluate_all("rows => rows.indexOf(document.activeElement)"))
    last = rows.count() - 1
    assert 0 <= at < last
    for key, step in (("k", -1), ("ArrowDown", 1), ("j", 1), ("ArrowUp", -1)):
        at = max(0, min(last, at + step))
        press(page, key)
        expect(rows.nth(at)).to_be_focused()


def opens(page: Page) -> None:
    row = page.locator("#main .tbl tbody tr:focus")
    expect(row).to_have_count(1)
    press(page, "Enter")
    expect(page.locator("#main .tbl tr[aria-selected=true]:focus")).to_have_count(1)
    expect(page.locator("#explain :is(h2, h3, .exp, .code__h)").first).to_be_visible()


def goes(page: Page) -> None:
    href = page.locator("#main .tbl tbody tr:focus").get_attribute("data-href")
    press(page, "Enter")
    page.wait_for_url(f"**{href}")


def calls(page: Page) -> None:
    expect(page.locator("#explain [data-act=call]")).to_be_visible()
    press(page, "c")
    page.wait_for_url("**/call/demo-flat?**")


def findings(page: Page) -> None:
    page.goto("catalog/demo-flat/tools?pane=findings")
    expect(page.locator("[data-finding]").first).to_be_visible()
    press(page, "f")
    expect(page.locator("[data-finding]").first).to_be_focused()


def refreshes(page: Page) -> None:
    with page.expect_response("**/refresh") as answer:
        press(page, "r")
    assert answer.value.status == 200


def lists(page: Page) -> None:
    tools = page.locator("#tools a")
    tools.first.focus()
    for key, at in (("ArrowDown", 1), ("End", 49), ("ArrowUp", 48), ("Home", 0)):
        press(page, key)
        expect(tools.nth(at)).to_be_focused()


def runs(page: Page) -> None:
    blur(page)
    press(page, "c")
    page.wait_for_url("**call=call-**")


def errors(page: Page) -> None:
    blur(page)
    press(page, "e")
    expect(page.locator("tr.frame--err[aria-selected=true]")).to_be_focused()


def pairs(page: Page) -> None:
    other = page.locator("tr.frame--err[aria-selected=true]").get_attribute("data-pair")
    press(page, "p")
    expect(page.locator(f"#e{other}")).to_be_focused()


def follows(page: Page) -> None:
    button = page.locator("[data-do=follow]").first
    for _ in range(2):
        before = button.get_attribute("aria-pressed")
        press(page, "l")
        expect(button).to_have_attribute("aria-pressed", "false" if before == "true" else "true")


def ticks(page: Page) -> None:
    page.locator("#main .rp__t tbody tr").first.focus()
    press(page, "Space")
    expect(page.locator("#main .rp__t tbody input").first).to_be_checked()


def swaps(page: Page) -> None:
    if "replay" in page.url:
        page.goto("replay/diff?a=1&b=2")
    sides = page.locator("#main .cmp select")
    expect(page.locator("#swap")).to_be_visible()
    first = sides.nth(0).input_value()
    blur(page)
    press(page, "x")
    expect(sides.nth(0)).not_to_have_value(first)
    expect(sides.nth(1)).to_have_value(first)


def chooses(page: Page) -> None:
    expect(page.locator('[data-choose="1"]')).to_be_visible()
    blur(page)
    press(page, "1")
    page.wait_for_url("**do=**")
    expect(page.locator("#back")).to_be_visible()


def steps(page: Page) -> None:
    blur(page)
    press(page, "ArrowLeft")
    page.wait_for_url("**at=0**")
    expect(page.locator("#next")).to_be_visible()
    press(page, "ArrowRight")
    expect(page.locator("#next")).to_have_count(0)


def runs_script(page: Page) -> None:
    page.locator("#code").fill("print(6 * 7)")
    blur(page)
    press(page, "c")
    page.wait_for_url("**run=code-**")
    expect(page.locator("#beside")).to_contain_text("42")


ROWS: dict[str, Driver] = {"/": filters, "j k ↑ ↓": moves, "Enter": opens}
DRIVEN: dict[str, tuple[str, dict[str, Driver]]] = {
    "catalog": ("catalog/demo-flat/tools", {**ROWS, "C": calls, "F": findings, "R": refreshes}),
    "call": ("call/demo-flat", {"/": filters, "↑ ↓ Home End": lists, "C": runs}),
    "timeline": ("timeline?server=demo-flat", {**ROWS, "E": errors, "P": pairs, "L": follows}),
    "replay": ("replay?to=demo-flat", {**ROWS, "Space": ticks, "X": swaps}),
    "compare": ("compare?a=demo-flat&b=~2.1", {**ROWS, "X": swaps}),
    "lab": (LAB, {"1–9": chooses, "← →": steps}),
    "traces": ("traces", {"j k ↑ ↓": moves, "Enter": goes}),
    "code": ("code?server=demo-flat", {"C": runs_script}),
}


@pytest.mark.parametrize("screen", sorted(OF))
def test_every_key_in_the_list_of_a_screen_does_what_it_says(page: Page, screen: str) -> None:
    address, drivers = DRIVEN[screen]
    page.goto(address)
    expect(page.locator("#main h1")).to_be_visible()
    press(page, "?")
    listed = page.locator("#keys dl").first.locator("dt").all_inner_texts()
    press(page, "Escape")
    expect(page.locator("#keys")).to_be_hidden()
    assert listed == list(drivers) == [key for key, _ in OF[screen]]
    for drive in drivers.values():
        drive(page)


def test_the_keys_of_the_frame_do_what_they_say(page: Page) -> None:
    assert [key for key, _ in (*FRAME, *COLUMN)] == [
        "Ctrl K",
        "g then 1–9",
        "Ctrl Enter",
        "Esc",
        "?",
        "T",
        "L",
    ]
    page.goto("catalog/demo-flat/tools")
    press(page, "Control+k")
    expect(page.locator("#palette-q")).to_be_focused()
    page.keyboard.type("inv")
    press(page, "Escape", "?")  # at once: no key is lost while a dialog closes
    expect(page.locator("#palette")).not_to_be_visible()
    expect(page.locator("#keys")).to_be_visible()
    press(page, "Escape")
    expect(page.locator("#pin")).to_be_visible()
    press(page, "t")
    expect(page.locator("#pin")).not_to_be_visible()
    press(page, "t")
    expect(page.locator("#pin")).to_be_visible()
    follows(page)
    press(page, "g", "8")  # Ctrl+Enter: the fixture
    page.wait_for_url("**/traces")


def test_the_palette_finds_screens_tools_recordings_settings_and_says_when_it_finds_nothing(
    page: Page,
) -> None:
    page.goto("catalog/demo-flat/tools")
    row = page.locator("#main .tbl tbody tr").nth(1)
    row.focus()
    chosen = page.locator("#palette .pal__o[aria-selected=true]")
    press(page, "Control+k")
    expect(page.locator("#palette-found")).to_contain_text("Two refusals")  # the recordings of late
    page.keyboard.type("skb")
    expect(chosen).to_contain_text("search_knowledge_base")
    page.locator("#palette-q").fill("cmp")
    expect(chosen).to_contain_text("Compare")
    page.locator("#palette-q").fill("refusals")
    expect(chosen).to_contain_text("Two refusals")
    page.locator("#palette-q").fill("zzzz")
    expect(page.locator("#palette-none")).to_be_visible()
    press(page, "Escape")
    expect(row).to_be_focused()
    press(page, "Control+k")
    dark = page.evaluate("document.documentElement.dataset.theme")
    page.keyboard.type("theme")
    expect(chosen).to_contain_text("Light or dark theme")
    press(page, "Enter")
    expect(page.locator("#palette")).not_to_be_visible()
    assert page.evaluate("document.documentElement.dataset.theme") != dark
    press(page, "Control+k")
    page.keyboard.type("settings")
    for one in ("How long recordings are kept", "Edit demo:flat", "Light or dark theme"):
        expect(page.locator("#palette .pal__o", has_text=one)).to_be_visible()
    page.locator("#palette-q").fill("kept")
    expect(chosen).to_contain_text("How long recordings are kept")
    press(page, "Enter")
    page.wait_for_url("**/traces/retention")


def test_a_link_of_the_pane_to_another_event_chooses_its_row_and_keeps_the_focus(page: Page) -> None:
    page.goto("traces")
    page.locator("#main tr", has_text="Two refusals").get_by_role("link", name="Timeline").click()
    page.wait_for_url("**session=**")
    expect(page.locator("tr.frame")).to_have_count(21)
    chosen = page.locator("tr.frame[aria-selected=true]")
    for key, row in (("e", "e15"), ("e", "e17"), ("e", "e19")):
        press(page, key)
        expect(chosen).to_have_id(row)
    for link, row in (
        ("error-before", "e17"),
        ("error-before", "e15"),
        ("other-half", "e14"),
        ("other-half", "e15"),
    ):
        expect(page.locator("#explain")).to_contain_text(f"#{chosen.get_attribute('id')[1:]}")  # type: ignore[index]
        page.locator(f"#{link}").focus()
        press(page, "Enter")
        expect(chosen).to_have_id(row)
        page.wait_for_url(f"**e={row[1:]}")
    expect(page.locator("#other-half")).to_be_focused()
    page.locator("#error-after").focus()
    press(page, "Enter")
    expect(chosen).to_have_id("e17")
    expect(page.locator("#error-after")).to_be_focused()


@contextmanager
def counting_held(running: Running) -> Iterator[Callable[[], None]]:
    """Tokens are not counted before what this gives is called."""
    children = psutil.Process(running.process.pid).children()
    workers = [each for each in children if "anyio.to_process" in each.cmdline()]

    def go_on() -> None:
        for each in workers:
            each.resume()

    for each in workers:
        each.suspend()
    try:
        yield go_on
    finally:
        go_on()


def test_what_a_swap_took_away_leaves_the_focus_where_the_work_goes_on(page: Page, running: Running) -> None:
    """A button in a box that closes, a finding of a list that is asked for again: never nowhere."""
    page.goto("replay?to=demo-flat")
    page.locator("#ignore-box > summary").focus()
    press(page, "Enter")
    page.locator("#ignore-set").focus()
    press(page, "Enter")
    expect(page.locator("#ignore-box > summary")).to_be_focused()
    page.goto("catalog/demo-flat/tools?tool=create_invoice")
    expect(page.locator("[data-finding]").first).to_be_visible()
    press(page, "f")
    expect(page.locator("[data-finding]").first).to_be_focused()
    press(page, "r")
    expect(page.locator("#main tr.on")).to_be_focused()
    far = page.locator("#main .tbl tbody tr").nth(24)
    name = far.locator("td").nth(1).inner_text().split()[0]
    far.click()
    page.wait_for_url(f"**tool={name}&**")
    with counting_held(running) as go_on:
        press(page, "r")
        expect(far.locator("td").nth(3)).not_to_have_text(re.compile(r"\d"))
        go_on()
        expect(far.locator("td").nth(3)).to_have_text(re.compile(r"\d"))
    expect(far).to_have_attribute("aria-selected", "true")
    expect(far).to_be_in_viewport()
    expect(page.locator("#explain h2").first).to_be_visible()
    page.locator("#main .tbl tbody tr").first.click()
    page.wait_for_url("**tool=list_invoices**")
    page.go_back()
    page.wait_for_url(f"**tool={name}&**")
    expect(far).to_have_attribute("aria-selected", "true")
    expect(far).to_be_in_viewport()


def test_tokens_that_come_late_take_nothing_from_what_was_chosen_meanwhile(
    page: Page, running: Running
) -> None:
    page.goto("catalog/demo-flat/tools?tool=create_invoice")
    far = page.locator("#main .tbl tbody tr").nth(24)
    tokens = far.locator("td").nth(3)
    expect(tokens).to_have_text(re.compile(r"\d"))
    name = far.locator("td").nth(1).inner_text().split()[0]
    held: list[Route] = []
    with counting_held(running) as go_on:
        press(page, "r")
        expect(tokens).not_to_have_text(re.compile(r"\d"))
        page.route("**/tools/detail?**", lambda route: held.append(route))
        with page.expect_request("**/tools/detail?**"):
            far.click()
        go_on()
        expect(tokens).to_have_text(re.compile(r"\d"))
    expect(far).to_have_attribute("aria-selected", "true")
    assert len(held) == 1
    held[0].continue_()
    page.unroute("**/tools/detail?**")
    expect(page.locator("#explain h2").first).to_have_text(name)
    expect(page.locator("#main tr.on")).to_have_count(1)


def test_a_list_that_somebody_else_asked_for_anew_keeps_what_was_chosen_here(page: Page) -> None:
    page.goto("catalog/demo-flat/tools?tool=create_invoice")
    far = page.locator("#main .tbl tbody tr").nth(24)
    name = far.locator("td").nth(1).inner_text().split()[0]
    far.click()
    expect(page.locator("#explain h2").first).to_have_text(name)
    page.evaluate("document.querySelector('#catalog').dataset.before = ''")
    with closing(page.context.new_page()) as other:
        other.goto("catalog/demo-flat/tools")
        with other.expect_response("**/tools/refresh"):
            press(other, "r")
    expect(page.locator("#catalog")).not_to_have_attribute("data-before", "")
    page.bring_to_front()
    expect(page.locator("#explain h2").first).to_have_text(name)
    expect(far).to_have_attribute("aria-selected", "true")


def test_a_name_typed_and_entered_at_once_opens_what_is_found_for_it(page: Page) -> None:
    """The recordings that were offered before are not it, though they stand there until the tools have come."""
    page.goto("catalog/demo-flat/tools")
    press(page, "Control+k")
    expect(page.locator("#palette-found")).to_contain_text("Two refusals")
    page.evaluate("""() => {
      const field = document.querySelector("#palette-q");
      field.value = "skb";
      field.dispatchEvent(new InputEvent("input", { bubbles: true }));
      field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
    }""")
    page.wait_for_url("**tool=search_knowledge_base**")


def test_a_call_of_a_script_that_waits_for_an_answer_has_the_focus(page: Page) -> None:
    page.goto("code?server=demo-flat")
    page.locator("#code").fill("for i in range(2):\n    print(demo_flat__list_topics())")
    press(page, "Control+Enter")
    ask = page.locator(".code__a")
    expect(ask).to_be_focused()
    page.locator("#decide-call").focus()
    press(page, "Enter")
    expect(page.locator(".code__k")).to_contain_text("done")
    expect(ask).to_be_focused()
    page.locator("#decide-deny").click()
    expect(ask).to_have_count(0)


def test_a_copied_address_shows_the_form_as_it_was_filled_in(page: Page) -> None:
    page.goto("call/demo-flat?tool=search_knowledge_base")
    page.locator("#arguments input.inp").first.fill("refund & return")
    page.locator("#runs").fill("2")
    page.wait_for_url("**runs=2**")
    page.locator("#as-json").click()
    page.wait_for_url("**mode=json**")
    typed = page.locator("#json").input_value()
    assert "refund & return" in typed
    page.goto(page.url)
    expect(page.locator("#json")).to_have_value(typed)
    expect(page.locator("#runs")).to_have_value("2")


def test_a_row_chosen_from_the_filter_opens_and_the_way_back_leads_to_the_filter(page: Page) -> None:
    """Leaving the field asks nothing again: that would replace the row that is clicked."""
    page.goto("timeline?server=demo-flat")
    page.locator("#filter-q").press_sequentially("discover")
    page.wait_for_url("**q=discover**")
    expect(page.locator("tr.frame")).to_have_count(1)
    asked = list[str]()
    page.on("request", lambda request: asked.append(request.url) if "/timeline" in request.url else None)
    page.locator("tr.frame").last.click()
    page.wait_for_url("**e=**")
    expect(page.locator("#explain #tab-raw")).to_be_visible()
    assert len(asked) == 1
    opened = page.locator("#explain").inner_text()
    page.reload()
    expect(page.locator("#explain")).to_have_text(opened, use_inner_text=True)
    page.go_back()
    expect(page.locator("#filter-q")).to_have_value("discover")
    expect(page.locator("tr.frame")).to_have_count(1)
