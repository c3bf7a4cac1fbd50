"""Runs the demo servers over stdio or streamable HTTP, both eras; its thread is the process's event loop."""

from __future__ import annotations

import logging
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from inspector.demo.catalog import Called, categories
from inspector.errors import NetworkFailed

Context = ServerRequestContext[Any, Any]
Definitions = list[dict[str, Any]]


def listing(name: str, items: Definitions, cursor: str | None = None) -> dict[str, Any]:
    """The result of a list method; the SDK drops the hints again where the era has none."""
    page: dict[str, Any] = {name: items, "ttlMs": 0, "cacheScope": "private", "resultType": "complete"}
    return page if cursor is None else {**page, "nextCursor": cursor}


def unknown_tool(name: str, remedy: str = "tools/list names those there are.") -> MCPError:
    return MCPError(types.INVALID_PARAMS, f"Unknown tool {name!r}: {remedy}")


async def finish(called: Called, context: Context) -> dict[str, Any]:
    """Runs a call to its result, sending its progress to a client that asked for it."""
    while True:
        try:
            step = next(called)
        except StopIteration as end:
            found: dict[str, Any] = end.value
            return found
        await context.session.report_progress(step.done, step.total, step.text)
        await (
            anyio.lowlevel.checkpoint()
        )  # a cancelled call must stop here even when nobody asked for progress


def keep_as_written(definitions: Callable[[], Definitions]) -> ServerMiddleware[Any]:
    """A middleware that puts our own tool objects back: the SDK's models re-order keys and drop unknown ones."""

    async def middleware(ctx: Context, call_next: CallNext) -> HandlerResult:
        reply = await call_next(ctx)
        if ctx.method != "tools/list" or not isinstance(reply, dict):
            return reply
        ours = {definition["name"]: definition for definition in definitions()}
        return {**reply, "tools": [ours[tool["name"]] for tool in reply["tools"]]}

    return middleware


def log_to_stderr() -> None:
    """One line a call, such as `INFO billing.list_invoices customerId=42 3 rows`; others only from warnings up."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s %(message)s")
    for category in categories():
        logging.getLogger(category.name).setLevel(logging.INFO)


def run_stdio(server: Server[Any]) -> int:
    """Serves until stdin ends; returns the exit code. Ctrl-C ends the process at once."""

    async def serve() -> None:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    log_to_stderr()
    # The SDK reads stdin in a thread that no cancellation reaches: Python's own Ctrl-C would wait for its line.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    anyio.run(serve)
    return 0


def run_http(servers: Mapping[str, Server[Any]], port: int) -> int:
    """Serves each server at its path on 127.0.0.1 until SIGTERM or SIGINT; returns the exit code.

    Port 0 takes any free one. Says `listening on http://127.0.0.1:PORT/` on stderr once it listens.
    """
    import uvicorn  # late: stdio starts without it

    class Announcing(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            taken = listener.getsockname()[1]
            sys.stderr.write(f"listening on http://127.0.0.1:{taken}/\n")
            sys.stderr.flush()

    log_to_stderr()
    listener = _bound(port)
    # uvicorn raises the signal again after it has shut down; to have been asked to stop is no failure.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    config = uvicorn.Config(
        _application(servers),
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=1,  # open streams never end by themselves
        lifespan="on",
    )
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL)
    Announcing(config).run(sockets=[listener])
    return 0


def _bound(port: int) -> socket.socket:
    # Named TCP, so that asyncio switches Nagle off: without it every answer waits 40 ms for a delayed ACK.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except (OSError, OverflowError) as cause:
        listener.close()
        raise NetworkFailed(
            f"Port {port} of 127.0.0.1 cannot be taken: {cause}.",
            "Choose another one; 0 takes any free port.",
        ) from cause
    return listener


def _application(servers: Mapping[str, Server[Any]]) -> Any:
    from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
    from mcp.server.transport_security import TransportSecuritySettings
    from starlette.applications import Starlette
    from starlette.routing import Route

    local = ("127.0.0.1:*", "localhost:*")
    guard = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=list(local),
        allowed_origins=[f"http://{host}" for host in local],
    )
    # One manager a server, though two paths may lead to it: its sessions are its own.
    managers = {
        id(server): StreamableHTTPSessionManager(server, security_settings=guard)
        for server in servers.values()
    }

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for manager in managers.values():
                await stack.enter_async_context(manager.run())
            yield

    routes = [
        Route(path, endpoint=StreamableHTTPASGIApp(managers[id(server)])) for path, server in servers.items()
    ]
    return Starlette(routes=routes, lifespan=lifespan)
