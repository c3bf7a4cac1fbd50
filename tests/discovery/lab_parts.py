"""Small catalogs and settings for the lab's tests, generated in the lab's own words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from inspector.catalog.snapshot import Page, Snapshot
from inspector.discovery.access import EVERYONE, Access
from inspector.discovery.context import Weigher
from inspector.discovery.play import Move, Setting, State, Strategy, begin, turn
from inspector.discovery.prompt_cache import rules_for
from inspector.discovery.registry import Registry, Server, read_server, registry_of
from inspector.discovery.search.search import Search, method_of
from inspector.discovery.strategies import strategies

NOW_US = 1_000_000_000


def tool(name: str, description: str = "", *required: str, **more: Any) -> dict[str, Any]:
    properties = {key: {"type": "string"} for key in required}
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
    return {"name": name, "description": description, "inputSchema": schema, **more}


BILLING = (
    tool("list_invoices", "List invoices of a customer.", "customerId", annotations={"readOnlyHint": True}),
    tool("refund_payment", "Pay money back to the customer.", "paymentId"),
    tool("void_invoice", "Void an unpaid invoice.", "invoiceId"),
)
LOGS = (
    tool("search_logs", "Search the log lines of a service.", "service"),
    tool("list_services", "List the services we run."),
)


def answer(*tools: Mapping[str, Any], **hints: Any) -> bytes:
    return json.dumps(
        {"jsonrpc": "2.0", "id": 10, "result": {"tools": list(tools), **hints}}, separators=(",", ":")
    ).encode()


def server(
    label: str, *tools: Mapping[str, Any], kept_for: str = "", era: str = "handshake", **hints: Any
) -> Server:
    """A server listed at NOW_US in one page; hints make it a modern one."""
    if hints:
        era, hints = "modern", {"resultType": "complete", **hints}
    snapshot = Snapshot("tools", (Page(None, answer(*tools, **hints), NOW_US),), era=era)
    return read_server(snapshot, label, kept_for=kept_for)


def shop() -> Registry:
    return registry_of([server("billing", *BILLING), server("logs", *LOGS)])


def setting(task: str = "give the customer money back", access: Access = EVERYONE, **changes: Any) -> Setting:
    provider = changes.pop("provider", "anthropic")
    search = Search(method_of(changes.pop("search", "keyword")))
    return Setting(task, Weigher(provider), rules_for(provider), search, access=access, **changes)


def strategy(id_: str) -> Strategy:
    return strategies()[id_]


def played(id_: str, *moves: Move, registry: Registry | None = None, at: Setting | None = None) -> State:
    """A strategy begun and these moves made."""
    state = begin(strategy(id_), at or setting(), registry or shop())
    for move in moves:
        state = turn(strategy(id_), state, move)
    return state


def text_of(state: State) -> str:
    """Everything the model was ever given."""
    return "\n".join([piece.text for piece in state.model.pieces()])
