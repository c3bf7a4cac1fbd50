"""`make otlp`: what `serve --otlp` sends, taken by a receiver we did not write (Phoenix), on loopback, in its own venv.

The venv is `.venvs/phoenix`, made when it is absent; Phoenix keeps what it got in a folder that is thrown away.
Prints what was recorded beside what Phoenix holds of it, and ends with 1 when the two differ.
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
HOME = ROOT / ".venvs" / "phoenix"
PACKAGE = "arize-phoenix==20.26.1"
READY_S, ENDS_S = 240.0, 30.0


def main() -> int:
    with tempfile.TemporaryDirectory() as folder, phoenix(Path(folder)) as url:
        asked = console(Path(folder), url)
        spans = until(lambda: found if len(found := taken(url)) >= sum(asked.values()) else None, ENDS_S)
    got = Counter(str(span["name"]) for span in spans)
    for name in sorted(asked | got):
        print(
            f"{'ok ' if asked[name] == got[name] else 'BAD'} {name}: {asked[name]} recorded, {got[name]} at Phoenix"
        )
    example = next(span for span in spans if span["name"].startswith("tools/call"))
    print(json.dumps({"status": example["status_code"], **example["attributes"]}, indent=1, sort_keys=True))
    return int(asked != got)


@contextmanager
def phoenix(folder: Path) -> Iterator[str]:
    """A running Phoenix; its address."""
    if not (HOME / "bin" / "phoenix").exists():
        venv.create(HOME, with_pip=True)
        subprocess.run([HOME / "bin" / "pip", "install", "--quiet", PACKAGE], check=True)
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as two:
        port, grpc = one.getsockname()[1], two.getsockname()[1]
    settings = {
        "PHOENIX_HOST": "127.0.0.1", "PHOENIX_PORT": str(port), "PHOENIX_GRPC_PORT": str(grpc),
        "PHOENIX_WORKING_DIR": str(folder / "phoenix"), "PHOENIX_TELEMETRY_ENABLED": "false",
    }  # fmt: skip
    log = (folder / "phoenix.log").open("wb")
    child = subprocess.Popen(
        [HOME / "bin" / "phoenix", "serve"], env={**os.environ, **settings}, stdout=log, stderr=log
    )
    try:
        url = f"http://127.0.0.1:{port}"
        until(lambda: reachable(url), READY_S)
        yield url
    finally:
        child.terminate()
        child.wait(ENDS_S)
        log.close()


def console(folder: Path, url: str) -> Counter[str]:
    """Runs a console that streams there, with a tap that tells it of five calls; the spans it has to have sent."""
    env = {**os.environ, "MCP_LOUPE_DATA": str(folder / "loupe")}
    words = ["serve", "--json", "--no-open", "--port", "0", "--otlp", url, "--otlp-contents", "demo:flat"]
    with subprocess.Popen(
        [sys.executable, "-m", "inspector", *words], cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        json.loads(child.stdout.readline())
        subprocess.run(
            [sys.executable, "-m", "inspector", "tap", "--quiet", "--", sys.executable, "-c", ECHO],
            input=b"".join(CALL % n for n in range(5)),
            cwd=ROOT, env=env, stdout=subprocess.DEVNULL, check=True, timeout=READY_S,
        )  # fmt: skip
        until(
            lambda: recorded(folder).get("tools/call echo") == 5 and "tools/list" in recorded(folder), READY_S
        )
        child.terminate()
        child.wait(ENDS_S)
    return recorded(folder)


ECHO = """
import sys, json
for line in sys.stdin:
    result = {"content": [], "isError": True}
    print(json.dumps({"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": result}), flush=True)
"""
CALL = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo"}}\n'


def recorded(folder: Path) -> Counter[str]:
    """The requests and notifications of the recording, by the name their span has."""
    from inspector.trace.store import Store

    with Store(folder / "loupe" / "loupe.db") as store:
        rows = [
            row for row in store.events(store.sessions()[0].id) if row.kind in ("request", "notification")
        ]
    found: Counter[str] = Counter()
    for row in rows:
        name = json.loads(row.raw_head or b"{}").get("params", {}).get("name", "")
        found[f"{row.method} {name}".strip() if row.method == "tools/call" else str(row.method)] += 1
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
