"""What the Servers screen remembers between requests: connects under way, looks taken, removals to undo. Any thread."""

from __future__ import annotations

import threading
import time
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import cast

from flask import current_app

from inspector.console.console import Console
from inspector.errors import LoupeError
from inspector.settings.spec import ServerSpec

REGISTERED_S = 0.5
"""How long a page waits for the new connection's number, so that its pinned timeline shows that one."""


@dataclass(frozen=True, slots=True)
class Opening:
    """A connect in a thread of its own; since_ms: epoch."""

    thread: threading.Thread
    since_ms: int


class Openings:
    """At most one connect a server at a time, and why the last one failed, also when nothing was opened."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[str, Opening] = {}
        self._problems: dict[str, LoupeError] = {}

    def begin(self, console: Console, key: str) -> None:
        """Connect in the background; nothing when a connect of this server is under way."""
        before = console.server(key).connection
        with self._lock:
            if key in self._running:
                return
            thread = threading.Thread(
                target=self._run, args=(console, key), name=f"connect {key}", daemon=True
            )
            self._running[key] = Opening(thread, int(time.time() * 1000))
            self._problems.pop(key, None)
        thread.start()
        until = time.monotonic() + REGISTERED_S
        while console.server(key).connection is before and self.current(key) and time.monotonic() < until:
            thread.join(0.01)

    def _run(self, console: Console, key: str) -> None:
        try:
            console.connect(key)
        except LoupeError as problem:
            self._problems[key] = problem
        except TimeoutError:
            self._problems[key] = LoupeError(
                "The server neither connected nor failed in time", "Stop it, then try again", layer="timeout"
            )
        except (RuntimeError, CancelledError):
            pass  # the console is closing, and its loop with it
        finally:
            with self._lock:
                self._running.pop(key, None)

    def current(self, key: str) -> Opening | None:
        with self._lock:
            return self._running.get(key)

    def problem(self, key: str) -> LoupeError | None:
        """Why the last connect from this screen failed."""
        return self._problems.get(key)

    def forget(self, key: str) -> None:
        self._problems.pop(key, None)

    def wait(self, key: str, seconds: float) -> None:
        """Until the connect of this server is over, at most `seconds`."""
        opening = self.current(key)
        if opening is not None:
            opening.thread.join(seconds)


class ServersState:
    """One a console. seen: digests a person has confirmed in this run; removed: what Undo puts back;
    before: and the key of the server it stood above."""

    def __init__(self) -> None:
        self.openings = Openings()
        self.seen: set[str] = set()
        self.removed: dict[str, ServerSpec] = {}
        self.before: dict[str, str | None] = {}
        self.swept_read = False


def state() -> ServersState:
    """The state of this application's console."""
    return cast(ServersState, current_app.extensions.setdefault("servers", ServersState()))
