"""The client half in a real browser: questions, rounds, subscriptions, tasks, templates, raw frames, apps."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from inspector.settings.paths import Paths
from inspector.settings.servers import ServerList
from inspector.settings.spec import ServerSpec

from .conftest import WAIT_MS, Running, start_console

ASKING = Path(__file__).resolve().parents[1] / "servers" / "asking.py"
DECLARED = ("roots", "sampling", "elicitation", "io.modelcontextprotocol/tasks")


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    home = tmp_path_factory.mktemp("half")
    home.chmod(0o700)
    (home / "data").mkdir(mode=0o700)
    known = ServerList(Paths.locate(home / "data").ensure().servers)
    argv = (sys.executable, str(ASKING))
    known.add(ServerSpec("old", argv=argv, declare=DECLARED, era="handshake"))
    known.add(ServerSpec("new", argv=(*argv, "--modern"), declare=DECLARED))
    running = start_console(home / "data", home, "old", "new")
    try:
        yield running
    finally:
        running.stop()


@pytest.fixture(scope="module")
def page(browser: Browser, console: Running) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(WAIT_MS)
    opened = context.new_page()
    opened.goto(console.url)
    yield opened
    context.close()


def call(page: Page, console: Running, key: str, tool: str) -> None:
    page.goto(f"{console.base}/call/{key}?tool={tool}")
    page.click("#run")


def test_a_question_is_answered_in_the_form_it_asks_for_and_another_is_declined(
    page: Page, console: Running
) -> None:
    call(page, console, "old", "ask")
    page.get_by_role("textbox", name="Your name").fill("Ada")
    page.get_by_role("button", name="Answer", exact=True).click()
    expect(page.locator(".call__turns")).to_contain_text('"content": {"name": "Ada"}')
    call(page, console, "old", "ask")
    page.get_by_role("button", name="Decline").click()
    expect(page.locator(".call__turns")).to_contain_text("declined")


def test_three_rounds_with_a_model_answer_by_hand_are_one_conversation(page: Page, console: Running) -> None:
    call(page, console, "new", "rounds")
    page.get_by_role("textbox", name="Your name").fill("A")
    page.get_by_role("button", name="Answer", exact=True).click()
    page.get_by_label("Your answer").fill("Word.")
    page.get_by_role("button", name="Answer", exact=True).click()
    page.get_by_role("textbox", name="Your name").fill("C")
    page.get_by_role("button", name="Answer", exact=True).click()
    expect(page.locator("#again")).to_be_visible()
    turns = page.locator(".call__turns li")
    expect(turns).to_have_count(6)
    expect(turns.nth(4)).to_contain_text("requestState of 16 B echoed byte for byte")


@pytest.mark.parametrize("key", ["old", "new"])
def test_a_task_is_polled_to_its_end(page: Page, console: Running, key: str) -> None:
    page.goto(f"{console.base}/call/{key}?tool=work")
    if key == "old":
        page.check("#task")
    page.click("#run")
    expect(page.locator("#again")).to_be_visible()
    expect(page.locator(".call__turns")).to_contain_text("completed")
    expect(page.locator("#result")).to_contain_text("worked")


def test_a_subscription_fires_on_the_open_page(page: Page, console: Running) -> None:
    page.goto(f"{console.base}/call/new/client?uri=note://text")
    page.check("input[value=toolsListChanged]")
    page.click("#do-listen")
    expect(page.locator("#streams .tag--ok")).to_have_text("open")
    other = page.context.new_page()
    call(other, console, "new", "touch")
    expect(other.locator("#again")).to_be_visible()
    other.close()
    expect(page.locator("#streams")).to_contain_text("2 updates")
    page.get_by_role("button", name="Stop listening").click()
    expect(page.locator("#streams")).to_contain_text("You ended it")


def test_completion_and_a_template_with_a_path_and_a_query(page: Page, console: Running) -> None:
    page.goto(f"{console.base}/call/old?what=prompts")
    page.click("#list-now")
    page.get_by_label("name", exact=True).press_sequentially("A")
    expect(page.locator("#f0-list option")).to_have_count(2)
    page.goto(f"{console.base}/call/old?what=templates")
    page.click("#list-now")
    page.get_by_label("owner", exact=True).fill("me")
    page.get_by_label("path", exact=True).fill("a b\nc")
    page.get_by_label("q", exact=True).fill("é")
    page.click("#run")
    expect(page.locator(".call__item")).to_contain_text("text of note://me/a%20b/c?q=%C3%A9")


def test_the_late_answer_to_a_cancelled_call_appears(page: Page, console: Running) -> None:
    call(page, console, "old", "late")
    page.click("#cancel")
    expect(page.locator("#late")).to_contain_text("The answer came late")


def test_a_frame_that_is_no_json_meets_silence_on_a_scratch_connection(page: Page, console: Running) -> None:
    page.goto(f"{console.base}/call/old/raw?example=not JSON")
    page.check("[name=where][value=scratch]")
    page.fill("[name=seconds]", "0.5")
    page.click("#raw-send")
    expect(page.locator("#shot")).to_contain_text("silence")
    expect(page.locator("#shot")).to_contain_text("not JSON")


def test_an_app_is_source_until_it_is_run_and_then_reaches_nothing_of_ours(
    page: Page, console: Running
) -> None:
    page.goto(f"{console.base}/call/old?what=resources&tool=ui://app/main")
    page.click("#run")
    expect(page.locator(".call__item")).to_contain_text("<h1>App</h1>")
    page.click("#run-app")
    said = page.frame_locator("#app-frame").locator("#o")
    expect(said).to_contain_text("done: yes")
    text = re.sub(r"\s+", " ", said.inner_text())
    assert (
        text.strip()
        == "cookie: refused; parent: refused; storage: refused; top: refused; fetch: refused; done: yes;"
    )
    assert page.url.endswith("/app/" + page.url.rsplit("/", 1)[1])
    expect(page.locator("h1")).to_have_text("App")


def test_an_app_that_tries_everything_stays_in_its_frame_and_asks_nobody(
    page: Page, console: Running
) -> None:
    """Navigation of the page, windows, forms, workers, beacons, pictures, a flood of messages, its own frame."""
    page.goto(f"{console.base}/call/old?what=resources&tool=ui://app/escape")
    page.click("#run")
    expect(page.locator("#run-app")).to_be_visible()
    asked: list[str] = []
    page.context.on("requestfinished", lambda request: asked.append(f"{request.method} {request.url}"))
    page.click("#run-app")
    here = page.url
    inside = page.frame_locator("#app-frame")
    expect(inside.locator("#o")).to_contain_text("open refused")
    expect(inside.locator("#o")).to_contain_text("flood tried; beacon tried; image tried")
    inside.locator("#go").click()
    expect(inside.locator("#go")).to_have_count(0)
    expect(page.locator("h1")).to_have_text("App")
    assert page.url == here and len(page.context.pages) == 1
    assert [each for each in asked if f"{console.base}/servers" in each or "evil.example" in each] == []
    page.get_by_role("link", name="Back to its source").click()
    expect(page.locator("#run-app")).to_be_visible()
