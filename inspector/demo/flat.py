"""The demo server `flat`: all 50 tools in one list; serves on the process's event loop."""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server

from inspector import __version__
from inspector.demo.catalog import Catalog
from inspector.demo.serving import Context, finish, keep_as_written, listing, unknown_tool


def build() -> Server[Any]:
    """The server, with a company of its own."""
    return in_one_list("marlow-flat", Catalog())


def in_one_list(name: str, catalog: Catalog) -> Server[Any]:
    """A server that lists all tools of the catalog at once and calls them by their names."""

    async def list_tools(_: Context, params: types.PaginatedRequestParams | None) -> Any:
        return listing("tools", catalog.definitions())

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> Any:
        if params.name not in catalog:
            raise unknown_tool(params.name)
        return await finish(catalog.call(params.name, params.arguments or {}), context)

    server: Server[Any] = Server(
        name,
        version=__version__,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema=lambda _: None,  # none of our tools mirrors an argument in a header
    )
    server.middleware.append(keep_as_written(catalog.definitions))
    return server
