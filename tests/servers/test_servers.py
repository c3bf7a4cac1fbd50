"""The test servers do what the tests that use them believe: exact bytes, three pages, no leaving."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CORPUS = HERE.parents[2] / "shared" / "corpus"
BOUND = 20


def python(script: str, *options: str | Path) -> list[str]:
    return [sys.executable, str(HERE / script), *map(str, options)]


def run(command: list[str], *requests: dict[str, object]) -> list[bytes]:
    """Stdout lines of a server that got these requests and EOF."""
    given = b"".join(json.dumps({"jsonrpc": "2.0", **each}).encode() + b"\n" for each in requests)
    done = subprocess.run(command, input=given, stdout=subprocess.PIPE, timeout=BOUND, check=True)
    return done.stdout.splitlines()


def listing(id_: object, **params: str) -> dict[str, object]:
    return {"id": id_, "method": "tools/list", "params": params}


PAGES = [
    b'{"jsonrpc":"2.0","id":10,"result":{"tools":[{"name":"a", "id":10}],"nextCursor":"p2"}}',
    b'{"result":{"tools":[{"name":"b"}]},"id":11,"jsonrpc":"2.0"}',
]


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "pages.jsonl"
    path.write_bytes(b"\n".join(PAGES) + b"\n")
    return path


def test_replayed_pages_keep_their_bytes_but_for_the_id(recording: Path) -> None:
    command = python("replay_lines.py", recording)
    assert run(command, listing(10), listing(11, cursor="p2")) == PAGES
    first, second, wrong = run(command, listing("c17"), listing(-3, cursor="p2"), listing(1, cursor="p3"))
    assert first == PAGES[0].replace(b'"id":10,', b'"id":"c17",', 1)
    assert second == PAGES[1].replace(b'"id":11', b'"id":-3')
    assert json.loads(wrong)["error"]["code"] == -32602


def test_replay_knows_discover_only_for_modern_lines_or_when_told(recording: Path) -> None:
    probe = {"id": 1, "method": "server/discover"}
    assert json.loads(run(python("replay_lines.py", recording), probe)[0])["error"]["code"] == -32601
    told = json.loads(run(python("replay_lines.py", recording, "--era", "both"), probe)[0])
    assert told["result"]["supportedVersions"] == ["2026-07-28"]


def test_replay_serves_the_same_bytes_over_http(recording: Path) -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen(
        python("replay_lines.py", recording, "--http", "0"), stdin=pipe, stdout=pipe
    ) as server:
        assert server.stdin
        assert server.stdout
        url = json.loads(server.stdout.readline())["url"]
        body = json.dumps(listing(10)).encode()
        with urllib.request.urlopen(urllib.request.Request(url, body), timeout=BOUND) as reply:
            assert (reply.read(), reply.headers["Content-Type"]) == (PAGES[0], "application/json")
        server.stdin.close()
        assert server.wait(timeout=BOUND) == 0


@pytest.mark.corpus
@pytest.mark.skipif(not CORPUS.is_dir(), reason="../shared/corpus is not there")
@pytest.mark.parametrize("name", ["tooluniverse-flat.legacy", "azure.legacy", "fm-page10-github.modern"])
def test_replay_gives_the_corpus_back_byte_for_byte(name: str) -> None:
    line = (CORPUS / f"{name}.jsonl").read_bytes().split(b"\n")[0]
    assert run(python("replay_lines.py", CORPUS / f"{name}.jsonl"), listing(10)) == [line]


def test_the_fastmcp_server_has_three_pages() -> None:
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    pipe = subprocess.PIPE
    sizes, cursor = [], {}
    with subprocess.Popen(python("fastmcp_paged.py"), stdin=pipe, stdout=pipe) as server:
        assert server.stdin
        assert server.stdout
        for number, method in enumerate(("initialize", "notifications/initialized", *["tools/list"] * 3)):
            params = hello if method == "initialize" else cursor
            id_ = {} if method.startswith("notifications/") else {"id": number}
            server.stdin.write(
                json.dumps({"jsonrpc": "2.0", **id_, "method": method, "params": params}).encode() + b"\n"
            )
            server.stdin.flush()
            if method == "notifications/initialized":
                continue
            result = json.loads(server.stdout.readline())["result"]
            if method == "tools/list":
                sizes.append(len(result["tools"]))
                cursor = {"cursor": result.get("nextCursor")}
        server.stdin.close()
        server.wait(timeout=BOUND)
    assert (sizes, cursor) == ([10, 10, 6], {"cursor": None})


def test_the_stubborn_pair_survives_eof_and_sigterm() -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen(
        python("stubborn.py"), stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
    ) as server:
        assert server.stdin
        assert server.stderr
        pids = json.loads(server.stderr.readline())
        try:
            assert (pids["pid"], pids["group"], os.getpgid(pids["grandchild"])) == (server.pid,) * 3
            server.stdin.close()
            os.killpg(server.pid, signal.SIGTERM)
            with pytest.raises(subprocess.TimeoutExpired):
                server.wait(timeout=0.3)
            os.kill(pids["grandchild"], 0)
        finally:
            os.killpg(server.pid, signal.SIGKILL)
    assert server.returncode == -signal.SIGKILL


@pytest.mark.parametrize(("ending", "code"), [("sys.exit(4)", 4), ("os.kill(os.getpid(), 9)", -9)])
def test_tee_copies_every_byte_and_ends_as_its_child_does(tmp_path: Path, ending: str, code: int) -> None:
    script = f"""
import os, sys
seen = sys.stdin.buffer.read()
os.write(1, seen[::-1] + b"\\xff\\r\\n\\0")
os.write(2, b"no newline")
{ending}
"""
    given = bytes(range(256)) * 10
    command = python("tee.py", tmp_path / "seen", "--", sys.executable, "-c", script)
    done = subprocess.run(command, input=given, capture_output=True, timeout=BOUND)
    assert (done.stdout, done.stderr, done.returncode) == (given[::-1] + b"\xff\r\n\0", b"no newline", code)
    kept = {path.name: path.read_bytes() for path in (tmp_path / "seen").iterdir()}
    assert kept == {"stdin": given, "stdout": done.stdout, "stderr": done.stderr}
