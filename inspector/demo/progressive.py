"""The demo server `progressive`: the same 50 tools behind three; serves on the process's event loop."""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server

from inspector import __version__
from inspector.demo.catalog import Catalog, categories, error, result
from inspector.demo.schema import choice, params, text
from inspector.demo.serving import Context, finish, keep_as_written, listing, unknown_tool

INSTRUCTIONS = "50 tools in 5 categories. list_categories, then expand_category, then call_tool."


def definitions() -> list[dict[str, Any]]:
    """The three tool objects this server lists."""
    return [
        {
            "name": "list_categories",
            "description": "List the categories of tools: name, description and how many tools each holds. "
            "Start here.",
            "inputSchema": {"type": "object", "additionalProperties": False},
            "annotations": {"readOnlyHint": True},
        },
        {
            "name": "expand_category",
            "description": "Show the full definitions of the tools of one category, schemas included.",
            "inputSchema": params(
                "category", category=choice("", *(category.name for category in categories()))
            ),
            "annotations": {"readOnlyHint": True},
        },
        {
            "name": "call_tool",
            "description": "Call a tool by its exact name. Arguments are checked against the tool's own "
            "inputSchema: expand its category first.",
            "inputSchema": params(
                "name",
                name=text("Exact tool name."),
                arguments={"type": "object", "description": "As the tool's inputSchema asks.", "default": {}},
            ),
            "annotations": {"destructiveHint": True},
        },
    ]


def build() -> Server[Any]:
    """The server, with a company of its own."""
    catalog = Catalog()

    async def list_tools(_: Context, params: types.PaginatedRequestParams | None) -> Any:
        return listing("tools", definitions())

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> Any:
        arguments = params.arguments or {}
        match params.name:
            case "list_categories":
                return result(_counted())
            case "expand_category":
                return _expanded(catalog, arguments.get("category"))
            case "call_tool":
                return await _called(catalog, arguments, context)
        remedy = "call it through call_tool." if params.name in catalog else "see tools/list."
        raise unknown_tool(params.name, remedy)

    server: Server[Any] = Server(
        "marlow-progressive",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema=lambda _: None,  # none of our tools mirrors an argument in a header
    )
    server.middleware.append(keep_as_written(definitions))
    return server


def _counted() -> dict[str, Any]:
    return {
        "categories": [
            {"name": category.name, "description": category.description, "count": len(category.tools)}
            for category in categories()
        ]
    }


def _expanded(catalog: Catalog, category: Any) -> dict[str, Any]:
    names = [known.name for known in categories()]
    if category not in names:
        return error(f"There is no category {category!r}. Give `category` as one of: {', '.join(names)}.")
    return result({"category": category, "tools": catalog.definitions(category)})


async def _called(catalog: Catalog, asked: dict[str, Any], context: Context) -> dict[str, Any]:
    name, arguments = asked.get("name"), asked.get("arguments", {})
    if not isinstance(name, str) or not isinstance(arguments, dict):
        return error(
            'call_tool takes {"name": string, "arguments": object}, such as '
            '{"name": "get_order", "arguments": {"orderId": "ORD-505"}}.'
        )
    if name not in catalog:
        return error(
            f"There is no tool {name!r}, and call_tool does not search: expand_category lists exact names."
        )
    return await finish(catalog.call(name, arguments), context)
