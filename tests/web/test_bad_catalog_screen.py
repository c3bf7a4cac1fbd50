"""Tools that cannot be used as sent, on the Catalog screen: each is a row with its JSON, and the others are there."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html import unescape

import pytest
from catalog_screen import ORIGIN, REPLAY, console_of, counted, rows_of, well_formed
from flask.testing import FlaskClient

from inspector.settings.spec import ServerSpec

GOOD = '{"name":"good","inputSchema":{"type":"object"}}'
BROKEN = ("null", '["a<b>"]', '"text"', "7", "{}", '{"description":"nameless"}', '{"name":{"a":1}}')
DEEP = '{"name":"deep","inputSchema":' + '{"properties":{"a":' * 32 + "{}" + "}}" * 32 + "}"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    """A console with the server `bad`, which lists a good tool before and after all of them."""
    folder = tmp_path_factory.mktemp("bad")
    file, tools = folder / "bad.jsonl", ",".join([GOOD, *BROKEN, DEEP, GOOD.replace("good", "last")])
    file.write_text(f'{{"jsonrpc":"2.0","id":10,"result":{{"tools":[{tools}]}}}}\n')
    spec = ServerSpec("bad", argv=(sys.executable, str(REPLAY), str(file)), era="handshake")
    with console_of(folder / "data", {"bad": spec}) as (console, client):
        console.connect("bad")
        counted(console, "bad")
        yield client


def test_every_broken_tool_is_a_row_and_the_others_are_there(client: FlaskClient) -> None:
    page = well_formed(client.get("/catalog/bad/tools?sort=order", base_url=ORIGIN))
    assert [name for name in rows_of(page) if "no name" not in name] == ["good", "deep", "last"]
    assert page.count("</svg> broken</span>") == len(BROKEN)


@pytest.mark.parametrize("index", range(len(BROKEN)))
def test_it_is_told_why_it_is_broken_and_its_json_is_shown(client: FlaskClient, index: int) -> None:
    page = well_formed(client.get(f"/catalog/bad/tools?tool={index + 1}", base_url=ORIGIN))
    assert "Cannot be used as sent" in page
    shown = page.split('id="raw" tabindex="0">')[1].split("</pre>")[0]
    assert unescape(shown) == BROKEN[index]


def test_the_rules_name_them(client: FlaskClient) -> None:
    findings = client.get("/catalog/bad/tools?pane=findings&find=item-broken", base_url=ORIGIN).text
    assert f"{len(BROKEN)} of {len(BROKEN) + 3} tools" in findings
