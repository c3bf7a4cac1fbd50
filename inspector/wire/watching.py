"""What others may know of a connection's requests while they happen, and of whose they are. Loop thread."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from inspector.errors import LoupeError
from inspector.settings.spec import ServerSpec
from inspector.wire.auth import Authorizer
from inspector.wire.dispatcher import Reply


class Watch(Protocol):
    """Follows the requests of one connection, on the loop thread; each of its methods returns at once."""

    def asking(self, method: str, params: Mapping[str, Any], cause: str) -> Any:
        """A request is about to be sent; what is returned comes back with its end."""

    def answered(self, asked: Any, reply: Reply) -> None: ...

    def failed(self, asked: Any, problem: LoupeError) -> None: ...


async def watched(
    watch: Watch | None,
    method: str,
    params: Mapping[str, Any],
    cause: str,
    send: Callable[[], Awaitable[Reply]],
) -> Reply:
    """`send`, with `watch` told before and after."""
    if watch is None:
        return await send()
    asked = watch.asking(method, params, cause)
    try:
        reply = await send()
    except LoupeError as problem:
        watch.failed(asked, problem)
        raise
    watch.answered(asked, reply)
    return reply


def credentials(ready: ServerSpec, auth: Authorizer | None) -> tuple[tuple[str, str], ...]:
    """Everything a server may tell its callers apart by: headers and the token signed in with, or the environment."""
    found = dict(ready.headers if ready.url is not None else ready.env)
    token = auth.token if auth is not None else None
    if token is not None:
        found["access token"] = token
    return tuple(sorted(found.items()))
