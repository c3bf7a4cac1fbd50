"""`trace diff`, `trace replay` and `trace stand-in` as a person runs them, against the real mcp-server-git."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from cli_run import loupe
from written_traces import write_trace

from inspector.console.console import Console
from inspector.console.direct import direct
from inspector.settings.paths import Paths
from inspector.settings.spec import ServerSpec

VERSIONED = Path(__file__).resolve().parents[1] / "servers" / "versioned.py"


def server(version: int) -> list[str]:
    return [sys.executable, str(VERSIONED), str(version)]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two pages of a list, three calls (one with an exact number), and an error, of version 1."""
    folder = tmp_path_factory.mktemp("recorded")
    path = folder / "one.mcptrace.jsonl"
    spec = ServerSpec("s", argv=tuple(server(1)), era="handshake")
    with direct(spec, Paths.locate(folder / "loupe"), record=path, redact=False) as connection:
        first = connection.ask("tools/list", {})
        connection.ask("tools/list", {"cursor": first.result["nextCursor"]})
        connection.ask("tools/call", {"name": "look", "arguments": {"n": 12345678901234567890, "x": 1.0}})
        connection.ask("tools/call", {"name": "write", "arguments": {}})
    return path


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def replayed(home: Path, trace: Path, *options: str, version: int = 2) -> dict[str, Any]:
    ran = loupe(
        home, "trace", "replay", str(trace), "--era", "handshake", *options, "--json", "--", *server(version)
    )
    assert ran.code == 0, ran.err
    found: dict[str, Any] = ran.json
    assert found["schema"] == "mcp-loupe/trace-replay/1"
    return found


def test_a_replay_gives_each_exchange_its_verdict(tmp_path: Path, recorded: Path) -> None:
    new = tmp_path / "new.jsonl"
    found = replayed(tmp_path, recorded, "--record", str(new), "--no-redact")
    assert [(one["method"], one["name"], one["verdict"]) for one in found["exchanges"]] == [
        ("tools/list", "", "same"),
        ("tools/list", "", "same"),
        ("tools/call", "look", "same"),
        ("tools/call", "write", "refused"),
    ]
    assert found["summary"] == {"same": 3, "changed": 0, "failed": 0, "refused": 1}
    assert "write does not say that it is read-only" in found["exchanges"][3]["why"]
    assert found["exchanges"][2]["ignored"] == ["/result/content/0/text"]
    sent = [line for line in lines(new) if line.get("cause") == "replay" and line["kind"] == "request"]
    assert '{"n":12345678901234567890,"x":1.0}' in sent[2]["raw"]
    assert json.loads(sent[1]["raw"])["params"]["cursor"].startswith("2-")
    notes = [(line["pair"], line["text"]) for line in lines(new) if line["t"] == "note"]
    assert notes[2] == (sent[2]["seq"], f"Replay of event {found['exchanges'][2]['seq']} of {recorded.name}")


def test_what_is_not_read_only_runs_when_confirmed_and_a_change_has_its_path(
    tmp_path: Path, recorded: Path
) -> None:
    found = replayed(tmp_path, recorded, "--yes")
    assert found["exchanges"][3]["verdict"] == "changed"
    assert found["exchanges"][3]["changes"] == [
        {"path": "/result/version", "kind": "changed", "before": 1, "after": 2}
    ]
    ignoring = replayed(tmp_path, recorded, "--yes", "--ignore", "/result/version")
    assert ignoring["summary"]["same"] == 4
    strict = replayed(tmp_path, recorded, "--strict")
    assert [one["verdict"] for one in strict["exchanges"]] == ["changed", "same", "changed", "refused"]


def test_only_some_are_replayed_and_a_seq_that_is_none_is_named(tmp_path: Path, recorded: Path) -> None:
    seqs = [line["seq"] for line in lines(recorded) if line.get("method") == "tools/call"]
    found = replayed(tmp_path, recorded, "--only", str(seqs[1]), "--only", str(seqs[0]))
    assert [one["seq"] for one in found["exchanges"]] == [seqs[0]]
    ran = loupe(tmp_path, "trace", "replay", str(recorded), "--only", "1", "--", *server(1))
    assert ran.code == 7
    assert "Event 1 of the trace is no request" in ran.err


def write(path: Path, *crossed: tuple[str, dict[str, Any]]) -> Path:
    lines = ((way, json.dumps({"jsonrpc": "2.0", **value}).encode()) for way, value in crossed)
    return write_trace(path, *lines)


def called(id_: int, name: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    return ">", {"id": id_, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


def answered(id_: int, **result: Any) -> tuple[str, dict[str, Any]]:
    return "<", {"id": id_, "result": result}


def test_what_cannot_be_sent_is_refused_and_what_gets_no_answer_failed(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.jsonl",
        called(1, "gone"), answered(1), called(2, "look", key="[redacted:R2:1]"), answered(2), called(3, "look", fail=1),
    )  # fmt: skip
    found = replayed(tmp_path, path)
    assert [(one["verdict"], one["why"]) for one in found["exchanges"]] == [
        ("refused", "The target lists no tool gone"),
        (
            "refused",
            "Its params hold redacted values, which no server knows",
        ),
        ("failed", "The server exited with code 3"),
    ]
    modern = ">", {"id": 1, "method": "tools/call", "params": {"name": "look", "requestState": "x"}}
    found = replayed(tmp_path, write(tmp_path / "b.jsonl", modern, answered(1)))
    assert found["exchanges"][0]["why"] == (
        "It carries requestState, which only the modern era has; the target speaks 2025-11-25"
    )


def test_two_traces_are_aligned_and_compared(tmp_path: Path) -> None:
    tools = [{"name": "x", "d": "1"}, {"name": "y", "d": "2"}]
    listed = ">", {"id": 1, "method": "tools/list"}
    a = write(
        tmp_path / "a.jsonl",
        listed, answered(1, tools=tools), called(2, "t", n=1), answered(2, n=1), called(3, "only-a"), answered(3),
    )  # fmt: skip
    b = write(
        tmp_path / "b.jsonl",
        called(7, "t", n=1.0), answered(7, n=2), (">", {"id": 8, "method": "tools/list", "params": {}}),
        answered(8, tools=[{"name": "new"}, {"name": "y", "d": "2"}, {"name": "x", "d": "changed"}]),
        called(9, "only-b"),
    )  # fmt: skip
    ran = loupe(tmp_path, "trace", "diff", str(a), str(b), "--json", "--exit-code")
    assert ran.code == 1
    found = ran.json
    assert found["schema"] == "mcp-loupe/trace-diff/1"
    assert found["summary"] == {"same": 0, "changed": 2, "missing": 1, "added": 1}
    listing, call, missing, added = found["exchanges"]
    assert (listing["status"], listing["a"]["seq"], listing["b"]["seq"]) == ("changed", 2, 4)
    assert listing["changes"] == [
        {"path": "/result/tools/0/d", "kind": "changed", "before": "1", "after": "changed"},
        {"path": "/result/tools/0", "kind": "added", "after": {"name": "new"}},
        {"path": "/result/tools", "kind": "reordered"},
    ]
    assert listing["delta"]["bytes"] == listing["b"]["bytes"] - listing["a"]["bytes"]
    assert call["changes"] == [{"path": "/result/n", "kind": "changed", "before": 1, "after": 2}]
    assert (missing["name"], added["name"], added["b"]["outcome"]) == ("only-a", "only-b", "unanswered")
    text = loupe(tmp_path, "trace", "diff", str(a), str(b))
    assert text.code == 0
    assert "- tools/call only-a" in text.out
    assert "/result/n: 1 → 2" in text.out
    assert "2 changed, 1 missing, 1 added" in text.out
    same = loupe(tmp_path, "trace", "diff", str(a), str(a), "--exit-code")
    assert same.code == 0
    assert "3 same" in same.out


def test_a_stand_in_answers_the_command_line_itself(tmp_path: Path, recorded: Path) -> None:
    """Record, stand in, replay against the stand-in: all is the same."""
    command = [sys.executable, "-m", "inspector", "trace", "stand-in", str(recorded)]
    ran = loupe(
        tmp_path, "trace", "replay", str(recorded), "--yes", "--strict", "--exit-code", "--era", "handshake", "--",
        *command,
    )  # fmt: skip
    assert ran.code == 0, ran.out
    assert "4 same" in ran.out


def test_a_recorded_session_stands_for_a_file(tmp_path: Path) -> None:
    """Recorded by a console, played by the command line: the same road without an export."""
    spec = ServerSpec("s", argv=tuple(server(1)), era="handshake")
    with Console(Paths.locate(tmp_path / "loupe")) as console:
        key = console.servers_file.add(spec)
        console.connect(key)
        console.call(key, "look", '{"n":12345678901234567890}').future.result(30)
    ran = loupe(tmp_path, "trace", "replay", "session:1", "--era", "handshake", "--json", "--", *server(1))
    assert ran.json["summary"] == {"same": 3, "changed": 0, "failed": 0, "refused": 0}
    diff = loupe(tmp_path, "trace", "diff", "session:1", "session:1", "--exit-code")
    assert (diff.code, "4 same" in diff.out) == (0, True)
    gone = loupe(tmp_path, "trace", "diff", "session:1", "session:9")
    assert (gone.code, gone.err.splitlines()[0]) == (
        2,
        "There is no recorded session 9. Choose one that exists; the newest: 1.",
    )


def shipped(name: str) -> str:
    return str(Path(__file__).resolve().parents[2] / "traces" / f"{name}.mcptrace.jsonl")


def test_the_rounds_of_a_recorded_conversation_are_replayed_with_the_state_that_comes_now(
    tmp_path: Path,
) -> None:
    """The SDK seals its requestState with a key of its process: the recorded one would be refused."""
    asking = [sys.executable, str(VERSIONED.parent / "sdk_asking.py")]
    ran = loupe(tmp_path, "trace", "replay", shipped("sdk-rounds"), "--yes", "--json", "--", *asking)
    assert ran.json["summary"] == {"same": 4, "changed": 0, "failed": 0, "refused": 0}, ran.out
    alone = loupe(
        tmp_path, "trace", "replay", shipped("sdk-rounds"), "--only", "12", "--yes", "--json", "--", *asking
    ).json["exchanges"][0]
    assert alone["why"] == "Its requestState is the recorded one: the round before it was not replayed"
    assert alone["new"]["error"]["code"] == -32602


def test_recorded_rounds_and_a_recorded_subscription_stand_in_for_their_servers(tmp_path: Path) -> None:
    stand_in = [sys.executable, "-m", "inspector", "trace", "stand-in"]
    rounds = loupe(
        tmp_path, "trace", "replay", shipped("sdk-rounds"), "--yes", "--json", "--", *stand_in,
        shipped("sdk-rounds"),
    )  # fmt: skip
    assert rounds.json["summary"]["same"] == 4, rounds.out
    heard: list[Any] = []
    spec = ServerSpec("s", argv=(*stand_in, shipped("everything-subscription")), era="handshake")
    with direct(spec, Paths.locate(tmp_path / "loupe")) as connection:
        connection.on_notification = lambda method, params: heard.append((method, params.get("uri")))
        connection.ask("resources/subscribe", {"uri": "demo://resource/static/document/features.md"})
        connection.ask("tools/call", {"name": "toggle-subscriber-updates", "arguments": {}})
    assert ("notifications/resources/updated", "demo://resource/static/document/features.md") in heard
