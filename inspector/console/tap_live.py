"""The tap's road into a running console: what it records is posted there in batches. Thread `tap-live`.

The traffic never waits for it: `sink` appends to a bounded queue. The console may come, go and come again; what
it missed is in the tap's own file, and the tap's log says how much that was.
"""

from __future__ import annotations

import json
import os
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from http.client import HTTPConnection, HTTPException
from typing import Any, Final
from urllib.parse import urlsplit

from inspector.errors import StorageError
from inspector.settings.paths import ConsoleState, Paths, living_consoles, process_started
from inspector.trace.file import Redaction, event_line
from inspector.wire.events import Event

PATH: Final = "/_tap"
GATHER_S: Final = 0.1
"""How long events are gathered: the console shows them that much later, and the traffic is disturbed that seldom."""
LOOK_S: Final = 2.0
"""How often it is looked whether a console runs."""
ANSWER_S: Final = 5.0
BATCH_BYTES: Final = 4 << 20
QUEUE_BYTES: Final = 32 << 20
EVENT_COST: Final = 500
UNKNOWN, BUSY = 409, 503
"""Statuses of the console: it does not know this tap (it was started anew); its recorder is behind."""


class LiveTap:
    """Attach `sink` to the tap's journal; `close` at the end. name: of the server.

    hiding: hides what the server was given before anything is posted. missed: events a console did not get
    although one was there. say: takes a sentence for the tap's own log.
    """

    def __init__(self, paths: Paths, name: str, hiding: Redaction | None, say: Callable[[str], None]) -> None:
        self.missed = 0
        self._paths = paths
        self._head = {"tap": uuid.uuid4().hex, "name": name, "pid": os.getpid()}
        self._hiding = hiding
        self._say = say
        self._queue: deque[Event] = deque()
        self._queued = self._taken = self._under_way = 0
        self._wake, self._closing = threading.Event(), threading.Event()
        self._console: ConsoleState | None = None
        self._looked = float("-inf")
        self._introduced = False
        self._facts: dict[int, Event] = {}
        self._thread = threading.Thread(target=self._run, name="tap-live", daemon=True)
        self._thread.start()

    def sink(self, event: Event) -> None:
        """Take an event; returns at once. Called by whoever passes the bytes on."""
        cost = EVENT_COST + len(event.raw or b"")
        if self._queued - self._taken > QUEUE_BYTES:
            self.missed += 1
            return
        self._queued += cost
        self._queue.append(event)
        if not self._wake.is_set():
            self._wake.set()

    def close(self, timeout: float = 3.0) -> None:
        """Send what is queued, for at most so long; and say what a console missed."""
        self._closing.set()
        self._wake.set()
        self._thread.join(timeout)
        if self._thread.is_alive() and self._console is not None:
            self.missed += len(self._queue) + self._under_way
        if self.missed:
            self._say(f"{self.missed:,} events did not reach the console; they are in the trace file.")

    # --- tap-live

    def _run(self) -> None:
        while not self._closing.is_set() or self._queue:
            self._wake.wait()
            self._closing.wait(GATHER_S)
            self._wake.clear()
            while batch := self._batch():
                self._under_way = len(batch)
                try:
                    self._tell(batch)
                except Exception as problem:  # noqa: BLE001 - the traffic and the file must not know
                    self._lost(batch, f"{type(problem).__name__}: {problem}")
                self._under_way = 0
        with suppress(Exception):
            if self._introduced and self._console is not None:
                self._post(self._console, [], end=True)

    def _batch(self) -> list[Event]:
        batch, size = list[Event](), 0
        while self._queue and size < BATCH_BYTES:
            event = self._queue.popleft()
            cost = EVENT_COST + len(event.raw or b"")
            size += cost
            self._taken += cost
            batch.append(event)
        return batch

    def _tell(self, batch: list[Event]) -> None:
        """Send a batch to the console, if one runs; what the connections are is kept for one that comes later."""
        console = self._console or self._look()
        if console is not None:
            self._send(console, batch)
        for event in batch:
            if event.t == "connection" and (event.c in self._facts or len(self._facts) < 1000):
                before = self._facts.get(event.c)
                self._facts[event.c] = replace(event, body={**(before.body if before else {}), **event.body})

    def _look(self) -> ConsoleState | None:
        now = time.monotonic()
        if now - self._looked < LOOK_S:
            return None
        self._looked = now
        try:
            found = living_consoles(self._paths)
        except (StorageError, OSError):
            return None
        self._console, self._introduced = (found[0] if found else None), False
        return self._console

    def _send(self, console: ConsoleState, batch: list[Event]) -> None:
        while True:
            try:
                status = self._post(console, batch)
                if status == UNKNOWN and self._introduced:
                    self._introduced = False
                    status = self._post(console, batch)
            except (OSError, HTTPException) as problem:
                self._lost(batch, f"The console at {console.url} is gone ({problem})")
                return
            if status != BUSY:
                break
            if self._closing.wait(GATHER_S):
                self._lost(batch, f"The console at {console.url} was too busy")
                return
        self._introduced = True
        if status != 200:
            self._lost(batch, f"The console at {console.url} refused the events (HTTP {status})")

    def _lost(self, batch: list[Event], why: str) -> None:
        """This console is not told any more; it is looked for again."""
        self.missed += len(batch)
        self._console, self._introduced = None, False
        self._looked = time.monotonic()
        self._say(f"{why}. Recording goes on in the trace file.")

    def _post(self, console: ConsoleState, batch: list[Event], *, end: bool = False) -> int:
        head: dict[str, Any] = dict(self._head)
        lines = [event_line(event, self._hiding) for event in batch]
        if not self._introduced:
            head["started"] = process_started(os.getpid())
            mine = {event.c for event in batch if event.t == "connection"}
            lines = [
                event_line(event, self._hiding) for c, event in self._facts.items() if c not in mine
            ] + lines
        if end:
            head["end"] = True
        body = b"".join([json.dumps(head).encode() + b"\n", *lines])
        address = urlsplit(console.url)
        with closing(
            HTTPConnection(address.hostname or "127.0.0.1", console.port, timeout=ANSWER_S)
        ) as connection:
            headers = {
                "Authorization": f"Bearer {console.admin_secret}",
                "Content-Type": "application/x-ndjson",
            }
            connection.request("POST", PATH, body, headers)
            answer = connection.getresponse()
            answer.read()
            return answer.status
