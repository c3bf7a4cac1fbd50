"""Clients we did not write talk to a stand-in of a trace of the real mcp-server-git, and get what was recorded."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp_types as types
import pytest
from mcp import Client, MCPError, StdioServerParameters
from replaying import ROOT, raws
from written_traces import ask, call, write_trace

BOUND = 40
ENVIRONMENT = {"PYTHONPATH": str(ROOT)}
BROUGHT = ROOT / ".venvs" / "inspector-cli" / "node_modules" / ".bin"
HERE = f"{BROUGHT / 'node'} {BROUGHT / 'mcp-inspector'}" if (BROUGHT / "mcp-inspector").exists() else None
INSPECTOR = os.environ.get("MCP_INSPECTOR_CLI") or HERE
"""How to run the official Inspector's CLI: as said, or as `make stand-in-clients` brought it."""


def command(trace: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "inspector", "trace", "stand-in", str(trace), *options]


@contextmanager
def over_http(trace: Path, *options: str) -> Iterator[str]:
    child = subprocess.Popen(
        command(trace, "--http", "0", *options), cwd=ROOT, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL
    )
    assert child.stdout is not None
    try:
        yield json.loads(child.stdout.readline())["url"]
    finally:
        child.terminate()
        child.stdout.close()
        assert child.wait(20) == 0


def over_stdio(trace: Path) -> StdioServerParameters:
    program, *words = command(trace)
    return StdioServerParameters(command=program, args=words, env=ENVIRONMENT)


async def use(server: Any, mode: str, repository: Path) -> tuple[str, list[str], str]:
    with anyio.fail_after(BOUND):
        async with Client(server, mode=mode) as client:
            called = await client.call_tool("git_log", {"repo_path": str(repository)})
            (text,) = called.content
            assert isinstance(text, types.TextContent)
            listed = await client.list_tools()
            with pytest.raises(MCPError, match="prompts/list was never asked in the trace"):
                await client.list_prompts()
            return client.protocol_version, [tool.name for tool in listed.tools], text.text


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_the_sdks_client_gets_the_recorded_answers(git: tuple[str, Path, Path], transport: str) -> None:
    era, trace, repository = git
    if transport == "stdio":
        version, tools, text = anyio.run(use, over_stdio(trace), "auto", repository)
    else:
        with over_http(trace) as url:
            version, tools, text = anyio.run(use, url, "auto", repository)
    assert version == {"handshake": "2025-11-25", "modern": "2026-07-28"}[era]
    (listed,), (called,) = (
        [json.loads(raw)["result"] for raw in raws(trace, method)] for method in ("tools/list", "tools/call")
    )
    assert tools == [tool["name"] for tool in listed["tools"]]
    assert text == called["content"][0]["text"]


def test_the_sdks_client_of_the_other_era_is_told_so(git: tuple[str, Path, Path]) -> None:
    era, trace, repository = git
    other = {"handshake": "2026-07-28", "modern": "legacy"}[era]
    with pytest.RaisesGroup(
        pytest.RaisesExc(MCPError, match=f"a trace of the {era} era"), flatten_subgroups=True
    ):
        anyio.run(use, over_stdio(trace), other, repository)


def test_a_trace_without_a_list_still_serves_its_call(git: tuple[str, Path, Path], tmp_path: Path) -> None:
    """The SDK lists by itself after a call: the list gets a clear error, the call its answer."""
    _, trace, repository = git
    listless = tmp_path / "listless.jsonl"
    kept = [line for line in trace.read_bytes().splitlines(True) if b'"tools/list"' not in line]
    listless.write_bytes(b"".join(kept))

    async def ask_it() -> str:
        async with Client(over_stdio(listless)) as client:
            asked = types.CallToolRequest(
                params=types.CallToolRequestParams(name="git_log", arguments={"repo_path": str(repository)})
            )
            answer = await client.session.send_request(asked, types.CallToolResult)
            assert isinstance(answer.content[0], types.TextContent)
            with pytest.raises(MCPError, match="tools/list was never asked in the trace"):
                await client.list_tools()
            return answer.content[0].text

    (called,) = [json.loads(raw)["result"] for raw in raws(trace, "tools/call")]
    assert anyio.run(ask_it) == called["content"][0]["text"]


@pytest.mark.skipif(INSPECTOR is None, reason="the Inspector's CLI is not here: make stand-in-clients")
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_the_official_inspectors_cli_gets_the_recorded_answers(
    git: tuple[str, Path, Path], transport: str
) -> None:
    era, trace, repository = git
    spoken = {"handshake": "legacy", "modern": "modern"}[era]
    asked = [
        "--protocol-era",
        spoken,
        "--method",
        "tools/call",
        "--tool-name",
        "git_log",
        "--tool-arg",
        f"repo_path={repository}",
    ]

    def inspector(*target: str) -> Any:
        done = subprocess.run(
            [*shlex.split(INSPECTOR or ""), "--cli", *asked, "--", *target],
            env={**os.environ, **ENVIRONMENT}, capture_output=True, timeout=BOUND, check=True,
        )  # fmt: skip
        return json.loads(done.stdout)

    (called,) = [json.loads(raw)["result"] for raw in raws(trace, "tools/call")]
    called.pop("resultType", None)  # which the Inspector does not print
    if transport == "stdio":
        assert inspector(*command(trace)) == called
    else:
        with over_http(trace) as url:
            assert inspector(url) == called


def test_http_says_errors_and_streams_as_streamable_http_does(tmp_path: Path) -> None:
    progress = (
        b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}'
    )
    answer = b'{"jsonrpc":"2.0","id":1,"result":{}}'
    asked = ask(1, "tools/call", {"name": "t", "_meta": {"progressToken": 1}})
    lines = (
        (">", asked),
        ("<", progress),
        ("<", answer),
        (">", call(2, "u")),
        ("<", answer.replace(b"1", b"2", 1)),
    )
    both = {"Accept": "application/json, text/event-stream"}
    with over_http(write_trace(tmp_path / "a.jsonl", *lines)) as url, httpx2.Client(headers=both) as client:
        streamed = client.post(url, content=asked)
        assert streamed.headers["content-type"] == "text/event-stream"
        assert streamed.content == b"".join(
            b"event: message\ndata: " + one + b"\n\n" for one in (progress, answer)
        )
        assert client.post(url, content=b'{"jsonrpc":"2.0","method":"notifications/x"}').status_code == 202
        assert client.get(url).status_code == 405
        assert client.post(url, content=b"x", headers={"Origin": "https://example.com"}).status_code == 403
        assert client.post(url, content=b"x", headers={"Origin": "http://[::1"}).status_code == 403
        assert client.post(url.replace("/mcp", "/other"), content=b"x").status_code == 404
        assert client.post(url, content=b"hello").json()["error"]["code"] == -32700


def test_the_original_timing_is_kept_when_wanted(tmp_path: Path) -> None:
    """Answers come in the order of the recording's delays, not of the questions."""
    slow, fast = b'{"jsonrpc":"2.0","id":1,"result":{"slow":1}}', b'{"jsonrpc":"2.0","id":2,"result":{}}'
    path = write_trace(
        tmp_path / "a.jsonl", (">", call(1, "slow")), ("<", slow), (">", call(2, "fast")), ("<", fast)
    )
    text = path.read_text().splitlines()
    fields = json.loads(text[3])
    text[3] = json.dumps(fields | {"dt": fields["dt"] + 700_000})
    path.write_text("\n".join([*text[:6], ""]))
    child = subprocess.Popen(
        command(path, "--timing"), cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdin and child.stdout
    try:
        child.stdin.write(call(1, "slow") + b"\n" + call(2, "fast") + b"\n")
        child.stdin.flush()
        assert [child.stdout.readline() for _ in range(2)] == [fast + b"\n", slow + b"\n"]
    finally:
        child.stdin.close()
        child.stdout.close()
        assert child.wait(20) == 0
