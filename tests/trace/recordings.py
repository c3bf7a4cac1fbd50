"""A journal with its recorder, and the events tests put into it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from inspector.trace.recorder import Recorder
from inspector.trace.store import Store
from inspector.wire.events import C2S, S2C, Event, Journal


@dataclass
class Recording:
    path: Path
    journal: Journal
    recorder: Recorder

    def emit(self, event: Event) -> int:
        return self.journal.emit(event)

    def exchange(self, id: str, method: str = "tools/call", c: int = 1, **answer: object) -> tuple[int, int]:
        """A request and its answer; the seqs."""
        asked = self.emit(request(id, method, c))
        raw = b'{"jsonrpc":"2.0","id":%s,"result":{}}' % id.encode()
        return asked, self.emit(Event("rpc", c, S2C, {"eol": "lf", **answer}, raw, "result", id=id))

    def read(self) -> Store:
        """A store that sees all emitted so far."""
        assert self.recorder.flush(20)
        return Store(self.path)


def request(id: str, method: str = "tools/call", c: int = 1) -> Event:
    raw = b'{"jsonrpc":"2.0","id":%s,"method":"%s"}' % (id.encode(), method.encode())
    return Event("rpc", c, C2S, {"eol": "lf"}, raw, "request", method, id, cause="user")
