"""What a trace file holds as questions and answers: each request of a client with all that came back. Any thread."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from inspector.catalog import jsontext
from inspector.errors import FileError
from inspector.protocol import eras, frames
from inspector.trace.file_reader import read_trace
from inspector.wire.events import C2S, S2C

LISTEN = "subscriptions/listen"
REDACTED = "[redacted:"


@dataclass(slots=True)
class Recorded:
    """One recorded frame. raw: as it crossed (redacted where the file says so). dt_us: since the trace began.

    status: the HTTP status it came with, None on stdio. cut: the file holds only its beginning.
    """

    seq: int
    dt_us: int
    kind: str
    raw: bytes
    size: int
    status: int | None = None
    http: int | None = None
    cut: bool = False
    value: Any = None


@dataclass(slots=True)
class Exchange:
    """A client's request, the answer (None when none was recorded), and the notifications that came with it.

    edited: its params are no longer those recorded.
    """

    c: int
    method: str
    params: Any
    request: Recorded
    answer: Recorded | None = None
    ms: float | None = None
    between: list[Recorded] = field(default_factory=list)
    edited: bool = False

    @property
    def name(self) -> str:
        """What the request is about: a tool's or prompt's name, a resource's URI, or an empty string."""
        about = self.params if isinstance(self.params, dict) else {}
        found = about.get("name", about.get("uri"))
        return found if isinstance(found, str) else ""

    @property
    def modern(self) -> bool:
        """Whether the request carries the `_meta` that the modern era demands."""
        meta = self.params.get("_meta") if isinstance(self.params, dict) else None
        return isinstance(meta, dict) and eras.META_VERSION in meta

    @property
    def members(self) -> dict[str, Any]:
        """The answer without its envelope: `{"result": …}` or `{"error": …}`; empty when there is none."""
        value = self.answer.value if self.answer is not None else None
        found = value if isinstance(value, dict) else {}
        return {name: found[name] for name in ("result", "error") if name in found}

    @property
    def progress_token(self) -> Any:
        meta = self.params.get("_meta") if isinstance(self.params, dict) else None
        return meta.get("progressToken") if isinstance(meta, dict) else None


@dataclass(slots=True)
class Recording:
    """A trace file, or a recorded session, as exchanges in the order of their requests.

    path: the file, or `session:N`. connections: the last facts of each number.
    """

    path: Path
    header: dict[str, Any]
    exchanges: list[Exchange]
    connections: dict[int, dict[str, Any]]
    incomplete: bool = False
    problem: str | None = None

    @property
    def label(self) -> str:
        """What the recorded server was called, or the file's name."""
        named = (facts.get("label") for facts in self.connections.values())
        return next((name for name in named if isinstance(name, str) and name), self.path.name)


def read_recording(path: Path) -> Recording:
    """Read the file whole. Raises FileError when it is no trace, is damaged, or holds no request of a client."""
    gathering = Gathering()
    with read_trace(path) as trace:
        for fields in trace:
            gathering.take(fields)
        found = Recording(
            path, trace.header, gathering.exchanges, gathering.connections, trace.incomplete, trace.problem
        )
    if not found.exchanges:
        raise FileError(
            f"{path} holds no request of a client.", "Choose a trace in which something was asked."
        )
    return found


class Gathering:
    """Takes the events in order and puts them together."""

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []
        self.connections: dict[int, dict[str, Any]] = {}
        self._open: dict[int, Exchange] = {}
        self._status: dict[int, int] = {}

    def take(self, fields: dict[str, Any]) -> None:
        kind = fields.get("t")
        if kind == "connection" and isinstance(fields.get("c"), int):
            self.connections.setdefault(fields["c"], {}).update(fields)
        elif kind == "http" and fields.get("phase") == "response":
            pair, status = fields.get("pair"), fields.get("status")
            if isinstance(pair, int) and isinstance(status, int):
                self._status[pair] = status
        elif kind == "rpc":
            self._rpc(fields)

    def _rpc(self, fields: dict[str, Any]) -> None:
        frame, way = self._frame(fields), fields.get("dir")
        if frame.kind == frames.REQUEST and way == C2S:
            self._asked(fields, frame)
        elif way == S2C and frame.kind in (frames.RESULT, frames.ERROR):
            exchange = self._open.pop(fields.get("pair", 0), None)
            if exchange is not None:
                exchange.answer, exchange.ms = frame, fields.get("ms")
        elif way == S2C and frame.kind == frames.NOTIFICATION:
            exchange = self._owner(fields.get("c", 0), frame)
            if exchange is not None:
                exchange.between.append(frame)

    def _asked(self, fields: dict[str, Any], frame: Recorded) -> None:
        value = frame.value if isinstance(frame.value, dict) else {}
        method = fields.get("method") or value.get("method")
        if isinstance(method, str):
            exchange = Exchange(fields.get("c", 0), method, value.get("params"), frame)
            self.exchanges.append(exchange)
            self._open[frame.seq] = exchange

    def _owner(self, c: int, frame: Recorded) -> Exchange | None:
        """The open request a notification belongs to: by its token or subscription, its HTTP answer, or the latest."""
        waiting = [one for one in self._open.values() if one.c == c]
        params = frame.value.get("params") if isinstance(frame.value, dict) else None
        params = params if isinstance(params, dict) else {}
        if "progressToken" in params:
            token = params["progressToken"]
            return next((one for one in waiting if one.progress_token == token), None)
        meta = params.get("_meta")
        if isinstance(meta, dict) and eras.META_SUBSCRIPTION_ID in meta:
            return next((one for one in waiting if _has_id(one, meta[eras.META_SUBSCRIPTION_ID])), None)
        if frame.http is not None:
            return next((one for one in waiting if one.request.http == frame.http), None)
        return next((one for one in reversed(waiting) if one.method != LISTEN), None)

    def _frame(self, fields: dict[str, Any]) -> Recorded:
        raw = _raw(fields)
        http = fields.get("http")
        value, _why = frames.parse(raw)
        return Recorded(
            fields["seq"], fields.get("dt", 0), str(fields.get("kind")), raw, fields.get("bytes", len(raw)),
            self._status.get(http) if isinstance(http, int) else None, http, fields.get("cut") is True, value,
        )  # fmt: skip


def _has_id(exchange: Exchange, id_: Any) -> bool:
    """Whether the request bears this id; of one whose beginning alone is held nobody knows."""
    value = exchange.request.value
    return isinstance(value, dict) and value.get("id") == id_


def _raw(fields: dict[str, Any]) -> bytes:
    text = fields.get("raw")
    if isinstance(text, bytes):
        return text
    if not isinstance(text, str):
        return b""
    if fields.get("enc") == "base64":
        try:
            return base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            return b""
    return jsontext.utf8(text)


def with_params(exchange: Exchange, params: str) -> Exchange:
    """The same request with other params: JSON text of an object, whose every lexeme is kept."""
    method = jsontext.compact_value(exchange.method)
    raw = jsontext.utf8(f'{{"jsonrpc":"2.0","id":0,"method":{method},"params":{params}}}')
    value, _why = frames.parse(raw)
    asked = replace(exchange.request, raw=raw, size=len(raw), cut=False, value=value)
    return replace(exchange, request=asked, params=value.get("params"), edited=True)


def chosen(exchanges: Iterable[Exchange], only: Iterable[int]) -> list[Exchange]:
    """Those whose request or answer has one of these seqs; raises FileError naming a seq that is neither."""
    by_seq: dict[int, Exchange] = {}
    for one in exchanges:
        by_seq[one.request.seq] = one
        if one.answer is not None:
            by_seq[one.answer.seq] = one
    picked: dict[int, Exchange] = {}
    for seq in only:
        if seq not in by_seq:
            raise FileError(
                f"Event {seq} of the trace is no request of a client and no answer to one.",
                "`mcp-loupe trace show FILE` lists them.",
            )
        picked[by_seq[seq].request.seq] = by_seq[seq]
    return list(picked.values())
