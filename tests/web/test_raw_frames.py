"""Raw frames on real servers: what answers, what meets silence, what is refused before it is sent."""

from __future__ import annotations

import html
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from catalog_screen import ORIGIN, PARTIAL, WAIT_S, console_of
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from inspector.console.console import Console
from inspector.settings.spec import ServerSpec
from inspector.settings.targets import demo_spec

ASKING = Path(__file__).resolve().parents[1] / "servers" / "asking.py"


@dataclass
class Raw:
    """`sdk` (demo:flat, on the SDK) and `asking`, connected, and a signed-in browser."""

    console: Console
    client: FlaskClient

    def post(self, path: str, **fields: object) -> TestResponse:
        return self.client.post(path, base_url=ORIGIN, headers={"Origin": ORIGIN}, data=fields)

    def send(self, key: str, text: str, **fields: object) -> str:
        """Send, wait for the end, and give what the pane says."""
        sent = self.post(
            f"/call/{key}/raw", **{"text": text, "do": "send", "seconds": "0.4", "where": "live"} | fields
        )
        assert sent.status_code == 303, words(sent.text)
        id_ = sent.headers["Location"].rpartition("=")[2]
        assert self.console.raw_frames.get(id_).done.wait(WAIT_S)
        return words(self.client.get(f"/call/{key}/raw/{id_}", base_url=ORIGIN, headers=PARTIAL).text)


def words(text: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Raw]:
    folder = tmp_path_factory.mktemp("raw")
    folder.chmod(0o700)
    specs = {
        "sdk": replace(demo_spec("flat"), name="sdk"),
        "asking": ServerSpec("asking", argv=(sys.executable, str(ASKING))),
    }
    with console_of(folder, specs) as (console, client):
        for key in specs:
            console.connect(key)
        yield Raw(console, client)


def frame(**members: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "method": "tools/list", **members})


def test_what_is_not_json_meets_silence_and_it_is_said(raw: Raw) -> None:
    shown = raw.send("sdk", "this is not JSON")
    assert "0 frames came" in shown and "The server sent nothing within 0.4 s." in shown


def test_a_modern_frame_without_meta_is_refused_by_the_server_itself(raw: Raw) -> None:
    shown = raw.send("sdk", frame(id="raw-1", params={}))
    assert "1 frame came" in shown and "-32602" in shown


def test_a_batch_is_sent_as_it_is(raw: Raw) -> None:
    shown = raw.send("sdk", f"[{frame(id='raw-1')},{frame(id='raw-2')}]")
    assert "The server sent nothing" in shown


def test_a_64_bit_id_comes_back_as_it_went(raw: Raw) -> None:
    shown = raw.send("asking", frame(id=9223372036854775807))
    assert "9223372036854775807" in shown and "1 frame came" in shown


def test_a_scratch_connection_sends_nothing_of_its_own(raw: Raw) -> None:
    before = raw.console.journal.last_seq
    shown = raw.send("asking", "7b7d0a 6e6f", form="hex", where="scratch")
    assert "All that happened on the scratch connection" in shown
    assert raw.console.recorder.flush(WAIT_S)
    with raw.console.store() as store:
        sent = [
            row
            for row in store.page(raw.console.recorder.session, after=before)
            if row.dir == "c2s" and row.t == "rpc"
        ]
        assert [store.raw(row.session, row.seq) for row in sent] == [b"{}\nno"]


def test_an_id_in_flight_is_not_used_twice(raw: Raw) -> None:
    connection = raw.console.connection("asking")
    call = raw.console.call("asking", "late", "{}")
    while not connection.dispatcher.waiting:
        pass
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
