"""The MCP headers of one HTTP request beside what its body says. Pure, any thread.

Source: MCP 2026-07-28 basic/transports/streamable-http (a server must refuse a mismatch with -32020).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from inspector.protocol.eras import META_VERSION
from inspector.protocol.headers import (
    METHOD_HEADER,
    NAME_HEADER,
    PARAM_PREFIX,
    VERSION_HEADER,
    decode_value,
    named_by,
    param_headers,
)

SAME, DIFFERS, MISSING, UNKNOWN = "same", "differs", "missing", "not known"

SchemaOf = Callable[[str], Any]


@dataclass(frozen=True, slots=True)
class Compared:
    """One header. sent, body: as text, decoded; None when there is none. verdict: same, differs, missing, not known."""

    name: str
    sent: str | None
    body: str | None
    verdict: str


def compared(pairs: Iterable[Any], frame: bytes, schema_of: SchemaOf | None = None) -> list[Compared]:
    """The headers that mirror the body of a modern request; [] for what is none. schema_of: a tool's inputSchema."""
    try:
        value = json.loads(frame)
    except (ValueError, RecursionError):
        return []
    params = value.get("params") if isinstance(value, dict) else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    if not isinstance(params, dict) or not isinstance(meta, dict) or META_VERSION not in meta:
        return []
    sent = {str(name).lower(): (str(name), str(text)) for name, text in pairs}
    method = value.get("method")
    found = [
        _one(VERSION_HEADER, sent, meta.get(META_VERSION)),
        _one(METHOD_HEADER, sent, method),
    ]
    key = named_by(method) if isinstance(method, str) else None
    if key is not None or NAME_HEADER.lower() in sent:
        found.append(_one(NAME_HEADER, sent, params.get(key) if key is not None else None))
    arguments, tool = params.get("arguments"), params.get("name")
    schema = None
    if method == "tools/call" and schema_of is not None and isinstance(tool, str):
        schema = schema_of(tool)
    return found + _of_params(sent, schema, arguments if isinstance(arguments, dict) else {})


def _of_params(sent: Mapping[str, tuple[str, str]], schema: Any, arguments: dict[str, Any]) -> list[Compared]:
    """The Mcp-Param headers: due by the schema, or sent."""
    due = dict(param_headers(schema, arguments)[0]) if schema is not None else {}
    found = [_one(name, sent, decode_value(text)) for name, text in due.items()]
    named = {name.lower() for name in due}
    for lower, (name, text) in sent.items():
        if lower.startswith(PARAM_PREFIX.lower()) and lower not in named:
            found.append(Compared(name, _shown(text), None, UNKNOWN if schema is None else DIFFERS))
    return found


def _one(name: str, sent: Mapping[str, tuple[str, str]], body: Any) -> Compared:
    said = body if isinstance(body, str) else None
    if name.lower() not in sent:
        return Compared(name, None, said, MISSING if said is not None else SAME)
    text = sent[name.lower()][1]
    return Compared(name, _shown(text), said, SAME if decode_value(text) == said else DIFFERS)


def _shown(text: str) -> str:
    """What it stands for; as it was sent when that is nothing."""
    decoded = decode_value(text)
    return text if decoded is None else decoded
