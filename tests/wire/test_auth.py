"""Signing in to a protected server: what is tried, what is recorded, and that no secret is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench import BOUND, Bench, call, demo_http, http, text_of
from signing import control, person, protected

from inspector.errors import AuthNeeded, LoupeError
from inspector.settings.spec import OAuth, ServerSpec
from inspector.settings.tokens import TokenStore
from inspector.wire.auth_masks import masked
from inspector.wire.connection import Connection

HANDSHAKE = {"era": "handshake"}


KNOBS = {
    "prm-root": None,
    "lower": None,
    "no-pointer": None,
    "no-challenge": None,
    "as-elsewhere": None,
    "wrong-issuer": "issuer",
    "wrong-resource": "does not match expected",
    "no-registration": "stration",
    "refuse-scope": "invalid_scope",
}
"""Each knob and what the sentence says; None where signing in works all the same."""


@pytest.fixture(scope="module")
def urls() -> Iterator[dict[str, str]]:
    with protected("plain", "client-credentials", *KNOBS) as found:
        yield found


@pytest.fixture
def url(urls: dict[str, str]) -> str:
    return urls["plain"]


@pytest.fixture
def tokens(tmp_path: Path) -> TokenStore:
    return TokenStore(tmp_path / "tokens.json")


def make(bench: Bench, spec: ServerSpec, tokens: TokenStore) -> Connection:
    connection = Connection(spec, bench.journal, bench.portal, bench.children, tokens=tokens)
    bench.opened.append(connection)
    return connection


def refused(bench: Bench, spec: ServerSpec, tokens: TokenStore) -> Connection:
    connection = make(bench, spec, tokens)
    with pytest.raises(AuthNeeded, match="401"):
        connection.open()
    return connection


def signed_in(bench: Bench, url: str, tokens: TokenStore, **spec: object) -> Connection:
    connection = refused(bench, http(url, **spec), tokens)
    connection.sign_in(person()).result(BOUND)
    again = make(bench, connection.spec, tokens)
    again.open()
    return again


def leaked(bench: Bench, url: str) -> list[str]:
    """Secrets the server ever gave out that stand anywhere in what was recorded."""
    recorded = "\n".join(f"{event.body} {event.raw!r}" for event in bench.events)
    return [secret for secret in control(url, "secrets").json() if secret in recorded]


@pytest.mark.parametrize("era", ["modern", "handshake"])
def test_a_person_signs_in_and_the_whole_conversation_is_recorded_without_a_secret(
    bench: Bench, url: str, tokens: TokenStore, era: str
) -> None:
    connection = refused(bench, http(url, era=era), tokens)
    connection.sign_in(person()).result(BOUND)
    auth = connection.auth
    assert auth is not None
    assert [(step.what, step.status, step.ok) for step in auth.steps] == [
        ("challenge", 401, True),
        ("resource metadata", 200, True),
        ("server metadata", 200, True),
        ("registration", 201, True),
        ("token", 200, True),
    ]
    again = make(bench, connection.spec, tokens)
    again.open()
    assert text_of(again.ask("tools/call", call("read_note")).result) == "buy milk"
    recorded = [
        event for event in bench.of("http") if event.cause == "auth" and event.body["phase"] == "request"
    ]
    assert [event.body["method"] for event in recorded] == ["GET", "GET", "POST", "POST"]
    sent = [dict(e.body["headers"]) for e in bench.of("http", phase="request", c=again.c)]
    assert {headers.get("Authorization") for headers in sent} == {"Bearer [hidden]"}
    assert leaked(bench, url) == []
    assert len(control(url, "secrets").json()) >= 3


def test_an_expired_token_is_renewed_without_anyone_and_the_call_goes_through(
    bench: Bench, url: str, tokens: TokenStore
) -> None:
    connection = signed_in(bench, url, tokens, **HANDSHAKE)
    control(url, "expire")
    assert text_of(connection.ask("tools/call", call("read_note")).result) == "buy milk"
    assert connection.auth is not None
    assert [step.what for step in connection.auth.steps] == ["refresh"]
    asked = [
        event.method for event in bench.of("rpc", dir="c2s", c=connection.c) if event.method == "tools/call"
    ]
    assert len(asked) == 2, "the frame crossed twice, and both times are recorded"
    assert leaked(bench, url) == []


def test_a_restart_refreshes_at_the_authorization_server_it_knew(
    bench: Bench, url: str, tokens: TokenStore
) -> None:
    signed_in(bench, url, tokens, **HANDSHAKE).close()
    control(url, "expire")
    later = make(bench, http(url, **HANDSHAKE), TokenStore(tokens.path))
    later.open()
    assert text_of(later.ask("tools/call", call("read_note")).result) == "buy milk"
    asked = [e.body["url"] for e in bench.of("http", phase="request", cause="auth", c=later.c)]
    assert asked == [url.replace("/mcp", "/token")]


def test_a_refresh_token_that_is_no_good_asks_for_a_person(
    bench: Bench, url: str, tokens: TokenStore
) -> None:
    connection = signed_in(bench, url, tokens, **HANDSHAKE)
    control(url, "revoke")
    with pytest.raises(LoupeError, match="401"):
        connection.ask("tools/call", call("read_note"))
    assert connection.auth is not None
    connection.sign_in(person()).result(BOUND)
    assert text_of(connection.ask("tools/call", call("read_note")).result) == "buy milk"


def test_a_step_up_asks_for_more_scope_and_keeps_what_was_granted(
    bench: Bench, url: str, tokens: TokenStore
) -> None:
    connection = signed_in(bench, url, tokens, **HANDSHAKE)
    with pytest.raises(AuthNeeded, match="403"):
        connection.ask("tools/call", call("write_note", text="x"))
    connection.sign_in(person()).result(BOUND)
    assert text_of(connection.ask("tools/call", call("write_note", text="x")).result) == "noted: x"
    assert connection.auth is not None and connection.auth.scope is not None
    assert set(connection.auth.scope.split()) == {"notes:read", "notes:write"}


def test_signing_out_leaves_nothing(bench: Bench, url: str, tokens: TokenStore) -> None:
    connection = signed_in(bench, url, tokens, **HANDSHAKE)
    assert json.loads(tokens.path.read_text())[url]["tokens"]["access_token"]
    assert tokens.path.stat().st_mode & 0o777 == 0o600
    connection.sign_out()
    assert json.loads(tokens.path.read_text()) == {}
    with pytest.raises(LoupeError, match="401"):
        connection.ask("tools/call", call("read_note"))


def test_a_person_who_says_no_is_told_so(bench: Bench, url: str, tokens: TokenStore) -> None:
    connection = refused(bench, http(url), tokens)
    with pytest.raises(AuthNeeded, match="access_denied"):
        connection.sign_in(person("no")).result(BOUND)
    assert tokens.get(url).get("tokens") is None


def test_a_server_with_a_header_of_its_own_is_never_signed_in_to(
    bench: Bench, url: str, tokens: TokenStore
) -> None:
    connection = refused(bench, http(url, headers={"Authorization": "Bearer mine-and-wrong"}), tokens)
    with pytest.raises(AuthNeeded, match="nothing to sign in to"):
        connection.sign_in(person()).result(BOUND)


def test_client_credentials_need_nobody(bench: Bench, urls: dict[str, str], tokens: TokenStore) -> None:
    url = urls["client-credentials"]
    settings = OAuth(
        "client_credentials", "fixed-client", "fixed-secret-of-the-client", "notes:read notes:write",
        issuer=url.removesuffix("/mcp"),
    )  # fmt: skip
    connection = make(bench, http(url, oauth=settings, **HANDSHAKE), tokens)
    connection.open()
    assert text_of(connection.ask("tools/call", call("write_note", text="x")).result) == "noted: x"
    assert leaked(bench, url) == []
    assert "fixed-secret-of-the-client" not in str([(e.body, e.raw) for e in bench.events])


@pytest.mark.parametrize("knob", KNOBS)
def test_each_thing_that_goes_wrong_at_the_authorization_server_is_named(
    bench: Bench, urls: dict[str, str], tokens: TokenStore, knob: str
) -> None:
    url, message = urls[knob], KNOBS[knob]
    connection = refused(bench, http(url), tokens)
    future = connection.sign_in(person())
    if message is None:
        future.result(BOUND)
        assert tokens.get(url)["tokens"]["access_token"]
        assert connection.auth is not None
        said = [step.said for step in connection.auth.steps if step.what == "server metadata"]
        assert ("redirects to http://127.0.0.1:9/metadata" in said[0]) == (knob == "as-elsewhere")
    else:
        with pytest.raises(AuthNeeded, match=message) as caught:
            future.result(BOUND)
        assert caught.value.remedy
        assert tokens.get(url).get("tokens") is None
    assert leaked(bench, url) == []


def test_a_server_that_wants_no_token_costs_one_look_into_the_store(bench: Bench, tmp_path: Path) -> None:
    looked: list[str] = []

    class Watched(TokenStore):
        def get(self, url: str) -> dict[str, object]:
            looked.append(url)
            return super().get(url)

    with demo_http("flat") as url:
        connection = make(bench, http(url), Watched(tmp_path / "tokens.json"))
        connection.open()
        for _ in range(3):
            connection.ask("tools/list")
        assert looked == [url]


@pytest.mark.parametrize(
    ("body", "shown", "secrets"),
    [
        (b'{"access_token":"abcdefg","scope":"x"}', b'{"access_token":"[hidden]","scope":"x"}', ["abcdefg"]),
        (b'{"a": [{"client_secret":"abcdefg"}]}', b'{"a": [{"client_secret":"[hidden]"}]}', ["abcdefg"]),
        (b'{"refresh_token":"abcdefg","a":"\\ud800"}', b'{"refresh_token":"[hidden]","a":"\\ud800"}', ["abcdefg"]),
        (b'{"scope" : "x"}', b'{"scope" : "x"}', []),
        (b'{"access_token":"abc"}', b'{"access_token":"[hidden]"}', []),
        (b"access_token=ab%2Bcdef&scope=x&refresh_token=efghij", b"access_token=[hidden]&scope=x&refresh_token=[hidden]",
         ["ab+cdef", "efghij"]),
        (b"<h1>no access_token=here</h1>", b"<h1>no access_token=here</h1>", []),
        (b"[" * 100_000, b"[" * 100_000, []),
        (b'{"a":' * 900 + b'{"access_token":"abcdefg"}' + b"}" * 900,
         b'{"a":' * 900 + b'{"access_token":"[hidden]"}' + b"}" * 900, ["abcdefg"]),
    ],
)  # fmt: skip
def test_of_a_document_no_secret_is_kept_whatever_its_form(
    body: bytes, shown: bytes, secrets: list[str]
) -> None:
    assert masked(body) == (shown, secrets)
