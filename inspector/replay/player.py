"""Recorded requests sent again to a live server, and the old answers beside the new ones. Called off the loop thread."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from inspector.catalog import jsontext
from inspector.errors import BadReply, LoupeError, PeerError
from inspector.protocol import eras
from inspector.protocol.headers import param_headers
from inspector.replay.compare import Comparison, Ignore, compare
from inspector.replay.diff import comparison_json, outcome
from inspector.replay.exchanges import LISTEN, REDACTED, Exchange, Recording, chosen
from inspector.replay.splice import member
from inspector.wire.connection import Connection
from inspector.wire.http import HttpTransport
from inspector.wire.link import RawJson
from inspector.wire.listing import walk_whole

CAUSE: Final = "replay"
CALL: Final = "tools/call"
PLAYABLE: Final = (
    "tools/list", "prompts/list", "resources/list", "resources/templates/list", CALL, "resources/read", "prompts/get",
    "completion/complete",
)  # fmt: skip
"""What a replay takes unless it is told: questions. The rest opens, keeps or ends a connection."""
OPENING: Final = ("initialize", "server/discover", "ping", LISTEN)
MODERN_PARAMS: Final = ("inputResponses", "requestState")
_TRANSIENT: Final = ("progressToken", "traceparent", "tracestate", "baggage")

SAME, CHANGED, FAILED, REFUSED = "same", "changed", "failed", "refused"


@dataclass(slots=True)
class Played:
    """What became of one exchange. verdict: same, changed, failed (no answer came) or refused (not sent: `why`).

    answer: the new one without its envelope, `{"result": …}` or `{"error": …}`. seqs are the new trace's.
    """

    exchange: Exchange
    verdict: str
    why: str = ""
    answer: dict[str, Any] = field(default_factory=dict)
    comparison: Comparison = field(default_factory=Comparison)
    ms: float | None = None
    request_seq: int | None = None
    reply_seq: int | None = None

    def as_json(self) -> dict[str, Any]:
        one = self.exchange
        found: dict[str, Any] = {
            "seq": one.request.seq, "method": one.method, "name": one.name, "verdict": self.verdict,
        }  # fmt: skip
        if self.why:
            found["why"] = self.why
        found["old"] = {"outcome": outcome(one), **one.members}
        if one.ms is not None:
            found["old"]["ms"] = one.ms
        if self.verdict in (SAME, CHANGED):
            found["new"] = {**self.answer, "frames": [self.request_seq, self.reply_seq]}
            if self.ms is not None:
                found["new"]["ms"] = self.ms
            found |= comparison_json(self.comparison)
        return found


def pick(recording: Recording, only: Iterable[int] = ()) -> list[Exchange]:
    """The exchanges with these seqs, in the order given, or all questions. Raises FileError for a seq that is none."""
    wanted = list(only)
    if wanted:
        return chosen(recording.exchanges, wanted)
    return [one for one in recording.exchanges if one.method in PLAYABLE]


class Player:
    """Sends exchanges over an open connection, one after the other.

    source: what the trace is called. confirmed: whether what is not read-only may be sent too. timeout: seconds for
    one answer.
    """

    def __init__(
        self,
        connection: Connection,
        ignore: Ignore,
        *,
        source: str,
        confirmed: bool = False,
        timeout: float | None = None,
    ) -> None:
        self.connection = connection
        self.source = source
        self.ignore = ignore
        self.confirmed = confirmed
        self.timeout = timeout or connection.spec.timeouts.call
        self._tools: dict[str, dict[str, Any]] | None = None
        self._cursors: dict[str, str | None] = {}

    @property
    def modern(self) -> bool:
        return self.connection.peer is not None and self.connection.peer.era == eras.MODERN

    def check(self, exchange: Exchange) -> str | None:
        """Why this exchange is not to be sent, in one sentence; None when it may be."""
        method, params = exchange.method, exchange.params
        if method in OPENING:
            return f"{method} opens or keeps a connection; a replay goes over one that is open"
        if exchange.request.cut:
            return "The trace holds only the beginning of this request"
        if any(REDACTED in text for key, text in _members(exchange) if key != "_meta"):
            return (
                "Its params hold redacted values, which no server knows: replay it from an unredacted trace"
            )
        if not self.modern and (later := [name for name in MODERN_PARAMS if name in _object(params)]):
            return (
                f"It carries {later[0]}, which only the modern era has; the target speaks {self._version()}"
            )
        if self.modern and method.startswith(("logging/", "resources/subscribe", "resources/unsubscribe")):
            return f"{method} does not exist in the era the target speaks ({self._version()})"
        cursor = _object(params).get("cursor")
        if isinstance(cursor, str) and self._cursors.get(cursor, "") is None:
            return "The target's list ended before this page"
        return self._check_call(exchange) if method == CALL else None

    def play(self, exchanges: Iterable[Exchange]) -> Iterator[Played]:
        """Check, send and judge each in turn."""
        for one in exchanges:
            why = self.check(one)
            yield Played(one, REFUSED, why) if why is not None else self._send(one)

    def _version(self) -> str:
        return self.connection.peer.protocol_version if self.connection.peer is not None else "nothing"

    def _check_call(self, exchange: Exchange) -> str | None:
        definition = self.tools.get(exchange.name)
        if definition is None:
            return f"The target lists no tool {exchange.name}"
        if not self.confirmed and _object(definition.get("annotations")).get("readOnlyHint") is not True:
            return (
                f"{exchange.name} does not say that it is read-only (readOnlyHint): confirm to run it again"
            )
        return None

    @property
    def tools(self) -> dict[str, dict[str, Any]]:
        """The target's tools by name, listed when they are first wanted; none where it cannot list."""
        if self._tools is None:
            self._tools = {}
            try:
                listed = self.connection.run(
                    walk_whole, self.connection, "tools", "housekeeping", timeout=2 * self.timeout
                )
            except LoupeError:
                return self._tools  # the trace has the error, and every call is refused for want of a tool
            for page in listed.pages:
                for tool in page.reply.result.get("tools") or []:
                    if isinstance(tool, dict) and isinstance(tool.get("name"), str):
                        self._tools[tool["name"]] = tool
        return self._tools

    def _send(self, exchange: Exchange) -> Played:
        recorded = exchange.request.seq
        played = Played(exchange, FAILED)
        try:
            reply = self.connection.ask(
                exchange.method, self._params(exchange), timeout=self.timeout, cause=CAUSE, op=f"replay-{recorded}",
                headers=self._headers(exchange),
            )  # fmt: skip
        except PeerError as problem:
            error = {"code": problem.raw_code, "message": problem.text}
            played.answer = {"error": error if problem.data is None else {**error, "data": problem.data}}
            played.reply_seq = problem.facts.get("seq")
        except BadReply as problem:
            played.why = f"What came is no valid answer: {problem.message}"
            return played
        except LoupeError as problem:
            played.why = problem.message
            return played
        else:
            played.answer, played.ms = {"result": reply.result}, reply.ms
            played.request_seq, played.reply_seq = reply.request_seq, reply.seq
            self._note_cursor(exchange, reply.result)
        self._link_back(played)
        played.comparison = compare(exchange.members, played.answer, self.ignore)
        played.verdict = SAME if played.comparison.same else CHANGED
        if not exchange.members:
            played.why = "The trace holds no answer to compare with"
        return played

    def _link_back(self, played: Played) -> None:
        """In the new trace, at the request: what it is a replay of."""
        text = f"Replay of event {played.exchange.request.seq} of {self.source}"
        self.connection.link.emit("note", pair=played.request_seq or played.reply_seq, text=text)

    def _params(self, exchange: Exchange) -> dict[str, Any]:
        """The recorded params, each member's text exactly as it was; `_meta` without what belongs to the old run."""
        if not isinstance(exchange.params, dict):
            return {}
        params: dict[str, Any] = {key: RawJson(value) for key, value in _members(exchange) if key != "_meta"}
        meta = {
            key: value
            for key, value in _object(exchange.params.get("_meta")).items()
            if key not in _TRANSIENT and not key.startswith("io.modelcontextprotocol/")
        }
        cursor = exchange.params.get("cursor")
        if isinstance(cursor, str) and isinstance(self._cursors.get(cursor), str):
            params["cursor"] = self._cursors[cursor]
        return params | ({"_meta": meta} if meta else {})

    def _note_cursor(self, exchange: Exchange, result: dict[str, Any]) -> None:
        """A recorded cursor means nothing to another run: the next page is asked with the one that came now."""
        old = _object(exchange.members.get("result")).get("nextCursor")
        if isinstance(old, str):
            new = result.get("nextCursor")
            self._cursors[old] = new if isinstance(new, str) else None

    def _headers(self, exchange: Exchange) -> dict[str, str] | None:
        """The `Mcp-Param-*` headers a modern HTTP server wants mirrored from a call's arguments."""
        http = isinstance(self.connection.transport, HttpTransport)
        if not self.modern or not http or exchange.method != CALL:
            return None
        schema = self.tools[exchange.name].get("inputSchema")
        found, _faults = param_headers(schema, _object(_object(exchange.params).get("arguments")))
        return dict(found)


def _members(exchange: Exchange) -> list[tuple[str, str]]:
    """The params' members with their exact texts."""
    text = member(exchange.request.raw, ("params",))
    return jsontext.members_of(text) if text is not None and isinstance(exchange.params, dict) else []


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def document_of(recording: Recording, connection: Connection, played: Iterable[Played]) -> dict[str, Any]:
    """The document of `trace replay --json`."""
    exchanges = [one.as_json() for one in played]
    peer = connection.peer
    summary = dict.fromkeys((SAME, CHANGED, FAILED, REFUSED), 0)
    for one in exchanges:
        summary[one["verdict"]] += 1
    return {
        "schema": "mcp-loupe/trace-replay/1",
        "trace": {
            "file": str(recording.path),
            "label": recording.label,
            "created": recording.header.get("created"),
        },
        "target": {
            "name": connection.spec.name,
            "era": peer.era if peer else None,
            "protocol_version": peer.protocol_version if peer else None,
        },
        "summary": summary,
        "exchanges": exchanges,
    }
