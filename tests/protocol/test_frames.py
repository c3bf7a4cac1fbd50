"""Whatever the bytes, `classify` gives one consistent kind and never raises."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.protocol import frames

KINDS = {"request", "result", "error", "notification", "unparsed", "noise"}

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
envelopes = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | values,
        "id": st.integers() | st.text() | values,
        "method": st.text() | values,
        "params": st.just({}) | values,
        "result": st.just({}) | values,
        "error": st.just({"code": -32601, "message": "no"}) | values,
    },
)


def check(frame: frames.Frame) -> None:
    assert frame.kind in KINDS
    assert bool(frame.why) == (frame.kind in {"unparsed", "noise"})
    valid = frame.kind in {"request", "result", "error", "notification"}
    if valid:
        assert frame.value["jsonrpc"] == "2.0"
        assert not frame.has_id or frame.id == frame.value["id"]
    if frame.kind in {"request", "notification"}:
        assert frame.method == frame.value["method"]
    if frame.kind in {"result", "error"}:
        assert frame.method is None
        assert frame.kind in frame.value
    if frame.kind in {"request", "result"}:
        assert isinstance(frame.id, str | int)
        assert not isinstance(frame.id, bool)
    if frame.kind == "notification":
        assert not frame.has_id


@given(st.binary())
def test_any_bytes_have_a_kind(raw: bytes) -> None:
    check(frames.classify(raw))


@given(envelopes | values)
def test_any_json_has_a_kind_and_the_value_it_was(value: Any) -> None:
    frame = frames.classify(json.dumps(value).encode())
    check(frame)
    assert frame.value == value
    assert frames.classify_value(value) == frame


@given(st.integers() | st.text(), st.text(), st.dictionaries(st.text(), values, max_size=3))
def test_well_formed_frames_are_told_apart(id_: int | str, method: str, body: dict[str, Any]) -> None:
    base: dict[str, Any] = {"jsonrpc": "2.0"}
    kinds = [
        frames.classify_value({**base, "id": id_, "method": method, "params": body}).kind,
        frames.classify_value({**base, "method": method, "params": body}).kind,
        frames.classify_value({**base, "id": id_, "result": body}).kind,
        frames.classify_value({**base, "id": id_, "error": {"code": 1, "message": method}}).kind,
    ]
    assert kinds == ["request", "notification", "result", "error"]


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (b"", "noise"),
        (b"> pkg@1 start", "noise"),
        (b"\xff\xfe", "noise"),
        (b"[" * 200_000, "noise"),
        (b"7", "noise"),
        (b'{"level":"info"}', "noise"),
        (b"[]", "unparsed"),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', "unparsed"),
        (b'{"jsonrpc":"2.0","id":2.0,"result":{}}', "unparsed"),
        (b'{"jsonrpc":"2.0","id":true,"result":{}}', "unparsed"),
        (b'{"jsonrpc":"2.0","id":1,"result":[]}', "unparsed"),
        (b'{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}', "unparsed"),
        (b'{"id":1,"result":{}}', "unparsed"),
        (b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"result":{}}', "unparsed"),
        (b'{"jsonrpc":"2.0","id":NaN,"result":{}}', "unparsed"),
        (b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"result":{}}', "noise"),
        (b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}', "error"),
        (b'{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}}', "error"),
        (b'{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"x"}}', "error"),
    ],
)
def test_the_oddities_of_the_field_have_a_kind(raw: bytes, kind: str) -> None:
    frame = frames.classify(raw)
    check(frame)
    assert frame.kind == kind
