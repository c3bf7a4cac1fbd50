"""The console that soak_kills kills: a few servers, one of them stubborn, calls without end, each commit told."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path

from inspector.console.console import Console
from inspector.settings.paths import Paths
from inspector.settings.spec import ServerSpec, Timeouts

ROOT = Path(__file__).resolve().parents[1]
QUIET = Timeouts(probe=20.0, connect=60.0, call=20.0, close=1.0)


def specs() -> list[ServerSpec]:
    env = {"PYTHONPATH": str(ROOT)}
    chaos = (sys.executable, "-m", "inspector.demo", "chaos")
    return [
        ServerSpec("plain", argv=chaos, env=env, timeouts=QUIET),
        ServerSpec("stubborn", argv=(*chaos, "--fault", "ignore_eof"), env=env, timeouts=QUIET),
        ServerSpec("orphan", argv=(*chaos, "--fault", "orphan"), env=env, timeouts=QUIET),
    ]


def main() -> None:
    with Console(Paths.locate(sys.argv[1])) as console:
        known = console.servers_file.all()
        keys = list(known) or [console.servers_file.add(spec) for spec in specs()]
        connections = [console.connect(key) for key in keys]
        pids = [connection.transport.server.pid for connection in connections]  # type: ignore[union-attr]
        ready = {"session": console.recorder.session, "swept": len(console.swept), "servers": pids}
        with console.recorder.feed.subscribe(100_000) as heard:
            print(json.dumps(ready), flush=True)
            for key, connection in zip(keys, connections, strict=True):
                threading.Thread(target=console.calls.start, args=(connection, key, "echo", "{}"),
                                 kwargs={"runs": 1000}, daemon=True).start()  # fmt: skip
            while True:
                events = heard.get(1.0)
                if events:
                    print(events[-1].seq, flush=True)


if __name__ == "__main__":
    main()
