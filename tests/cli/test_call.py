"""`mcp-loupe call`: each outcome with its document and exit code; lexemes survive both ways."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from cli_run import here, loupe

from inspector.cli.call import definition_in, show
from inspector.console.outcome import Outcome
from inspector.trace.file_reader import read_trace


def test_a_result_comes_with_its_raw_bytes_and_the_verdict_on_its_output(tmp_path: Path) -> None:
    ran = loupe(
        tmp_path, "call", "demo:flat", "search_knowledge_base", "--args", '{"query":"refund"}', "--json"
    )
    assert ran.code == 0, ran.err
    found = ran.json
    assert found["schema"] == "mcp-loupe/call/1"
    assert found["outcome"] == "ok"
    assert found["origin"] == "peer"
    assert json.loads(found["raw"])["result"] == found["result"]
    assert found["output_schema"] == {"verdict": "valid", "errors": []}
    request, reply = found["frames"]
    assert request < reply


@pytest.mark.parametrize(
    ("tool", "code", "outcome", "origin"),
    [
        ("is_error", 6, "tool_error", "peer"),
        ("custom_error_code", 4, "protocol_error", "peer"),
        ("no_such_tool", 4, "protocol_error", "peer"),
        ("exit_with", 4, "transport_failure", "console"),
        ("result_is_list", 4, "protocol_error", "peer"),
        ("empty_input_required", 1, "input_required", "peer"),
    ],
)
def test_each_way_a_call_can_end_has_its_word_and_exit_code(
    tool: str, code: int, outcome: str, origin: str, tmp_path: Path
) -> None:
    ran = here(tmp_path, "call", "demo:chaos", tool, "--json")
    assert (ran.code, ran.json["outcome"], ran.json["origin"]) == (code, outcome, origin), ran.err


def test_our_own_time_out_is_never_shown_as_the_servers_code(tmp_path: Path) -> None:
    ran = loupe(tmp_path, "call", "demo:chaos", "never_answer", "--timeout", "1", "--json")
    assert ran.code == 4
    assert ran.json["outcome"] == "timeout"
    assert ran.json["origin"] == "console"
    assert "code" not in ran.json
    assert "Loupe stopped waiting" in ran.json["error"]["message"]


def test_an_integer_beyond_2_53_survives_in_both_directions(tmp_path: Path) -> None:
    trace = tmp_path / "t.mcptrace.jsonl"
    big = "725653563933458432123"
    words = ["call", "demo:chaos", "big_integer", "--args", f'{{"id": {big}, "f": 1.0}}', "--json"]
    ran = loupe(tmp_path, *words, "--record", str(trace), "--no-redact")
    assert ran.code == 0, ran.err
    assert "725653563933458432" in ran.json["raw"]
    with read_trace(trace) as events:
        sent = [
            event["raw"]
            for event in events
            if event.get("method") == "tools/call" and event["kind"] == "request"
        ]
    assert f'"arguments":{{"id":{big},"f":1.0}}' in sent[0]


@pytest.mark.parametrize("text", ["{", "[1]", "7", '{"a": NaN}', '{"a": 1,}'])
def test_arguments_that_are_no_json_object_are_refused_before_anything_is_spawned(
    text: str, tmp_path: Path
) -> None:
    marker = tmp_path / "spawned"
    command = [sys.executable, "-c", f"open({str(marker)!r}, 'w')"]
    ran = here(tmp_path, "call", "tool", "--args", text, "--json", "--", *command)
    assert ran.code == 2
    assert ran.json["error"]["layer"] == "usage"
    assert not marker.exists()


def test_a_recording_is_redacted_unless_told(tmp_path: Path) -> None:
    trace = tmp_path / "x.jsonl"
    words = ["call", "demo:chaos", "ok_tool", "--args", '{"password": "hunter2-x"}', "--record", str(trace)]
    loupe(tmp_path, *words)
    assert "hunter2-x" not in trace.read_text()
    trace.unlink()
    here(tmp_path, *words, "--no-redact")
    assert "hunter2-x" in trace.read_text()


def test_a_recording_holds_every_frame_and_its_own_checksum(tmp_path: Path) -> None:
    trace = tmp_path / "t.mcptrace.jsonl"
    ran = loupe(tmp_path, "list", "demo:flat", "--json", "--record", str(trace), "--no-redact")
    with read_trace(trace) as reader:
        assert reader.header["redaction"] is None
        events = list(reader)
        assert reader.incomplete is False
    kinds = {event["t"] for event in events}
    assert {"connection", "proc", "rpc"} <= kinds
    listed = [event for event in events if event["t"] == "rpc" and event["kind"] == "result"][-1]
    assert listed["bytes"] == ran.json["totals"]["wire_bytes"] == len(listed["raw"].encode())
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))


def test_progress_goes_to_stderr_and_leaves_the_document_alone(tmp_path: Path) -> None:
    ran = loupe(tmp_path, "call", "demo:flat", "rebuild_search_index", "--args", '{"steps":3}', "--json")
    assert ran.json["outcome"] == "ok"
    assert [line.split()[1] for line in ran.err.splitlines() if line.startswith("progress")] == [
        "1/3",
        "2/3",
        "3/3",
    ]


def test_the_help_of_the_program_agrees_with_each_commands_own() -> None:
    from inspector.cli import COMMANDS, app

    context = app.make_context("mcp-loupe", ["--help"], resilient_parsing=True)
    for name, (_module, _attribute, words) in COMMANDS.items():
        command = app.get_command(context, name)
        assert command is not None
        assert (command.help or "").split("\n\n")[0].replace("\n", " ") == words


def test_a_result_whose_content_is_no_list_is_printed_whole(capsys: pytest.CaptureFixture[str]) -> None:
    show(Outcome("ok", "peer", result={"content": "odd"}, ms=1.0))
    assert json.loads(capsys.readouterr().out) == {"content": "odd"}


def test_a_tool_is_found_among_pages_that_hold_no_lists() -> None:
    wanted = {"name": "a", "inputSchema": {}}
    assert definition_in([{"tools": 5}, {"tools": {"name": "a"}}, {}, {"tools": [7, wanted]}], "a") == wanted
    assert definition_in([{"tools": 5}], "a") == {}


ASKING = Path(__file__).resolve().parents[1] / "servers" / "asking.py"


def test_a_template_is_expanded_and_its_resource_read(tmp_path: Path) -> None:
    words = [
        "call",
        "note://{owner}{?q*}",
        "--as",
        "template",
        "--args",
        '{"owner":"é","q":{"n":1.0,"m":"&"}}',
        "--json",
    ]
    ran = here(tmp_path, *words, "--", sys.executable, str(ASKING))
    assert ran.code == 0, ran.err
    assert ran.json["result"]["contents"][0]["text"] == "text of note://%C3%A9?n=1.0&m=%26"


def test_a_template_without_a_required_value_starts_no_server(tmp_path: Path) -> None:
    ran = here(tmp_path, "call", "note://{owner}", "--as", "template", "--", "no-such-command")
    assert ran.code == 2
    assert ran.err.strip() == "The template needs a value for “owner”. Fill it in."


def test_any_method_is_sent_with_its_params_as_typed(tmp_path: Path) -> None:
    ref = '{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"name","value":"G"}}'
    words = ["call", "completion/complete", "--as", "method", "--args", ref]
    ran = here(tmp_path, *words, "--json", "--", sys.executable, str(ASKING), "--modern")
    assert ran.code == 0, ran.err
    assert ran.json["result"]["completion"]["values"] == ["Grace"]


def test_rounds_are_answered_in_order_and_one_left_over_ends_the_call(tmp_path: Path) -> None:
    words = [
        "call",
        "rounds",
        "--answer",
        '{"name":"A"}',
        "--answer",
        "B",
        "--answer",
        '{"name":"C"}',
        "--json",
    ]
    ran = loupe(tmp_path, *words, "--", sys.executable, str(ASKING), "--modern")
    assert ran.code == 0, ran.err
    assert json.loads(ran.json["result"]["content"][0]["text"])["answers"] == {
        "q2": {"action": "accept", "content": {"name": "C"}}
    }
    ran = here(tmp_path, *words[:4], "--json", "--", sys.executable, str(ASKING), "--modern")
    assert (ran.code, ran.json["outcome"]) == (1, "input_required")
    assert "declined: no --answer is left" in ran.err


@pytest.mark.parametrize("era", ["handshake", "modern"])
def test_a_tool_of_the_sdk_that_asks_twice_is_answered_in_either_era(era: str, tmp_path: Path) -> None:
    words = [
        "call",
        "introduce",
        "--era",
        era,
        "--answer",
        '{"name":"Ada"}',
        "--answer",
        '{"years":36}',
        "--json",
    ]
    ran = here(tmp_path, *words, "--", sys.executable, str(ASKING.with_name("sdk_asking.py")))
    assert ran.code == 0, ran.err
    assert ran.json["result"]["content"][0]["text"] == "Ada is 36."
    assert ran.err.count("asked elicitation/create") == 2


@pytest.mark.parametrize(
    ("frame", "wait", "code"),
    [
        ('{"jsonrpc":"2.0","id":"r","method":"ping"}', "3", 0),
        ("not JSON", "0.5", 1),
    ],  # who answers starts first
)
def test_a_raw_frame_is_sent_as_it_is_and_silence_is_an_exit_code(
    frame: str, wait: str, code: int, tmp_path: Path
) -> None:
    words = ["call", "--raw", frame, "--wait", wait, "--scratch", "--json"]
    ran = here(tmp_path, *words, "--", sys.executable, str(ASKING))
    assert (ran.code, ran.json["outcome"]) == (code, ("answered", "silence")[code]), ran.err
    sent = [one["raw"] for one in ran.json["frames"] if one["dir"] == "c2s"]
    assert sent == [frame]


@pytest.mark.parametrize(
    "how",
    [["--task", "--"], ["--declare", "io.modelcontextprotocol/tasks", "--"]],
    ids=["handshake", "modern"],
)
def test_a_call_that_becomes_a_task_is_polled_to_its_end(how: list[str], tmp_path: Path) -> None:
    command = [sys.executable, str(ASKING), *(["--modern"] if "--declare" in how else [])]
    ran = here(tmp_path, "call", "work", "--json", *how, *command)
    assert ran.code == 0, ran.err
    assert ran.json["result"]["structuredContent"] == {"n": 1}
    assert ran.json["output_schema"]["verdict"] == "valid"
    assert [line for line in ran.err.splitlines() if line.startswith("task ")] == [
        "task work working",
        "task work working poll 1",
        "task work working poll 2",
        "task work completed poll 3",
    ]
