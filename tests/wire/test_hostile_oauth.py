"""Authorization servers that lie: each lie ends in one sentence, nothing of a secret is kept, nothing waits for ever."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from urllib.request import urlopen

import pytest
from bench import BOUND, SERVERS, Bench, http, serving

from inspector.errors import AuthNeeded, LoupeError
from inspector.settings.tokens import TokenStore
from inspector.wire.auth import CameBack, Visit
from inspector.wire.auth_masks import masked, masked_text, without
from inspector.wire.connection import Connection

CODE = "the-code-of-this-visit"
NOT_VALID = "A document of the authorization server is not valid: "
SAID = {
    "keys-escaped": f"{NOT_VALID}Invalid JSON: number out of range",
    "not-closed": f"{NOT_VALID}Invalid JSON: EOF while parsing an object",
    "token-is-a-list": f"{NOT_VALID}Input should be an object",
    "token-echoes": "Token exchange failed (400)",
    "token-refuses-in-latin": "An answer of the authorization server is no UTF-8",
    "token-elsewhere": "Token exchange failed (307)",
    "register-not-closed": "Invalid registration response: EOF while parsing an object",
    "expires-huge-int": "holds a number beyond all bounds",
    "token-of-lines": "unusable: it holds characters that no HTTP header can carry",
    "page-with-a-fragment": "has a fragment (#), which RFC 6749 §3.1 forbids",
    "pointer-long": "URL too long",
    "pointer-with-a-port": "there is no port 99999",
    "pointer-letters": "Could not connect to xn--tda.invalid",
    "metadata-endless": "an HTTP body of more than 262,144 bytes",
    "metadata-drips": "127.0.0.1 did not finish its answer within 1 s",
}
"""What is said of each lie; no token is held or kept afterwards."""


def got(url: str) -> Any:
    with urlopen(url, timeout=BOUND) as answer:
        return json.load(answer)


@pytest.fixture(scope="module")
def places() -> Iterator[dict[str, str]]:
    with serving(SERVERS / "hostile_oauth.py") as url:
        yield {"url": url, "other": got(f"{url}/other")}


def visit(went: list[str], iss: str | None = None) -> Visit:
    """Comes back with a code at once."""

    async def go(address: str) -> CameBack:
        went.append(address)
        return CameBack(CODE, dict(parse_qsl(urlsplit(address).query)).get("state"), iss)

    return Visit("http://127.0.0.1:1/oauth/callback", go)


def refused(shared: Bench, url: str, tokens: TokenStore) -> Connection:
    connection = Connection(
        http(url, era="handshake"), shared.journal, shared.portal, shared.children, tokens=tokens
    )
    shared.opened.append(connection)
    with pytest.raises(AuthNeeded, match="401"):
        connection.open()
    return connection


@pytest.mark.parametrize("way", SAID)
def test_a_lie_of_an_authorization_server_ends_in_one_sentence_and_no_secret_is_kept(
    shared: Bench, places: dict[str, str], tmp_path: Path, way: str
) -> None:
    tokens, before = TokenStore(tmp_path / "tokens.json"), len(shared.events)
    connection = refused(shared, f"{places['url']}/{way}/mcp", tokens)
    auth = connection.auth
    assert auth is not None
    if way == "metadata-drips":
        auth.patience_s = 1
    with pytest.raises(LoupeError) as caught:
        connection.sign_in(visit([])).result(BOUND)
    assert SAID[way] in caught.value.message
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 800
    assert not auth.holds_token
    assert "tokens" not in tokens.get(connection.spec.url or "")
    kept = (
        "\n".join(f"{each.body} {each.raw!r}" for each in shared.events[before:])
        + f"{auth.steps}{caught.value}"
    )
    given = [CODE, *got(f"{places['url']}/secrets")]
    assert [secret for secret in given if secret in kept or secret[-16:] in kept] == []
    assert [line for line in got(f"{places['other']}/log") if CODE in line] == []


def test_the_page_a_person_is_sent_to_keeps_the_query_it_has(
    shared: Bench, places: dict[str, str], tmp_path: Path
) -> None:
    went: list[str] = []
    connection = refused(shared, f"{places['url']}/page-with-a-query/mcp", TokenStore(tmp_path / "t.json"))
    connection.sign_in(visit(went)).result(BOUND)
    parts = urlsplit(went[0])
    assert (parts.path, parse_qsl(parts.query)[:2]) == (
        "/page-with-a-query/authorize",
        [("tenant", "7"), ("response_type", "code")],
    )


def test_a_document_that_is_passed_over_is_said_to_be(
    shared: Bench, places: dict[str, str], tmp_path: Path
) -> None:
    connection = refused(shared, f"{places['url']}/page-of-javascript/mcp", TokenStore(tmp_path / "t.json"))
    with pytest.raises(AuthNeeded, match=r"iss mismatch: http://evil\.invalid") as caught:
        connection.sign_in(visit([], "http://evil.invalid")).result(BOUND)
    assert caught.value.remedy.startswith("Another authorization server answered than was asked")
    assert connection.auth is not None
    said = [(step.what, step.said, step.ok) for step in connection.auth.steps[1:3]]
    why = (
        "HTTP 200, not valid and passed over: authorization_endpoint: URL scheme should be 'http' or 'https'"
    )
    assert said == [("resource metadata", "HTTP 200", True), ("server metadata", why, None)]


def test_a_renewed_token_that_cannot_be_sent_replaces_nothing(
    shared: Bench, places: dict[str, str], tmp_path: Path
) -> None:
    url, tokens = f"{places['url']}/refresh-of-odd/mcp", TokenStore(tmp_path / "t.json")
    connection = refused(shared, url, tokens)
    connection.sign_in(visit([])).result(BOUND)
    held = tokens.get(url)["tokens"]
    tokens.update(url, expires_at=1.0)  # over already
    later = Connection(connection.spec, shared.journal, shared.portal, shared.children, tokens=tokens)
    shared.opened.append(later)
    with pytest.raises(AuthNeeded, match="no HTTP header can carry"):
        later.open()
    assert tokens.get(url)["tokens"] == held


NUMBER = b"1" * 5_000


@pytest.mark.parametrize(
    ("body", "shown", "secrets"),
    [
        (b'{"access_token":"abcdefg","n":' + NUMBER, b'{"access_token":"[hidden]","n":' + NUMBER, ["abcdefg"]),
        (b'{"access_token": "abcdefg"', b'{"access_token": "[hidden]"', ["abcdefg"]),
        (b'{"access_token": "abcdefg', b'{"access_token": "[hidden]"', ["abcdefg"]),
        (b'{"a\\u0063cess_token":"abcdefg",}', b'{"a\\u0063cess_token":"[hidden]",}', ["abcdefg"]),
        (b'{"access_token":"abcdefg","access_token":"hijklmn"}', b'{"access_token":"[hidden]","access_token":"[hidden]"}',
         ["abcdefg", "hijklmn"]),
        (b'{"access_token":["abcdefg",{"a":"}"}],"b":1}', b'{"access_token":"[hidden]","b":1}', ["abcdefg"]),
        (b'{"x":"\xff","access_token":"abcdefg"}', b'{"x":"\xff","access_token":"[hidden]"}', ["abcdefg"]),
        (b'{"access_token":"abc\\"def\\u00fc"}', b'{"access_token":"[hidden]"}', ['abc"defü']),
        ('{"id_token":"abcdefg"}'.encode("utf-16-le"), '{"id_token":"[hidden]"}'.encode("utf-16-le"), ["abcdefg"]),
        (b'{"refresh_token":null,"id_token":true}', b'{"refresh_token":null,"id_token":true}', []),
        (b'{"said":"a=1&refresh_token=abcdefg&b=2"}', b'{"said":"a=1&refresh_token=[hidden]&b=2"}', ["abcdefg"]),
    ],
)  # fmt: skip
def test_a_secret_is_hidden_in_what_no_parser_reads_and_nothing_else_is_changed(
    body: bytes, shown: bytes, secrets: list[str]
) -> None:
    assert masked(body) == (shown, secrets)


def test_hiding_costs_no_more_than_a_look_at_each_byte() -> None:
    many = json.dumps([{"access_token": f"secret-{n}"} for n in range(2_000)])
    shown, secrets = masked(many.encode())
    assert (shown.count(b"[hidden]"), len(secrets)) == (2_000, 20)
    for odd in (
        '\\"' * 50_000,
        '"access_token":' * 5_000,
        '"access_token":[' * 5_000,
        "&access_token=" * 5_000,
    ):
        assert "secret" not in masked_text(odd)
    assert without(b"a ab%2Bcdef ab+cdef", ["ab+cdef", "a"]) == b"a [hidden] [hidden]"
