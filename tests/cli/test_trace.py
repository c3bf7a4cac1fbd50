"""`mcp-loupe trace show` and `trace redact`, and recordings that hold no secrets unless told."""

from __future__ import annotations

import json
import sys
from importlib.resources import files
from pathlib import Path

import pytest
from cli_run import chaos_http, loupe
from jsonschema import Draft202012Validator

from inspector.trace.file_reader import read_trace

SECRET = "correct-horse-battery-7"


def record(home: Path, *words: str) -> Path:
    """A trace of one call whose arguments hold SECRET, which is in the server's environment too."""
    trace = home / "one.mcptrace.jsonl"
    arguments = json.dumps({"query": f"refund {SECRET}", "password": "hunter2-x"})
    ran = loupe(
        home, "call", "demo:flat", "search_knowledge_base", "--args", arguments, "--env", f"MY_TOKEN={SECRET}",
        "--record", str(trace), *words,
    )  # fmt: skip
    assert ran.code in (0, 4, 6), ran.err
    return trace


def test_a_recording_holds_no_secret_we_passed_unless_told(tmp_path: Path) -> None:
    trace = record(tmp_path)
    content = trace.read_text()
    assert SECRET not in content and "hunter2-x" not in content
    with read_trace(trace) as reader:
        events = list(reader)
    assert reader.header["redaction"]["profile"] == "default"
    assert reader.trailer is not None and reader.trailer["redaction_counts"]["R9"] >= 1
    call = next(event for event in events if event.get("method") == "tools/call")
    assert json.loads(call["raw"])["params"]["arguments"]["password"].startswith("[redacted:R2:")
    assert ["/params/arguments/password", "R2"] in call["red"]
    assert call["bytes"] == len(call["raw"].encode()) + sum(
        len(secret) - len(marker)
        for secret, marker in [(SECRET, "[redacted:R9:1]"), ("hunter2-x", "[redacted:R2:2]")]
    )


def test_every_line_recorded_from_a_server_fits_the_schema(tmp_path: Path) -> None:
    schema = json.loads(files("inspector.trace").joinpath("data", "trace-1.schema.json").read_text("utf-8"))
    validator = Draft202012Validator(schema)
    words = ["list", "--all", "--record"]
    with chaos_http() as url:
        loupe(tmp_path, *words, "http.jsonl", url, "--header", f"X-Api-Key: {SECRET}")
        loupe(tmp_path, *words, "refused.jsonl", url + "/nowhere")
    loupe(tmp_path, *words, "stdio.jsonl", "demo:chaos")
    for path in tmp_path.glob("*.jsonl"):
        lines = path.read_text().splitlines()
        wrong = [
            (line[:200], error.message) for line in lines for error in validator.iter_errors(json.loads(line))
        ]
        assert wrong == []
        assert len(lines) > 5
        assert SECRET not in path.read_text()


def test_redact_writes_a_second_file_and_says_what_it_hid(tmp_path: Path) -> None:
    trace, out = record(tmp_path, "--no-redact"), tmp_path / "two.mcptrace.jsonl"
    assert SECRET in trace.read_text()
    ran = loupe(tmp_path, "trace", "redact", str(trace), "-o", str(out), "--text", SECRET, "--json")
    assert ran.code == 0, ran.err
    assert SECRET not in out.read_text() and "hunter2-x" not in out.read_text()
    assert SECRET not in ran.out and "hunter2-x" not in ran.out
    found = ran.json
    assert found["schema"] == "mcp-loupe/trace-redact/1"
    by_id = {rule["id"]: rule for rule in found["rules"]}
    assert by_id["T1"]["hits"] == found["counts"]["T1"] >= 1
    assert by_id["R2"]["places"][0]["path"] == "/params/arguments/password"
    assert by_id["R11"]["applied"] is False
    again = loupe(tmp_path, "trace", "redact", str(trace), "-o", str(out))
    assert (again.code, "exists already" in again.err) == (7, True)


def test_a_preview_writes_nothing(tmp_path: Path) -> None:
    trace = record(tmp_path, "--no-redact")
    before = sorted(tmp_path.iterdir())
    ran = loupe(tmp_path, "trace", "redact", str(trace), "--preview")
    assert ran.code == 0, ran.err
    assert "/params/arguments/password" in ran.out
    assert "hunter2-x" not in ran.out
    assert sorted(tmp_path.iterdir()) == before
    assert loupe(tmp_path, "trace", "redact", str(trace)).code == 2


def test_show_counts_events_and_lists_exchanges_and_errors(tmp_path: Path) -> None:
    trace = tmp_path / "one.mcptrace.jsonl"
    loupe(tmp_path, "call", "demo:chaos", "custom_error_code", "--record", str(trace))
    ran = loupe(tmp_path, "trace", "show", str(trace), "--json")
    assert ran.code == 0, ran.err
    found = ran.json
    assert found["schema"] == "mcp-loupe/trace-show/1"
    assert found["header"]["format"] == "mcp-trace"
    with read_trace(trace) as reader:
        events = list(reader)
    assert sum(found["counts"].values()) == len(events)
    call = next(one for one in found["exchanges"] if one["method"] == "tools/call")
    assert (call["outcome"], call["dir"]) == ("error", "c2s")
    error = next(one for one in found["errors"] if one["seq"] == call["answer"])
    assert error["origin"] == "peer" and isinstance(error["code"], int)
    shown = loupe(tmp_path, "trace", "show", str(trace)).out
    assert "tools/call" in shown and str(error["code"]) in shown


def test_show_says_that_a_file_broke_off_and_never_drives_the_terminal(tmp_path: Path) -> None:
    trace = tmp_path / "one.jsonl"
    header = {
        "t": "header", "format": "mcp-trace", "v": 1, "minor": 0, "tool": {"name": "x", "version": "0"},
        "created": "\x1b[31m", "title": "a\x1b]0;owned\x07", "note": "", "clock": {}, "redaction": None,
    }  # fmt: skip
    trace.write_text(
        json.dumps(header)
        + '\n{"t":"note\\u001b[2J","seq":1}\n{"t":"rpc","seq":2,"kind":"result","pair":[1]}\n{"t":"cut'
    )
    ran = loupe(tmp_path, "trace", "show", str(trace))
    assert ran.code == 0, ran.err
    assert "Incomplete" in ran.err
    assert "\x1b" not in ran.out


@pytest.mark.parametrize("words", [["show"], ["redact", "-o", "x.jsonl"]])
def test_a_file_that_is_no_trace_is_told_in_a_sentence(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "no.txt").write_text("hello")
    ran = loupe(tmp_path, "trace", words[0], str(tmp_path / "no.txt"), *words[1:])
    assert ran.code == 7
    assert "is not an MCP trace" in ran.err
    assert not (tmp_path / "x.jsonl").exists()


def test_tokens_of_the_command_line_are_hidden_too(tmp_path: Path) -> None:
    trace = tmp_path / "one.jsonl"
    server = "import sys; print('got', sys.argv[2], file=sys.stderr)"
    loupe(tmp_path, "list", "--record", str(trace), "--", sys.executable, "-c", server, "--api-key", SECRET)
    assert "[redacted:" in trace.read_text()
    assert SECRET not in trace.read_text()
