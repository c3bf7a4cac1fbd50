"""The doctor on servers that fail in known ways: each step names the layer, the evidence and the next thing."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "wire"))

from bench import Bench

from inspector.doctor import probes
from inspector.doctor.auth import resource_urls, server_urls
from inspector.doctor.doctor import Doctor
from inspector.doctor.step import Step
from inspector.protocol.stderr_hints import remedy_for
from inspector.settings.paths import Paths
from inspector.settings.spec import STREAMABLE_HTTP, ServerSpec, Timeouts

ROOT = Path(__file__).resolve().parents[2]
PATIENT = Timeouts(probe=60.0, connect=90.0, call=60.0, close=30.0)
"""A busy machine starts and ends a healthy server late; that is no fault of it."""
IN_VAIN = {
    "mute": replace(PATIENT, probe=1.0, connect=2.5, close=0.5),
    "mute_on_probe": replace(PATIENT, probe=1.0),
    "ignore_eof": replace(PATIENT, close=0.5),
}
"""What never comes, by the fault: no wait for it is long enough."""


def examine(argv: list[str], tmp_path: Path, timeouts: Timeouts = PATIENT) -> list[Step]:
    spec = ServerSpec("x", argv=tuple(argv), env={"PYTHONPATH": str(ROOT)}, timeouts=timeouts)
    return list(Doctor(spec, Paths.locate(tmp_path)).examine())


def chaos(*faults: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "inspector.demo.chaos",
        *[word for one in faults for word in ("--fault", one)],
    ]


def step(steps: list[Step], name: str, ok: bool | None) -> Step:
    found = [one for one in steps if one.name == name and one.ok is ok]
    assert found, f"no step {name} with ok={ok} in {[(one.name, one.ok, one.evidence) for one in steps]}"
    return found[0]


def test_a_healthy_server_has_no_failing_step_and_every_layer_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inspector.doctor.stdio.FIRST_ANSWER_SLOW_MS", 60_000)  # the machine may be busy
    steps = examine([sys.executable, "-m", "inspector.demo", "flat"], tmp_path)
    assert [one.evidence for one in steps if one.ok is not True] == []
    names = [one.name for one in steps]
    expected = ["command", "spawned", "spoke", "era", "connected", "capabilities", "list tools"]
    assert names[: len(expected)] == expected
    assert {"hints of tools", "order", "stdout clean", "shutdown"} <= set(names)
    assert step(steps, "list tools", True).facts == {"count": 50, "wire_bytes": 20841, "pages": 1}


@pytest.mark.parametrize(
    ("faults", "name", "ok", "says", "remedy"),
    [
        (["banner"], "stdout clean", None, "on stdout are no frames: “> ", "stderr"),
        (["usage_on_stdout"], "stdout clean", None, "are no frames", "--help"),
        (["stderr_on_probe=6000"], "probe", None, "to stderr", "quieter"),
        (["exit_at_start"], "alive", False, "code 1", "credential"),
        (["exit_on_probe"], "alive", False, "code 1", ""),
        (["mute_on_probe"], "era", None, "No answer to server/discover in 1 s", "-32601"),
        (["mute"], "connected", False, "did not get ready within 2.5 s", "connect time-out"),
        (["refuse_handshake"], "connected", False, "-32603", ""),
        (["handshake_only", "unknown_version"], "connected", False, "1999-12-31", ""),
        (["no_hints"], "hints of tools", False, "ttlMs is missing", "ttlMs as an integer"),
        (["odd_ttl=-5"], "hints of tools", False, "", "ttlMs as an integer"),
        (["cursor_repeats"], "list tools", False, "cursor", "nextCursor"),
        (["broken_tools"], "tools usable", False, "cannot be used as sent", "Correct"),
        (["ignore_eof"], "shutdown", False, "SIGKILL", "Exit when stdin closes"),
        (["orphan"], "children", False, "left child processes", "End your children"),
        (["handshake_only", "eager_list_changed"], "list_changed", None, "before its first list", "only when"),
    ],
)  # fmt: skip
def test_a_fault_is_named_by_its_step(
    faults: list[str], name: str, ok: bool | None, says: str, remedy: str, tmp_path: Path
) -> None:
    found = step(examine(chaos(*faults), tmp_path, IN_VAIN.get(faults[0], PATIENT)), name, ok)
    assert says in found.evidence
    assert remedy in found.remedy


def test_a_command_that_is_missing_ends_the_examination_at_its_first_step(tmp_path: Path) -> None:
    steps = examine(["no-such-server-here"], tmp_path)
    assert [(one.name, one.ok) for one in steps] == [("command", False)]
    assert steps[0].facts["searched"]


def test_a_server_for_the_old_sdk_is_told_to_pin_it(tmp_path: Path) -> None:
    steps = examine([sys.executable, "-c", "from mcp.server.fastmcp import FastMCP"], tmp_path)
    assert "'mcp<2'" in step(steps, "alive", False).remedy


def test_a_port_where_nothing_listens_fails_at_connect(tmp_path: Path) -> None:
    spec = ServerSpec("x", STREAMABLE_HTTP, url="http://127.0.0.1:9/mcp")
    steps = list(Doctor(spec, Paths.locate(tmp_path)).examine())
    assert [(one.name, one.ok) for one in steps] == [("dns", True), ("connect", False)]


def test_discovery_addresses_follow_the_challenge_then_the_path_then_the_root() -> None:
    assert resource_urls("https://a.example/x/mcp", 'Bearer RESOURCE_METADATA="https://a.example/meta"') == [
        "https://a.example/meta",
        "https://a.example/.well-known/oauth-protected-resource/x/mcp",
        "https://a.example/.well-known/oauth-protected-resource",
    ]
    assert server_urls("https://b.example/tenant") == [
        "https://b.example/.well-known/oauth-authorization-server/tenant",
        "https://b.example/.well-known/openid-configuration/tenant",
        "https://b.example/tenant/.well-known/openid-configuration",
    ]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("AttributeError: 'Server' object has no attribute 'list_resources'", "mcp<2"),
        ("Error: FIGMA_API_KEY is required", "credential"),
        ("Please set the ACCESS_TOKEN environment variable", "credential"),
        ("Error: listen EADDRINUSE: address already in use 127.0.0.1:3000", "port"),
        ("usage: server [-h] --db-path DB", "--help"),
        ("Error: ENOENT: no such file or directory, scandir '/x'", "does not exist"),
        ("npm WARN EBADENGINE Unsupported engine", "newer Node"),
        ("npm error code E404", "check the spelling"),
        ("  × No solution found: nosuch was not found in the package registry", "check the spelling"),
        ("sh: 1: mcp-server-sequential-thinking: not found", "name its program"),
        ("bash: line 1: uvy: command not found", "name its program"),
        ("/usr/bin/env: ‘node’: No such file or directory", "not on its PATH"),
        ("env: python3: No such file or directory", "not on its PATH"),
        ("cat: /srv/env: No such file or directory", "does not exist"),
        (
            "ImportError: cannot import name 'main' from 'networkx_mcp.server' (/x/server.py)",
            "another version",
        ),
        ("ImportError: cannot import name 'main' from 'mcp_files.server' (/x/server.py)", "another version"),
        ("ImportError: cannot import name 'McpError' from 'mcp.shared.exceptions' (/x.py)", "mcp<2"),
        ("tool foo: not found in the index", "otherwise"),
        ("something nobody has seen", "otherwise"),
    ],
)
def test_the_last_words_of_a_server_choose_the_remedy(line: str, says: str) -> None:
    assert says in remedy_for(["a banner", line], "otherwise")


def faults(spec: ServerSpec, tmp_path: Path) -> list[Step]:
    """The steps of the deliberate faults alone."""
    with start_blocking_portal("asyncio") as portal:
        bench = Bench(portal, tmp_path / "children")
        return list(probes.run(lambda: bench.open(spec)))


@pytest.mark.parametrize(
    ("argv", "era"),
    [
        ([sys.executable, "-m", "inspector.demo", "flat"], "modern"),
        ([sys.executable, "-m", "inspector.demo", "flat"], "handshake"),
    ],
)
def test_deliberate_faults_are_answered_as_the_table_asks(argv: list[str], era: str, tmp_path: Path) -> None:
    spec = ServerSpec("x", argv=tuple(argv), env={"PYTHONPATH": str(ROOT)}, era=era, timeouts=PATIENT)
    steps = faults(spec, tmp_path)
    names = [one.name.removeprefix("probe: ") for one in steps]
    only_modern = ["missing _meta", "wrong version"] if era == "modern" else []
    assert names == ["unknown method", *only_modern, "bad cursor", "oversized argument", "not JSON"]
    assert [one.evidence for one in steps if one.ok is False] == []
    assert "-32601" in steps[0].evidence


def test_a_server_that_dies_of_a_fault_is_named_and_started_again(tmp_path: Path) -> None:
    script = tmp_path / "fragile.py"
    script.write_text(FRAGILE)
    spec = ServerSpec("x", argv=(sys.executable, str(script)), era="handshake", timeouts=PATIENT)
    steps = [
        one
        for one in Doctor(spec, Paths.locate(tmp_path), probe=True).examine()
        if one.name.startswith("probe")
    ]
    died = [one for one in steps if "no longer answers" in one.evidence]
    assert [one.name for one in died] == ["probe: not JSON"]
    assert "code 7" in died[0].evidence


def test_a_server_that_cannot_be_started_again_ends_the_faults_with_a_step(tmp_path: Path) -> None:
    script = tmp_path / "fragile.py"
    script.write_text(FRAGILE)
    argv = (sys.executable, str(script), str(tmp_path / "once"))
    steps = faults(ServerSpec("x", argv=argv, era="handshake", timeouts=PATIENT), tmp_path)
    names = [one.name.removeprefix("probe: ") for one in steps]
    assert names == ["unknown method", "bad cursor", "bad cursor", "start"]
    assert steps[-1].ok is False
    assert steps[-1].evidence.startswith("It could not be started for what is left of the faults: ")


FRAGILE = """
import json, pathlib, sys
once = pathlib.Path(sys.argv[1]) if sys.argv[1:] else None
if once is not None and once.exists():
    sys.exit(3)
for line in sys.stdin:
    try:
        asked = json.loads(line)
    except ValueError:
        sys.exit(7)
    if "id" not in asked:
        continue
    if once is not None and "cursor" in asked.get("params", {}):
        once.touch()
        sys.exit(7)
    if asked["method"] == "initialize":
        body = {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "f"}}}
    elif asked["method"] == "tools/list":
        body = {"result": {"tools": []}}
    else:
        body = {"error": {"code": -32601, "message": "no"}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **body}), flush=True)
"""
