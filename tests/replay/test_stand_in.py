"""The stand-in answers with the recorded bytes, and says so where it has none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from replaying import HELLO, HELLO_ANSWER, MODERN_META
from written_traces import ask, call, write_trace

from inspector.errors import FileError, UsageError
from inspector.replay.compare import PLAYED, Ignore
from inspector.replay.exchanges import Gathering, Recording, read_recording
from inspector.replay.stand_in import Play, StandIn

ODD = (
    b'{ "id" :7 ,"result":{"id":7,"big":12345678901234567890,"one":1.0,"one":1,"text":"\\u00e9 \\"id\\":7"}, '
    b'"jsonrpc":"2.0"}'
)


def playing(tmp_path: Path, *lines: tuple[str, bytes], ignore: tuple[str, ...] = ()) -> StandIn:
    recording = read_recording(write_trace(tmp_path / "one.mcptrace.jsonl", *lines))
    return StandIn(recording, ignore=Ignore.of((*PLAYED, *ignore)))


def steps(play: Play | None) -> list[bytes]:
    assert play is not None
    return [step.raw for step in play.steps]


def error(play: Play | None) -> dict[str, Any]:
    (raw,) = steps(play)
    found: dict[str, Any] = json.loads(raw)["error"]
    return found


def test_an_answer_keeps_every_byte_but_its_id(tmp_path: Path) -> None:
    server = playing(tmp_path, (">", call(7, "t")), ("<", ODD))
    assert steps(server.play(call("c-9", "t"))) == [ODD.replace(b":7 ,", b':"c-9" ,', 1)]
    assert steps(server.play(call(7, "t"))) == [ODD]


@pytest.mark.parametrize(
    "params",
    [
        {"name": "t", "arguments": {"b": [1, {"c": None}], "a": 1}},
        {"arguments": {"a": 1.0, "b": [1, {"c": None}]}, "name": "t", "_meta": {"progressToken": "x"}},
    ],
)
def test_meta_member_order_and_the_spelling_of_a_number_do_not_matter(
    tmp_path: Path, params: dict[str, Any]
) -> None:
    server = playing(tmp_path, (">", call(7, "t", a=1, b=[1, {"c": None}])), ("<", ODD))
    assert len(steps(server.play(ask(1, "tools/call", params)))) == 1
    assert b"result" in steps(server.play(ask(1, "tools/call", params)))[0]


def test_absent_null_and_empty_members_are_one_question(tmp_path: Path) -> None:
    server = playing(tmp_path, (">", ask(7, "tools/list")), ("<", ODD))
    for params in (None, {}, {"cursor": None}):
        assert b"result" in steps(server.play(ask(1, "tools/list", params)))[0]
    assert error(server.play(ask(1, "tools/list", {"cursor": "2"})))["code"] == -32602


def test_true_is_not_one(tmp_path: Path) -> None:
    server = playing(tmp_path, (">", call(7, "t", a=1)), ("<", ODD))
    assert error(server.play(call(1, "t", a=True)))["code"] == -32602


def test_a_part_can_be_ignored_by_its_pointer(tmp_path: Path) -> None:
    lines = ((">", call(7, "t", now="08:00", list=[{"at": 1}])), ("<", ODD))
    server = playing(tmp_path, *lines, ignore=("/params/arguments/now", "/params/arguments/list/*/at"))
    assert b"result" in steps(server.play(call(1, "t", now="09:00", list=[{"at": 2}])))[0]
    with pytest.raises(UsageError, match="no JSON pointer into a request"):
        Ignore.of(["arguments/now"])


def test_several_answers_come_in_order_and_the_last_repeats(tmp_path: Path) -> None:
    answers = [b'{"jsonrpc":"2.0","id":7,"result":{"n":%d}}' % n for n in range(3)]
    lines = [line for answer in answers for line in ((">", call(7, "t")), ("<", answer))]
    server = playing(tmp_path, *lines)
    assert [steps(server.play(call(7, "t"))) for _ in range(5)] == [[answers[n]] for n in (0, 1, 2, 2, 2)]


def test_notifications_between_come_with_the_askers_token(tmp_path: Path) -> None:
    other = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}'
    step = b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":0.50}}'
    asked = {"name": "t", "_meta": {"progressToken": 7}}
    server = playing(
        tmp_path, (">", ask(7, "tools/call", asked)), ("<", other), ("<", step), ("<", ODD), ("<", other)
    )
    mine = {"name": "t", "_meta": {"progressToken": "mine"}}
    assert steps(server.play(ask(7, "tools/call", mine))) == [other, step.replace(b":7,", b':"mine",'), ODD]
    assert steps(server.play(ask(7, "tools/call", {"name": "t"}))) == [other, ODD]


def test_what_was_never_recorded_names_the_method_and_the_nearest_params(tmp_path: Path) -> None:
    lines = [((">", call(7, name, a=a)), ("<", ODD)) for name, a in (("t", 1), ("u", 1), ("t", 22))]
    server = playing(tmp_path, *(line for pair in lines for line in pair))
    found = error(server.play(call(1, "t", a=2)))
    assert found["code"] == -32602
    assert found["message"].startswith("tools/call was never asked with these params")
    assert found["data"]["nearest"]["params"]["name"] == "t"
    found = error(server.play(ask(1, "prompts/list")))
    assert (found["code"], found["data"]) == (
        -32601,
        {"method": "prompts/list", "recorded_methods": ["tools/call"]},
    )
    assert "prompts/list was never asked" in found["message"]


def test_a_request_without_an_answer_says_so(tmp_path: Path) -> None:
    server = playing(tmp_path, (">", call(7, "t")))
    assert error(server.play(call(1, "t")))["message"] == (
        "The trace holds this tools/call without an answer (event 2)"
    )


def test_a_client_of_the_other_era_gets_the_error_its_era_has_for_that(tmp_path: Path) -> None:
    old = playing(tmp_path, (">", HELLO), ("<", HELLO_ANSWER), (">", call(7, "t")), ("<", ODD))
    found = error(old.play(ask(1, "tools/call", {"name": "t", "_meta": MODERN_META})))
    assert (found["code"], found["data"]) == (
        -32022,
        {"supported": ["2025-11-25"], "requested": "2026-07-28"},
    )
    assert error(old.play(ask(1, "server/discover", {"_meta": MODERN_META})))["code"] == -32601
    (tmp_path / "one.mcptrace.jsonl").unlink()
    new = playing(tmp_path, (">", ask(7, "tools/call", {"name": "t", "_meta": MODERN_META})), ("<", ODD))
    found = error(new.play(HELLO))
    assert (found["code"], found["data"]["supported"]) == (-32022, ["2026-07-28"])
    assert "modern era" in found["message"]


def test_any_client_of_the_recorded_era_opens_it(tmp_path: Path) -> None:
    server = playing(tmp_path, (">", HELLO), ("<", HELLO_ANSWER))
    other = {
        "protocolVersion": "2024-11-05",
        "capabilities": {"roots": {}},
        "clientInfo": {"name": "x", "version": "2"},
    }
    assert steps(server.play(ask(0, "initialize", other))) == [HELLO_ANSWER.replace(b'"id":1}', b'"id":0}')]
    assert steps(server.play(ask(5, "ping"))) == [b'{"jsonrpc":"2.0","id":5,"result":{}}']
    assert server.play(b'{"jsonrpc":"2.0","method":"notifications/initialized"}') is None


def test_a_recorded_discover_error_is_played_too(tmp_path: Path) -> None:
    refusal = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found: no such thing"}}'
    server = playing(
        tmp_path, (">", ask(1, "server/discover")), ("<", refusal), (">", HELLO), ("<", HELLO_ANSWER)
    )
    assert steps(server.play(ask(1, "server/discover", {"_meta": MODERN_META}))) == [refusal]


def test_a_redacted_value_fits_whatever_stood_there(tmp_path: Path) -> None:
    server = playing(
        tmp_path,
        (">", call(7, "t", token="[redacted:R2:1]", url="https://h/?k=[redacted:R3:2]&a=1")),
        ("<", ODD),
    )
    assert b"result" in steps(server.play(call(1, "t", token="s3cret", url="https://h/?k=zz&a=1")))[0]
    assert error(server.play(call(1, "t", token="s3cret", url="https://h/?k=zz&a=2")))["code"] == -32602


def test_a_listening_stream_stays_open_under_the_askers_id(tmp_path: Path) -> None:
    key = "io.modelcontextprotocol/subscriptionId"
    news = ask(None, "notifications/tools/list_changed", {"_meta": {key: 7}}).replace(b'"id": null, ', b"")
    server = playing(tmp_path, (">", ask(7, "subscriptions/listen", {"_meta": MODERN_META})), ("<", news))
    play = server.play(ask("mine", "subscriptions/listen", {"_meta": MODERN_META}))
    assert steps(play) == [news.replace(b": 7}", b': "mine"}')]
    assert play is not None and play.hold


@pytest.mark.parametrize(
    ("raw", "code"), [(b"hello", -32700), (b"[]", -32600), (b'{"id":1,"method":2}', -32600)]
)
def test_what_is_no_request_is_refused(tmp_path: Path, raw: bytes, code: int) -> None:
    server = playing(tmp_path, (">", HELLO), ("<", HELLO_ANSWER))
    assert error(server.play(raw))["code"] == code


def test_a_trace_of_several_connections_wants_one_named(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "a.jsonl", (">", HELLO), ("<", HELLO_ANSWER))
    lines = path.read_text().splitlines()
    more = json.loads(lines[2]) | {"c": 2, "seq": 4}
    path.write_text("\n".join([*lines[:4], json.dumps(more), ""]))
    recording = read_recording(path)
    with pytest.raises(UsageError, match=r"several connections: 1 \(recorded\), 2 \(unnamed\)"):
        StandIn(recording, ignore=Ignore.of(PLAYED))
    assert len(StandIn(recording, ignore=Ignore.of(PLAYED), c=1).exchanges) == 1
    with pytest.raises(UsageError, match="no connection 3"):
        StandIn(recording, ignore=Ignore.of(PLAYED), c=3)


def test_a_trace_without_a_request_cannot_be_played(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="holds no request of a client"):
        read_recording(write_trace(tmp_path / "a.jsonl"))


def test_params_nested_past_all_reason_are_refused_and_end_nothing(tmp_path: Path) -> None:
    deep = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + b'{"a":' * 700 + b"1" + b"}" * 701
    server = playing(
        tmp_path, (">", deep), ("<", ODD.replace(b":7 ,", b":1 ,", 1)), (">", call(2, "t")), ("<", ODD)
    )
    assert error(server.play(deep))["message"] == "The params are nested too deeply to be compared"


def test_frames_of_a_file_that_are_not_what_it_calls_them_are_played_as_they_are() -> None:
    """A request that is held in part, a notification for it, and an error that is a number."""
    key = "io.modelcontextprotocol/subscriptionId"
    news = ask(None, "notifications/tools/list_changed", {"_meta": {key: 1}}).decode()
    gathering = Gathering()
    for fields in (
        {"kind": "request", "dir": "c2s", "method": "subscriptions/listen", "raw": '{"id":1', "cut": True},
        {"kind": "notification", "dir": "s2c", "raw": news},
        {"kind": "request", "dir": "c2s", "raw": call(7, "t").decode()},
        {"kind": "error", "dir": "s2c", "pair": 3, "raw": '{"jsonrpc":"2.0","id":7,"error":5}'},
    ):  # fmt: skip
        gathering.take({"t": "rpc", "c": 1, "seq": len(gathering.exchanges) * 2 + 1, **fields})
    listen, asked = gathering.exchanges
    assert listen.between == []
    server = StandIn(Recording(Path("x"), {}, [asked], {}), ignore=Ignore.of(PLAYED))
    assert steps(server.play(call(9, "t"))) == [b'{"jsonrpc":"2.0","id":9,"error":5}']
