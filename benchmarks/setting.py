"""What the benchmarks run on: servers, our connections as the console holds them, and the SDK's bare client."""

from __future__ import annotations

import compileall
import contextlib
import gc
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from inspector.console.tidy import THRESHOLDS
from inspector.settings.spec import STREAMABLE_HTTP, ServerSpec
from inspector.trace.recorder import Recorder
from inspector.wire.children import Children
from inspector.wire.connection import Connection
from inspector.wire.events import Journal

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT.parent / "shared" / "corpus" / "tooluniverse-flat.legacy.jsonl"
REPLAY = ROOT / "tests" / "servers" / "replay_lines.py"
CATALOG_BYTES = 3_219_482
READY_S = 30.0


def serve(data: Path) -> list[str]:
    """The command of a console of its own, which prints its login link as JSON."""
    options = ["--json", "--no-open", "--port", "0", "--data-dir", str(data)]
    return [sys.executable, "-m", "inspector", "serve", *options]


def compiled() -> None:
    """Our modules compiled, as pip compiles what it installs: a checkout is where PYTHONDONTWRITEBYTECODE is not set."""
    assert compileall.compile_dir(ROOT / "inspector", quiet=1)


@contextmanager
def scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="loupe-bench-") as folder:
        yield Path(folder)


def catalog_file(folder: Path) -> Path:
    """The recorded list of 2,720 tools; where the corpus is absent, a made-up one of the same size and shape."""
    if CORPUS.exists():
        return CORPUS
    tools: list[dict[str, object]] = []
    size, words = 0, random.Random(1)
    while size < CATALOG_BYTES - 100:
        tools.append(_made_up_tool(len(tools), words))
        size += len(json.dumps(tools[-1], separators=(",", ":"))) + 1
    answer = {"jsonrpc": "2.0", "id": 10, "result": {"tools": tools}}
    made = folder / "made-up.jsonl"
    made.write_text(json.dumps(answer, separators=(",", ":")) + "\n")
    return made


def _made_up_tool(number: int, words: random.Random) -> dict[str, object]:
    def prose(length: int) -> str:
        return " ".join("".join(words.choices("etaoinshrdlu", k=words.randint(2, 9))) for _ in range(length))

    properties = {
        f"argument_{n}": {
            "type": words.choice(["string", "integer"]),
            "description": prose(12),
            "default": None,
        }
        for n in range(6)
    }
    schema = {
        "type": "object",
        "properties": properties,
        "required": ["argument_0"],
        "additionalProperties": False,
    }
    return {"name": f"tool_{number}", "title": prose(3), "description": prose(30), "inputSchema": schema}


def replay_spec(folder: Path) -> ServerSpec:
    """The server that answers tools/list with the 3.2 MB as they were recorded."""
    argv = (sys.executable, str(REPLAY), str(catalog_file(folder)))
    return ServerSpec("replay", argv=argv, cwd=str(ROOT), era="handshake")


def flat_spec() -> ServerSpec:
    """The demo server `flat` on stdio."""
    return ServerSpec(
        "flat", argv=(sys.executable, "-m", "inspector.demo", "flat"), cwd=str(ROOT), era="handshake"
    )


@contextmanager
def flat_over_http() -> Iterator[ServerSpec]:
    """The demo server `flat` on streamable HTTP, one for all clients."""
    argv = [sys.executable, "-m", "inspector.demo", "flat", "--http", "0"]
    with subprocess.Popen(argv, cwd=ROOT, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        url = server.stderr.readline().split()[-1]
        drain = subprocess.Popen(["cat"], stdin=server.stderr, stdout=subprocess.DEVNULL)
        try:
            yield ServerSpec("flat", transport=STREAMABLE_HTTP, url=url, era="handshake")
        finally:
            server.terminate()
            server.wait(READY_S)
            drain.wait(READY_S)


@dataclass(frozen=True, slots=True)
class Ours:
    """Connections as the console holds them: one loop thread, one journal, recorded into SQLite."""

    portal: BlockingPortal
    recorder: Recorder
    connections: list[Connection]

    def commit(self) -> None:
        assert self.recorder.flush(READY_S), self.recorder.health()


@contextmanager
def ours(folder: Path, *specs: ServerSpec) -> Iterator[Ours]:
    with ExitStack() as stack:
        journal = Journal()
        recorder = Recorder(folder / "bench.db", journal, tool_version="benchmark")
        stack.callback(recorder.close)
        portal = stack.enter_context(start_blocking_portal(name="mcp-loop"))
        children = Children(folder / "children")
        (folder / "children").mkdir(exist_ok=True)
        connections = [Connection(spec, journal, portal, children) for spec in specs]
        for connection in connections:
            connection.open()
            stack.callback(connection.close)
        yield Ours(portal, recorder, connections)


@contextmanager
def sdk(portal: BlockingPortal, spec: ServerSpec) -> Iterator[ClientSession]:
    """The SDK's client as its documentation shows it, in the same era, on a loop like ours."""
    with portal.wrap_async_context_manager(_session(spec)) as session:
        yield session


@asynccontextmanager
async def _session(spec: ServerSpec) -> AsyncIterator[ClientSession]:
    with open(os.devnull, "w") as nowhere:  # noqa: ASYNC230
        if spec.url is not None:
            streams = streamable_http_client(spec.url, max_sse_event_size=None)
        else:
            command, *args = spec.argv
            streams = stdio_client(
                StdioServerParameters(command=command, args=args, cwd=spec.cwd), errlog=nowhere
            )
        async with streams as (read, write, *_), ClientSession(read, write) as session:
            await session.initialize()
            yield session


@contextmanager
def bare_pipe(spec: ServerSpec) -> Iterator[subprocess.Popen[bytes]]:
    """The server's process, initialised, with nothing around its pipes."""
    with subprocess.Popen(
        spec.argv,
        cwd=spec.cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=1 << 16,
    ) as server:
        assert server.stdin is not None
        hello: dict[str, object] = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "bare", "version": "1"},
        }
        ask(server, "initialize", hello)
        server.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        server.stdin.flush()
        yield server
        with contextlib.suppress(BrokenPipeError):
            server.stdin.close()


def ask(server: subprocess.Popen[bytes], method: str, params: dict[str, object]) -> dict[str, object]:
    """One request through a bare pipe and json.loads."""
    assert server.stdin is not None and server.stdout is not None
    request = {"jsonrpc": "2.0", "id": 10, "method": method, "params": params}
    server.stdin.write(json.dumps(request).encode() + b"\n")
    server.stdin.flush()
    answer: dict[str, object] = json.loads(server.stdout.readline())
    return answer


def console_gc() -> None:
    """The console's own setting, for both sides: json.loads of 3.2 MB takes twice as long with Python's."""
    gc.set_threshold(*THRESHOLDS)
