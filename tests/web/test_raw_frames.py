"""Raw frames on real servers: what answers, what meets silence, what is refused before it is sent."""

from __future__ import annotations

import html
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from catalog_screen import ORIGIN, PARTIAL, WAIT_S, console_of, words
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "wire"))

from bench import chaos_http

from inspector.console.console import Console
from inspector.settings.spec import STREAMABLE_HTTP, ServerSpec
from inspector.settings.targets import demo_spec

ASKING = Path(__file__).resolve().parents[1] / "servers" / "asking.py"


@dataclass
class Raw:
    """`sdk` (demo:flat, on the SDK), `asking` and `web` (over HTTP), connected, and a signed-in browser."""

    console: Console
    client: FlaskClient

    def post(self, path: str, **fields: object) -> TestResponse:
        return self.client.post(path, base_url=ORIGIN, headers={"Origin": ORIGIN}, data=fields)

    def send(self, key: str, text: str, **fields: object) -> str:
        """Send, wait for the end, and give what the pane says. Who answers has a second, silence is short."""
        sent = self.post(
            f"/call/{key}/raw", **{"text": text, "do": "send", "seconds": "1", "where": "live"} | fields
        )
        assert sent.status_code == 303, words(sent.text)
        id_ = sent.headers["Location"].rpartition("=")[2]
        assert self.console.raw_frames.get(id_).done.wait(WAIT_S)
        return words(self.client.get(f"/call/{key}/raw/{id_}", base_url=ORIGIN, headers=PARTIAL).text)


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Raw]:
    folder = tmp_path_factory.mktemp("raw")
    folder.chmod(0o700)
    specs = {
        "sdk": replace(demo_spec("flat"), name="sdk", era="modern"),
        "asking": ServerSpec("asking", argv=(sys.executable, str(ASKING)), era="handshake"),
    }
    with (
        chaos_http("broken_tools") as url,
        console_of(folder, specs | {"web": ServerSpec("web", STREAMABLE_HTTP, url=url, era="modern")}) as (
            console,
            client,
        ),
    ):
        for key in (*specs, "web"):
            console.connect(key)
        yield Raw(console, client)


def frame(**members: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "method": "tools/list", **members})


def test_what_is_not_json_meets_silence_and_it_is_said(raw: Raw) -> None:
    shown = raw.send("sdk", "this is not JSON", seconds="0.4")
    assert "0 frames came" in shown and "The server sent nothing within 0.4 s." in shown
    assert "this is not JSON" in shown.partition("All that happened on")[2]


def test_a_modern_frame_without_meta_is_refused_by_the_server_itself(raw: Raw) -> None:
    shown = raw.send("sdk", frame(id="raw-1", params={}))
    assert "1 frame came" in shown and "-32602" in shown


def test_a_batch_is_sent_as_it_is(raw: Raw) -> None:
    shown = raw.send("sdk", f"[{frame(id='raw-1')},{frame(id='raw-2')}]", seconds="0.4")
    assert "The server sent nothing" in shown


def test_a_64_bit_id_comes_back_as_it_went(raw: Raw) -> None:
    shown = raw.send("asking", frame(id=9223372036854775807))
    assert "9223372036854775807" in shown and "1 frame came" in shown


def test_a_scratch_connection_sends_nothing_of_its_own(raw: Raw) -> None:
    before = raw.console.journal.last_seq
    shown = raw.send("asking", "7b7d0a 6e6f", form="hex", where="scratch", seconds="0.4")
    assert "All that happened on the scratch connection" in shown
    assert raw.console.recorder.flush(WAIT_S)
    with raw.console.store() as store:
        sent = [
            row
            for row in store.page(raw.console.recorder.session, after=before)
            if row.dir == "c2s" and row.t == "rpc" and row.c != raw.console.connection("asking").c
        ]
        assert [store.raw(row.session, row.seq) for row in sent] == [b"{}\nno"]


def test_an_id_in_flight_is_not_used_twice(raw: Raw) -> None:
    connection = raw.console.connection("asking")
    call = raw.console.call("asking", "late", "{}")
    while not connection.dispatcher.waiting:
        time.sleep(0.005)
    (id_,) = connection.dispatcher.waiting
    assert f"A request with id {id_} is in flight" in raw.send("asking", frame(id=int(id_)))
    raw.console.calls.cancel(call.id)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"text": ""}, "There is nothing to send"),
        ({"text": "zz", "form": "hex"}, "That is no hexadecimal text"),
        ({"text": "{}", "seconds": "soon"}, "“soon” is no number of seconds"),
        ({"text": "{}", "seconds": "1e9"}, "Answers are collected for up to 60 s"),
        ({"text": "{}", "headers": "no colon"}, "“no colon” is no header"),
    ],
)
def test_what_cannot_be_sent_is_said_and_stays_typed(raw: Raw, fields: dict[str, str], why: str) -> None:
    answer = raw.post("/call/sdk/raw", **{"seconds": "0.4", "do": "send"} | fields)
    assert answer.status_code == 422 and why in words(answer.text)
    assert html.escape(fields["text"], quote=True) in answer.text


def test_a_frame_is_kept_found_again_and_forgotten(raw: Raw) -> None:
    raw.post(
        "/call/sdk/raw", do="save", name="odd", text='{\r\n"a":1}', form="text", where="scratch", seconds="2"
    )
    page = raw.client.get("/call/asking/raw?saved=odd", base_url=ORIGIN).text
    assert "&#34;a&#34;:1}" in page
    raw.post("/call/sdk/raw/forget", name="odd")
    assert raw.console.saved_frames.all() == []


MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
CALL = {"name": "echo", "arguments": {"text": "a", "owner": "é"}, "_meta": MODERN}


def test_http_method_headers_and_body_are_free(raw: Raw) -> None:
    before = raw.console.journal.last_seq
    shown = raw.send("web", "", method="OPTIONS", headers="X-Odd: 1\nAccept: nothing/at-all", alone="1")
    assert "OPTIONS" in shown
    body = frame(id="raw-1", method="tools/call", params=CALL)
    assert "Accept" in raw.send("web", body, headers="X-Odd: 2", alone="1")
    assert raw.console.recorder.flush(WAIT_S)
    with raw.console.store() as store:
        rows = store.page(raw.console.recorder.session, after=before, limit=200)
    asked = [row.body for row in rows if row.t == "http" and row.body.get("phase") == "request"]
    assert [one["method"] for one in asked] == ["OPTIONS", "POST"]
    named = [{name.lower(): value for name, value in one["headers"]} for one in asked]
    assert (named[0]["x-odd"], named[0]["accept"]) == ("1", "nothing/at-all")
    assert named[1]["x-odd"] == "2" and "mcp-method" not in named[1]
    assert [row.bytes for row in rows if row.t == "rpc" and row.dir == "c2s"] == [len(body.encode())]


def test_a_header_that_differs_from_the_body_is_shown_beside_it(raw: Raw) -> None:
    headers = (
        "Content-Type: application/json\nAccept: application/json, text/event-stream\n"
        "MCP-Protocol-Version: 2026-07-28\nMcp-Method: tools/list\nMcp-Name: echo\nMcp-Param-Owner: =?base64?w6k=?="
    )
    shown = raw.send("web", frame(id="raw-1", method="tools/call", params=CALL), headers=headers, alone="1")
    assert "-32020" in shown
    assert "Mcp-Method tools/list tools/call differs" in shown
    assert "Mcp-Name echo echo same" in shown and "Mcp-Param-Owner é not known not known" in shown
    assert "MCP-Protocol-Version 2026-07-28 2026-07-28 same" in shown


def test_a_tool_whose_header_cannot_be_honoured_is_struck_through_and_still_called(raw: Raw) -> None:
    why = "ratio: 'Bad Name' is no HTTP token"
    page = raw.client.get("/call/web?tool=bad_header", base_url=ORIGIN).text
    assert page.count("<s>bad_header</s>") == 2 and why in words(page)
    assert "without Mcp-Param headers" in words(page)
    listed = raw.client.get("/catalog/web/tools", base_url=ORIGIN).text
    assert listed.count("<s>bad_header</s>") == 1 and "left out" in words(listed)
    assert why in words(raw.client.get("/catalog/web/tools?tool=bad_header", base_url=ORIGIN).text)
    sent = raw.post(
        "/call/web", what="tools", tool="bad_header", mode="json", json='{"ratio":1}', unchecked="1"
    )
    assert sent.status_code == 303
    call = raw.console.calls.recent("web")[0]
    call.future.result(WAIT_S)
    assert call.outcome is not None and call.outcome.request_seq is not None
