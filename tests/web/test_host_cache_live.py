"""The host cache over live connections: real servers, real frames, a clock that is moved by hand."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from catalog_screen import ORIGIN, PARTIAL, WAIT_S, console_of, well_formed
from flask.testing import FlaskClient

from inspector.console.catalogs import Catalog
from inspector.console.console import Console
from inspector.settings.spec import ServerSpec
from inspector.settings.targets import demo_spec
from inspector.wire.events import Event

RACING = Path(__file__).resolve().parents[1] / "servers" / "racing.py"
TOOLS_CHANGED = "notifications/tools/list_changed"


class Live:
    """A console with one connected server `hints`, its frames and cache events, and a clock to move."""

    def __init__(self, console: Console, client: FlaskClient) -> None:
        self.console, self.client = console, client
        self.ahead_ms = 0
        self.asked: list[str] = []
        self.events: list[dict[str, Any]] = []
        self.told = threading.Event()
        console.journal.sinks.append(self._note)
        console.hosting.clock = lambda: console.journal.now_us() + self.ahead_ms * 1000

    def _note(self, event: Event) -> None:
        if event.t == "rpc" and event.kind == "request":
            self.asked.append(event.method or "")
        if event.t == "cache":
            self.events.append(event.body)
            if event.body["verdict"] == "invalidated" and event.body.get("mode") is None:
                self.told.set()

    def refresh(self, *, through: bool = False) -> Catalog:
        self.asked.clear()
        self.events.clear()
        return self.console.refresh("hints", "tools", through=through)

    def call(self, tool: str) -> None:
        self.console.call("hints", tool, "{}").future.result(WAIT_S)

    def verdicts(self) -> list[tuple[str, int | None, str | None]]:
        return [(each["verdict"], each.get("row"), each.get("mode")) for each in self.events]


@contextmanager
def live(folder: Path, spec: ServerSpec) -> Iterator[Live]:
    with console_of(folder, {"hints": spec}) as (console, client):
        found = Live(console, client)
        console.connect("hints")
        yield found


def hints(*options: str, era: str = "modern") -> ServerSpec:
    spec = demo_spec("cache-hints")
    return ServerSpec("hints", argv=(*spec.argv, *options), env=spec.env, era=era)


PAGED = ("--ttl", "tools/list=300000,200000,100000", "--scope", "tools/list=public", "--page-size", "20")


def test_time_runs_out_page_by_page_and_only_what_ran_out_is_asked_for_again(tmp_path: Path) -> None:
    with live(tmp_path, hints(*PAGED)) as found:
        assert found.verdicts() == [("miss", None, "would")] + [("miss", 20, "would")] * 2
        found.refresh()
        assert found.asked == ["tools/list"] * 3
        assert found.verdicts() == [("hit", 1, "would")] * 3
        kept = found.refresh(through=True)
        assert found.asked == []
        assert found.verdicts() == [("hit", 1, "served")] * 3
        found.ahead_ms = 100_000
        renewed = found.refresh(through=True)
        assert found.asked == ["tools/list"]
        assert [(page.look.what, page.served) for page in renewed.looks] == [("hit", True)] * 2 + [
            ("stale", False)
        ]
        assert [page.raw for page in renewed.snapshot.pages[:2]] == [
            page.raw for page in kept.snapshot.pages[:2]
        ]
        found.ahead_ms = 300_000
        found.refresh()
        assert found.verdicts() == [("stale", 3, "would")] * 3


def test_a_cursor_the_server_forgot_drops_every_page_and_the_list_starts_again(tmp_path: Path) -> None:
    with live(tmp_path, hints(*PAGED)) as found:
        found.call("touch_catalog")  # announced to nobody: no subscriptions/listen is open
        found.ahead_ms = 100_000
        listed = found.refresh(through=True)
        assert found.asked == ["tools/list"] * 4  # the refused cursor, then all three
        assert found.verdicts()[:3] == [("hit", 1, "served"), ("hit", 1, "served"), ("stale", 3, "would")]
        assert [page.served for page in listed.looks] == [False] * 3
        assert "1 changes so far" in listed.best.measures[0].text


def test_a_list_changed_ends_it_at_once_and_the_screen_says_so(tmp_path: Path) -> None:
    with live(tmp_path, hints("--ttl", "tools/list=300000", era="handshake")) as found:
        found.refresh()
        assert found.verdicts() == [("hit", 15, "would")]
        found.call("add_tool")
        assert found.told.wait(WAIT_S)
        invalidated = [each for each in found.events if each["verdict"] == "invalidated"]
        assert [(each["key"], each["row"]) for each in invalidated] == [("tools/list {}", 26)]
        page = well_formed(found.client.get("/catalog/hints/tools", base_url=ORIGIN))
        assert re.search(r"<td>invalidated</td><td class=\"n\">26</td>", page)
        found.refresh()
        assert found.verdicts() == [("invalidated", 26, "would")]


def test_another_credential_is_another_cache_unless_the_list_is_public(tmp_path: Path) -> None:
    for option, expected in (("--private", ("miss", 33)), ("--public", ("hit", 34))):
        argv = (sys.executable, str(RACING), option)
        spec = ServerSpec("hints", argv=argv, env={"MCP_TOKEN": "secret-one"})
        with live(tmp_path / option, spec) as found:
            found.console.disconnect("hints")
            found.console.servers_file.replace("hints", replace(spec, env={"MCP_TOKEN": "secret-two"}))
            found.events.clear()
            found.console.connect("hints")
            assert [each["context"] for each in found.events] == ["context 2"]
            assert found.verdicts() == [(*expected, "would")]
            assert "secret" not in str(found.events)


def test_a_list_changed_that_overtakes_the_answer_leaves_nothing_fresh(tmp_path: Path) -> None:
    spec = ServerSpec("hints", argv=(sys.executable, str(RACING), "--race"))
    with live(tmp_path, spec) as found:
        catalog = found.console.catalogs.known("hints", "tools")
        assert catalog is not None and catalog.changed_at_us is not None
        found.refresh()
        assert found.verdicts()[0] == ("invalidated", 30, "would")


def test_when_asking_again_fails_the_old_list_is_shown_and_called_stale(tmp_path: Path) -> None:
    spec = ServerSpec("hints", argv=(sys.executable, str(RACING), "--fail"))
    with live(tmp_path, spec) as found:
        found.ahead_ms = 60_000
        assert found.refresh(through=True).best.measures[0].name == "one"
        assert found.verdicts() == [("stale", 3, "would"), ("stale", 31, "served")]
        assert found.console.recorder.flush(WAIT_S)  # the error stands in the timeline beside the list
        page = well_formed(found.client.get("/catalog/hints/tools", base_url=ORIGIN))
        assert "no list today" in page and "(row 31)" in page


def test_the_switch_is_in_the_address_and_a_refresh_says_what_the_cache_did(tmp_path: Path) -> None:
    with live(tmp_path, hints(*PAGED)) as found:
        sent = {"base_url": ORIGIN, "headers": {"Origin": ORIGIN, **PARTIAL}}
        text = well_formed(found.client.post("/catalog/hints/tools/refresh", **sent))
        assert re.search(
            r"Went to the wire; a host cache would have said page 1: hit, because fresh for another", text
        )
        assert re.search(r'href="\?ask=cache"[^>]*>the cache</a>', text)
        text = well_formed(found.client.post("/catalog/hints/tools/refresh", data={"ask": "cache"}, **sent))
        assert "Served from the cache, nothing was sent: page 1: hit, because fresh for another" in text
        assert re.search(r'<span id="outcome".*?cache, [\d.,]+ ms', text, re.DOTALL)
        assert 'name="ask" value="cache"' in text
        found.asked.clear()
        found.client.post("/catalog/hints/tools/refresh", data={"ask": "cache"}, **sent)
        assert found.asked == []
        timeline = found.client.get("/timeline?server=hints&kind=cache", base_url=ORIGIN).text
        assert "fresh for another" in timeline


def test_the_probe_of_a_reconnect_is_held_against_the_discovery_kept(tmp_path: Path) -> None:
    options = ("--ttl", "server/discover=60000", "--scope", "server/discover=public")
    with live(tmp_path, hints(*options, era="auto")) as found:
        assert [each["key"] for each in found.events] == [
            "tools/list {}"
        ]  # nothing was kept for the first probe
        found.events.clear()
        found.console.disconnect("hints")
        found.console.connect("hints")
        assert [each["key"] for each in found.events] == ["server/discover {}", "tools/list {}"]
        assert found.verdicts()[0] == ("hit", 37, "would")
        found.ahead_ms = 60_000
        found.events.clear()
        found.console.connect("hints")
        assert found.verdicts()[0] == ("stale", 3, "would")
        assert found.asked.count("server/discover") == 3


def test_what_a_read_resource_may_be_kept_for_stands_beside_it(tmp_path: Path) -> None:
    options = ("--ttl", "resources/read=30000", "--scope", 'resources/read="<everyone>"')
    with live(tmp_path, hints(*options)) as found:
        uri = next(iter(found.console.refresh("hints", "resources").measured.measures)).name
        shown = [read(found, uri), read(found, uri)]
        assert "would have said <b>miss</b>: nothing of it was kept yet." in shown[0]
        assert "would have said <b>hit</b>: fresh for another" in shown[1]
        for text in shown:
            assert '<span class="mono">30000</span>' in text and "&#34;&lt;everyone&gt;&#34;" in text
            assert "30,000 ms, private" in text and "cacheScope" in text.split("Violation")[1]
        assert "<h3>Host cache</h3>" not in found.client.get("/call/hints", base_url=ORIGIN).text


def read(found: Live, uri: str | None) -> str:
    """Read a resource from the Call screen; the part of the result that speaks of the cache."""
    connection = found.console.connection("hints")
    call = found.console.calls.start(connection, "hints", uri or "", "{}", what="resources")
    call.future.result(WAIT_S)
    page = found.client.get(f"/call/hints/result/{call.id}", base_url=ORIGIN, headers=PARTIAL).text
    return page.split("<h3>Host cache</h3>")[1].split("</section>")[0]
