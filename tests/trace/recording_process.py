"""Records for ever and prints every announced seq; killed by the test that starts it."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from inspector.trace.recorder import Recorder
from inspector.wire.events import C2S, Event, Journal

journal = Journal()
recorder = Recorder(Path(sys.argv[1]), journal, tool_version="0.0")
subscription = recorder.feed.subscribe(maxsize=1_000_000)


pause = threading.Event()


def emit() -> None:
    while True:
        journal.emit(
            Event("rpc", 1, C2S, {"eol": "lf"}, b"x" * 300, "notification", "notifications/progress")
        )
        while recorder.backlog > 5000:
            pause.wait(0.001)


threading.Thread(target=emit, daemon=True).start()
while True:
    for event in subscription.get(60) or ():
        print(event.seq, flush=True)
