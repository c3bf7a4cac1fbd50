"""Whether a recorded request may be sent to a live server, and if not, why and what to do. Pure, any thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from inspector.catalog import jsontext
from inspector.protocol import eras
from inspector.replay.exchanges import LISTEN, REDACTED, Exchange
from inspector.replay.splice import member

CALL: Final = "tools/call"
PLAYABLE: Final = (
    "tools/list", "prompts/list", "resources/list", "resources/templates/list", CALL, "resources/read", "prompts/get",
    "completion/complete",
)  # fmt: skip
"""What a replay takes unless it is told: questions. The rest opens, keeps or ends a connection."""
OPENING: Final = ("initialize", "server/discover", "ping", LISTEN)
MODERN_PARAMS: Final = ("inputResponses", "requestState")
GONE_IN_MODERN: Final = ("logging/", "resources/subscribe", "resources/unsubscribe")
CONFIRM: Final = "confirm"
_TRANSIENT: Final = ("progressToken", "traceparent", "tracestate", "baggage")
Tool = Callable[[str], Mapping[str, Any] | None]


@dataclass(frozen=True, slots=True)
class Target:
    """The live server: its era and version, and how to find a tool it lists (None when it lists none of that name)."""

    modern: bool
    version: str
    tool: Tool


@dataclass(frozen=True, slots=True)
class Refusal:
    """kind: opening, cut, redacted, era, tool, list or confirm (it is only not confirmed). why: one sentence."""

    kind: str
    why: str
    remedy: str


def unsendable(exchange: Exchange) -> Refusal | None:
    """Why this exchange can be sent to no server at all; None when it may go to some."""
    method = exchange.method
    if method in OPENING:
        why = f"{method} opens or keeps a connection; a replay goes over one that is open"
        return Refusal("opening", why, "Connect the server again to see its handshake")
    if exchange.request.cut:
        why = "The trace holds only the beginning of this request"
        return Refusal("cut", why, "Write its params anew, or record it again")
    if any(REDACTED in text for key, text in members(exchange) if key != "_meta"):
        why = "Its params hold redacted values, which no server knows"
        return Refusal("redacted", why, "Put the values back, or replay it from an unredacted trace")
    return None


def refusal(exchange: Exchange, target: Target, *, confirmed: bool = False) -> Refusal | None:
    """Why this exchange is not to be sent there; None when it may be."""
    if (found := unsendable(exchange)) is not None:
        return found
    method, params = exchange.method, object_of(exchange.params)
    later = [name for name in MODERN_PARAMS if name in params]
    if not target.modern and later:
        why = f"It carries {later[0]}, which only the modern era has; the target speaks {target.version}"
        return Refusal("era", why, f"Leave {later[0]} out, or choose a server of the modern era")
    if target.modern and method.startswith(GONE_IN_MODERN):
        why = f"{method} does not exist in the era the target speaks ({target.version})"
        return Refusal("era", why, "Choose a server of the handshake era")
    return _call(exchange, target, confirmed) if method == CALL else None


def _call(exchange: Exchange, target: Target, confirmed: bool) -> Refusal | None:
    definition = target.tool(exchange.name)
    if definition is None:
        why = f"The target lists no tool {exchange.name}"
        return Refusal("tool", why, "Choose another server, or write the call on the Call screen")
    if not confirmed and object_of(definition.get("annotations")).get("readOnlyHint") is not True:
        why = f"{exchange.name} does not say that it is read-only (readOnlyHint): confirm to run it again"
        return Refusal(CONFIRM, why, "Confirm it where running it twice does no harm")
    return None


def sent_params(exchange: Exchange) -> dict[str, str | dict[str, str]]:
    """What of the params is sent again, each member's text exactly as it was: `_meta`, an object of its own members,
    goes without what belongs to the old run. What the client declared in it stays: a server asks by it."""
    found: dict[str, str | dict[str, str]] = dict(members(exchange))
    meta = found.pop("_meta", None)
    if isinstance(meta, str) and meta.startswith("{"):
        kept = {key: text for key, text in jsontext.members_of(meta) if not _of_the_run(key)}
        found |= {"_meta": kept} if kept else {}
    return found


def _of_the_run(key: str) -> bool:
    own = key.startswith("io.modelcontextprotocol/") and key != eras.META_CLIENT_CAPABILITIES
    return key in _TRANSIENT or own


def members(exchange: Exchange) -> list[tuple[str, str]]:
    """The params' members with their exact texts."""
    text = member(exchange.request.raw, ("params",)) if isinstance(exchange.params, dict) else None
    return jsontext.members_of(text) if text is not None else []


def object_of(value: Any) -> dict[str, Any]:
    """The value when it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}
