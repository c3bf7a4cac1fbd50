"""Results taken apart: exact texts, content by kind, tables, and what is malformed."""

from __future__ import annotations

import base64
import json

import pytest

from inspector.console import outcome as outcomes
from inspector.console.outcome import Outcome
from inspector.errors import Cancelled, PeerError, TimedOut
from inspector.web.headlines import headline
from inspector.web.results import (
    IMAGE_BYTES,
    TABLE_ROWS,
    TEXT_CHARS,
    contents_of,
    error_object,
    octets_of,
    shown,
    table_of,
)

PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()


def answer(**result: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode()


def items(*content: object) -> list:
    return list(contents_of(answer(content=list(content))).items)


def test_structured_numbers_stay_as_they_were_spelled() -> None:
    raw = b'{"id":1,"result":{"content":[],"structuredContent":{"n":[1e999,-0.0,1.0,9007199254740993]}}}'
    structured = contents_of(raw).structured
    assert structured is not None
    assert structured.text == '{"n":[1e999,-0.0,1.0,9007199254740993]}'


def test_a_text_that_is_json_is_laid_out_and_one_that_only_looks_so_is_not() -> None:
    first, second, third = items(
        {"type": "text", "text": '{"id": 1}'},
        {"type": "text", "text": "{id}"},
        {"type": "text", "text": "17"},
    )
    assert [item.text.json for item in (first, second, third)] == [True, False, False]
    assert first.size == 9


def test_an_unknown_item_is_shown_raw_and_hides_no_other() -> None:
    found = items(
        {"type": "hologram", "depth": 3}, "bare", {"type": "text"}, {"type": "text", "text": "after"}
    )
    assert [item.kind for item in found] == ["unknown", "unknown", "unknown", "text"]
    assert found[0].problem == 'This item has the type "hologram", which MCP does not define.'
    assert json.loads(found[0].raw.text) == {"type": "hologram", "depth": 3}


def test_an_image_of_a_known_type_becomes_a_data_uri() -> None:
    (image,) = items({"type": "image", "data": PIXEL, "mimeType": "image/png"})
    assert image.image == f"data:image/png;base64,{PIXEL}"


@pytest.mark.parametrize("mime", ["image/svg+xml", "text/html", 'image/png" onload="x', None])
def test_an_image_of_another_type_is_only_offered_as_a_download(mime: str | None) -> None:
    (image,) = items({"type": "image", "data": PIXEL, "mimeType": mime})
    assert (image.image, image.size) == ("", 8)


def test_an_image_too_large_for_the_page_is_offered_as_a_download() -> None:
    data = base64.b64encode(bytes(IMAGE_BYTES + 1)).decode()
    (image,) = items({"type": "image", "data": data, "mimeType": "image/png"})
    assert (image.image, image.size) == ("", IMAGE_BYTES + 1)
    assert image.problem == "The image is too large for the page."


def test_data_that_is_no_base64_is_said_to_be_none() -> None:
    (image,) = items({"type": "image", "data": "not base64!", "mimeType": "image/png"})
    assert (image.kind, image.problem) == ("unknown", "The data of this image is not base64.")


def test_links_and_embedded_resources_tell_their_facts() -> None:
    link, embedded = items(
        {"type": "resource_link", "uri": "https://example.org/a", "name": "a", "size": 3},
        {"type": "resource", "resource": {"uri": "file:///b", "text": "hello"}},
    )
    assert link.facts == (("uri", "https://example.org/a"), ("name", "a"), ("size", "3"))
    assert embedded.text.text == "hello"


def test_a_text_that_repeats_the_structured_content_is_marked() -> None:
    text = {"type": "text", "text": '{"b": 1, "a": [1.0]}'}
    found = contents_of(
        b'{"result":{"structuredContent":{"a":[1.0],"b":1},"content":[' + json.dumps(text).encode() + b"]}}"
    )
    assert [item.repeats for item in found.items] == [True]


def test_an_array_of_flat_objects_is_a_table_with_exact_cells() -> None:
    table = table_of('[{"id":9007199254740993,"name":"a"},{"id":1.0,"ok":null}]')
    assert table is not None
    assert table.columns == ("id", "name", "ok")
    assert table.rows == (("9007199254740993", "a", None), ("1.0", None, "null"))


def test_the_only_member_of_an_object_may_be_the_table() -> None:
    table = table_of('{"rows":[{"a":1}]}')
    assert table is not None and table.rows == (("1",),)


@pytest.mark.parametrize("text", ["[]", "[1,2]", '[{"a":{}}]', '{"a":[{"b":1}],"c":2}', "[{}]"])
def test_other_json_is_no_table(text: str) -> None:
    assert table_of(text) is None


def test_a_long_table_shows_its_first_rows_and_counts_all() -> None:
    table = table_of(json.dumps([{"n": n} for n in range(TABLE_ROWS + 7)]))
    assert table is not None
    assert (len(table.rows), table.total) == (TABLE_ROWS, TABLE_ROWS + 7)


def test_a_long_text_is_cut_and_says_by_how_much() -> None:
    assert shown("x" * (TEXT_CHARS + 5)).left_out == 5


def test_json_nested_too_deeply_is_shown_as_text() -> None:
    assert shown("[" * 100_000 + "]" * 100_000).json is False


def test_an_answer_nested_too_deeply_says_so() -> None:
    raw = b'{"result":{"deep":' + b"[" * 100_000 + b"]" * 100_000 + b"}}"
    assert contents_of(raw).problem == "The answer is nested too deeply to read; its raw bytes are below."


def test_a_result_without_content_says_so_unless_it_asks_for_input() -> None:
    assert contents_of(answer(structuredContent={})).problem == "The result has no content."
    asks = contents_of(answer(resultType="input_required", inputRequests={}))
    assert asks.problem == ""
    assert [name for name, _ in asks.rest] == ["resultType", "inputRequests"]


def test_other_members_are_shown_as_far_as_a_page_bears_and_the_rest_is_counted() -> None:
    found = contents_of(answer(content=[], **{f"{'k' * 500}{n}": n for n in range(1000)}))
    assert (len(found.rest), found.rest_more) == (50, 950)
    assert {len(name) for name, _ in found.rest} == {120}


def test_the_error_object_is_taken_from_the_bytes() -> None:
    assert error_object(b'{"id":1,"error":{"code":1.0,"message":"x"}}') == '{"code":1.0,"message":"x"}'
    assert error_object(b"not json") is None


def test_a_download_holds_the_decoded_octets() -> None:
    content = [
        {"type": "image", "data": PIXEL, "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "a:b", "blob": "AAE="}},
        {"type": "text", "text": "é"},
        "bare",
    ]
    outcome = Outcome(outcomes.OK, "peer", result={"content": content})
    assert octets_of(outcome, 0) == base64.b64decode(PIXEL)
    assert octets_of(outcome, 1) == b"\x00\x01"
    assert octets_of(outcome, 2) == "é".encode()
    assert octets_of(outcome, 3) is None
    assert octets_of(outcome, 9) is None


def test_a_headline_says_whose_the_error_is() -> None:
    timed_out = headline(outcomes.of_error(TimedOut("No answer within 5 s; Loupe stopped waiting"), None))
    assert timed_out.whose == "Loupe, on this side; the server sent no such thing"
    refused = headline(outcomes.of_error(PeerError(-32602, "no"), None))
    assert (refused.word, refused.whose) == ("protocol error", "the server")
    assert headline(outcomes.of_error(Cancelled(""), None)).whose == ""


def test_a_tool_error_is_no_protocol_fault() -> None:
    found = headline(Outcome(outcomes.TOOL_ERROR, "peer", result={"isError": True}))
    assert (found.sev, found.word) == ("warn", "tool error")


def test_integers_past_pythons_digit_limit_are_json_and_stay_as_they_were_spelled() -> None:
    digits = "9" * 5000
    raw = (
        '{"id":1,"result":{"content":[{"type":"text","text":"[%s]"},{"type":"resource_link","uri":"a:b","size":%s}'
        ',{"type":%s}],"structuredContent":[%s],"more":%s}}'
    ) % ((digits,) * 5)
    found = contents_of(raw.encode())
    text, link, unknown = found.items
    assert found.problem == ""
    assert found.structured is not None
    assert found.structured.text == f"[{digits}]"
    assert (text.text.text, text.text.json, text.repeats) == (f"[{digits}]", True, True)
    assert dict(link.facts)["size"] == digits
    assert unknown.problem == f"This item has the type {digits}, which MCP does not define."
    assert [(name, rest.text) for name, rest in found.rest] == [("more", digits)]
    assert table_of(f'[{{"n":{digits}}}]').rows == ((digits,),)
