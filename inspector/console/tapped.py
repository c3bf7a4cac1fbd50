"""What taps tell a running console: their events go into its own recording, under numbers of its own. Request threads.

A tapped connection is watched, not ours: nothing can be called on it. Its times and lengths are the tap's, and the
tap has hidden what its server was given: those values are never here.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from inspector.errors import UsageError
from inspector.settings.paths import is_running
from inspector.wire.events import C2S, LOCAL, S2C, Event, Journal, id_text

PREFIX: Final = "tap:"
"""Of the server key of tapped connections; no slug has a colon, so no configured server has such a key."""
KINDS: Final = frozenset(("connection", "rpc", "noise", "stderr", "http", "proc", "error"))
REMEMBERED: Final = 20_000
TAPS_MOST: Final = 200
_RAWS: Final = {"rpc": "raw", "http": "body"}
_OWN: Final = frozenset(
    (
        "t",
        "seq",
        "c",
        "at",
        "dt",
        "dir",
        "kind",
        "method",
        "pair",
        "ms",
        "cause",
        "id",
        "enc",
        "server_key",
        "tapped",
    )
)


class UnknownTap(UsageError):
    """It did not introduce itself to this console: it has to send what its connections are."""


@dataclass(slots=True)
class Tap:
    """One tap. key: of its connections in the recording. process: its pid and start. seqs: its, as ours."""

    name: str
    process: tuple[int, float]
    ended: bool = False
    connections: dict[int, int] = field(default_factory=dict)
    seqs: dict[int, int] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def key(self) -> str:
        return PREFIX + self.name

    @property
    def live(self) -> bool:
        """Whether it still runs: one that is killed says no goodbye."""
        return not self.ended and is_running(*self.process)


class Taps:
    """The taps of this run. Thread-safe."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._taps: dict[str, Tap] = {}
        self._lock = threading.Lock()

    def all(self) -> list[Tap]:
        with self._lock:
            return list(self._taps.values())

    def take(self, head: bytes, lines: Iterable[bytes]) -> int:
        """Record one batch: a line about the tap, then trace lines; returns how many events.

        Raises UnknownTap, and UsageError for what no tap of ours sends; the lines before it are recorded.
        """
        said = _object(head)
        tap = self._tap(said)
        taken = 0
        with tap.lock:
            for line in lines:
                if line.strip():
                    self._record(tap, _object(line))
                    taken += 1
            if said.get("end") is True:
                tap.ended = True
        return taken

    def _tap(self, said: dict[str, Any]) -> Tap:
        id_, name = said.get("tap"), said.get("name")
        if not isinstance(id_, str) or not isinstance(name, str) or not name or len(id_) > 100:
            raise UsageError("This is no batch of a tap.", "Update mcp-loupe on both sides.")
        with self._lock:
            if "started" in said:
                if len(self._taps) >= TAPS_MOST:
                    self._taps = {key: tap for key, tap in self._taps.items() if tap.live}
                self._taps[id_] = Tap(" ".join(name.split())[:60], _process(said))
            if id_ not in self._taps:
                raise UnknownTap("This console does not know that tap.", "Send what its connections are.")
            return self._taps[id_]

    def _record(self, tap: Tap, fields: dict[str, Any]) -> None:
        event = read_event(fields)
        event.c = self._connection(tap, event.c)
        if event.t == "connection":
            event.body = {**event.body, "label": tap.name, "server_key": tap.key, "tapped": True}
        event.pair = tap.seqs.get(event.pair) if event.pair is not None else None
        if "http" in event.body:
            event.body = {**event.body, "http": tap.seqs.get(event.body["http"])}
        theirs = event.seq
        ours = self._journal.adopt(event)
        if event.kind == "request" or event.body.get("phase") == "request":
            tap.seqs[theirs] = ours
            if len(tap.seqs) > REMEMBERED:
                del tap.seqs[next(iter(tap.seqs))]

    def _connection(self, tap: Tap, theirs: int) -> int:
        if theirs not in tap.connections:
            tap.connections[theirs] = self._journal.next_connection()
        return tap.connections[theirs]


def _process(said: dict[str, Any]) -> tuple[int, float]:
    pid, started = said.get("pid"), said.get("started")
    known = isinstance(pid, int) and isinstance(started, int | float)
    return (int(pid or 0), float(started or 0)) if known else (0, 0.0)


def read_event(fields: dict[str, Any]) -> Event:
    """An event of the trace format as one of ours, with the seq it had there. Raises UsageError."""
    t, seq, c = fields.get("t"), fields.get("seq"), fields.get("c")
    try:
        if t not in KINDS or not isinstance(seq, int) or not isinstance(c, int):
            raise ValueError("t, seq or c")
        at = datetime.fromisoformat(fields["at"])
        ms, pair, direction = fields.get("ms"), fields.get("pair"), fields.get("dir")
        raw = _raw(t, fields)
        skipped = _OWN | ({_RAWS.get(t, "data")} if raw is not None else frozenset())
        body = {name: value for name, value in fields.items() if name not in skipped}
        if isinstance(body.get("http"), bool) or not isinstance(body.get("http", 0), int):
            raise ValueError("http")
        return Event(
            t, c, direction if direction in (C2S, S2C) else LOCAL, body, raw,
            _text(fields, "kind"), _text(fields, "method"), id_text(fields["id"]) if "id" in fields else None,
            pair if isinstance(pair, int) else None, float(ms) if isinstance(ms, int | float) else None,
            _text(fields, "cause"), seq=seq, at_us=round(at.timestamp() * 1_000_000),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError, OverflowError) as problem:
        raise UsageError(
            f"An event of a tap cannot be read ({problem}).", "Update mcp-loupe on both sides."
        ) from None


def _raw(t: str, fields: dict[str, Any]) -> bytes | None:
    value = fields.get(_RAWS.get(t, "data"))
    if not isinstance(value, str):
        return None
    if fields.get("enc") == "base64":
        return base64.b64decode(value, validate=True)
    return value.encode("utf-8", "surrogatepass")


def _text(fields: dict[str, Any], name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) else None


def _object(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise UsageError(
            "This is no batch of a tap: a line is no JSON object.", "Update mcp-loupe on both sides."
        )
    return found
