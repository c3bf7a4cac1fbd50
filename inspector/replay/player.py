"""Recorded requests sent again to a live server, and the old answers beside the new ones. Called off the loop thread."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from inspector.errors import BadReply, LoupeError, PeerError
from inspector.protocol import eras
from inspector.replay.check import CALL, PLAYABLE, Refusal, Target, Tool, object_of, refusal, sent_params
from inspector.replay.compare import Comparison, Ignore, compare
from inspector.replay.conversation import ALONE, States
from inspector.replay.diff import comparison_json, outcome
from inspector.replay.exchanges import Exchange, Recording, chosen
from inspector.wire.connection import GRACE_S, Connection
from inspector.wire.dispatcher import Reply
from inspector.wire.link import RawJson
from inspector.wire.listing import walk_whole
from inspector.wire.mirrored import mirrored_headers

CAUSE: Final = "replay"
SAME, CHANGED, FAILED, REFUSED, CANCELLED = "same", "changed", "failed", "refused", "cancelled"


@dataclass(slots=True)
class Played:
    """What became of one exchange. verdict: same, changed, failed (no answer came), refused (not sent: `why` and
    `remedy`) or cancelled.

    answer: the new one without its envelope, `{"result": …}` or `{"error": …}`; size: its bytes, where known.
    seqs are the new trace's.
    """

    exchange: Exchange
    verdict: str
    why: str = ""
    remedy: str = ""
    answer: dict[str, Any] = field(default_factory=dict)
    comparison: Comparison = field(default_factory=Comparison)
    ms: float | None = None
    size: int | None = None
    request_seq: int | None = None
    reply_seq: int | None = None

    def as_json(self) -> dict[str, Any]:
        one = self.exchange
        found: dict[str, Any] = {
            "seq": one.request.seq, "method": one.method, "name": one.name, "verdict": self.verdict,
        }  # fmt: skip
        if self.why:
            found["why"] = self.why
        if self.remedy:
            found["remedy"] = self.remedy
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
    """Sends exchanges over an open connection, one after the other; `cancel` ends it from another thread.

    source: what the trace is called. confirmed: whether what is not read-only may be sent too. timeout: seconds for
    one answer. tool: finds a definition of the target's; without it the tools are listed when first wanted.
    """

    def __init__(
        self,
        connection: Connection,
        ignore: Ignore,
        *,
        source: str,
        confirmed: bool = False,
        timeout: float | None = None,
        tool: Tool | None = None,
    ) -> None:
        self.connection = connection
        self.source = source
        self.ignore = ignore
        self.confirmed = confirmed
        self.timeout = timeout or connection.spec.timeouts.call
        self.cancelled = False
        self._waiting: Future[Reply] | None = None
        self._listed: dict[str, dict[str, Any]] | None = None
        self._cursors: dict[str, str | None] = {}
        self._states = States()
        modern = connection.peer is not None and connection.peer.era == eras.MODERN
        version = connection.peer.protocol_version if connection.peer is not None else "nothing"
        self.target = Target(modern, version, tool or self._tool)

    def check(self, exchange: Exchange) -> Refusal | None:
        """Why this exchange is not to be sent now; None when it may be."""
        found = refusal(exchange, self.target, confirmed=self.confirmed)
        cursor = object_of(exchange.params).get("cursor")
        if found is None and isinstance(cursor, str) and self._cursors.get(cursor, "") is None:
            return Refusal("list", "The target's list ended before this page", "It has nothing to compare")
        if found is None and self._states.ended(exchange):
            return Refusal("rounds", "The target did not ask before this round", "It has nothing to compare")
        return found

    def play(self, exchanges: Iterable[Exchange], op: str = "") -> Iterator[Played]:
        """Check, send and judge each in turn. op: written to the frames, `replay-SEQ` when there is none."""
        for one in exchanges:
            if self.cancelled:
                return
            found = self.check(one)
            if found is not None:
                yield Played(one, REFUSED, found.why, found.remedy)
            else:
                yield self._send(one, op or f"replay-{one.request.seq}")

    def cancel(self) -> None:
        """Stop waiting for the answer that is due, tell the server so, and send nothing more."""
        self.cancelled = True
        if self._waiting is not None:
            self._waiting.cancel()

    def _tool(self, name: str) -> dict[str, Any] | None:
        """From the target's own list, asked for when it is first wanted; None where it cannot list."""
        if self._listed is None:
            self._listed = {}
            with suppress(
                LoupeError
            ):  # the trace has the error, and every call is refused for want of a tool
                listed = self.connection.run(
                    walk_whole, self.connection, "tools", "housekeeping", timeout=2 * self.timeout
                )
                tools = [tool for page in listed.pages for tool in page.reply.result.get("tools") or []]
                self._listed = {
                    tool["name"]: tool
                    for tool in tools
                    if isinstance(tool, dict) and isinstance(tool.get("name"), str)
                }
        return self._listed.get(name)

    def _ask(self, exchange: Exchange, op: str) -> Reply:
        self._waiting = self.connection.submit(
            exchange.method, self._params(exchange), timeout=self.timeout, cause=CAUSE, op=op,
            headers=self._headers(exchange),
        )  # fmt: skip
        if self.cancelled:  # it came between the check and the submit
            self._waiting.cancel()
        return self._waiting.result(2 * self.timeout + GRACE_S)

    def _send(self, exchange: Exchange, op: str) -> Played:
        played = Played(exchange, FAILED)
        try:
            reply = self._ask(exchange, op)
        except PeerError as problem:
            error = {"code": problem.raw_code, "message": problem.text}
            played.answer = {"error": error if problem.data is None else {**error, "data": problem.data}}
            played.request_seq, played.reply_seq = (
                problem.facts.get(name) for name in ("request_seq", "seq")
            )
        except LoupeError as problem:
            bad = isinstance(problem, BadReply)
            played.why = f"What came is no valid answer: {problem.message}" if bad else problem.message
            played.remedy = problem.remedy
            played.request_seq = problem.facts.get("request_seq")
            self._link_back(played)
            return played
        except CancelledError:
            played.verdict, played.why = CANCELLED, "Cancelled while its answer was awaited"
            return played
        else:
            played.answer, played.ms, played.size = {"result": reply.result}, reply.ms, len(reply.raw)
            played.request_seq, played.reply_seq = reply.request_seq, reply.seq
            self._note_cursor(exchange, reply.result)
            self._states.note(exchange, reply)
        self._link_back(played)
        played.comparison = compare(exchange.members, played.answer, self.ignore)
        played.verdict = SAME if played.comparison.same else CHANGED
        if self._states.alone(exchange):
            played.why = ALONE
        if not exchange.members:
            played.why = "The trace holds no answer to compare with"
        return played

    def _link_back(self, played: Played) -> None:
        """In the new trace, at the request: what it is a replay of."""
        edited = ", with other params" if played.exchange.edited else ""
        text = f"Replay of event {played.exchange.request.seq} of {self.source}{edited}"
        if at := played.request_seq or played.reply_seq:
            self.connection.link.emit("note", pair=at, text=text)

    def _params(self, exchange: Exchange) -> dict[str, Any]:
        """The recorded params, each member's text exactly as it was; `_meta` without what belongs to the old run."""
        if not isinstance(exchange.params, dict):
            return {}
        params: dict[str, Any] = {
            key: {name: RawJson(each) for name, each in text.items()}
            if isinstance(text, dict)
            else RawJson(text)
            for key, text in sent_params(exchange).items()
        }
        cursor = exchange.params.get("cursor")
        if isinstance(cursor, str) and isinstance(self._cursors.get(cursor), str):
            params["cursor"] = self._cursors[cursor]
        meta = params.get("_meta")
        if not self.target.modern and isinstance(meta, dict):
            meta.pop(eras.META_CLIENT_CAPABILITIES, None)
            if not meta:
                del params["_meta"]
        self._states.put(exchange, params)
        return params

    def _note_cursor(self, exchange: Exchange, result: dict[str, Any]) -> None:
        """A recorded cursor means nothing to another run: the next page is asked with the one that came now."""
        old = object_of(exchange.members.get("result")).get("nextCursor")
        if isinstance(old, str):
            new = result.get("nextCursor")
            self._cursors[old] = new if isinstance(new, str) else None

    def _headers(self, exchange: Exchange) -> dict[str, str] | None:
        """The `Mcp-Param-*` headers of a call."""
        if exchange.method != CALL:
            return None
        schema = object_of(self.target.tool(exchange.name)).get("inputSchema")
        return mirrored_headers(
            self.connection, schema, object_of(object_of(exchange.params).get("arguments"))
        )


def document_of(recording: Recording, connection: Connection, played: Iterable[Played]) -> dict[str, Any]:
    """The document of `trace replay --json`."""
    exchanges = [one.as_json() for one in played]
    peer = connection.peer
    summary = dict.fromkeys((SAME, CHANGED, FAILED, REFUSED), 0)
    for one in exchanges:
        summary[one["verdict"]] = summary.get(one["verdict"], 0) + 1
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
