"""One connection without a console: what the command line's one-shot commands use. Called from the main thread."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from anyio.from_thread import start_blocking_portal

from inspector import __version__
from inspector.console.tidy import THRESHOLDS
from inspector.errors import LoupeError
from inspector.settings.paths import Paths
from inspector.settings.spec import ServerSpec
from inspector.settings.tokens import TokenStore
from inspector.wire.children import Children
from inspector.wire.connection import Connection
from inspector.wire.events import Journal


@contextmanager
def direct(
    spec: ServerSpec,
    paths: Paths,
    *,
    record: Path | None = None,
    redact: bool = True,
    sign_in: Callable[[str], None] | None = None,
    say: Callable[[str], None] = lambda _: None,
    meanwhile: Callable[[], None] = lambda: None,
) -> Iterator[Connection]:
    """Open `spec`, yield the connection, close it with its process.

    record: write the trace there as it happens, without secrets unless `redact` is false. sign_in: when the server
    wants a token, show a person this address and wait; else AuthNeeded is raised.
    say: is told when tokens cannot be kept where they should be. meanwhile: what the caller will need, got ready while
    the server starts.
    """
    tokens = TokenStore(paths.tokens, say)
    gc.set_threshold(*THRESHOLDS)
    journal = Journal()
    with ExitStack() as stack:
        if record is not None:
            from inspector.console.redacting import redactor_for
            from inspector.trace.file import TraceFileWriter

            writer = TraceFileWriter(
                record, journal, title=spec.name, note="", tool_version=__version__,
                redaction=redactor_for(spec, tokens=tokens) if redact else None,
            )  # fmt: skip
            stack.callback(writer.close)
        portal = stack.enter_context(start_blocking_portal(name="mcp-loop"))

        def made() -> Connection:
            connection = Connection(spec, journal, portal, Children(paths.children), tokens=tokens)
            stack.callback(connection.close)
            return connection

        connection = made()
        try:
            connection.open(meanwhile)
        except LoupeError:
            if sign_in is None or connection.auth is None or connection.auth.refused is None:
                raise
            from inspector.console.signing import sign_in_here

            sign_in_here(connection, sign_in)
            connection = made()
            connection.open()
        yield connection
