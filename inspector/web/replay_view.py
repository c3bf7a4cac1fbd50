"""What the Replay screen shows of a recording: requests, whether each may be sent, where to. Flask request threads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from inspector.catalog.forms import FieldError
from inspector.catalog.jsontext import compact_value
from inspector.console.calls import read_arguments
from inspector.console.console import Console, Server
from inspector.console.replays import Planned
from inspector.errors import UsageError
from inspector.protocol import eras
from inspector.replay.check import CALL, CONFIRM, PLAYABLE, Refusal, Target, refusal, sent_params, unsendable
from inspector.replay.exchanges import Exchange, with_params
from inspector.replay.sessions import exchange_from, is_question, whole
from inspector.trace.filters import Filter
from inspector.trace.rows import Row
from inspector.trace.store import Connection, Session, Store
from inspector.web.calls_view import Hint, hints_of, indented
from inspector.web.labels import labels
from inspector.web.replay_query import MOST_PICKS, Query
from inspector.wire.connection import CONNECTED
from inspector.wire.events import C2S

WINDOW: Final = 100
NAME: Final = 200
CHECKED_BYTES: Final = 1 << 20
"""A request up to this size is read to say whether it may be sent; a larger one is checked when it is."""
METHODS: Final = (*PLAYABLE, "resources/subscribe", "logging/setLevel")


@dataclass(frozen=True, slots=True)
class Answered:
    """What a request got. word: ok, tool error, an error code, no answer; sev as in docs/look.md."""

    word: str
    sev: str
    seq: int | None = None
    bytes: int | None = None
    ms: float | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One request of the list. refusal: why it cannot be sent (or only when confirmed); unread: too large to say."""

    seq: int
    at_us: int
    method: str
    name: str
    params: str
    answered: Answered
    refusal: Refusal | None
    unread: bool
    picked: bool
    edited: bool
    on: bool


@dataclass(frozen=True, slots=True)
class Aim:
    """Where the requests would go. problem: why nothing can be sent there now. listed: its tools are known."""

    server: Server | None
    target: Target | None
    line: str
    problem: str = ""
    listed: bool = True


@dataclass(frozen=True, slots=True)
class Choice:
    """What is ticked, judged. refused: how many cannot be sent; waiting: how many want a yes, and `confirm` the names
    of their tools. lost: seqs whose edited params are no longer known; faulty: whose are no JSON."""

    seqs: Sequence[int]
    refused: int
    waiting: int
    confirm: Sequence[str]
    lost: Sequence[int]
    faulty: Sequence[int]

    @property
    def sendable(self) -> int:
        return len(self.seqs) - self.refused


def aim_of(console: Console, query: Query, connections: Sequence[Connection]) -> Aim:
    """The server the query names, else the one the recording is of, else the first that is connected."""
    servers = {server.key: server for server in console.servers()}
    recorded = next((one.server_key for one in connections if query.c in (None, one.c)), None)
    connected = next((key for key, one in servers.items() if one.state == CONNECTED), None)
    key = next((key for key in (query.to, recorded, connected) if key in servers), next(iter(servers), None))
    if key is None:
        return Aim(None, None, "", "There is no server to send to.")
    server = servers[key]
    connection = server.connection
    if connection is None or connection.peer is None or server.state != CONNECTED:
        return Aim(server, None, server.state, f"{labels(servers.values())[key]} is not connected.")
    peer = connection.peer
    tools = console.tools(key)
    own = query.era not in ("", peer.era)
    version = peer.protocol_version
    if own:
        version = eras.MODERN_VERSIONS[0] if query.era == eras.MODERN else eras.LATEST_HANDSHAKE
    modern = (query.era or peer.era) == eras.MODERN
    line = f"a connection of its own, {query.era} era" if own else f"connected, {peer.era} · {version}"
    target = Target(modern, version, tools or _anything)
    return Aim(server, target, line, listed=tools is not None)


def _anything(_name: str) -> Mapping[str, Any] | None:
    """Stands for tools that were not listed: nothing is known of them, so each wants confirming."""
    return {}


class View:
    """One request's look at one recording."""

    def __init__(self, console: Console, store: Store, query: Query, recording: Session) -> None:
        self.console, self.store, self.query, self.recording = console, store, query, recording
        self.connections = store.connections(query.session)
        self.aim = aim_of(console, query, self.connections)

    # --- the list

    def wanted(self) -> Filter:
        query = self.query
        c = None if query.c is None else (query.c,)
        return Filter(c, frozenset({"rpc"}), C2S, frozenset({"request"}), method=query.method, text=query.q)

    def page(self) -> tuple[list[Line], int | None, int | None]:
        """One window of requests, the seq to go on behind (None at the end), and how far a long search came."""
        query = self.query
        if query.errors:
            seqs, after, searched = self._failed(query.after)
            rows = [row for seq in seqs if (row := self._head(seq)) is not None]
        else:
            page = self.store.page(query.session, self.wanted(), after=query.after, limit=WINDOW)
            rows, searched = list(page), page.scanned_to
            after = page[-1].seq if page.more else page.scanned_to
        return [self.line(row) for row in rows if is_question(row)], after, searched

    def _failed(self, after: int) -> tuple[list[int], int | None, int | None]:
        """Requests that ended in an error or in nothing, in the order of those ends. `after` is an end's seq."""
        query = self.query
        ends = Filter(None if query.c is None else (query.c,), errors_only=True, text="")
        page = self.store.page(query.session, ends, after=after, limit=WINDOW)
        seqs = dict.fromkeys(row.pair for row in page if row.pair is not None)
        found = [seq for seq in seqs if self._passes(seq)]
        return found, page[-1].seq if page.more else page.scanned_to, page.scanned_to

    def _passes(self, seq: int) -> bool:
        found = self.store.page(self.query.session, self.wanted(), after=seq - 1, before=seq + 1, limit=1)
        return any(row.seq == seq for row in found)

    def matching(self) -> list[int] | None:
        """All requests of the filter; None when there are more than can be picked."""
        found: dict[int, None] = {}
        after = 0
        while True:
            if self.query.errors:
                seqs, more, _ = self._failed(after)
            else:
                page = self.store.page(self.query.session, self.wanted(), after=after, limit=500)
                seqs = [row.seq for row in page if is_question(row)]
                more = page[-1].seq if page.more else page.scanned_to
            found |= dict.fromkeys(seqs)
            if len(found) > MOST_PICKS:
                return None
            if more is None:
                return sorted(found)
            after = more

    def line(self, row: Row) -> Line:
        query = self.query
        exchange = self.exchange(row)
        answer = self.store.pair_of(row.session, row.seq)
        shown = _short(exchange)
        return Line(
            row.seq, row.at_us, str(row.method)[:NAME], exchange.name[:NAME] if exchange else "", shown, answered(answer),
            self.refusal(exchange, row.seq), exchange is None, row.seq in query.picks, query.edit(row.seq) is not None,
            row.seq == query.e,
        )  # fmt: skip

    # --- one request

    def exchange(self, row: Row) -> Exchange | None:
        """The request with the params it would be sent with; None when it is too large to read for a list."""
        if (row.bytes or 0) > CHECKED_BYTES:
            return None
        found = exchange_from(whole(self.store, row))
        params = self.edited(row.seq)
        return found if params is None or fault_of(params) else with_params(found, params)

    def edited(self, seq: int) -> str | None:
        """The params edited for a request, when they are still known."""
        id_ = self.query.edit(seq)
        return self.console.replays.draft(id_) if id_ is not None else None

    def refusal(self, exchange: Exchange | None, seq: int) -> Refusal | None:
        if exchange is None:
            return None
        if fault := fault_of(self.edited(seq)):
            return Refusal("params", fault, "Mend them, or take the recorded params")
        if self.aim.target is None:
            return unsendable(exchange)
        return refusal(exchange, self.aim.target)

    def _head(self, seq: int) -> Row | None:
        page = self.store.page(self.query.session, after=seq - 1, limit=1)
        return next((row for row in page if row.seq == seq), None)

    def opened(self) -> Opened | None:
        """The request that is open beside the list; None when none is."""
        row = self._head(self.query.e) if self.query.e is not None else None
        if row is None or not is_question(row):
            return None
        exchange = self.exchange(row) or exchange_from(whole(self.store, row))
        recorded = exchange_from(whole(self.store, row))
        answer = self.store.pair_of(row.session, row.seq)
        raw = None
        if answer is not None and answer.t == "rpc" and (answer.bytes or 0) <= CHECKED_BYTES:
            raw = (whole(self.store, answer).raw_head or b"").decode("utf-8", "backslashreplace")
        fault = fault_of(typed := self.edited(row.seq))
        params = typed if fault and typed is not None else indented(_params_text(exchange))
        definition = self.aim.target.tool(exchange.name) if self.aim.target and row.method == CALL else None
        return Opened(
            self.line(row), params, fault, _params_text(recorded), raw, answered(answer),
            self._breaches(exchange, definition),
            hints_of(definition.get("annotations")) if definition and self.aim.listed else [],
        )  # fmt: skip

    def _breaches(self, exchange: Exchange, definition: Mapping[str, Any] | None) -> list[FieldError]:
        """What breaks the target's inputSchema: a hint, for a server's answer to that may be what is looked for."""
        if definition is None or "inputSchema" not in definition or not isinstance(exchange.params, dict):
            return []
        value = exchange.params.get("arguments", {})
        found = self.console.checker.arguments(definition["inputSchema"], value, exchange.request.size)
        return list(islice(found, 5))

    # --- the choice

    def choice(self) -> Choice:
        """What is ticked, each checked."""
        refused, waiting, seqs = 0, 0, []
        confirm: dict[str, None] = {}
        lost = [seq for seq, _ in self.query.edits if seq in self.query.picks and self.edited(seq) is None]
        faulty = [seq for seq in self.query.picks if fault_of(self.edited(seq))]
        for seq in self.query.picks:
            row = self._head(seq)
            if row is None or not is_question(row):
                continue
            seqs.append(seq)
            exchange = self.exchange(row)
            why = self.refusal(exchange, seq)
            if why is not None and why.kind == CONFIRM and exchange is not None:
                waiting += 1
                confirm[exchange.name] = None
            elif why is not None:
                refused += 1
        return Choice(seqs, refused, waiting, list(confirm), lost, faulty)

    def planned(self) -> tuple[Planned, ...]:
        """What is ticked, as it is to be sent."""
        return tuple(Planned(self.query.session, seq, self.edited(seq)) for seq in self.choice().seqs)


@dataclass(frozen=True, slots=True)
class Opened:
    """The pane of one request. params: for the text field; fault: why they are none; recorded: as they were.

    answer: its text when not too large; breaches: what breaks the target's inputSchema; hints: what the target says
    of the tool.
    """

    line: Line
    params: str
    fault: str
    recorded: str
    answer: str | None
    answered: Answered
    breaches: list[FieldError]
    hints: list[Hint]


def fault_of(params: str | None) -> str:
    """Why a text cannot be params, one sentence without its stop; empty when it can, or is none."""
    if params is None:
        return ""
    try:
        read_arguments(params, "params")
    except UsageError as problem:
        return f"{problem.message}"
    return ""


def answered(row: Row | None) -> Answered:
    """What became of a request, by the answer or the noted failure."""
    if row is None:
        return Answered("no answer", "off")
    if row.t == "error":
        return Answered(str(row.body.get("class", "failed")), "err", row.seq)
    facts = (row.seq, row.bytes, row.ms)
    if row.kind == "error":
        return Answered(_code(row), "err", *facts)
    return (
        Answered("tool error", "err", *facts)
        if row.body.get("tool_error") is True
        else Answered("ok", "ok", *facts)
    )


def _code(row: Row) -> str:
    try:
        code = json.loads(row.raw_head or b"")["error"]["code"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return "error"
    return f"error {code}".replace("-", "−")[:40]


def _params_text(exchange: Exchange) -> str:
    """What would be sent, but for what the era adds; each lexeme as it was."""
    found = sent_params(exchange)
    texts = {key: text if isinstance(text, str) else _object_text(text) for key, text in found.items()}
    return _object_text(texts)


def _object_text(members: Mapping[str, str]) -> str:
    return "{" + ",".join(f"{json.dumps(key)}:{text}" for key, text in members.items()) + "}"


def _short(exchange: Exchange | None) -> str:
    """The params that tell one request from another, in a few words."""
    params = exchange.params if exchange is not None and isinstance(exchange.params, dict) else {}
    shown = params.get(
        "arguments", {key: each for key, each in params.items() if key not in ("_meta", "name", "uri")}
    )
    try:
        text = compact_value(shown) if shown not in ({}, None) else ""
    except RecursionError:
        return "…"
    return text[:160]
