"""What both taps write down of the traffic they pass on; called by whoever passes it on, never in its way.

Whatever goes wrong in here ends the recording, is told once, and is nobody else's business: the traffic flows on.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, ParamSpec

from inspector.protocol import eras, frames
from inspector.protocol.frames import Frame
from inspector.wire.events import Event, Journal
from inspector.wire.link import Link, Outgoing

P = ParamSpec("P")


def to_nobody(_text: str) -> None:
    """Where a tap without a log says what went wrong."""


class TapRecord:
    """One tapped server in the journal: `link` is its connection there.

    facts: of the `connection` event (label, transport, target). say: takes a sentence for the tap's own log.
    failed: why nothing is recorded any more, or None.
    """

    def __init__(
        self, journal: Journal, facts: dict[str, Any], say: Callable[[str], None] = to_nobody
    ) -> None:
        self.journal = journal
        self.facts = facts
        self.say = say
        self.failed: str | None = None
        self._lock = threading.RLock()
        self._sinks, journal.sinks = journal.sinks, [self._hold]
        self._held: deque[Event] = deque()
        self._hello: dict[tuple[int, str], dict[str, Any]] = {}
        self.link = self.new_link()

    def safely(self, work: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
        """Do `work`, one at a time; an error ends the recording, and never reaches the traffic."""
        if self.failed is not None:
            return
        with self._lock:
            try:
                work(*args, **kwargs)
            except Exception as problem:  # noqa: BLE001 - the client must not notice
                self.failed = f"{type(problem).__name__}: {problem}"
                self.say(f"The recording ended, the traffic flows on: {self.failed}")

    def _hold(self, event: Event) -> None:
        self._held.append(event)

    def flush(self) -> None:
        """Hand what was recorded to the journal's sinks; called once the bytes are passed on.

        A sink wakes the thread that writes the file, and that thread then takes the interpreter from the one that
        passes bytes on: measured, this was most of what the tap added to a call.
        """
        self.safely(self._flush)

    def _flush(self) -> None:
        while self._held:
            event = self._held.popleft()
            for sink in self._sinks:
                sink(event)

    def new_link(self) -> Link:
        """Another connection of the same server."""
        link = Link(self.journal, self.journal.next_connection())
        self.safely(link.emit, "connection", **self.facts)
        return link

    def emit(self, t: str, **body: Any) -> None:
        """Record something that is no frame: `proc`, `error`."""
        self.safely(self.link.emit, t, **body)
        self.flush()

    # --- frames; not safe by themselves, for what calls them is

    def sent(
        self,
        link: Link,
        raw: bytes,
        *,
        http: int | None = None,
        eol: str = "none",
        frame: Frame | None = None,
    ) -> Frame:
        """Record what the client sent: a line, or a body. Bytes that are no JSON-RPC are an unparsed frame.

        frame: what `raw` is, when that is known already.
        """
        frame = frame or frames.classify(raw)
        kind = frames.UNPARSED if frame.kind == frames.NOISE else frame.kind
        link.sent(Outgoing(raw, kind, frame.id, frame.method), http=http, eol=eol)
        if frame.kind == frames.REQUEST and frame.method in ("initialize", "server/discover"):
            params = frame.value.get("params")
            self._hello[link.c, frame.method] = params if isinstance(params, dict) else {}
        return frame

    def received(self, link: Link, raw: bytes, **how: Any) -> Frame:
        """Record what the server sent, and once it says who it is, that too, as our own connections do."""
        frame, event = link.received(raw, **how)
        asked = self._hello.pop((link.c, event.method or ""), None) if frame.kind == frames.RESULT else None
        if asked is not None:
            link.emit("connection", **self.facts, **_introduced(event, asked, frame.value["result"]))
        return frame


def _introduced(event: Event, asked: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    """The `connection` fields that the answer to `initialize` or `server/discover` makes known."""
    if event.method == "initialize":
        return {
            "era": eras.HANDSHAKE,
            "protocol_version": result.get("protocolVersion"),
            "server_info": result.get("serverInfo"),
            "client_capabilities": asked.get("capabilities"),
        }
    meta, about = asked.get("_meta"), result.get("_meta")
    meta, about = meta if isinstance(meta, dict) else {}, about if isinstance(about, dict) else {}
    return {
        "era": eras.MODERN,
        "protocol_version": meta.get(eras.META_VERSION),
        "server_info": about.get(eras.META_SERVER_INFO) or result.get("serverInfo"),
        "client_capabilities": meta.get(eras.META_CLIENT_CAPABILITIES),
    }
