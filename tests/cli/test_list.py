"""`mcp-loupe list`: agrees with an independent reader of the wire, and fails in one sentence."""

from __future__ import annotations

import functools
import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cli_run import FLAT, ROOT, chaos_http, environment, here, loupe

WITNESS = ROOT.parent / "shared" / "tools" / "rawlist.py"
SERVERS = ROOT / "tests" / "servers"


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True, timeout=20)
    return folder


def real_server(name: str, repository: Path) -> list[str]:
    """A server nobody here wrote, installed as a test dependency."""
    if name == "fastmcp":
        return [sys.executable, str(SERVERS / "fastmcp_paged.py")]
    program = shutil.which(name, path=str(Path(sys.executable).parent))
    assert program, f"{name} is a test dependency and must be installed"
    return [program, *(["--repository", str(repository)] if name == "mcp-server-git" else [])]


@dataclass(frozen=True, slots=True)
class Teed:
    """What `list --json` said of a server, and its own copy of the server's stdout that tee.py kept."""

    found: dict[str, Any]
    lines: list[bytes]


@pytest.fixture(scope="module")
def teed(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Callable[[str, str], Teed]:
    """Each server, in each era, is listed once."""

    @functools.cache
    def listed(name: str, era: str) -> Teed:
        folder = tmp_path_factory.mktemp("teed")
        tee = [
            sys.executable,
            str(SERVERS / "tee.py"),
            str(folder / "tee"),
            "--",
            *real_server(name, repository),
        ]
        ran = loupe(folder, "list", "--json", "--era", era, "--", *tee)
        assert ran.code == 0, ran.err
        return Teed(ran.json, (folder / "tee" / "stdout").read_bytes().splitlines())

    return listed


@pytest.mark.parametrize("name", ["mcp-server-git", "mcp-server-time", "fastmcp"])
@pytest.mark.parametrize("era", ["modern", "handshake"])
def test_the_byte_counts_are_those_of_the_lines_that_crossed(
    name: str, era: str, teed: Callable[[str, str], Teed]
) -> None:
    """tee.py, between us and the server, keeps its own copy of stdout: page by page the same length."""
    found, lines = teed(name, era).found, teed(name, era).lines
    listed = [line for line in lines if b'"tools":' in line and "tools" in json.loads(line).get("result", {})]
    listed = [line for line in listed if isinstance(json.loads(line)["result"]["tools"], list)]
    assert [page["wire_bytes"] for page in found["pages"]] == [len(line) for line in listed]
    assert found["totals"]["wire_bytes"] == sum(map(len, listed))
    assert found["totals"]["tools"] == sum(len(json.loads(line)["result"]["tools"]) for line in listed)
    assert found["era"] == era
    assert found["exit"] == {"exit": 0}


@pytest.mark.skipif(not WITNESS.exists(), reason="the witness ../shared/tools/rawlist.py is not here")
@pytest.mark.parametrize("name", ["mcp-server-git", "mcp-server-time", "fastmcp"])
def test_an_independent_witness_counts_the_same_bytes(
    name: str, tmp_path: Path, repository: Path, teed: Callable[[str, str], Teed]
) -> None:
    command = real_server(name, repository)
    witness = subprocess.run(
        [sys.executable, str(WITNESS), "x", "--", *command],
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "RAWLIST_OUT": str(tmp_path)},
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    assert witness.stdout
    attempt = json.loads((tmp_path / "summaries" / "x.json").read_text())["attempts"][-1]
    found = teed(name, "modern").found
    assert [page["wire_bytes"] for page in found["pages"]] == attempt["page_bytes"]
    assert found["totals"]["tools"] == attempt["tools"]
    assert [tool["name"] for tool in found["tools"]] == attempt["names"]


def test_tokens_that_were_not_counted_are_absent_and_their_share_unknown(
    tmp_path: Path, teed: Callable[[str, str], Teed], repository: Path
) -> None:
    counted = teed("fastmcp", "modern").found
    found = here(tmp_path, "list", "--json", "--no-tokens", "--", *real_server("fastmcp", repository)).json
    assert "tokens" in counted["totals"] and "tokens" in counted["tools"][0]
    assert "tokens" not in found["totals"] and found["totals"]["window_share"] is None
    assert [tool.keys() for tool in found["tools"]] == [tool.keys() - {"tokens"} for tool in counted["tools"]]
    assert [tool["parts"] for tool in found["tools"]] == [tool["parts"] for tool in counted["tools"]]
    assert [each["rule"] for each in found["findings"]] == [each["rule"] for each in counted["findings"]]
    shown = here(tmp_path, "list", "--no-tokens", "--", *chaos())
    assert (shown.code, shown.err) == (0, "")
    assert "Tokens were not counted" in shown.out and "? tok" in shown.out


@pytest.mark.parametrize("depth", [2_000, 20_000], ids=["small", "large"])
def test_a_tool_nested_too_deeply_does_not_hide_the_others_of_a_live_list(depth: int, tmp_path: Path) -> None:
    server = [sys.executable, str(SERVERS / "deep.py"), str(depth)]
    ran = loupe(tmp_path, "list", "--json", "--", *server)
    assert (ran.code, ran.err) == (0, "")
    deep, fine = ran.json["tools"]
    assert (deep["name"], deep["broken"]) == ("deep", "nested too deeply to read")
    assert deep["raw"] == '{"name":"deep","inputSchema":' + '{"a":' * depth + "1" + "}" * depth + "}"
    assert (fine["name"], "broken" in fine) == ("fine", False)
    called = loupe(tmp_path, "call", "fine", "--json", "--", *server)
    assert called.json["outcome"] == "ok"


LARGE = ("flask", "httpx2", "jsonschema", "keyring", "mcp", "sqlite_utils")


@pytest.mark.parametrize(
    "words", [("list", "--json"), ("call", "echo", "--json")], ids=lambda words: words[0]
)
def test_a_command_over_stdio_imports_no_large_library(words: tuple[str, ...], tmp_path: Path) -> None:
    """A process of its own: the others are forked from one that has them all."""
    spy = (
        "import atexit, sys\n"
        f"atexit.register(lambda: print(*[n for n in {LARGE} if n in sys.modules], file=sys.stderr))\n"
        "from inspector.cli import main\nmain()"
    )
    argv = [sys.executable, "-c", spy, *words, "--", *chaos()]
    ran = subprocess.run(argv, env=environment(tmp_path), capture_output=True, text=True, timeout=60)
    assert json.loads(ran.stdout)["schema"] == f"mcp-loupe/{words[0]}/1"
    assert ran.stderr.splitlines()[-1] == ""


def test_hints_the_server_did_not_send_are_absent_and_not_made_up(tmp_path: Path) -> None:
    found = here(tmp_path, "list", "--json", "--", *chaos("no_hints")).json
    assert "ttl_ms" not in found["pages"][0]
    assert "cache_scope" not in found["pages"][0]
    assert found["freshness"]["rule"] == 7


def test_hints_are_shown_as_sent_whatever_their_type(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "inspector.demo", "cache-hints"]
    options = ["--ttl", 'tools/list="60000"', "--scope", "tools/list=shared"]
    page = here(tmp_path, "list", "--json", "--", *command, *options).json["pages"][0]
    assert page["ttl_ms"] == "60000"
    assert page["cache_scope"] == "shared"


def test_all_lists_have_the_same_shape(tmp_path: Path) -> None:
    found = here(tmp_path, "list", "--all", "--json", "demo:cache-hints").json
    assert set(found["lists"]) == {"prompts", "resources", "templates"}
    for what, shown in found["lists"].items():
        assert shown["totals"][what] == len(shown[what])
        assert {"pages", "totals", what} <= set(shown)


def test_the_human_output_names_the_server_the_total_and_each_tool(tmp_path: Path) -> None:
    ran = loupe(tmp_path, "list", "demo:flat", "--model", "gpt-5")
    first, second, third, share, fourth, *_ = ran.out.splitlines()
    assert first == "marlow-flat 0.1.0 · modern 2026-07-28 · stdio"
    size = f"{FLAT.wire_bytes:,} B on the wire, {FLAT.definition_bytes:,} B of definitions"
    assert second == f"50 tools in 1 page, {size}"
    assert (
        third == f"{FLAT.tokens:,} tokens (o200k_base) of whole definitions; 3,638 as Anthropic is sent them"
    )
    assert share == "1.0% of the 400,000 tokens that gpt-5 takes"
    assert fourth.startswith('Hints as sent: ttlMs 0, cacheScope "private": ')
    assert "search_knowledge_base" in ran.out


def test_findings_are_listed_and_counted_unless_nobody_wants_them(tmp_path: Path) -> None:
    command = ["--", *chaos("broken_tools")]
    found = loupe(tmp_path, "list", "--json", *command).json["findings"]
    assert {tuple(each) for each in found} == {("rule", "severity", "tool", "path", "message", "remedy")}
    assert ("header-invalid", "error", "bad_header") in [
        (each["rule"], each["severity"], each["tool"]) for each in found
    ]
    errors = sum(each["severity"] == "error" for each in found)
    said = here(tmp_path, "list", "--without", "header-invalid", *command).out
    assert f"Findings: {errors - 1} errors, " in said
    assert "(no name)  cannot be used: name is missing" in said
    assert "findings" not in here(tmp_path, "list", "--json", "--no-findings", *command).json


def test_control_characters_of_a_server_do_not_reach_the_terminal(tmp_path: Path) -> None:
    script = tmp_path / "evil.jsonl"
    names = "a\u001b[31mred\u202e", "x" * 1_000_000
    tools = [{"name": name, "inputSchema": {"type": "object"}} for name in names]
    script.write_text(json.dumps({"jsonrpc": "2.0", "id": 10, "result": {"tools": tools}}) + "\n")
    out = loupe(tmp_path, "list", "--", sys.executable, str(SERVERS / "replay_lines.py"), str(script)).out
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert "a\\x1b[31mred\\u202e" in out
    assert f"{'x' * 200}… and 999,800 more characters" in out
    assert len(out) < 5_000


def chaos(*faults: str) -> list[str]:
    options = [word for fault in faults for word in ("--fault", fault)]
    return [sys.executable, "-m", "inspector.demo", "chaos", *options]


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@pytest.mark.parametrize(
    ("words", "code", "layer", "says"),
    [
        (["--", "/nowhere/server"], 3, "spawn", "does not exist"),
        (["--", "no-such-command-here"], 3, "spawn", "no-such-command-here"),
        (["--", sys.executable, "-c", "raise SystemExit(3)"], 4, "transport", "exited with code 3"),
        (["demo:nope"], 2, "usage", "no demo server"),
        (["ftp://example.org/"], 2, "usage", "no transport of MCP"),
        ([], 2, "usage", "Which server?"),
        (["demo:flat", "demo:progressive"], 2, "usage", "Two targets"),
        (["demo:flat", "--timeout", "-1"], 2, "usage", "--timeout"),
        (["demo:flat", "--declare", "wings"], 2, "usage", "wings"),
        (["demo:flat", "--header", "X:1"], 2, "usage", "--header"),
        (["demo:flat", "--env", "NOPE"], 2, "usage", "--env"),
        (["demo:flat", "--nonsense"], 2, "usage", "--nonsense"),
        (["demo:flat", "--without", "nonsense"], 2, "usage", "no rule nonsense"),
    ],
)  # fmt: skip
def test_bad_input_gets_one_sentence_and_its_exit_code(
    words: list[str], code: int, layer: str, says: str, tmp_path: Path
) -> None:
    run = here if layer == "usage" else loupe
    ran = run(tmp_path, "list", "--json", *words)
    assert ran.code == code, ran.err
    error = ran.json["error"]
    assert error["layer"] == layer
    assert says in error["message"] + error["remedy"]
    assert "Traceback" not in ran.err
    sentence = ran.err.strip().splitlines()[-1]
    assert sentence.endswith(".")


def test_a_url_that_refuses_says_where_and_exits_with_3(tmp_path: Path) -> None:
    port = closed_port()
    ran = here(tmp_path, "list", "--json", f"http://127.0.0.1:{port}/mcp")
    assert ran.code == 3
    assert f"127.0.0.1:{port}" in ran.json["error"]["message"]


@pytest.mark.parametrize(
    ("fault", "code", "says"),
    [
        ("html_500", 4, "HTTP 500"),
        ("needs_auth", 5, "HTTP 401"),
        ("empty_202", 4, "HTTP 202"),
    ],
)
def test_an_http_answer_that_is_no_mcp_names_its_status(
    fault: str, code: int, says: str, tmp_path: Path
) -> None:
    with chaos_http(f"{fault}@server/discover", f"{fault}@initialize") as url:
        ran = here(tmp_path, "list", "--json", url)
    assert ran.code == code, ran.err
    assert says in ran.json["error"]["message"]


def test_the_last_stderr_lines_stand_before_the_sentence(tmp_path: Path) -> None:
    ran = loupe(tmp_path, "list", "--", *chaos("exit_at_start"))
    assert ran.code == 4
    *lines, sentence = ran.err.splitlines()
    assert len([line for line in lines if line.startswith("  stderr: ")]) == 5
    assert "exited with code 1" in sentence


def test_what_its_last_words_mean_is_the_next_thing_to_try(tmp_path: Path) -> None:
    dying = "import sys; print('npm error code E404', file=sys.stderr); sys.exit(1)"
    ran = here(tmp_path, "list", "--json", "--", sys.executable, "-c", dying)
    assert (ran.code, ran.json["error"]["message"]) == (4, "The server exited with code 1")
    assert ran.json["error"]["remedy"].startswith("The registry has no package of that name")


def test_a_config_file_that_is_no_json_is_named_by_line(tmp_path: Path) -> None:
    config = tmp_path / "mcp.json"
    config.write_text('{"mcpServers": {"a": {"command": "x",}\n oops')
    ran = here(tmp_path, "list", "--json", "a", "--config", str(config))
    assert ran.code == 7
    assert "line 2" in ran.json["error"]["message"]


def test_a_name_is_looked_up_in_the_config_file(tmp_path: Path) -> None:
    entry = {
        "command": sys.executable,
        "args": ["-m", "inspector.demo", "progressive"],
        "env": {"PYTHONPATH": str(ROOT)},
    }
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"mine": entry}}))
    assert here(tmp_path, "list", "--json", "mine", "--config", str(config)).json["totals"]["tools"] == 3
