"""A recorded request is edited, sent again to the same server, and both answers stand beside each other."""

from __future__ import annotations

import sys

import pytest
from playwright.sync_api import Page, Route, expect

from .conftest import ROOT, Complaints, start_console

pytestmark = pytest.mark.browser
VERSIONED = ROOT / "tests" / "servers" / "versioned.py"


def test_a_call_is_edited_replayed_and_compared_with_keyboard_and_mouse(
    page: Page, complaints: Complaints, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("replayed")
    console = start_console(folder / "data", folder, f"cmd:{sys.executable} {VERSIONED} 1")
    try:
        page.goto(console.url)
        page.goto(f"{console.base}/call")
        page.get_by_role("link", name="look").first.click()
        page.get_by_role("button", name="JSON", exact=True).click()
        page.locator("#json").fill('{"n": 12345678901234567890}')
        page.locator("#run").click()
        page.locator("#result #replay-this").click()

        # From the call to its request on the Replay screen: ticked and open.
        expect(page.locator(".rp__t tr.on input")).to_be_checked()
        params = page.locator(".rp__params")
        expect(params).to_have_value(
            '{\n  "name": "look",\n  "arguments": {\n    "n": 12345678901234567890\n  }\n}'
        )

        # What is wrong is said when the field is left, and nothing typed is lost.
        params.fill('{"name": "look", "arguments": {"n": 1.50, }')
        params.blur()
        expect(page.locator("#edit [role=alert]")).to_contain_text("The params are not JSON")
        expect(params).to_have_value('{"name": "look", "arguments": {"n": 1.50, }')
        complaints.heard.clear()  # Chromium notes the 422 itself

        # A row is ticked by its box and by Space without being opened, and the scroll box stays the same.
        row = page.locator(".rp__t tbody tr").filter(has_text="tools/list").first
        row.locator(".rp__k").click()
        expect(row.locator("input")).to_be_checked()
        expect(page.locator(".rp__t tr.on")).to_contain_text("look")
        expect(page.locator(".rp__sum")).to_contain_text("2 ticked")
        row.focus()
        held = list[Route]()
        page.route("**/replay?**", lambda route: held.append(route))
        with page.expect_request("**/replay?**"):
            page.keyboard.press(" ")
        expect(row.locator("input")).not_to_be_checked()

        # What is typed and not left yet is what is sent; so are the boxes, whose count has not come yet.
        params.fill('{"name": "look", "arguments": {"n": 12345678901234567891}}')
        assert len(held) == 1
        page.locator("#run").click()
        expect(page.locator("#again")).to_be_visible()
        page.unroute("**/replay?**")
        expect(page.locator("#v-1")).to_contain_text("changed 1")
        page.locator("#p0").click()
        expect(page.locator("#explain del").first).to_have_text("12345678901234567890")
        expect(page.locator("#explain ins").first).to_have_text("12345678901234567891")
        assert page.url.endswith("?e=0")

        # The new frame leads back to the old one.
        page.locator(".rp__caps a").nth(1).click()
        expect(page.locator("#explain")).to_contain_text("Replay of")
        page.locator("#replay-this").click()
        expect(page.locator(".rp__params")).to_have_value(
            '{\n  "name": "look",\n  "arguments": {\n    "n": 12345678901234567891\n  }\n}'
        )
        assert complaints.heard == []
    finally:
        console.stop()
