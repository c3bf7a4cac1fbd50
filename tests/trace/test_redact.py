"""No secret survives redaction, in any encoding; what is no secret stays as it was."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from planted import forms, plant, views
from trace_schema import wrong_lines

from inspector.errors import UsageError
from inspector.trace.file import TraceFileWriter, event_fields, event_line
from inspector.trace.file_reader import read_trace
from inspector.trace.redact import Redactor, Rules, preview
from inspector.trace.redact.names import cursor_name, secret_header, secret_name
from inspector.wire.events import C2S, S2C, Event, Journal

KNOWN = "correct-horse-battery"


def rules(**more: Any) -> Rules:
    return Rules.default(**{"known": [KNOWN], "user": "annabel", "home": "/home/annabel", **more})


def redacted(raw: str, **more: Any) -> dict[str, Any]:
    """An rpc event with this raw, as it would be written."""
    event = Event("rpc", 1, S2C, {}, raw.encode(), "result", seq=1)
    return dict(json.loads(event_line(event, Redactor(rules(**more)))))


def text_redacted(text: str, **more: Any) -> str:
    return Redactor(rules(**more)).text(text)


def test_no_planted_secret_survives_in_any_encoding(tmp_path: Path) -> None:
    planted = plant()
    assert len(planted.secrets) >= 60
    assert len({kind for kind, _ in planted.secrets}) >= 15
    path, journal = tmp_path / "one.jsonl", Journal()
    title = f"trace of {planted.secrets[0][1]}"
    writer = TraceFileWriter(
        path, journal, title=title, tool_version="0", redaction=Redactor(rules(known=planted.known))
    )
    for event in planted.events:
        journal.emit(event)
    writer.close()
    content = path.read_bytes()
    text = views(content.splitlines(keepends=True))
    survived = [
        (kind, name)
        for kind, secret in planted.secrets
        for name, form in forms(secret).items()
        if form in text
    ]
    assert survived == []
    assert wrong_lines(content) == []
    with read_trace(path) as trace:
        touched = {rule for event in trace for _, rule in event.get("red", [])}
    assert trace.problem is None and trace.trailer is not None
    assert set(trace.trailer["redaction_counts"]) == touched == {f"R{n}" for n in range(1, 10)}


def test_look_alikes_stay_as_they_are() -> None:
    ordinary = (Path(__file__).parent / "look_alikes.txt").read_text().splitlines()
    assert len(ordinary) > 40
    assert [line for line in ordinary if text_redacted(line) != line] == []
    wrapped = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"content": ordinary}})
    assert redacted(wrapped)["raw"] == wrapped


def test_what_is_not_secret_keeps_every_byte_of_its_spelling() -> None:
    raw = '{ "id":9007199254740993,\t"a":1.0,"a":1e3, "e":"\\u00e9\\/\\ud83d\\ude00", "password" : "hunter2" ,"z":[ 1 ] }'
    fields = redacted(raw)
    assert fields["raw"] == raw.replace("hunter2", "[redacted:R2:1]")
    assert fields["bytes"] == len(raw)
    assert fields["red"] == [["/password", "R2"]]
    inner = '{"text":"caf\\u00e9 \\u0022token\\u0022: \\"abc\\u0026def\\" \\n end"}'
    assert (
        redacted(inner)["raw"] == '{"text":"caf\\u00e9 \\u0022token\\u0022: \\"[redacted:R2:1]\\" \\n end"}'
    )


def test_the_same_secret_has_the_same_number_wherever_it_stands() -> None:
    redactor = Redactor(rules())
    assert redactor.text(f"a {KNOWN} b") == "a [redacted:R9:1] b"
    assert redactor.text("password=abc123xyz") == "password=[redacted:R2:2]"
    encoded = base64.b64encode(f'{{"x":"{KNOWN}"}}'.encode()).decode()
    assert base64.b64decode(redactor.text(encoded)) == b'{"x":"[redacted:R9:1]"}'


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        ('{"password":12345}', '{"password":1}'),
        ('{"password":12.50}', '{"password":1.0}'),
        ('{"password":true,"token":null,"secret":{"a":1},"credentials":["a"]}', None),
        ('{"nextCursor":"secret=abc12345","next_token":"t0ken","pageToken":"a","skiptoken":"b"}', None),
        ('{"_meta":{"progressToken":"abc-12345678"},"max_tokens":4096,"input_token":12}', None),
        ('{"inputSchema":{"properties":{"password":{"type":"string","default":{"token":"abc"}}}}}', None),
        (
            '{"properties":{"password":"abc","state":"ok"}}',
            '{"properties":{"password":"[redacted:R2:1]","state":"ok"}}',
        ),
        ('{"token":"","password":"[redacted:R2:9]"}', None),
        ('{"Authorization":"Bearer abcdef123456"}', '{"Authorization":"Bearer [redacted:R2:1]"}'),
    ],
)
def test_keys_hide_strings_and_numbers_and_nothing_else(raw: str, wanted: str | None) -> None:
    assert redacted(raw)["raw"] == (wanted or raw)


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("password", True), ("dbPassword", True), ("API_KEY", True), ("X-Api-Key", True), ("client-secret", True),
        ("idToken", True), ("AWSSecretAccessKey", True), ("smtp_pass", True), ("session_id", True), ("key", False),
        ("monkey", False), ("primary_key", False), ("tokens", False), ("token_count", False), ("max_token", False),
        ("nextPageToken", False), ("progressToken", False), ("compass", False), ("secret_name", False),
        ("keyboard", False), ("pass", False), ("", False),
    ],
)  # fmt: skip
def test_a_name_says_whether_its_value_is_secret(name: str, secret: bool) -> None:
    assert secret_name(name) is secret


def test_headers_and_cursors_have_their_own_names() -> None:
    assert [secret_header(name) for name in ("COOKIE", "mcp-session-id", "x-my-key", "content-type")] == [
        True,
        True,
        True,
        False,
    ]
    assert [cursor_name(name) for name in ("nextCursor", "$skiptoken", "page_token", "cursor", "token")] == [
        True
    ] * 4 + [False]


def test_paths_to_secrets_hold_no_secrets_themselves() -> None:
    fields = redacted(json.dumps({"a": {f"/home/annabel/{KNOWN}": "password=abc12345"}}))
    assert KNOWN not in json.dumps(fields)
    assert "annabel" not in json.dumps(fields)
    assert ["/a/~1home~1[redacted:R8:1]~1[redacted:R9:2]", "R2"] in fields["red"]


def test_a_catalog_events_checksums_are_of_what_was_written() -> None:
    def events(secret: str) -> list[dict[str, Any]]:
        raw = json.dumps(
            {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "t", "description": secret}]}}
        )
        listed = Event("rpc", 1, S2C, {}, raw.encode(), "result", "tools/list", "1", seq=1)
        summed = {
            "what": "tools",
            "pages": [{"seq": 1, "cursor": None}],
            "count": 1,
            "sha256": "f" * 64,
            "order_sha256": "e" * 64,
        }
        return [event_fields(listed), event_fields(Event("catalog", 1, "local", summed, seq=2))]

    def digests(what: str, raws: list[bytes]) -> tuple[str, str]:
        assert (what, KNOWN.encode() in raws[0]) == ("tools", False)
        return "a" * 64, "b" * 64

    redactor = Redactor(rules(), digests=digests)
    _, summed = [redactor.apply(event) for event in events(KNOWN)]
    assert (summed["sha256"], summed["order_sha256"]) == ("a" * 64, "b" * 64)
    _, summed = [redactor.apply(event) for event in events("nothing")]
    assert summed["sha256"] == "f" * 64
    without = Redactor(rules())
    _, summed = [without.apply(event) for event in events(KNOWN)]
    assert "sha256" not in summed and "order_sha256" not in summed
    assert [one["seq"] for one in without.skipped()] == [2]


def test_the_header_names_the_rules_and_nothing_they_hide() -> None:
    these = rules(
        keys=["colour"], patterns=["zebra[0-9]+"], texts=["Project Falcon"], on=["email"], off=["url"]
    )
    redactor = Redactor(these)
    header = redactor.header()
    assert [rule["id"] for rule in header["rules"]] == [
        "R1", "R2", "R4", "R5", "R6", "R7", "R8", "R9", "R10", "K1", "X1", "T1",
    ]  # fmt: skip
    assert header["profile"] == "own" and header["reviewed"] is False
    assert not any(word in json.dumps(header) for word in (KNOWN, "annabel", "zebra", "Falcon"))
    text = "zebra17 Project Falcon colour=blue-ish a.b@example.org http://h/?q=1"
    assert redactor.text(text) == (
        "[redacted:X1:1] [redacted:T1:2] colour=[redacted:K1:3] [redacted:R10:4] http://h/?q=1"
    )


def test_a_rule_that_cannot_be_used_is_told() -> None:
    with pytest.raises(UsageError, match="no regular expression"):
        rules(patterns=["("])
    with pytest.raises(UsageError, match="no redaction rule colour"):
        rules(on=["colour"])


def test_short_and_plain_values_we_passed_are_no_rules() -> None:
    these = Rules.default(["1", "true", "12345678", "short", "FALSE", "Bearer abcdefgh"], user="", home="")
    assert these.known == ("Bearer abcdefgh", "abcdefgh")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("{'user': 'ann', 'password': 'Kq040w8Xv5'}", "{'user': 'ann', 'password': '[redacted:R2:1]'}"),
        ("[password=Kq040w8Xv5]", "[password=[redacted:R2:1]]"),
        (
            "authorization=Kq040w8Xv5\ncookie: a=bcd12345",
            "authorization=[redacted:R2:1]\ncookie: a=[redacted:R2:2]",
        ),
    ],
)
def test_what_only_looks_like_json_or_follows_a_cookie_is_hidden_too(text: str, wanted: str) -> None:
    assert text_redacted(text) == wanted


def test_a_preview_counts_and_shows_places_and_changes_nothing() -> None:
    events = [
        event_fields(Event("stderr", 1, S2C, {}, f"{KNOWN} and ann@example.org".encode(), seq=1)),
        event_fields(
            Event("rpc", 1, C2S, {}, b'{"method":"m","params":{"password":"abc"}}', "request", seq=2)
        ),
    ]
    before = json.dumps(events)
    found = preview(events, rules())
    assert json.dumps(events) == before
    by_id = {rule.id: rule for rule in found.rules}
    assert (by_id["R9"].hits, by_id["R9"].places) == (1, [(1, "/data")])
    assert by_id["R2"].places == [(2, "/params/password")]
    assert (by_id["R10"].hits, by_id["R10"].applied) == (1, False)
    assert (found.hits, found.events) == (2, 2)


def test_what_hid_once_is_hidden_everywhere_after() -> None:
    redactor = Redactor(rules())
    redactor.apply({"t": "http", "seq": 1, "headers": [["Mcp-Session-Id", "5f3a9c1e-77d2-4b60"]]})
    assert redactor.text("session 5f3a9c1e-77d2-4b60 ended") == "session [redacted:R1:1] ended"


def test_text_nested_too_deeply_is_told_and_not_followed() -> None:
    text = "password=abc12345"
    for _ in range(12):
        text = json.dumps({"x": text})
    event = Event("rpc", 1, S2C, {}, text.encode(), "result", seq=7)
    redactor = Redactor(rules())
    event_line(event, redactor)
    assert [one["seq"] for one in redactor.skipped()] == [7]
    deep = Event(
        "rpc",
        1,
        S2C,
        {},
        b'{"password":"abc12345","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        "result",
        seq=8,
    )
    assert b"abc12345" not in event_line(deep, redactor)


def test_an_event_without_secrets_is_the_same_object() -> None:
    fields = event_fields(Event("rpc", 1, C2S, {}, b'{"method":"ping"}', "request", "ping", seq=1))
    assert Redactor(rules()).apply(fields) is fields


@pytest.mark.parametrize(
    "piece",
    ["h://", "h://a@", "token: ", 'token\\"', "-----BEGIN A-----", "eyJabcdefghijk.", "sk-", "/home/", "cookie: a=",
     "YWJj", "%41"],
)  # fmt: skip
def test_hostile_text_is_searched_in_steps_that_grow_with_its_length(piece: str) -> None:
    """Counted in Python calls, not seconds: eight times the text may cost little more than eight times as much."""
    few, many = (_calls(piece * times) for times in (250, 2000))
    assert many < 12 * few


def _calls(text: str) -> int:
    redactor, count = Redactor(rules()), 0

    def on_call(frame: Any, what: str, argument: Any) -> None:
        nonlocal count
        count += 1

    sys.setprofile(on_call)
    try:
        redactor.text(text)
    finally:
        sys.setprofile(None)
    return count
