"""A handshake server that wants its questions answered as tasks, and polls them; no SDK.

`ask` polls to the end and fetches the result, `withdraw` cancels the task, `odd` asks about tasks that are none.
Each answers with all that it was told, in order.
"""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from answers import answer, dumps

NAMES = ("ask", "withdraw", "odd", "declared")
FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
told: dict[str, tuple[threading.Event, list[Any]]] = {}
declared: list[Any] = []


def write(**message: Any) -> None:
    sys.stdout.buffer.write(dumps({"jsonrpc": "2.0", **message}) + b"\n")
    sys.stdout.buffer.flush()


class Asker:
    """The requests of one call and what came back."""

    def __init__(self, id_: Any) -> None:
        self.id, self.heard = id_, []

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        key = f"{self.id}-{len(self.heard)}"
        told[key] = (threading.Event(), [])
        write(id=key, method=method, params=params)
        assert told[key][0].wait(30)
        found: dict[str, Any] = told.pop(key)[1][0]
        self.heard.append({method: found})
        return found

    def run(self, name: str) -> None:
        if name == "declared":
            self.heard = declared
        elif name == "odd":
            self.ask("tasks/get", taskId="none")
            self.ask("tasks/list")
        else:
            begun = self.ask("elicitation/create", message="Who?", requestedSchema=FORM, task={"ttl": 60_000})
            id_ = begun["task"]["taskId"]
            if name == "withdraw":
                self.ask("tasks/cancel", taskId=id_)
                self.ask("tasks/cancel", taskId=id_)
            else:
                self.ask("tasks/get", taskId=id_)
            self.ask("tasks/result", taskId=id_)
            self.ask("tasks/list")
        text = {"type": "text", "text": dumps(self.heard).decode()}
        write(id=self.id, result={"content": [text]})


def main() -> None:
    for line in sys.stdin.buffer:
        frame = json.loads(line)
        method = frame.get("method")
        if method is None:
            event, heard = told[frame["id"]]
            heard.append(frame.get("result", frame.get("error")))
            event.set()
        elif method == "tools/call":
            threading.Thread(target=Asker(frame["id"]).run, args=(frame["params"]["name"],)).start()
        elif method == "tools/list":
            tools = [{"name": name, "inputSchema": {"type": "object"}} for name in NAMES]
            write(id=frame["id"], result={"tools": tools})
        else:
            if method == "initialize":
                declared.append(frame["params"]["capabilities"])
            found = answer(frame, modern=False)
            if found is not None:
                sys.stdout.buffer.write(found + b"\n")
                sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
