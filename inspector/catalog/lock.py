"""A catalog pinned in a file: canonical definitions, their hashes, totals and hints. Pure.

The bytes are the same for the same catalog, whatever the order the server lists it in, except `created`.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

from inspector.catalog import jsontext
from inspector.catalog.difference.report import totals_entry
from inspector.catalog.difference.side import LOCK, Hints, Side, Tool, Totals
from inspector.catalog.jsontext import utf8
from inspector.catalog.measure import measure_item
from inspector.catalog.snapshot import ABSENT, Item, read_pages
from inspector.errors import FileError

SCHEMA: Final = "mcp-loupe/lock/1"
_FAMILY: Final = "mcp-loupe/lock/"
_TOTALS: Final = ("wire_bytes", "spelling_bytes", "envelope_bytes")
_COUNTED: Final = ("definitions", "wire")


def lock_of(side: Side, created: str) -> dict[str, Any]:
    """The lock of a catalog. created: RFC 3339. `instructions` is absent when unknown, null when there are none."""
    tools = sorted(
        [_entry(tool) for tool in side.tools], key=lambda each: (each["name"] or "", each["definition"])
    )
    whole = "[" + ",".join([each["definition"] for each in tools]) + "]"
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "created": created,
        "server": side.server_info,
        "era": side.era,
        "protocol_version": side.protocol_version,
        "declared": None if side.declared is None else list(side.declared),
        "tokenizer": side.tokenizer,
        "totals": totals_entry(side.totals, side.tokenizer),
        "hints": [_hints(each) for each in side.hints],
        "sha256": _sha256(whole),
        "order_sha256": side.order_sha256,
    }
    if side.instructions is not ABSENT:
        document["instructions"] = side.instructions
    return document | {"tools": tools}


def _entry(tool: Tool) -> dict[str, Any]:
    text = tool.canonical
    entry = {"name": tool.name, "sha256": _sha256(text), "definition_bytes": tool.definition_bytes}
    return entry | {"tokens": tool.tokens, "definition": text}


def _hints(page: Hints) -> dict[str, Any]:
    entry = {"ttl_ms": page.ttl_ms, "cache_scope": page.cache_scope}
    return {key: value for key, value in entry.items() if value is not ABSENT}


def _sha256(text: str) -> str:
    return hashlib.sha256(utf8(text)).hexdigest()


def lock_bytes(document: dict[str, Any]) -> bytes:
    """The file: one member a line, so that a version control system shows what changed."""
    return utf8(jsontext.indented(document) + "\n")


def same_but_created(one: bytes, other: bytes) -> bool:
    """Whether two lock files differ in nothing but when they were made."""
    return _without_created(one) == _without_created(other)


def _without_created(content: bytes) -> list[bytes]:
    return [line for line in content.split(b"\n") if not line.startswith(b' "created": ')]


def is_lock(content: bytes) -> bool:
    """Whether the bytes look like one of our locks, of any version."""
    return _FAMILY.encode() in content[:200]


def parse_lock(content: bytes, where: str) -> dict[str, Any]:
    """The lock in a file's content. Raises FileError, which calls the file `where`, when it is none, is newer, or was
    edited so that a hash does not fit or a number is none."""
    remedy = "Make it again: mcp-loupe lock TARGET -o FILE."
    try:
        document = jsontext.loads(content)
    except (ValueError, RecursionError) as problem:
        raise FileError(f"{where} is no JSON ({problem}).", remedy) from problem
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        if isinstance(schema, str) and schema.startswith(_FAMILY):
            raise FileError(f"{where} was made by another version ({schema}).", "Please update mcp-loupe.")
        raise FileError(f"{where} is no lock of a catalog.", remedy)
    fault = _fault(document)
    if fault:
        raise FileError(f"{where} is damaged: {fault}.", remedy)
    found: dict[str, Any] = document
    return found


def _fault(document: dict[str, Any]) -> str:
    """What does not fit, or an empty string: checks every hash, and the types of what is read later."""
    tools, totals = document.get("tools"), document.get("totals")
    if not isinstance(tools, list) or not isinstance(totals, dict):
        return "it has no tools or no totals"
    counted = _counted(document)
    if not all(map(_is_size, [*(totals.get(name) for name in _TOTALS), *map(counted.get, _COUNTED)])):
        return "its totals are no numbers"
    if not all(isinstance(document.get(name), str | None) for name in ("era", "protocol_version")):
        return "its era or its protocol_version is no text"
    for number, tool in enumerate(tools, 1):
        if not isinstance(tool, dict) or not isinstance(tool.get("definition"), str):
            return f"tool {number} has no definition"
        if tool.get("sha256") != _sha256(tool["definition"]):
            return f"the definition of {str(tool.get('name'))!r} does not fit its sha256"
        if not _is_size(tool.get("tokens")):
            return f"the tokens of {str(tool.get('name'))!r} are no number"
    whole = "[" + ",".join([tool["definition"] for tool in tools]) + "]"
    if document.get("sha256") != _sha256(whole):
        return "its tools do not fit its sha256"
    return "" if isinstance(document.get("hints"), list) else "it has no hints"


def _counted(document: dict[str, Any]) -> dict[str, Any]:
    """The token totals by the lock's own tokenizer; {} when there are none."""
    tokens = document["totals"].get("tokens")
    found = tokens.get(str(document.get("tokenizer"))) if isinstance(tokens, dict) else None
    return found if isinstance(found, dict) else {}


def _is_size(value: Any) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool))


def side_of_lock(document: dict[str, Any], label: str) -> Side:
    """A lock as a side of a comparison; the sizes are those of the locked catalog."""
    tools = tuple([_tool(each) for each in document["tools"]])
    totals, counted = document["totals"], _counted(document)
    declared = document.get("declared")
    info = document.get("server")
    return Side(
        label=label,
        source=LOCK,
        tools=tools,
        totals=Totals(
            tools=len(tools),
            definition_bytes=sum([tool.definition_bytes for tool in tools]),
            **{name: totals.get(name) for name in _TOTALS},
            definition_tokens=counted.get("definitions"),
            wire_tokens=counted.get("wire"),
            exact="estimate" not in counted,
        ),
        order_sha256=str(document.get("order_sha256")),
        hints=tuple([_read_hints(each) for each in document["hints"]]),
        server_info=info if isinstance(info, dict) else None,
        era=document.get("era"),
        protocol_version=document.get("protocol_version"),
        declared=tuple(map(str, declared)) if isinstance(declared, list) else None,
        instructions=document.get("instructions", ABSENT),
        tokenizer=str(document.get("tokenizer")),
    )


def _read_hints(entry: Any) -> Hints:
    known = entry if isinstance(entry, dict) else {}
    return Hints(known.get("ttl_ms", ABSENT), known.get("cache_scope", ABSENT))


def _tool(entry: dict[str, Any]) -> Tool:
    """A locked tool, read the way a listed one is, so that a broken one is broken here too."""
    page = b'{"result":{"tools":[' + utf8(entry["definition"]) + b"]}}"
    items = read_pages("tools", [page]).items
    item = items[0] if len(items) == 1 else Item(0, entry["definition"], None, None, "not readable")
    weighed = measure_item(item)
    tokens = entry.get("tokens")
    return Tool(item.name, weighed.text, item.value, weighed.definition_bytes, tokens, weighed.broken)
