"""What a server can make us hold: requests it never reads the answers of, numbers beyond any of Python's."""

from __future__ import annotations

import json
import sys

import pytest
from bench import Bench

from inspector.settings.spec import ServerSpec
from inspector.trace.file import event_line
from inspector.wire import events
from inspector.wire.dispatcher import MOST_ANSWERS
from inspector.wire.events import C2S, S2C, Event, Journal

ASKING = """
import json, sys
def say(**body): sys.stdout.write(json.dumps({"jsonrpc": "2.0", **body}) + "\\n"); sys.stdout.flush()
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "initialize":
        say(id=asked["id"], result={"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "a"}})
    elif asked.get("method") == "tools/call":
        for n in range(6000):
            say(id=f"{n}" + "x" * 200, method="ping")
        for line in sys.stdin:
            if "method" not in json.loads(line) and json.loads(line)["id"].startswith("0x"):
                break
        say(id=asked["id"], result={"content": []})
    elif "method" in asked and "id" in asked:
        say(id=asked["id"], result={})
"""
PROGRESS = """
import json, sys
def say(**body): sys.stdout.write(json.dumps({"jsonrpc": "2.0", **body}) + "\\n"); sys.stdout.flush()
sys.set_int_max_str_digits(0)
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "initialize":
        say(id=asked["id"], result={"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "a"}})
    elif asked["method"] == "tools/call":
        token = asked["params"]["_meta"]["progressToken"]
        for _ in range(2):
            say(method="notifications/progress", params={"progressToken": token, "progress": 10**400})
        say(id=asked["id"], result={"content": []})
    elif "id" in asked:
        say(id=asked["id"], result={})
"""
LONG_ID = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "tools/call":
        print('{"jsonrpc":"2.0","id":%s,"result":{}}' % ("9" * 5000), flush=True)
    if "id" in asked:
        result = {"protocolVersion": "2025-11-25", "capabilities": {}}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


def spec(script: str) -> ServerSpec:
    return ServerSpec("asking", argv=(sys.executable, "-c", script), era="handshake")


def test_a_server_that_asks_without_reading_is_answered_up_to_a_bound(shared: Bench) -> None:
    connection = shared.open(spec(ASKING))
    connection.ask("tools/call", {"name": "t"})
    stats = connection.link.stats
    assert stats.unanswered > 0
    answered = 6000 - stats.unanswered
    assert answered >= MOST_ANSWERS
    assert connection.ask("tools/list").result == {}
    assert (
        len([e for e in shared.events if e.c == connection.c and e.body.get("class") == "server-request"])
        == 1
    )
    connection.close()


def test_progress_beyond_any_float_is_said_and_ends_nothing(shared: Bench) -> None:
    connection = shared.open(spec(PROGRESS))
    connection.ask("tools/call", {"name": "t"}, on_progress=lambda _params: None)
    (event,) = [e for e in shared.events if e.c == connection.c and e.t == "error"]
    assert event.body["class"] == "progress-order"
    assert "a number beyond any float" in event.body["message"]
    connection.close()


def test_an_id_longer_than_any_integer_of_python_is_recorded_and_ends_nothing(shared: Bench) -> None:
    connection = shared.open(spec(LONG_ID))
    assert connection.ask("tools/call", {"name": "t"}).result["capabilities"] == {}
    (error,) = [e for e in shared.events if e.c == connection.c and e.t == "error"]
    assert error.body["class"] == "refused-frame"
    odd = shared.events[(error.pair or 0) - 1]
    assert odd.id == "9" * 5000
    assert json.loads(event_line(odd))["id"] == "9" * 5000
    connection.close()


def test_who_asks_without_end_costs_nobody_else_their_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "MOST_WAITING", 3)
    journal = Journal()
    first = journal.emit(Event("rpc", 1, C2S, kind="request", method="tools/list", id="10"))
    for c in (1, 2):
        for n in range(5):
            journal.emit(Event("rpc", c, S2C, kind="request", method="ping", id=str(n)))
    answer = Event("rpc", 1, S2C, kind="result", id="10")
    journal.emit(answer)
    assert (answer.pair, answer.method) == (first, "tools/list")
    kept = [Event("rpc", 2, C2S, kind="result", id=str(n)) for n in range(5)]
    for event in kept:
        journal.emit(event)
    assert [event.pair is not None for event in kept] == [False, False, True, True, True]
