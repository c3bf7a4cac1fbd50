"""The requests a client may send besides calling, by era, with a form for each. Pure, any thread."""

from __future__ import annotations

import json
from typing import Any, Final

from inspector.catalog.measure import Measure
from inspector.protocol.eras import HANDSHAKE, MODERN, Era
from inspector.wire.extras import LEVELS

_TEXT: Final[dict[str, Any]] = {"type": "string"}


def _form(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


_TASK: Final = _form("taskId", taskId=_TEXT)
_COMPLETE: Final = _form(
    "ref", "argument",
    ref={"oneOf": [_form("type", "name", type={"const": "ref/prompt"}, name=_TEXT),
                   _form("type", "uri", type={"const": "ref/resource"}, uri=_TEXT)]},
    argument=_form("name", "value", name=_TEXT, value=_TEXT),
)  # fmt: skip
BOTH: Final = (HANDSHAKE, MODERN)

METHODS: Final[tuple[tuple[str, tuple[Era, ...], str, dict[str, Any]], ...]] = (
    ("ping", (HANDSHAKE,), "Asks whether the server is there. The modern era has none.", _form()),
    ("server/discover", BOTH, "Asks for versions and capabilities.", _form()),
    (
        "logging/setLevel",
        (HANDSHAKE,),
        "From which level on the server sends log messages. In the modern era each request says it: see Client.",
        _form("level", level={"type": "string", "enum": list(LEVELS)}),
    ),
    ("completion/complete", BOTH, "Asks for proposals for an argument.", _COMPLETE),
    ("resources/subscribe", (HANDSHAKE,), "Asks to be told when a resource changes.", _form("uri", uri=_TEXT)),
    ("resources/unsubscribe", (HANDSHAKE,), "Takes a subscription back.", _form("uri", uri=_TEXT)),
    ("skills/list", (MODERN,), "The skills it serves; a cursor asks for the next page. See the tab Skills.",
     _form(cursor=_TEXT)),
    ("skills/get", (MODERN,), "The entry of one skill, by the URI of its SKILL.md.", _form("uri", uri=_TEXT)),
    ("resources/directory/read", (MODERN,), "What lies in a folder of a skill, where the server declares it.",
     _form("uri", uri=_TEXT)),
    ("tasks/get", BOTH, "How a task stands.", _TASK),
    ("tasks/result", (HANDSHAKE,), "What a task brought; waits until it has ended.", _TASK),
    ("tasks/list", (HANDSHAKE,), "The tasks of this session.", _form()),
    ("tasks/update", (MODERN,), "Answers what a task asks for.",
     _form("taskId", "inputResponses", taskId=_TEXT, inputResponses={"type": "object"})),
    ("tasks/cancel", BOTH, "Asks that a task be given up.", _TASK),
)  # fmt: skip
"""(method, eras that have it, what it does, the schema of its params)."""


def known(era: Era | None) -> tuple[Measure, ...]:
    """The methods as if they were listed; those of the other era too, marked: how a server refuses is worth seeing."""
    found = []
    for name, eras, does, schema in METHODS:
        missing = era is not None and era not in eras
        about = f"{does} Not in the {era} era: see how the server refuses it." if missing else does
        text = json.dumps({"name": name, "description": about, "inputSchema": schema})
        found.append(Measure(name, len(text), {"other": len(text)}, text))
    return tuple(found)
