"""List walks out of recordings: which pages belong together, and which walk is the last whole one."""

from __future__ import annotations

import base64
import json
from typing import Any

from inspector.catalog.listed_files import TracedWalk, snapshot_of_lines, walks_of_trace


class Trace:
    """Events of a recording, as a reader yields them."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def add(self, t: str, c: int, **fields: Any) -> int:
        seq = len(self.events) + 1
        self.events.append({"t": t, "seq": seq, "c": c, "at": "2026-11-30T12:00:00.000001Z", **fields})
        return seq

    def ask(self, c: int, id_: int, cursor: str | None = None, method: str = "tools/list") -> int:
        params = {} if cursor is None else {"cursor": cursor}
        raw = json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})
        return self.add("rpc", c, kind="request", method=method, id=id_, raw=raw)

    def answer(self, c: int, id_: int, pair: int | None, result: dict[str, Any], **fields: Any) -> None:
        raw = json.dumps({"jsonrpc": "2.0", "id": id_, "result": result})
        paired = {} if pair is None else {"pair": pair}
        self.add("rpc", c, **{"kind": "result", "id": id_, "raw": raw, **paired, **fields})

    def page(
        self, c: int, id_: int, names: str, cursor: str | None = None, following: str | None = None
    ) -> None:
        result: dict[str, Any] = {"tools": [{"name": name} for name in names]}
        self.answer(
            c, id_, self.ask(c, id_, cursor), result | ({"nextCursor": following} if following else {})
        )

    def walks(self) -> list[TracedWalk]:
        return walks_of_trace(self.events)


def names(walk: TracedWalk) -> list[str | None]:
    return walk.snapshot.listing().names


def test_pages_are_put_together_by_their_cursors() -> None:
    trace = Trace()
    trace.page(1, 10, "ab", None, "two")
    trace.page(1, 11, "cd", "two")
    (walk,) = trace.walks()
    assert names(walk) == ["a", "b", "c", "d"] and walk.complete
    assert [page.cursor for page in walk.snapshot.pages] == [None, "two"]
    assert walk.snapshot.pages[0].received_at_us == 1_796_040_000_000_001


def test_the_last_complete_walk_of_each_connection_counts() -> None:
    trace = Trace()
    trace.page(1, 10, "a")
    trace.page(2, 10, "x")
    trace.page(1, 11, "b")
    trace.page(1, 12, "c", None, "more")
    assert [(walk.c, names(walk), walk.complete) for walk in trace.walks()] == [
        (1, ["b"], True),
        (2, ["x"], True),
    ]


def test_a_walk_that_was_broken_off_is_used_when_there_is_no_other_and_says_so() -> None:
    trace = Trace()
    trace.page(1, 10, "a", None, "more")
    (walk,) = trace.walks()
    assert names(walk) == ["a"] and not walk.complete


def test_walks_that_cross_on_one_connection_do_not_mix() -> None:
    trace = Trace()
    trace.page(1, 10, "a", None, "one")
    trace.page(1, 11, "x", None, "two")
    trace.page(1, 12, "b", "one")
    (walk,) = trace.walks()
    assert names(walk) == ["a", "b"] and walk.complete


def test_an_answer_without_a_pair_is_matched_by_its_id() -> None:
    trace = Trace()
    trace.ask(1, 10)
    trace.answer(1, 10, None, {"tools": [{"name": "a"}]})
    assert [names(walk) for walk in trace.walks()] == [["a"]]


def test_bytes_that_are_no_utf8_and_raws_that_were_cut_stay_visible_as_unreadable_pages() -> None:
    trace = Trace()
    seq = trace.ask(1, 10)
    trace.answer(1, 10, seq, {}, raw=base64.b64encode(b'{"result":\xff').decode(), enc="base64")
    seq = trace.ask(2, 10)
    trace.answer(2, 10, seq, {}, raw='{"result":{"tools":[', cut=True)
    assert [[bool(page.fault) for page in walk.snapshot.listing().pages] for walk in trace.walks()] == [
        [True],
        [True],
    ]
    assert not trace.walks()[1].complete


def test_what_the_connection_told_about_itself_goes_along() -> None:
    trace = Trace()
    trace.add("connection", 1, label="mine", transport="stdio", client_capabilities={"roots": {}})
    seq = trace.ask(1, 1, method="initialize")
    trace.answer(1, 1, seq, {"serverInfo": {"name": "s", "version": "1"}, "instructions": "Be good"})
    trace.add("connection", 1, era="handshake", protocol_version="2025-11-25")
    trace.page(1, 10, "a")
    (walk,) = trace.walks()
    snapshot = walk.snapshot
    assert (walk.label, snapshot.era, snapshot.declared) == ("mine", "handshake", ("roots",))
    assert snapshot.server_info == {"name": "s", "version": "1"} and snapshot.instructions == "Be good"


def test_a_recording_of_nothing_has_no_walks_and_odd_events_do_no_harm() -> None:
    odd: list[dict[str, Any]] = [{"t": "rpc"}, {"c": 1}, {"t": "rpc", "c": 1, "kind": "result", "raw": 7}]
    for value in ([1], {"a": 1}, None):
        odd.append({"t": "rpc", "c": 1, "kind": "result", "raw": "{}", "pair": value, "id": value})
    assert walks_of_trace(odd) == []


def test_an_answer_is_found_by_whatever_its_request_was_numbered_with() -> None:
    asked = {"t": "rpc", "c": 1, "seq": [1], "kind": "request", "method": "tools/list", "raw": "{}"}
    answer = {"t": "rpc", "c": 1, "kind": "result", "pair": [1], "raw": '{"result":{"tools":[{"name":"a"}]}}'}
    assert [names(walk) for walk in walks_of_trace([asked, answer])] == [["a"]]


def test_each_line_that_is_not_blank_is_a_page() -> None:
    snapshot = snapshot_of_lines(b'{"result":{"tools":[{"name":"a"}]}}\r\n\n{"result":{"tools":[]}}')
    assert [page.wire_bytes for page in snapshot.listing().pages] == [35, 23]
