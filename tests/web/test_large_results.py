"""Answers of 20 MB and of 100,000 rows: the page stays small, every part can be opened, the download is exact."""

from __future__ import annotations

import hashlib
import html
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from catalog_screen import ORIGIN, PARTIAL, console_of
from flask.testing import FlaskClient

from inspector.console.calls import Call
from inspector.console.console import Console
from inspector.settings.spec import ServerSpec

SERVERS = Path(__file__).resolve().parents[1] / "servers"
sys.path.insert(0, str(SERVERS))

import large as server  # noqa: E402

WAIT_S = 60


@dataclass
class Large:
    console: Console
    client: FlaskClient

    def call(self, tool: str) -> Call:
        data = {"what": "tools", "tool": tool}
        headers = {"Origin": ORIGIN, **PARTIAL}
        assert self.client.post("/call/large", base_url=ORIGIN, headers=headers, data=data).status_code == 200
        found = self.console.calls.recent("large")[0]
        found.future.result(WAIT_S)
        return found

    def get(self, path: str, *, whole: bool = False) -> Any:
        return self.client.get(path, base_url=ORIGIN, headers={} if whole else PARTIAL)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Large]:
    folder = tmp_path_factory.mktemp("large")
    folder.chmod(0o700)
    spec = ServerSpec("large", argv=(sys.executable, str(SERVERS / "large.py")))
    with console_of(folder, {"large": spec}) as (console, client):
        console.connect("large")
        yield Large(console, client)


def expected(call: Call, tool: str) -> bytes:
    """The answer as the server wrote it."""
    assert call.outcome is not None and call.outcome.raw is not None
    id_ = json.loads(call.outcome.raw)["id"]
    return b'{"jsonrpc":"2.0","id":%d,"result":%s}' % (id_, server.result_of(tool))


def cells(text: str) -> list[str]:
    return [html.unescape(re.sub("<[^>]+>", "", one)) for one in re.findall(r"<td[^>]*>(.*?)</td>", text)]


def test_of_100_000_rows_any_window_is_shown_and_the_download_is_exact(large: Large) -> None:
    call = large.call("rows")
    page = large.get(f"/call/large/result/{call.id}").text
    assert len(page) < 200_000
    assert "items 0" not in page and "rows 0 to 99 of 100,000" in page
    assert "The same JSON as structuredContent" in page
    at = "answer/.result/.structuredContent/0"
    part = f"/call/large/result/{call.id}/part?at={quote(at)}"
    last = cells(large.get(f"{part}&from=99900").text)
    assert last[-4:] == ["99,999", "99999", "row 99999", "12499.875"]
    assert large.get(f"{part}&from=250000").status_code == 200
    raw = large.get(f"/call/large/result/{call.id}/raw").data
    assert hashlib.sha256(raw).digest() == hashlib.sha256(expected(call, "rows")).digest()


def test_a_20_mb_answer_is_opened_node_by_node_and_every_node_downloads_exactly(large: Large) -> None:
    call = large.call("nested")
    page = large.get(f"/call/large/result/{call.id}").text
    assert len(page) < 100_000 and "notes" in page
    raw = large.get(f"/call/large/result/{call.id}/raw").data
    assert len(raw) > 20_000_000 and raw == expected(call, "nested")
    at = "answer/.result/.structuredContent"
    here = f"/call/large/result/{call.id}/part"
    notes = large.get(f"{here}?at={at}/.notes&from=39900").text
    assert "items 39,900 to 39,999 of 40,000" in notes and len(notes) < 100_000
    note = large.get(f"{here}?at={at}/0/39999", whole=True)
    assert note.status_code == 200 and "1152921504606846976" in note.text
    one = large.get(f"{here}/raw?at={at}/0/39999").data
    assert one == server.dumps(server.nested()["structuredContent"]["notes"][39_999])


def test_a_place_that_is_none_is_refused_in_a_sentence(large: Large) -> None:
    call = large.call("rows")
    for at in ("answer/.nothing", "answer/x", "item-7", "answer/9", "no", "answer/.result/.isError/1"):
        answer = large.get(f"/call/large/result/{call.id}/part?at={quote(at)}", whole=True)
        told = "has no such part" in answer.text or "names no part" in answer.text
        assert (answer.status_code, told) == (
            422,
            True,
        ), at
    wrong = large.get(f"/call/large/result/{call.id}/part?from=x", whole=True)
    assert wrong.status_code == 422 and "“x” is no number of a child" in wrong.text
