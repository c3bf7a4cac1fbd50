"""Parsing in steps gives the frame that parsing at once gives, whatever the bytes."""

from __future__ import annotations

import json
from collections.abc import Generator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.protocol import frames, steps
from inspector.protocol.frames import Frame
from inspector.protocol.steps import STEP, classify_in_steps

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def run(steps: Generator[None, None, Frame]) -> tuple[Frame, int]:
    """The frame, and how often it paused."""
    pauses = 0
    while True:
        try:
            next(steps)
        except StopIteration as done:
            return done.value, pauses
        pauses += 1


@given(VALUES, st.sampled_from([None, 1, 4]), st.booleans())
def test_a_result_is_the_same_frame_either_way(value: object, indent: int | None, escaped: bool) -> None:
    frame = {"jsonrpc": "2.0", "id": 7, "result": {"tools": [value, value], "nextCursor": "x"}}
    raw = json.dumps(frame, indent=indent, ensure_ascii=escaped).encode("utf-8", "surrogatepass")
    assert run(classify_in_steps(raw))[0] == frames.classify(raw)


ITEM = st.dictionaries(st.sampled_from("ab") | st.text(), VALUES, min_size=1, max_size=3)
PIECES = ('},{"a":', '},{"b":[', '"},{"', "}", "{", "[", "]", ",", '"', "\\", "NaN", " ")


@settings(max_examples=30)
@given(
    st.lists(ITEM, max_size=40),
    st.integers(1, 60),
    st.sampled_from([None, 1]),
    st.lists(st.text() | st.sampled_from(PIECES)),
)
def test_items_parsed_together_are_the_items_parsed_one_by_one(
    items: list[object], step: int, indent: int | None, torn: list[str]
) -> None:
    """With steps so short that where items may part is guessed all the time, in the middle of others too."""
    items = [*items, {"a": items}, {"b": "".join(torn), "a": items}]
    raw = json.dumps({"jsonrpc": "2.0", "id": 7, "result": {"tools": items}}, indent=indent).encode()
    broken = raw[: len(raw) // 2] + "".join(torn).encode() + raw[len(raw) // 2 :]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(steps, "STEP", step)
        assert [run(classify_in_steps(each))[0] for each in (raw, broken)] == [
            frames.classify(each) for each in (raw, broken)
        ]


def test_keys_are_kept_once_for_many_items() -> None:
    tools = [
        {"name": f"tool {n}", "description": "x" * 100, "inputSchema": {"a key of": n}} for n in range(2_000)
    ]
    raw = json.dumps({"jsonrpc": "2.0", "id": 7, "result": {"tools": tools}}).encode()
    found = run(classify_in_steps(raw))[0].value["result"]["tools"]
    assert found == tools
    keys = {id(key) for tool in found for key in tool["inputSchema"]}
    assert len(keys) < len(tools) / 10  # a last step or two is read one by one


@given(VALUES, st.integers(0, 200))
def test_a_cut_frame_is_the_same_fault_either_way(value: object, at: int) -> None:
    raw = json.dumps({"jsonrpc": "2.0", "id": 7, "result": {"tools": [value]}}).encode()[:at]
    assert run(classify_in_steps(raw))[0] == frames.classify(raw)


@pytest.mark.parametrize(
    "raw",
    [
        b"", b" ", b"{", b"[]", b"{}", b"[1,]", b'{"a":1,}', b'{"jsonrpc":"2.0","id":1,"result":{"x":NaN}}',
        b'{"jsonrpc":"2.0","id":1,"result":{}} x', b'{"jsonrpc":"2.0","id":1,"result":{}}\n', b"\xff", b'"x"', b"7",
        b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"result":{}}', b'{"id":1,"id":2,"jsonrpc":"2.0","result":{}}',
        b'[{"jsonrpc":"2.0","id":1,"result":{}}]', b'{1:2}', b'{"a" 1}', b'{"a":}', b"[" * 5000,
        b'{"jsonrpc":"2.0","id":1,"result":{"a":[' + b"[" * 100_000,
    ],
)  # fmt: skip
def test_what_is_odd_is_judged_the_same_way(raw: bytes) -> None:
    assert run(classify_in_steps(raw))[0] == frames.classify(raw)


def test_a_large_list_pauses_about_every_step() -> None:
    tools = [{"name": f"tool {n}", "description": "x" * 1000} for n in range(500)]
    raw = json.dumps({"jsonrpc": "2.0", "id": 7, "result": {"tools": tools}}).encode()
    frame, pauses = run(classify_in_steps(raw))
    assert frame.value["result"]["tools"] == tools
    assert len(raw) / STEP / 2 < pauses <= len(raw) / STEP + 1


DEEP = '{"name":"deep","inputSchema":' + '{"a":' * 3_000 + "1" + "}" * 3_000 + "}"
FINE = '{"name":"fine","inputSchema":{"type":"object"}}'


@pytest.mark.parametrize("name", ["tools", "prompts", "resources", "resourceTemplates"])
def test_an_item_nested_too_deeply_does_not_hide_the_others_of_its_list(name: str) -> None:
    raw = f'{{"jsonrpc":"2.0","id":7,"result":{{"{name}":[{FINE},{DEEP},{FINE}],"nextCursor":"x"}}}}'.encode()
    found = run(classify_in_steps(raw))[0]
    assert (found.kind, found.id, found.why) == (frames.RESULT, 7, "")
    assert found.value["result"] == {name: [json.loads(FINE), None, json.loads(FINE)], "nextCursor": "x"}


@pytest.mark.parametrize("place", ['"result":{"content":[%s]}', '"result":%s', '"params":{"tools":[%s]}'])
def test_anywhere_else_what_is_nested_too_deeply_is_not_read_at_all(place: str) -> None:
    raw = f'{{"jsonrpc":"2.0","id":7,{place % DEEP}}}'.encode()
    found = run(classify_in_steps(raw))[0]
    assert (found.value, found.why) == (None, frames.TOO_DEEP)
