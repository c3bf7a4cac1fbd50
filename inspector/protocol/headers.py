"""The HTTP headers of a request in either era, and the encoding of their values. Pure, any thread.

Source: MCP 2026-07-28 basic/transports/streamable-http, server/tools#x-mcp-header, SEP-2663 (tasks/*);
2025-11-25 basic/transports.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from inspector.protocol.eras import MODERN, Era

VERSION_HEADER: Final = "MCP-Protocol-Version"
SESSION_HEADER: Final = "Mcp-Session-Id"
METHOD_HEADER: Final = "Mcp-Method"
NAME_HEADER: Final = "Mcp-Name"
PARAM_PREFIX: Final = "Mcp-Param-"
ANNOTATION: Final = "x-mcp-header"
MAX_SAFE_INTEGER: Final = 2**53 - 1

_NO_VERSION_HEADER: Final = ("2024-11-05", "2025-03-26")
_NAMED_BY: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_CARRIED: Final = re.compile(r"([\x21-\x7e]([\t\x20-\x7e]*[\x21-\x7e])?)?")
_PLAIN: Final = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?|")
_ENCODED: Final = re.compile(r"=\?base64\?(.*)\?=", re.DOTALL)
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_ONE_SCHEMA: Final = (
    "items", "contains", "additionalProperties", "propertyNames", "unevaluatedItems", "unevaluatedProperties",
    "not", "if", "then", "else", "contentSchema", "additionalItems",
)  # fmt: skip
_SCHEMA_LISTS: Final = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
_SCHEMA_MAPS: Final = ("patternProperties", "dependentSchemas", "$defs", "definitions")


@dataclass(frozen=True, slots=True)
class HeaderFault:
    """One `x-mcp-header` that cannot be honoured. where: path of the property (`a.b`); why: one sentence."""

    where: str
    why: str


@dataclass(frozen=True, slots=True)
class _Position:
    """A subschema, the property names on the way to it, and the last other keyword crossed."""

    path: tuple[str, ...]
    schema: dict[str, Any]
    crossed: str = ""


def http_headers(
    era: Era,
    version: str | None,
    session_id: str | None,
    method: str | None,
    params: dict[str, Any] | None = None,
) -> list[tuple[str, str]]:
    """The headers MCP asks for on a POST, in a fixed order; credentials and Mcp-Param-* are not among them.

    version: None before the handshake is done. session_id: handshake era only, modern servers have none.
    method: None when the body is a client's answer. Mcp-Method goes on notifications too: no rule forbids it.
    """
    headers = [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")]
    headers += _version(version)
    if era != MODERN:
        return headers + _session(session_id)
    if method is not None:
        headers.append((METHOD_HEADER, encode_value(method)))
        name = _name_of(method, params or {})
        if name is not None:
            headers.append((NAME_HEADER, encode_value(name)))
    return headers


def stream_headers(
    version: str | None, session_id: str | None, last_event_id: str | None
) -> list[tuple[str, str]]:
    """Of the handshake era's GET for the server's own stream, and of the DELETE that ends a session."""
    resumed = [] if last_event_id is None else [("Last-Event-ID", last_event_id)]
    return [("Accept", "text/event-stream"), *_version(version), *_session(session_id), *resumed]


def _version(version: str | None) -> list[tuple[str, str]]:
    return [] if version is None or version in _NO_VERSION_HEADER else [(VERSION_HEADER, version)]


def _session(session_id: str | None) -> list[tuple[str, str]]:
    return [] if session_id is None else [(SESSION_HEADER, session_id)]


def named_by(method: str) -> str | None:
    """The member of the params that Mcp-Name repeats; None for a method without one."""
    return "taskId" if method.startswith("tasks/") else _NAMED_BY.get(method)


def _name_of(method: str, params: dict[str, Any]) -> str | None:
    key = named_by(method)
    value = params.get(key) if key is not None else None
    return value if isinstance(value, str) else None


def not_carried(headers: Iterable[tuple[str, str]]) -> str | None:
    """The name of the first header that HTTP cannot carry: its value, often a secret, is nothing to quote."""
    return next(
        (name for name, value in headers if not (_TOKEN.fullmatch(name) and _CARRIED.fullmatch(value))), None
    )


def encode_value(text: str) -> str:
    """`text` itself when a header can carry it, else `=?base64?…?=` around its UTF-8.

    A lone surrogate has no UTF-8; it is written as Python would, and a server will refuse it.
    """
    if _PLAIN.fullmatch(text) and not _ENCODED.fullmatch(text):
        return text
    return f"=?base64?{base64.b64encode(text.encode('utf-8', 'surrogatepass')).decode('ascii')}?="


def decode_value(value: str) -> str | None:
    """The text a header value stands for, None when it is marked as base64 but is none."""
    encoded = _ENCODED.fullmatch(value)
    if encoded is None:
        return value
    try:
        raw = base64.b64decode(encoded[1], validate=True)
        text = raw.decode("utf-8")
    except ValueError:
        return None
    # Unused trailing bits give one text two spellings; only the one an encoder writes counts.
    return text if base64.b64encode(raw).decode("ascii") == encoded[1] else None


def header_faults(input_schema: Any) -> list[HeaderFault]:
    """Everything wrong with the `x-mcp-header` annotations of a tool; any fault makes it unusable over HTTP.

    An HTTP client must leave such a tool out, and should say why. `$ref` is never followed.
    """
    faults: list[HeaderFault] = []
    taken: dict[str, str] = {}
    for position in _annotated(input_schema):
        where = ".".join(position.path) or "(root)"
        why = _fault_of(position)
        if not why:
            name = position.schema[ANNOTATION]
            if name.lower() in taken:
                why = f"the header name {name!r} is already taken by {taken[name.lower()]}"
            else:
                taken[name.lower()] = where
        if why:
            faults.append(HeaderFault(where, why))
    return faults


def param_headers(
    input_schema: Any, arguments: dict[str, Any]
) -> tuple[list[tuple[str, str]], list[HeaderFault]]:
    """The Mcp-Param-* headers of a `tools/call`, and the arguments that should have one but cannot.

    An argument that is absent or null has no header. A schema with `header_faults` gives no headers.
    """
    headers: list[tuple[str, str]] = []
    faults = header_faults(input_schema)
    if faults:
        return headers, faults
    for position in _annotated(input_schema):
        value = _argument(arguments, position.path)
        if value is None:
            continue
        text, why = _mirrored(value)
        if why:
            faults.append(HeaderFault(".".join(position.path), why))
        else:
            headers.append((PARAM_PREFIX + position.schema[ANNOTATION], encode_value(text)))
    return headers, faults


def _positions(root: Any) -> Iterator[_Position]:
    """Each subschema as written. No recursion: a schema may nest deeper than Python's stack."""
    waiting: list[tuple[tuple[str, ...], Any, str]] = [((), root, "")]
    while waiting:
        path, schema, crossed = waiting.pop()
        if not isinstance(schema, dict):
            continue
        yield _Position(path, schema, crossed)
        inside: list[tuple[tuple[str, ...], Any, str]] = []
        for keyword, value in schema.items():
            if keyword == "properties" and isinstance(value, dict):
                inside += [((*path, name), part, crossed) for name, part in value.items()]
            elif keyword in _SCHEMA_MAPS and isinstance(value, dict):
                inside += [((*path, name), part, keyword) for name, part in value.items()]
            elif keyword in _SCHEMA_LISTS and isinstance(value, list):
                inside += [(path, part, keyword) for part in value]
            elif keyword in _ONE_SCHEMA:
                inside.append((path, value, keyword))
        waiting += reversed(inside)


def _annotated(root: Any) -> Iterator[_Position]:
    return (position for position in _positions(root) if ANNOTATION in position.schema)


def _fault_of(position: _Position) -> str:
    """What is wrong with one annotation taken alone, or an empty string."""
    name, kind = position.schema[ANNOTATION], position.schema.get("type")
    if position.crossed:
        return f"{ANNOTATION} stands under {position.crossed}; only properties may lead to it"
    if not position.path:
        return f"{ANNOTATION} stands on the whole schema, not on a property"
    if not isinstance(name, str) or not name:
        return "the header name is empty or not a string"
    if not _TOKEN.fullmatch(name):
        return f"{name!r} is no HTTP token (letters, digits and !#$%&'*+-.^_`|~)"
    if not isinstance(kind, str) or kind not in ("string", "integer", "boolean"):
        return f"the property's type is {kind!r}; only string, integer and boolean can be mirrored"
    return ""


def _argument(arguments: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        if not isinstance(arguments, dict):
            return None
        arguments = arguments.get(name)
    return arguments


def _mirrored(value: Any) -> tuple[str, str]:
    """The header text of an argument, or the reason it has none."""
    if isinstance(value, bool):
        return ("true" if value else "false"), ""
    if isinstance(value, str):
        return value, ""
    if not isinstance(value, int | float) or not (isinstance(value, int) or value.is_integer()):
        return "", "the argument is no string, integer or boolean"
    if abs(value) > MAX_SAFE_INTEGER:
        return "", "the integer is outside ±(2^53−1)"
    return str(int(value)), ""
