"""What the Call screen can call: tools, prompts, resources, templates; their words and forms. Pure, any thread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from inspector.console.invoking import METHOD, PROMPTS, RESOURCES, TEMPLATES, TOOLS, input_schema
from inspector.errors import UsageError
from inspector.protocol.eras import HANDSHAKE
from inspector.protocol.headers import header_faults
from inspector.settings.spec import STREAMABLE_HTTP, ServerSpec
from inspector.wire.connection import Connection

LABELS: Final = {
    TOOLS: "Tools",
    PROMPTS: "Prompts",
    RESOURCES: "Resources",
    TEMPLATES: "Templates",
    METHOD: "Other methods",
}
NOUNS: Final = {
    TOOLS: "tool",
    PROMPTS: "prompt",
    RESOURCES: "resource",
    TEMPLATES: "template",
    METHOD: "method",
}
BROKEN: Final = "Loupe: broken"
"""Member of a `formed` definition: why no form can be made of it."""
FACTS: Final = ("mimeType", "size")


def left_out(spec: ServerSpec, connection: Connection | None, schema: Any) -> str:
    """Why an HTTP client must leave this tool out of its list; empty over stdio and in the handshake era."""
    peer = connection.peer if connection is not None else None
    era = peer.era if peer is not None else spec.era
    if spec.transport != STREAMABLE_HTTP or era == HANDSHAKE:
        return ""
    faults = header_faults(schema)
    more = f", and {len(faults) - 1} more" if len(faults) > 1 else ""
    return f"{faults[0].where}: {faults[0].why}{more}" if faults else ""


def what_of(text: str) -> str:
    """A list we know; tools when the address names none."""
    return text if text in LABELS else TOOLS


def formed(what: str, name: str, listed: Mapping[str, Any]) -> dict[str, Any]:
    """A listed definition with the schema its form is made of in place of what else is called inputSchema."""
    found = dict(listed)
    if what in (TOOLS, METHOD):
        return found
    found.pop("inputSchema", None)
    try:
        schema = input_schema(what, name, listed)
    except UsageError as problem:
        return found | {BROKEN: f"{problem.message}. {problem.remedy}."}
    return found if schema is None else found | {"inputSchema": schema}


def facts_of(what: str, definition: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """What a resource says of itself beside its name."""
    if what not in (RESOURCES, TEMPLATES):
        return ()
    return tuple([(name, str(definition[name])[:200]) for name in FACTS if name in definition])


__all__ = [
    "BROKEN",
    "LABELS",
    "METHOD",
    "NOUNS",
    "PROMPTS",
    "TEMPLATES",
    "TOOLS",
    "facts_of",
    "formed",
    "left_out",
    "what_of",
]
