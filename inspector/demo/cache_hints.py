"""The demo server `cache-hints`: freshness hints as asked, pages, list changes; on the process's event loop."""

from __future__ import annotations

import base64
import binascii
import re
from collections import deque
from collections.abc import Mapping
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged

from inspector import __version__
from inspector.demo.catalog import Catalog, error, result
from inspector.demo.hints import Hints
from inspector.demo.schema import params, text
from inspector.demo.serving import Context, Definitions, finish, keep_as_written, listing, unknown_tool

NAME = "[a-z][a-z0-9_]*"
MOST_SESSIONS = 64
"""Handshake sessions told of a change; older ones are forgotten, for an HTTP client need not say goodbye."""


class ChangingServer(Server[Any]):
    """Declares `listChanged` in the handshake too, whichever transport asks."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        declared = notification_options or NotificationOptions(tools_changed=True)
        return super().create_initialization_options(declared, experimental_capabilities, extensions)


class ChangingCatalog:
    """The 50 tools after two that change the list, and the tools that were added."""

    def __init__(self) -> None:
        self.catalog = Catalog()
        self.changes = 0
        self.added: list[str] = []

    def definitions(self) -> Definitions:
        times = f"{self.changes} changes so far."
        touch = _control("touch_catalog", f"Change this description and announce the change. {times}")
        add = _control("add_tool", "Add a tool at the end of the list and announce the change.")
        add["inputSchema"] = params(name=text("Default: the next free extra_N.", pattern=f"^{NAME}$"))
        extras = [_control(name, "Added by add_tool; does nothing.") for name in self.added]
        return [touch, add, *self.catalog.definitions(), *extras]

    def touch(self) -> dict[str, Any]:
        self.changes += 1
        return result({"changes": self.changes})

    def add(self, name: Any) -> dict[str, Any]:
        if not isinstance(name, str) or not re.fullmatch(NAME, name):
            return error(f"{name!r} cannot be the name of a tool; write one like extra_9.")
        if name in [definition["name"] for definition in self.definitions()]:
            return error(f"There already is a tool {name!r}; give another name.")
        self.added.append(name)
        self.changes += 1
        return result({"added": name, "changes": self.changes})


def _control(name: str, description: str) -> dict[str, Any]:
    return {
        "name": name,
        "description": description,
        "inputSchema": params(),
        "annotations": {"destructiveHint": False},
    }


class Announcer:
    """Tells every client that the list of tools changed: handshake sessions and open listen streams."""

    def __init__(self) -> None:
        self.bus = InMemorySubscriptionBus()
        self._sessions: deque[ServerSession] = deque(maxlen=MOST_SESSIONS)

    async def remember(self, context: Context, params: types.NotificationParams) -> None:
        self._sessions.append(context.session)

    async def tools_changed(self) -> None:
        for session in self._sessions:
            await session.send_tool_list_changed()
        await self.bus.publish(ToolsListChanged())


class Pages:
    """The list methods, `size` entries on a page (all of them when None), and what the lists name."""

    def __init__(self, changing: ChangingCatalog, size: int | None) -> None:
        self._changing = changing
        self._size = size

    async def tools(self, _: Context, params: types.PaginatedRequestParams) -> dict[str, Any]:
        return self._page("tools", self._changing.definitions(), params)

    async def resources(self, _: Context, params: types.PaginatedRequestParams) -> dict[str, Any]:
        return self._page("resources", _resources(self._changing.catalog), params)

    async def templates(self, _: Context, params: types.PaginatedRequestParams) -> dict[str, Any]:
        return self._page(
            "resourceTemplates", [{"name": "article", "uriTemplate": "kb://{articleId}"}], params
        )

    async def prompts(self, _: Context, params: types.PaginatedRequestParams) -> dict[str, Any]:
        return self._page("prompts", _prompts(), params)

    async def read_resource(self, _: Context, params: types.ReadResourceRequestParams) -> dict[str, Any]:
        return _read(self._changing.catalog, params.uri)

    def number(self, asked: Mapping[str, Any] | None) -> int:
        """Which page these raw params ask for, counting from 0."""
        return _offset((asked or {}).get("cursor")) // self._size if self._size else 0

    def _page(self, name: str, items: Definitions, asked: types.PaginatedRequestParams) -> dict[str, Any]:
        start = _offset(asked.cursor, self._changing.changes)
        end = start + (self._size or len(items))
        cursor = _cursor(self._changing.changes, end) if end < len(items) else None
        return listing(name, items[start:end], cursor)


def build(hints: Hints, page_size: int | None = None) -> Server[Any]:
    """The server, with a company of its own; `page_size` entries on a page of every list, all when None."""
    changing, announcer = ChangingCatalog(), Announcer()
    pages = Pages(changing, page_size)

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> Any:
        return await _call(changing, announcer, params, context)

    async def stamp(ctx: Context, call_next: CallNext) -> HandlerResult:
        # Behind the SDK's own models, which would refuse wrong hints and add missing ones.
        reply = await call_next(ctx)
        return hints.stamp(reply, ctx.method, pages.number(ctx.params)) if isinstance(reply, dict) else reply

    server = ChangingServer(
        "marlow-cache-hints",
        version=__version__,
        on_call_tool=call_tool,
        on_get_prompt=_prompt,
        on_subscriptions_listen=ListenHandler(announcer.bus),
        get_tool_input_schema=lambda _: None,  # none of our tools mirrors an argument in a header
    )
    # Added here, not above, because only so may a handler answer with a plain dict.
    for method, handler in {
        "tools/list": pages.tools,
        "resources/list": pages.resources,
        "resources/templates/list": pages.templates,
        "prompts/list": pages.prompts,
    }.items():
        server.add_request_handler(method, types.PaginatedRequestParams, handler)
    server.add_request_handler("resources/read", types.ReadResourceRequestParams, pages.read_resource)
    server.add_notification_handler("notifications/initialized", types.NotificationParams, announcer.remember)
    server.middleware += [stamp, keep_as_written(changing.definitions)]
    return server


async def _call(
    changing: ChangingCatalog, announcer: Announcer, asked: types.CallToolRequestParams, context: Context
) -> dict[str, Any]:
    arguments = asked.arguments or {}
    if asked.name == "touch_catalog":
        answer = changing.touch()
    elif asked.name == "add_tool":
        answer = changing.add(arguments.get("name", f"extra_{len(changing.added) + 1}"))
    elif asked.name in changing.added:
        return result({"called": asked.name})
    elif asked.name in changing.catalog:
        return await finish(changing.catalog.call(asked.name, arguments), context)
    else:
        raise unknown_tool(asked.name)
    if not answer["isError"]:
        await announcer.tools_changed()
    return answer


def _cursor(changes: int, offset: int) -> str:
    return base64.urlsafe_b64encode(f"{changes}:{offset}".encode()).decode()


def _offset(cursor: str | None, changes: int | None = None) -> int:
    """Where a page starts. A cursor of an earlier list is refused, unless `changes` is None."""
    if cursor is None:
        return 0
    try:
        made_at, offset = (int(part) for part in base64.urlsafe_b64decode(cursor).decode().split(":"))
    except (binascii.Error, ValueError):
        raise MCPError(types.INVALID_PARAMS, "This cursor is none of ours: list again without one.") from None
    if changes is not None and made_at != changes:
        raise MCPError(
            types.INVALID_PARAMS, "The list has changed since this cursor: list again without one."
        )
    return offset


def _resources(catalog: Catalog) -> Definitions:
    return [
        {"name": row["title"], "uri": f"kb://{row['articleId']}", "mimeType": "text/plain"}
        for row in catalog.company.rows("articles")
    ]


def _read(catalog: Catalog, uri: str) -> dict[str, Any]:
    found = catalog.company.rows("articles", articleId=uri.removeprefix("kb://"))
    if not found:
        raise MCPError(
            types.INVALID_PARAMS, "There is no such resource; resources/list has all.", {"uri": uri}
        )
    contents = [{"uri": uri, "mimeType": "text/plain", "text": found[0]["body"]}]
    return listing("contents", contents)


def _prompts() -> Definitions:
    article = {"name": "articleId", "description": "E.g. KB-1.", "required": True}
    return [
        {"name": "answer_customer", "description": "Answer from one article.", "arguments": [article]},
        {"name": "summarise_incidents", "description": "Sum up the open incidents."},
    ]


async def _prompt(_: Context, asked: types.GetPromptRequestParams) -> Any:
    wordings = {
        "answer_customer": f"Answer the customer from article {(asked.arguments or {}).get('articleId')} only.",
        "summarise_incidents": "Sum up the open incidents in three sentences.",
    }
    if asked.name not in wordings:
        raise MCPError(types.INVALID_PARAMS, f"Unknown prompt {asked.name!r}: prompts/list has all.")
    words = {"type": "text", "text": wordings[asked.name]}
    return {"messages": [{"role": "user", "content": words}], "resultType": "complete"}
