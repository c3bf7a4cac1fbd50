"""The exact count in the console: nothing leaves before the button, and the key never shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from catalog_screen import ORIGIN, console_of, replayed, well_formed

KEY = "sk-loupe-test-0123456789"
PLACE = "/catalog/listed/tools/exact"


def test_the_request_is_shown_and_only_the_button_sends_it(
    tmp_path: Path, counters: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = [{"name": "one", "description": "<b>two</b>", "inputSchema": {"type": "object"}}]
    with console_of(tmp_path / "data", {"listed": replayed(tmp_path, "listed", tools)}) as (console, client):
        console.connect("listed")
        monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
        page = well_formed(client.get(PLACE, base_url=ORIGIN))
        assert "Nothing has been sent." in page and "&lt;b&gt;two" in page
        assert "ANTHROPIC_API_KEY (not set)" in page and 'id="exact-send"' not in page
        sent = {"base_url": ORIGIN, "headers": {"Origin": ORIGIN}}
        refused = client.post(PLACE, **sent)
        assert refused.status_code == 502 and "ANTHROPIC_API_KEY is not set" in well_formed(refused)

        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", counters)
        page = well_formed(client.get(PLACE, base_url=ORIGIN))
        assert f"POST</dt><dd><code>{counters}/v1/messages/count_tokens" in page and 'id="exact-send"' in page
        assert "Nothing has been sent." in page
        assert client.get(f"{PLACE}?provider=nobody", base_url=ORIGIN).status_code == 404
        failed = client.post(PLACE, data={"model": "m-401"}, **sent)
        assert "answered 401: invalid key …" in well_formed(failed)
        done = client.post(PLACE, data={"provider": "anthropic"}, **sent)
        assert done.status_code == 303
        counted = well_formed(client.get(done.location, base_url=ORIGIN))
        rendered = '[{"name":"one","description":"<b>two</b>","input_schema":{"type":"object"}}]'
        assert f"<dt>Tools cost</dt><dd>{len(rendered)}" in counted and "Counted in this run." in counted
        catalog = client.get("/catalog/listed/tools", base_url=ORIGIN).text
        pages = page + failed.text + counted + catalog
        assert KEY not in pages
    for file in (tmp_path / "data").rglob("*"):
        assert not file.is_file() or KEY.encode() not in file.read_bytes()
