"""Catalogs out of recordings: raw list answers a line, and the list walks of a trace. Pure, any thread."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from inspector.catalog import jsontext
from inspector.catalog.snapshot import TOOLS, Page, Snapshot

_METHOD: Final = "tools/list"
_OPENINGS: Final = ("initialize", "server/discover")


def snapshot_of_lines(content: bytes) -> Snapshot:
    """One JSON-RPC answer a line, one line a page; blank lines are none. Unreadable lines stay as unreadable pages."""
    lines = [line.removesuffix(b"\r") for line in content.split(b"\n")]
    return Snapshot(TOOLS, tuple([Page(None, line, 0) for line in lines if line.strip()]))


@dataclass(slots=True)
class TracedWalk:
    """The last list walk of one connection. complete: its last page names no next cursor."""

    c: int
    label: str
    snapshot: Snapshot
    complete: bool


@dataclass(slots=True)
class _Walk:
    pages: list[Page] = field(default_factory=list)
    next_cursor: Any = None
    complete: bool = False


@dataclass(slots=True)
class _Connection:
    """What the events told about one connection so far. asked: method and cursor by the seq and the id of a request.
    walks: the last whole one, and those that were broken off or go on."""

    facts: dict[str, Any] = field(default_factory=dict)
    instructions: str | None = None
    asked: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    walks: list[_Walk] = field(default_factory=list)


def walks_of_trace(events: Iterable[dict[str, Any]]) -> list[TracedWalk]:
    """The last complete `tools/list` walk of each connection, else its last broken-off one; in order of connection.

    Pages are put together by their cursors, so that walks of two clients behind one recording do not mix.
    """
    connections: dict[int, _Connection] = {}
    for event in events:
        c = event.get("c")
        if not isinstance(c, int):
            continue
        known = connections.setdefault(c, _Connection())
        if event.get("t") == "connection":
            known.facts |= event
        elif event.get("t") == "rpc":
            _take(known, event)
    found = []
    for c, known in sorted(connections.items()):
        walk = next((walk for walk in reversed(known.walks) if walk.complete), None) or next(
            reversed(known.walks), None
        )
        if walk is not None:
            found.append(
                TracedWalk(
                    c,
                    str(known.facts.get("label") or f"connection {c}"),
                    _snapshot(known, walk),
                    walk.complete,
                )
            )
    return found


def _take(known: _Connection, event: dict[str, Any]) -> None:
    """Note a request for a list or an opening; add an answer to the walk it belongs to."""
    kind, method = event.get("kind"), event.get("method")
    if kind == "request" and method in (_METHOD, *_OPENINGS):
        params = parsed(_raw(event)).get("params")
        cursor = params.get("cursor") if isinstance(params, dict) else None
        known.asked[_key(event, "seq")] = known.asked[_key(event, "id")] = (str(method), cursor)
    elif kind == "result":
        pair = "seq " + json.dumps(event.get("pair"))
        asked = known.asked.get(pair) or known.asked.get(_key(event, "id"))
        if asked is not None and asked[0] == _METHOD:
            _add_page(known, asked[1], event)
        elif asked is not None:
            _read_opening(known, parsed(_raw(event)).get("result"))


def _key(event: dict[str, Any], name: str) -> str:
    """A member as text: what a file holds there may be anything."""
    return f"{name} " + json.dumps(event.get(name))


def _add_page(known: _Connection, cursor: str | None, event: dict[str, Any]) -> None:
    raw = _raw(event)
    result = parsed(raw).get("result")
    next_cursor = result.get("nextCursor") if isinstance(result, dict) else None
    waiting = [walk for walk in known.walks if not walk.complete and walk.next_cursor == cursor]
    if cursor is not None and waiting:
        walk = waiting[-1]
    else:
        walk = _Walk()
        known.walks.append(walk)
    walk.pages.append(Page(cursor, raw, _microseconds(event.get("at")), event.get("seq")))
    walk.next_cursor = next_cursor
    walk.complete = next_cursor is None and not event.get("cut") and walk.pages[0].cursor is None
    last = next((each for each in reversed(known.walks) if each.complete), None)
    known.walks = [each for each in known.walks if each is last or not each.complete]


def _read_opening(known: _Connection, result: Any) -> None:
    if isinstance(result, dict):
        said = result.get("instructions")
        known.instructions = said if isinstance(said, str) else None
        info = result.get("serverInfo")
        if isinstance(info, dict):
            known.facts.setdefault("server_info", info)


def _snapshot(known: _Connection, walk: _Walk) -> Snapshot:
    facts = known.facts
    info, declared = facts.get("server_info"), facts.get("client_capabilities")
    return Snapshot(
        TOOLS,
        tuple(walk.pages),
        era=_text(facts.get("era")),
        protocol_version=_text(facts.get("protocol_version")),
        transport=_text(facts.get("transport")),
        server_info=info if isinstance(info, dict) else None,
        instructions=known.instructions,
        declared=tuple(declared) if isinstance(declared, dict | list) else (),
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _raw(event: dict[str, Any]) -> bytes:
    raw = event.get("raw")
    if not isinstance(raw, str):
        return b""
    try:
        return base64.b64decode(raw) if event.get("enc") == "base64" else raw.encode("utf-8")
    except ValueError:  # lone surrogates, or base64 that is none: an unreadable page
        return raw.encode("utf-8", "backslashreplace")


def parsed(raw: bytes | None) -> dict[str, Any]:
    """A recorded frame; {} when it is no JSON object, or was not kept."""
    try:
        value = jsontext.loads(raw or b"")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _microseconds(at: Any) -> int:
    try:
        return round(datetime.fromisoformat(str(at)).timestamp() * 1_000_000)
    except ValueError:
        return 0
