"""Signing in to MCP servers: who is on the way, and what came back for whom. Any thread.

A sign-in waits at the authorization server for a person, for PATIENCE_S at most. What comes back is taken by its
`state`, which only this one sign-in knows, and once.
"""

from __future__ import annotations

import html
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final
from urllib.parse import parse_qsl, urlsplit

import anyio

from inspector.errors import AuthNeeded, LoupeError, TimedOut
from inspector.wire.auth import AuthStep, CameBack, Visit
from inspector.wire.connection import Connection

PATIENCE_S: Final = 300.0
LOOKING, WAITING, GOING_ON, DONE, FAILED = "looking", "waiting", "going on", "done", "failed"
CALLBACK: Final = "/oauth/callback"


class SignIn:
    """One attempt. phase: looking (for the authorization server), waiting (for the person), going on, done, failed.

    address: where the person signs in, once known. It is untrusted: a server chose it.
    """

    def __init__(self, connection: Connection, key: str, redirect_uri: str) -> None:
        self.connection = connection
        self.key = key
        self.redirect_uri = redirect_uri
        self.phase = LOOKING
        self.address = ""
        self.state = ""
        self.error: LoupeError | None = None
        self.since = time.time()
        self._future: Future[None] | None = None
        self._answer: CameBack | LoupeError | None = None
        self._answered: anyio.Event | None = None
        self._known: Callable[[SignIn], None] = lambda _self: None

    @property
    def steps(self) -> list[AuthStep]:
        return list(self.connection.auth.steps) if self.connection.auth is not None else []

    @property
    def over(self) -> bool:
        return self.phase in (DONE, FAILED)

    def run(self, known: Callable[[SignIn], None]) -> None:
        """Go the whole way; returns at its end, raises what ended it. known: called once the state is known."""
        self._known = known
        future = self._future = self.connection.sign_in(Visit(self.redirect_uri, self._go))
        try:
            future.result(PATIENCE_S + 60)
        except (TimeoutError, CancelledError):
            future.cancel()
            self._fail(TimedOut("Nobody signed in", "Start again, and finish at the authorization server"))
        except LoupeError as problem:
            self._fail(problem)
        except Exception as problem:
            text = f"Signing in did not work: {type(problem).__name__}"
            self._fail(AuthNeeded(text, "This is a fault of Loupe: its log has more"))
            raise
        else:
            self.phase = DONE
        if self.error is not None:
            raise self.error

    def cancel(self) -> None:
        if self._future is not None and not self.over:
            self._future.cancel()

    def answer(self, came: CameBack | LoupeError) -> None:
        """What the authorization server sent the browser back with. From any thread but the loop's."""
        self._answer = came
        event = self._answered
        if event is not None:
            self.connection.portal.call(event.set)

    async def _go(self, address: str) -> CameBack:
        if urlsplit(address).scheme not in ("http", "https"):
            raise AuthNeeded(
                f"The authorization address is no web page: {address[:200]}", "Report it to the server"
            )
        self.state = dict(parse_qsl(urlsplit(address).query)).get("state", "")
        if not self.state:  # anybody could answer for it
            raise AuthNeeded("The authorization address lost its state", "Report it to the server")
        self._answered = anyio.Event()
        self.address, self.phase = address, WAITING
        self._known(self)
        with anyio.move_on_after(PATIENCE_S):
            await self._answered.wait()
        if self._answer is None:
            text = f"Nobody signed in within {PATIENCE_S / 60:g} minutes"
            raise TimedOut(text, "Start again, and finish at the authorization server")
        if isinstance(self._answer, LoupeError):
            raise self._answer
        self.phase = GOING_ON
        return self._answer

    def _fail(self, problem: LoupeError) -> None:
        self.error, self.phase = problem, FAILED


class SignIns:
    """Those of one console: the latest of each server, and those that wait, by their state."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._latest: dict[str, SignIn] = {}
        self._waiting: dict[str, SignIn] = {}

    def begin(self, connection: Connection, key: str, redirect_uri: str, then: Callable[[], None]) -> SignIn:
        """Start one in a thread of its own, instead of one under way; `then` runs there when a token was got."""
        made = SignIn(connection, key, redirect_uri)
        with self._lock:
            before = self._latest.get(key)
            self._latest[key] = made
        if before is not None:
            before.cancel()

        def run() -> None:
            try:
                made.run(self._know)
                then()
            except (LoupeError, RuntimeError, CancelledError):
                pass  # shown by its phase, or the console is closing
            finally:
                with self._lock:
                    self._waiting.pop(made.state, None)

        threading.Thread(target=run, name=f"sign in {key}", daemon=True).start()
        return made

    def latest(self, key: str) -> SignIn | None:
        with self._lock:
            return self._latest.get(key)

    def forget(self, key: str) -> None:
        with self._lock:
            before = self._latest.pop(key, None)
        if before is not None:
            before.cancel()

    def came_back(self, query: dict[str, str]) -> SignIn | None:
        """Hand what came to the callback to the one it is for; None when its state is nobody's (any more)."""
        with self._lock:
            found = self._waiting.pop(query.get("state", ""), None)
        if found is not None:
            found.answer(read_answer(query))
        return found

    def _know(self, made: SignIn) -> None:
        with self._lock:
            self._waiting[made.state] = made


def read_answer(query: dict[str, str]) -> CameBack | LoupeError:
    """What the query of a callback says: a code, or why there is none (RFC 6749 §4.1.2)."""
    if "code" in query and "error" not in query:
        return CameBack(code=query["code"], state=query.get("state"), iss=query.get("iss"))
    said = query.get("error", "an answer without a code")
    more = f": {query['error_description']}" if query.get("error_description") else ""
    remedy = (
        "Start again, and allow it there" if said == "access_denied" else "Look at its error, then try again"
    )
    return AuthNeeded(f"The authorization server answered {said[:200]}{more[:500]}", remedy)


def sign_in_here(connection: Connection, show: Callable[[str], None]) -> None:
    """Sign in without a console: a callback of our own on a free loopback port. show: is given the address.

    Raises what went wrong. Called from the main thread.
    """
    came: list[SignIn] = []
    once = threading.Lock()

    class Callback(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = dict(parse_qsl(parts.query))
            with once:
                mine = parts.path == CALLBACK and bool(came) and query.get("state") == came[0].state
                taken = came.pop() if mine else None
            text = "Signed in. You can close this tab." if mine else "This belongs to no sign-in under way."
            body = f"<!doctype html><title>Loupe</title><p>{html.escape(text)}</p>".encode()
            self.send_response(200 if mine else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            if taken is not None:
                taken.answer(read_answer(query))

        def log_message(self, format: str, *args: object) -> None:
            """The query holds a code: it is logged nowhere."""

    def known(made: SignIn) -> None:
        came.append(made)
        show(made.address)

    with ThreadingHTTPServer(("127.0.0.1", 0), Callback) as server:
        serving = threading.Thread(target=server.serve_forever, daemon=True)
        serving.start()
        try:
            SignIn(connection, "", f"http://127.0.0.1:{server.server_port}{CALLBACK}").run(known)
        finally:
            server.shutdown()
            serving.join()
