"""A protected server in a real browser: refused, signed in, stepped up, expired, renewed, signed out; nothing leaks."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from .conftest import ROOT, Complaints, Running

sys.path.insert(0, str(ROOT / "tests" / "wire"))

from signing import control, protected

pytestmark = pytest.mark.browser
expect.set_options(timeout=30_000)


@pytest.fixture
def url() -> Iterator[str]:
    with protected("plain") as urls:
        yield urls["plain"]


def call(page: Page, server: str, tool: str) -> str:
    """Calls a tool of the server whose page is `server`, and gives what the result says."""
    page.goto(f"{server.replace('/servers/', '/call/')}?tool={tool}")
    if tool == "write_note":
        page.locator("#f0").fill("milk")
    page.locator(".call__args").get_by_role("button", name="Run").first.click()
    expect(page.locator("#again")).to_be_visible()
    return page.locator("#result").inner_text()


def sign_in(page: Page) -> None:
    """From the server's page to the authorization server and back; the page goes on by itself."""
    page.locator("#sign-in").click()
    with page.context.expect_page() as opened:
        page.locator("#sign-in-there").click()
    there = opened.value
    there.get_by_role("button", name="Allow").click()
    expect(there.get_by_text("You can close this tab")).to_be_visible()
    there.close()


def test_signing_in_and_out_of_a_protected_server(
    console: Running, page: Page, complaints: Complaints, url: str
) -> None:
    page.goto(console.url)
    page.goto(f"{console.base}/servers")
    page.get_by_label("Command or URL").fill(url)
    page.get_by_role("button", name="Check what it runs").click()
    page.get_by_role("button", name="Connect", exact=True).click()
    expect(page.locator("#s-auth")).to_contain_text("It answered HTTP 401: it wants a token")
    here = page.url
    sign_in(page)
    expect(page.locator("#server-head")).to_contain_text("connected")
    expect(page.locator("#s-auth")).to_contain_text("notes:read")
    assert "buy milk" in call(page, here, "read_note")
    assert "403" in call(page, here, "write_note")
    page.goto(here)
    expect(page.locator("#s-auth")).to_contain_text("more scope")
    sign_in(page)
    expect(page.locator("#s-auth")).to_contain_text("notes:write")
    assert "noted: milk" in call(page, here, "write_note")
    control(url, "expire")
    assert "buy milk" in call(page, here, "read_note")
    page.goto(here)
    page.locator("#s-auth-steps summary").click()
    expect(page.locator("#s-auth-steps")).to_contain_text("refresh")
    page.locator("#sign-out").click()
    expect(page.locator("#sign-out")).to_have_count(0)
    assert "401" in call(page, here, "read_note")
    given = control(url, "secrets").json()
    assert len(given) >= 7
    shown = page.content()
    page.goto("about:blank")
    assert [one for one in complaints.heard if "status of 4" not in one] == []
    console.stop()
    with sqlite3.connect(console.data / "loupe.db") as db:
        recorded = "\n".join(db.iterdump())
    assert [secret for secret in given if secret in recorded or secret in shown] == []
