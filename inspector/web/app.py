"""The Flask application and the server that runs it. Built on the main thread; handlers run on request threads."""

from __future__ import annotations

import errno
import logging
import secrets
import socket
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from flask import Blueprint, Flask, current_app, make_response, render_template, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed
from werkzeug.routing import IntegerConverter
from werkzeug.serving import ThreadedWSGIServer, WSGIRequestHandler
from werkzeug.wrappers import Response as AnyResponse

from inspector.errors import (
    AuthNeeded,
    Cancelled,
    ConfigError,
    FileError,
    LoupeError,
    ProtocolFailure,
    TimedOut,
    Unreachable,
    UsageError,
)
from inspector.web.apps import blueprint as apps
from inspector.web.calls import blueprint as calls
from inspector.web.calls_address import blueprint as calls_address
from inspector.web.calls_part import blueprint as parts
from inspector.web.catalog import blueprint as catalog
from inspector.web.catalog_exact import blueprint as catalog_exact
from inspector.web.client import blueprint as client
from inspector.web.doctor import blueprint as doctor
from inspector.web.findings import blueprint as findings
from inspector.web.frame import blueprint as frame
from inspector.web.frame import close_store
from inspector.web.guard import Guard
from inspector.web.late import LATE, GrowingFlask
from inspector.web.listening import blueprint as listen_
from inspector.web.problems import evidence
from inspector.web.rawframe import blueprint as raw
from inspector.web.render import Screen, Shell, install, is_partial, resource_dir
from inspector.web.servers import blueprint as servers
from inspector.web.signing import blueprint as signing
from inspector.web.skills import blueprint as skills
from inspector.web.taps import blueprint as taps
from inspector.web.timeline import blueprint as timeline
from inspector.web.traces import blueprint as traces

log = logging.getLogger(__name__)

SCREENS: Final[tuple[Blueprint, ...]] = (
    frame,
    servers,
    signing,
    doctor,
    catalog,
    catalog_exact,
    findings,
    calls,
    calls_address,
    apps,
    parts,
    skills,
    client,
    listen_,
    raw,
    timeline,
    taps,
    traces,
)
"""One blueprint a screen, in the order of the navigation; those of `late.LATE` come when they are asked for."""

STATUS: Final[dict[type, int]] = {
    UsageError: 422,
    ConfigError: 422,
    FileError: 422,
    Cancelled: 409,
    TimedOut: 504,
    Unreachable: 502,
    ProtocolFailure: 502,
    AuthNeeded: 502,  # the MCP server asked for it; 401 would say the console did
}
SENTENCES: Final = {
    400: ("The request could not be understood.", "Go back and send the form again."),
    404: ("There is nothing at this address.", "Start from one of the screens, or search."),
    405: ("This address does not take that kind of request.", "Go back and use the button on the page."),
    413: ("That is more than this form takes.", "Send a smaller file or text."),
}
GRACE_S: Final = 5.0
HEAD_S: Final = 30.0
"""How long a connection may be silent before the head of its request is here."""
MOST_WAITING: Final = 64
"""Connections whose request has not come yet. One more ends the oldest: a browser that kept it opens another."""


def create_app(
    console: Any,
    guard: Guard,
    *,
    log_file: Path | None = None,
    screens: Iterable[Blueprint] = SCREENS,
    late: Mapping[str, tuple[str, ...]] = LATE,
) -> GrowingFlask:
    """The whole browser console over `console` (its feed, connections and store), behind `guard`.

    Views find the console at `current_app.extensions["console"]`; a screen that knows the rail puts its own
    maker of the frame at `extensions["shell"]`. log_file: where unexpected errors are written, for the
    sentence on the error page; None when they go to the terminal. late: screens by the word their addresses begin with.
    """
    app = GrowingFlask(
        __name__,
        late=late,
        template_folder=str(resource_dir("templates")),
        static_folder=str(resource_dir("static")),
        static_url_path="/static",
    )
    app.jinja_options = {"autoescape": True}
    app.url_map.converters["int"] = Number
    install(app)
    app.config["MAX_CONTENT_LENGTH"] = 64 << 20  # a view that takes trace files raises its own
    app.config["MAX_FORM_MEMORY_SIZE"] = 16 << 20  # arguments are pasted as text
    app.extensions["console"] = console
    app.extensions["shell"] = bare_shell
    app.teardown_appcontext(close_store)
    guard.protect(app)
    for screen in screens:
        app.register_blueprint(screen)
    app.add_url_rule("/favicon.ico", "favicon", lambda: app.send_static_file("img/favicon.svg"))
    handle_errors(app, log_file)
    return app


def handle_errors(app: Flask, log_file: Path | None) -> None:
    """Turn every exception of a view into one sentence with a remedy."""

    def expected(error: LoupeError) -> AnyResponse:
        return error_page(status_of(error), error.message, error.remedy, error.layer, error.facts)

    def http(error: HTTPException) -> AnyResponse:
        if error.code is None or error.code < 400:
            return error.get_response()
        message, remedy = SENTENCES.get(error.code, (f"{error.name}.", ""))
        if error.description and error.description != type(error).description:
            message = error.description
        page = error_page(error.code, message, remedy, "request")
        if isinstance(error, MethodNotAllowed) and error.valid_methods:
            page.allow.update(error.valid_methods)
        return page

    def unexpected(error: Exception) -> AnyResponse:
        number = secrets.token_hex(4)
        log.error("error %s: %s %s", number, request.method, request.path, exc_info=error)
        place = str(log_file) if log_file else "the terminal that runs mcp-loupe"
        message = f"Loupe failed while answering; this is our own fault (error {number})."
        return error_page(500, message, f"The details are in {place}; a report with them helps.", "console")

    app.register_error_handler(LoupeError, expected)
    app.register_error_handler(HTTPException, http)
    app.register_error_handler(Exception, unexpected)


def status_of(error: LoupeError) -> int:
    """The HTTP status for one of our errors."""
    return next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 500)


def error_page(
    status: int, message: str, remedy: str, layer: str, facts: dict[str, Any] | None = None
) -> AnyResponse:
    """A whole page, or the part of one when htmx asked for a part. facts: as in LoupeError."""
    context = {"message": message, "remedy": remedy, "layer": layer} | evidence(facts or {})
    if is_partial():
        return make_response(render_template("_error.html", **context), status)
    again = request.full_path.rstrip("?") if request.method == "GET" and status >= 500 else ""
    return make_response(
        render_template(
            "error.html", shell=_frame_of_errors(), name="Not found" if status == 404 else "Error", again=again,
            section=request.path.split("/")[1], **context,
        ),
        status,
    )  # fmt: skip


def _frame_of_errors() -> Shell:
    """The real rail and status line; after a fault of our own the console may not be able to say what they are."""
    try:
        shell = current_app.extensions["shell"]()
    except Exception:  # any fault at all: this is the page that tells of one
        log.exception("the frame of an error page could not be made")
        return bare_shell()
    assert isinstance(shell, Shell)
    return shell


def bare_shell() -> Shell:
    """The frame of a page that can show nothing of the console."""
    return Shell("", [Screen("servers", "Servers", "/", "servers", 1)])


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 picks a free one. Raises UsageError when the address cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=128)
    except OSError as problem:
        if problem.errno == errno.EADDRINUSE:
            raise UsageError(
                f"Port {port} is in use by another program.",
                "Choose another with --port, or let --port 0 pick a free one.",
            ) from None
        if problem.errno == errno.EACCES:
            raise UsageError(f"Port {port} is not ours to open.", "Choose --port 1024 or higher.") from None
        raise UsageError(
            f"{host} port {port} cannot be listened on ({problem.strerror or problem}).",
            "Check --host and --port; without --host it is 127.0.0.1.",
        ) from None


class WebServer:
    """Runs `app` on a listening socket, one thread a request. `port` is the one listened on."""

    def __init__(self, app: Flask, listening: socket.socket) -> None:
        host, self.port = listening.getsockname()[:2]
        self._http = _Http(host, self.port, app, _Handler, fd=listening.fileno())
        listening.close()  # werkzeug works on a duplicate

    def run(self) -> None:
        """Serve until `stop` or Ctrl-C; returns when every request thread has ended, or after the grace."""
        try:
            self._http.serve_forever(poll_interval=0.05)
        finally:
            self._http.drain(GRACE_S)

    def stop(self) -> None:
        """Make `run` return; from another thread than the one in `run`."""
        self._http.shutdown()


class _Http(ThreadedWSGIServer):
    """Knows its open connections, so that shutting down leaves no thread behind, and bounds those that say nothing."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._open: dict[threading.Thread, socket.socket] = {}
        self._waiting: dict[socket.socket, None] = {}
        self._waiting_lock = threading.Lock()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._waiting_lock:
            self._waiting[request] = None
            if len(self._waiting) > MOST_WAITING:
                oldest = next(iter(self._waiting))
                del self._waiting[oldest]
                with suppress(OSError):
                    oldest.shutdown(socket.SHUT_RDWR)  # its thread reads the end, and closes it
        thread = threading.Thread(target=self._serve_one, args=(request, client_address), daemon=True)
        self._open[thread] = request
        thread.start()

    def _serve_one(self, request: Any, client_address: Any) -> None:
        try:
            self.process_request_thread(request, client_address)
        finally:
            self.heard(request)
            self._open.pop(threading.current_thread(), None)

    def heard(self, connection: socket.socket) -> None:
        """The head of a request has come, or no more will: the connection counts as waiting no longer."""
        with self._waiting_lock:
            self._waiting.pop(connection, None)

    def drain(self, grace_s: float) -> None:
        """End what waits for a peer at once; give running answers `grace_s` seconds, then cut them off."""
        for how, wait_s in ((socket.SHUT_RD, grace_s), (socket.SHUT_RDWR, 1.0)):
            open_now = list(self._open.items())
            for _, connection in open_now:
                with suppress(OSError):
                    connection.shutdown(how)
            deadline = time.monotonic() + wait_s
            for thread, _ in open_now:
                thread.join(max(0.0, deadline - time.monotonic()))

    def log(self, type: str, message: str, *args: Any) -> None:
        log.log(logging.ERROR if type == "error" else logging.DEBUG, message, *args)

    def handle_error(self, request: Any, client_address: Any) -> None:
        log.exception("a connection from %s failed", client_address)


class Number(IntegerConverter):
    """`<int:…>` of an address: a number that SQLite takes. A longer one is at no address of ours."""

    regex = r"\d{1,18}"


class _Handler(WSGIRequestHandler):
    """One request a connection (werkzeug closes after each answer); says nothing on the terminal."""

    timeout = HEAD_S
    server: _Http

    def parse_request(self) -> bool:
        fine = super().parse_request()
        self.connection.settimeout(None)  # bodies take the time they take, and sockets stay open
        self.server.heard(self.connection)
        return fine

    def version_string(self) -> str:
        return "mcp-loupe"

    def log(self, type: str, message: str, *args: Any) -> None:
        log.debug(message, *args)
