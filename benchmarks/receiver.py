"""`make otlp`: what `serve --otlp` sends, taken by receivers we did not write, on loopback, each in its own venv.

OtelTap takes spans and log records; Phoenix takes spans, and log records it refuses. The venvs are `.venvs/oteltap` and
`.venvs/phoenix`, made when absent; what the receivers keep is in a folder that is thrown away. Prints what was recorded
beside what arrived, and ends with 1 when the two differ.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
VENVS = ROOT / ".venvs"
PHOENIX, OTELTAP = "arize-phoenix==20.26.1", "oteltap==1.0.0"
READY_S, ENDS_S = 240.0, 30.0


def main() -> int:
    return max(by_oteltap(), by_phoenix())


def by_oteltap() -> int:
    """Spans and log records."""
    with tempfile.TemporaryDirectory() as folder, oteltap(Path(folder)) as (url, lines):
        asked = console(Path(folder), url)
        until(lambda: told(lines).total() >= asked.total(), ENDS_S)
        got, text = told(lines), lines.read_text()
    secret = text.count(SECRET)
    print(
        f"{'ok ' if not secret else 'BAD'} what the tapped server was given: {secret} times in what OtelTap got"
    )
    return max(compare("OtelTap", asked, got), min(secret, 1))


def by_phoenix() -> int:
    """Spans only."""
    with tempfile.TemporaryDirectory() as folder, phoenix(Path(folder)) as url:
        asked = console(Path(folder), url, "--otlp-spans-only")
        asked = Counter({name: count for name, count in asked.items() if not name.startswith("loupe.")})
        spans = until(lambda: found if len(found := taken(url)) >= asked.total() else None, ENDS_S)
    found = compare("Phoenix", asked, Counter(str(span["name"]) for span in spans))
    example = next(span for span in spans if span["name"].startswith("tools/call"))
    print(json.dumps({"status": example["status_code"], **example["attributes"]}, indent=1, sort_keys=True))
    return found


def compare(who: str, asked: Counter[str], got: Counter[str]) -> int:
    for name in sorted(asked | got):
        verdict = "ok " if asked[name] == got[name] else "BAD"
        print(f"{verdict} {name}: {asked[name]} recorded, {got[name]} at {who}")
    return int(asked != got)


def installed(name: str, package: str) -> Path:
    """The folder of programs of a venv with this package."""
    home = VENVS / name
    if not (home / "bin" / name).exists():
        venv.create(home, with_pip=True)
        subprocess.run([home / "bin" / "pip", "install", "--quiet", package], check=True)
    return home / "bin"


@contextmanager
def oteltap(folder: Path) -> Iterator[tuple[str, Path]]:
    """A running OtelTap; its address and the file it writes a line into for each thing that comes."""
    program, lines = installed("oteltap", OTELTAP) / "oteltap", folder / "oteltap.jsonl"
    with socket.create_server(("127.0.0.1", 0)) as one:
        port = one.getsockname()[1]
    with lines.open("wb") as file, (folder / "oteltap.log").open("wb") as log:
        child = subprocess.Popen([program, "--port", str(port)], stdout=file, stderr=log)
        try:
            until(lambda: listening(port), READY_S)
            yield f"http://127.0.0.1:{port}", lines
        finally:
            child.terminate()
            child.wait(ENDS_S)


def told(lines: Path) -> Counter[str]:
    """What OtelTap wrote: spans by name, log records by their event's."""
    found: Counter[str] = Counter()
    for line in lines.read_text().splitlines():
        if line.startswith("{"):
            one = json.loads(line)
            found[str(one.get("name") or one.get("event_name") or one.get("eventName"))] += 1
    return found


def listening(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5):
            return True
    except OSError:
        return False


@contextmanager
def phoenix(folder: Path) -> Iterator[str]:
    """A running Phoenix; its address."""
    program = installed("phoenix", PHOENIX) / "phoenix"
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as two:
        port, grpc = one.getsockname()[1], two.getsockname()[1]
    settings = {
        "PHOENIX_HOST": "127.0.0.1", "PHOENIX_PORT": str(port), "PHOENIX_GRPC_PORT": str(grpc),
        "PHOENIX_WORKING_DIR": str(folder / "phoenix"), "PHOENIX_TELEMETRY_ENABLED": "false",
    }  # fmt: skip
    log = (folder / "phoenix.log").open("wb")
    child = subprocess.Popen([program, "serve"], env={**os.environ, **settings}, stdout=log, stderr=log)
    try:
        url = f"http://127.0.0.1:{port}"
        until(lambda: reachable(url), READY_S)
        yield url
    finally:
        child.terminate()
        child.wait(ENDS_S)
        log.close()


def console(folder: Path, url: str, *more: str) -> Counter[str]:
    """Runs a console that streams there, with a tap that tells it of five calls, noise, stderr and a crash; what it has
    to have sent, by name."""
    env = {**os.environ, "MCP_LOUPE_DATA": str(folder / "loupe"), "MY_TOKEN": SECRET}
    words = [
        "serve",
        "--json",
        "--no-open",
        "--port",
        "0",
        "--otlp",
        url,
        "--otlp-contents",
        *more,
        "demo:flat",
    ]
    with subprocess.Popen(
        [sys.executable, "-m", "inspector", *words], cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        try:
            json.loads(child.stdout.readline())
            subprocess.run(
                [sys.executable, "-m", "inspector", "tap", "--quiet", "--", sys.executable, "-c", ECHO],
                input=b"".join(CALL % n for n in range(5)),
                cwd=ROOT, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=READY_S,
            )  # fmt: skip
            until(lambda: recorded(folder).keys() >= ENOUGH, READY_S)
        finally:
            child.terminate()
            child.wait(ENDS_S)
    return recorded(folder)


SECRET = "correct-horse-battery-7"
ENOUGH = {"tools/call echo", "tools/list", "loupe.stderr", "loupe.noise", "loupe.proc", "loupe.catalog"}
ECHO = """
import sys, json, os
print("starting with", os.environ["MY_TOKEN"], file=sys.stderr, flush=True)
print("no frame, but", os.environ["MY_TOKEN"], flush=True)
for line in sys.stdin:
    result = {"content": [], "isError": True}
    print(json.dumps({"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": result}), flush=True)
sys.exit(3)
"""
CALL = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo"}}\n'


def recorded(folder: Path) -> Counter[str]:
    """What was recorded, by the name of its span or log record; an answer is part of its request's span."""
    from inspector.trace.store import Store

    with Store(folder / "loupe" / "loupe.db") as store:
        rows = list(store.events(store.sessions()[0].id))
    found: Counter[str] = Counter()
    for row in rows:
        if row.kind in ("request", "notification"):
            name = json.loads(row.raw_head or b"{}").get("params", {}).get("name", "")
            found[f"{row.method} {name}".strip() if row.method == "tools/call" else str(row.method)] += 1
        elif row.t != "rpc" or row.pair is None:
            found[f"loupe.{row.t}"] += 1
    return found


def taken(url: str) -> list[dict[str, Any]]:
    """What Phoenix holds, by its own API."""
    try:
        with urllib.request.urlopen(f"{url}/v1/projects/default/spans?limit=1000", timeout=10) as answer:
            found = json.load(answer)["data"]
    except urllib.error.HTTPError as problem:  # no project yet: nothing has come
        problem.close()
        return []
    assert isinstance(found, list)
    return found


def reachable(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/healthz", timeout=5):
            return True
    except OSError:
        return False


def until(ask: Callable[[], Any], seconds: float) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := ask()):
        if time.monotonic() > deadline:
            raise SystemExit("it took too long")
        time.sleep(0.2)
    return found


if __name__ == "__main__":
    sys.exit(main())
