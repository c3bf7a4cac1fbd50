"""The chaos server on stdio, byte by byte, through a subprocess alone: no SDK."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from chaos_wire import (
    BOUND,
    CONTENT,
    FRAMES,
    META,
    NOTE,
    PROGRESS,
    ROOT,
    Child,
    call,
    dumps,
    request,
    result,
    right,
    run,
)

from inspector.demo.chaos import as_markdown, as_text, main, read_choice, registry

ROWS = [
    "A1",
    "A2",
    "A3",
    "A5",
    "A6",
    "A7",
    "A8",
    "A9",
    "A10",
    "A13",
    "A14",
    "A15",
    "B1",
    "B2",
    "B3",
    "B5",
    "B7",
    "B8",
    "C1",
    "C2",
    "C3",
    "C5",
    "C6",
    "C7",
    "C8",
    "D2",
    "G1",
    "G2",
    "G4",
    "G5",
]


@pytest.fixture(scope="module")
def healthy() -> Iterator[Child]:
    child = Child()
    yield child
    assert child.end()[2] == 0


@pytest.mark.parametrize("name", FRAMES)
def test_a_fault_of_a_frame_writes_these_bytes_on_stdio(healthy: Child, name: str) -> None:
    assert healthy.wrote(call(name)) == b"".join(frame + b"\n" for frame in FRAMES[name])


LINES: dict[str, bytes] = {
    "stdout_banner": b"> pkg@1 start\n\n[dotenv@17.2.0] injecting env (3) from .env\n%b\n"
    % right("stdout_banner"),
    "log_prefix": b"INFO %b\n" % right("log_prefix"),
    "trailing_garbage": b"%b done.\n" % right("trailing_garbage"),
    "glued_frames": b"%b%b\n" % (NOTE % b"chaos", right("glued_frames")),
    "pretty_printed": right("pretty_printed").replace(b',"', b',\n"') + b"\n",
    "lsp_framing": b"Content-Length: %d\r\n\r\n%b\n" % (len(right("lsp_framing")), right("lsp_framing")),
    "byte_order_mark": b"\xef\xbb\xbf%b\n" % right("byte_order_mark"),
    "invalid_utf8": result(CONTENT % b"\x93quoted\x94") + b"\n",
    "crlf": b"%b\r\n" % right("crlf"),
    "blank_lines": b"\n \n\r\n%b\n\n" % right("blank_lines"),
    "no_newline": right("no_newline"),
    "split_character": right("party \U0001f389") + b"\n",
    "slow_drip": right("slow_drip") + b"\n",
    "never_answer": b"",
}


@pytest.mark.parametrize("name", LINES)
def test_a_fault_of_a_line_writes_these_bytes(healthy: Child, name: str) -> None:
    arguments = {"milliseconds": 0} if name == "slow_drip" else {}
    assert healthy.wrote(call(name, **arguments)) == LINES[name]


def half(name: str) -> bytes:
    return right(name)[: len(right(name)) // 2]


ENDS: dict[str, tuple[bytes, bytes, int]] = {
    "crash_mid_frame": (half("crash_mid_frame"), b"", 1),
    "segv_mid_frame": (half("segv_mid_frame"), b"", -signal.SIGSEGV),
    "exit_with": (b"", b"chaos: leaving\n", 3),
    "exit_after_answer": (right("exit_after_answer") + b"\n", b"", 0),
    "no_final_newline": (right("no_final_newline"), b"", 0),
    "close_stdout": (b"", b"", 0),
}


@pytest.mark.parametrize("name", ENDS)
def test_a_fault_of_a_process_ends_it_so(name: str) -> None:
    assert run(call(name)) == ENDS[name]


STARTS: dict[str, tuple[bytes, bytes, int]] = {
    "banner": (b"> pkg@1 start\n\n[dotenv@17.2.0] injecting env (3) from .env\n", b"", 0),
    "usage_on_stdout": (b"usage: server [-h] {serve,version}\n\noptions:\n  -h  show this help\n", b"", 0),
    "exit_at_start": (b"", b"".join(b"fatal %d: no API key\n" % n for n in range(1, 6)), 1),
    "exit_at_start=9": (b"", b"".join(b"fatal %d: no API key\n" % n for n in range(1, 6)), 9),
    "stderr_at_start=262144": (b"", b"e" * 262_144, 0),
    "slow_start=0": (b"", b"", 0),
}


@pytest.mark.parametrize("choice", STARTS)
def test_a_fault_at_start_strikes_before_anything_is_asked(choice: str) -> None:
    assert run(options=("--fault", choice)) == STARTS[choice]


def test_a_mute_server_leaves_at_eof_without_a_byte() -> None:
    assert run(request("ping"), options=("--fault", "mute")) == (b"", b"", 0)


def test_a_server_that_ignores_eof_and_sigterm_needs_sigkill() -> None:
    child = Child("--fault", "ignore_eof")
    child.wrote()
    child.close_stdin()
    child.process.terminate()
    with pytest.raises(subprocess.TimeoutExpired):
        child.process.wait(timeout=0.3)
    child.process.kill()
    assert child.end()[2] == -signal.SIGKILL


def test_an_orphan_holds_stdout_open_after_the_server_left() -> None:
    child = Child("--fault", "orphan")
    orphan = int(child.until(b"\n", "stderr").split()[1])
    try:
        child.close_stdin()
        assert child.process.wait(timeout=BOUND) == 0
        os.kill(orphan, signal.SIGTERM)
        assert select.select([child.process.stdout], [], [], 0.1)[0] == []
    finally:
        os.kill(orphan, signal.SIGKILL)
    assert child.process.stdout.read() == b""
    child.process.stdout.close()
    child.process.stderr.close()


def test_a_server_that_closed_stdin_breaks_the_next_write_and_dies_of_sigterm() -> None:
    child = Child()
    child.send(call("close_stdin"))
    assert child.until(b"\n") == right("close_stdin")
    with pytest.raises(BrokenPipeError):
        child.send(request("ping"))
    child.process.terminate()
    assert child.end()[2] == -signal.SIGTERM


def test_stderr_faults_write_exactly_what_was_asked_and_then_answer() -> None:
    child = Child()
    child.send(
        call("stderr_flood", bytes=1000),
        call("stderr_unbroken", bytes=500),
        call("stderr_odd_bytes"),
        call("leak_secrets"),
    )
    out, err, _ = child.end()
    assert (
        err[:1500]
        == (b"chaos stderr line, 64 bytes with its newline, nothing to worry\n" * 20)[:1000] + b"e" * 500
    )
    token = b"sk-" + b"chaos" * 8
    odd = b"\x1b[31mred\x1b[0m \x00 \x93quoted\x94\n"
    assert err[1500:] == odd + b"Authorization: Bearer " + token + b"\nAPI_KEY=" + token + b"\n"
    assert out.splitlines()[-1] == right("password=" + token.decode())


def test_a_late_answer_waits_while_others_are_answered(healthy: Child) -> None:
    assert healthy.wrote(call("late_answer", seconds=1)) == b""
    assert healthy.until(b"\n") == right("late_answer")


def test_an_answer_after_the_cancel_comes_only_then(healthy: Child) -> None:
    assert healthy.wrote(call("late_answer_after_cancel")) == b""
    cancel = dumps({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}})
    assert healthy.wrote(cancel) == right("late_answer_after_cancel") + b"\n"


def test_progress_comes_only_with_a_token(healthy: Child) -> None:
    asked = request("tools/call", name="progress_with_token", _meta={"progressToken": "t"})
    steps = b"".join(PROGRESS % (b"t", n) + b"\n" for n in (1, 2, 3))
    assert healthy.wrote(asked) == steps + right("progress_with_token") + b"\n"


@pytest.mark.parametrize("size", [65_537, 1_048_576, 20_971_520])
def test_a_long_line_is_exactly_as_long_as_asked(healthy: Child, size: int) -> None:
    line = healthy.wrote(call("long_line", bytes=size))
    assert (len(line), line[-1:]) == (size + 1, b"\n")
    assert json.loads(line)["result"]["content"][0]["text"].strip("x") == ""


def test_big_results_have_the_shape_and_size_asked_for(healthy: Child) -> None:
    table = json.loads(healthy.wrote(call("big_table", bytes=10_000)))["result"]["content"][0]["text"]
    assert 9_900 < len(table) < 10_100
    big = json.loads(healthy.wrote(call("big_structure", lines=1000)))["result"]
    assert big["structuredContent"]["numbers"] == list(range(1000))
    deep = healthy.wrote(call("deep_json", depth=5000))
    assert b'{"deep":' + b"[" * 5000 + b"]" * 5000 + b"}" in deep
    flood = healthy.wrote(call("notification_flood", count=50)).splitlines()
    assert (len(flood), flood[-1]) == (51, right("notification_flood"))


def test_an_error_code_is_the_one_asked_for_and_a_bad_argument_is_refused(healthy: Child) -> None:
    line = healthy.wrote(call("custom_error_code", code=-32050))
    assert json.loads(line)["error"] == {
        "code": -32050,
        "message": "Chaos was asked for this error",
        "data": {"asked": -32050},
    }
    assert json.loads(healthy.wrote(call("long_line", bytes="many")))["error"]["code"] == -32602


def test_input_is_required_for_ever_with_a_growing_state(healthy: Child) -> None:
    first = json.loads(healthy.wrote(call("endless_input_required")))["result"]
    again = request("tools/call", name="endless_input_required", requestState=first["requestState"])
    assert (first["resultType"], first["requestState"]) == ("input_required", "round+")
    assert json.loads(healthy.wrote(again))["result"]["requestState"] == "round++"


LISTS: dict[str, list[str | None]] = {
    "cursor_repeats": ["again", "again", "again"],
    "cursor_endless": ["1", "2", "3"],
    "cursor_empty": ["", None],
    "cursor_refused": ["stale", None],
}


@pytest.mark.parametrize("name", LISTS)
def test_pages_carry_these_cursors(name: str) -> None:
    child, given = Child("--fault", name), {}
    for expected in LISTS[name]:
        page = json.loads(child.wrote(request("tools/list", **given)))
        assert page.get("result", {}).get("nextCursor") == expected
        given = {"cursor": expected}
    assert ("error" in page) == (name == "cursor_refused")
    child.end()


def test_a_handshake_can_be_noisy_empty_refused_or_of_no_known_version() -> None:
    hello = request("initialize", protocolVersion="2025-11-25")
    noisy = run(hello, options=("--fault", "info_lines"))[0].split(b"\n")
    assert (noisy[0], noisy[2:]) == (b"INFO starting", [b"INFO ready", b"INFO 3 tools", b""])
    assert json.loads(noisy[1])["result"]["capabilities"] == {"tools": {"listChanged": True}}
    assert run(hello, options=("--fault", "empty_handshake"))[0] == result(b"") + b"\n"
    refused = json.loads(run(hello, options=("--fault", "refuse_handshake"))[0])
    assert refused["error"] == {"code": -32603, "message": "Chaos will not be initialized"}
    strange = json.loads(run(hello, options=("--fault", "unknown_version"))[0])
    assert strange["result"]["protocolVersion"] == "1999-12-31"


def test_a_probe_can_be_left_alone_refused_or_deadly() -> None:
    probe = request("server/discover", _meta=META)
    assert run(probe, options=("--fault", "mute_on_probe")) == (b"", b"", 0)
    assert run(probe, options=("--fault", "exit_on_probe")) == (b"", b"", 1)
    out, err, _ = run(probe, options=("--fault", "stderr_on_probe"))
    assert (json.loads(out)["error"]["code"], len(err)) == (-32602, 6187)
    out, _, _ = run(probe, options=("--fault", "other_modern_version"))
    assert json.loads(out)["error"]["data"] == {"supported": ["2099-01-01"], "requested": "2026-07-28"}


def errors(*frames: bytes, fault: str) -> list[int | None]:
    lines = run(*frames, options=("--fault", fault))[0].splitlines()
    return [json.loads(line).get("error", {}).get("code") for line in lines]


def test_eras_can_be_missing_or_locked_by_the_first_request() -> None:
    hello, probe = request("initialize", protocolVersion="2025-11-25"), request("server/discover", _meta=META)
    bare, modern = request("tools/list"), request("tools/list", _meta=META)
    assert errors(hello, probe, bare, modern, fault="handshake_only") == [None, -32601, None, None]
    assert errors(hello, probe, bare, modern, fault="modern_only") == [-32022, None, -32602, None]
    assert errors(hello, modern, bare, fault="era_lock") == [None, -32022, None]
    assert errors(modern, hello, fault="era_lock") == [None, -32022]
    assert errors(request("ping", "c17"), request("ping"), fault="integer_ids_only") == [-32600, None]


def listed(fault: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(
        run(request("tools/list", _meta=META), options=("--fault", fault))[0]
    )["result"]
    return found


def test_a_list_can_be_huge_broken_or_badly_hinted() -> None:
    assert len(listed("huge_list=300")["tools"]) == 300
    assert [type(tool) for tool in listed("broken_tools")["tools"]] == [dict, dict, dict, int]
    assert list(listed("tools_not_a_list")["tools"]) == ["echo"]
    assert list(listed("no_hints")) == ["resultType", "tools", "_meta"]
    odd = listed("odd_ttl=-7")
    assert (odd["ttlMs"], odd["cacheScope"]) == (-7, "shared")
    assert len(run(request("tools/list"), options=("--fault", "long_line=99999"))[0]) == 100_000


def test_an_eager_server_announces_a_change_on_initialized() -> None:
    ready = dumps({"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert run(ready, options=("--fault", "eager_list_changed"))[0] == NOTE % b"tools/list_changed" + b"\n"


def test_without_a_fault_both_eras_work(healthy: Child) -> None:
    probe = json.loads(healthy.wrote(request("server/discover", _meta=META)))["result"]
    assert (probe["supportedVersions"], probe["ttlMs"], probe["cacheScope"]) == (["2026-07-28"], 0, "private")
    modern = json.loads(healthy.wrote(request("tools/list", _meta=META)))["result"]
    assert modern["resultType"] == "complete"
    tools = [each.name for each in registry().values() if each.is_tool and each.at("stdio")]
    assert [tool["name"] for tool in modern["tools"]] == ["echo", *tools]
    handshake = json.loads(healthy.wrote(request("tools/list")))["result"]
    assert handshake == {"tools": modern["tools"]}
    assert healthy.wrote(call("echo", text="é")) == right('{\\"text\\":\\"é\\"}') + b"\n"
    assert json.loads(healthy.wrote(b"not json"))["error"]["code"] == -32700
    assert json.loads(healthy.wrote(call("no such")))["error"]["code"] == -32602


def test_a_choice_names_fault_argument_and_method() -> None:
    faults = registry()
    assert read_choice("long_line=9", "stdio") == {"tools/list": (faults["long_line"], 9)}
    assert read_choice("json_500@initialize", "http") == {"initialize": (faults["json_500"], None)}
    assert list(read_choice("empty_handshake", "http")) == ["initialize", "server/discover"]
    for wrong in ("no_such", "crlf=1", "html_500", "long_line=x"):
        with pytest.raises(ValueError):
            read_choice(wrong, "stdio")


def test_a_wrong_choice_is_told_in_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--fault", "no_such"])
    assert "there is no fault 'no_such'; --list shows them all" in capsys.readouterr().err


def test_the_list_and_the_documentation_are_made_from_the_registry(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--list"]) == 0
    assert capsys.readouterr().out == as_text()
    assert [line.split()[0] for line in as_text().splitlines()[1:]] == list(registry())
    assert (ROOT / "docs" / "chaos.md").read_text(encoding="utf-8") == as_markdown()


def test_every_field_report_a_server_can_cause_has_a_fault_and_every_fault_a_test() -> None:
    assert [row for row in ROWS if not any(row in each.rows for each in registry().values())] == []
    tested = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("*chaos*.py"))
    assert [name for name in registry() if f'"{name}' not in tested] == []
