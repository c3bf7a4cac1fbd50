"""Where one connection's transport records what crosses; lives on the loop thread.

Every transport of a connection goes through one `Link`: it classifies bytes, emits the event, counts. The rule
of the room: a frame is recorded before it is written, and recorded before it is parsed any further.
"""

from __future__ import annotations

import base64
import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from inspector.protocol import frames
from inspector.protocol.frames import Frame
from inspector.settings.hiding import Hider
from inspector.wire.events import C2S, LOCAL, S2C, Event, Journal, id_text

STDERR_KEPT = 200
NOISE_KEPT = 5
OPENING = ("probe", "handshake")
"""Causes of the first requests, whose round trips hold the start of the process and say nothing of the server."""
LINE_CAP = 64 * 1024 * 1024
"""Bytes of one line or body we hold; more is recorded as cut and skipped (field report A6)."""


@dataclass(slots=True)
class Stats:
    """What a connection has seen so far: counts and byte sums. `rtts` are the last 500 in milliseconds."""

    frames_in: int = 0
    frames_out: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    noise: int = 0
    blank_lines: int = 0
    stderr_lines: int = 0
    refused: int = 0
    unanswered: int = 0
    unknown: int = 0
    duplicate: int = 0
    late: int = 0
    rtts: deque[float] = field(default_factory=lambda: deque(maxlen=500))


@dataclass(slots=True)
class Outgoing:
    """A frame we are about to send: its exact text and what it is."""

    raw: bytes
    kind: str
    id: Any = None
    method: str | None = None
    params: Mapping[str, Any] | None = None
    cause: str | None = None
    op: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    """Extra HTTP headers (`Mcp-Param-*`, what a person typed); stdio ignores them."""


class RawJson(str):
    """JSON text to be spliced into a frame unchanged, so that the lexemes a person typed survive."""

    __slots__ = ()


def encode_params(params: Mapping[str, Any]) -> str:
    """Compact JSON of an object whose values, and members of objects in it, may be `RawJson`."""
    parts = (f"{dumps(key)}:{_spelled(value)}" for key, value in params.items())
    return "{" + ",".join(parts) + "}"


def _spelled(value: Any) -> str:
    if isinstance(value, RawJson):
        return value
    exact = isinstance(value, Mapping) and any(isinstance(each, RawJson) for each in value.values())
    return encode_params(value) if exact else dumps(value)


def dumps(value: Any) -> str:
    """Compact JSON; a lone surrogate stays an escape, for it has no UTF-8 form."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text if text.isprintable() or _encodable(text) else json.dumps(value, separators=(",", ":"))


def shown(number: float) -> str:
    """A number of the peer's in a sentence: short, and never our own failure (10**400 has no float)."""
    try:
        return f"{number:g}"
    except OverflowError:
        return "a number beyond any float"


def request_text(id_: int | str, method: str, params: Mapping[str, Any] | None) -> bytes:
    """The exact bytes of a request of ours: fixed key order, compact, UTF-8."""
    tail = f',"params":{encode_params(params)}' if params else ""
    return f'{{"jsonrpc":"2.0","id":{dumps(id_)},"method":{dumps(method)}{tail}}}'.encode()


def notification_text(method: str, params: Mapping[str, Any] | None) -> bytes:
    """The exact bytes of a notification of ours."""
    tail = f',"params":{encode_params(params)}' if params else ""
    return f'{{"jsonrpc":"2.0","method":{dumps(method)}{tail}}}'.encode()


def cancellation(out: Outgoing, reason: str) -> Outgoing:
    """The notification that takes `out` back, for the same cause (basic/patterns/cancellation)."""
    method, params = "notifications/cancelled", {"requestId": out.id, "reason": reason}
    return Outgoing(notification_text(method, params), frames.NOTIFICATION, None, method, params, out.cause)


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def readable(raw: bytes) -> dict[str, str]:
    """The trace format's `{"data", "enc"}` of arbitrary bytes: utf8 when they are, else base64."""
    try:
        return {"data": raw.decode("utf-8"), "enc": "utf8"}
    except UnicodeDecodeError:
        return {"data": base64.b64encode(raw).decode(), "enc": "base64"}


class Link:
    """The journal as one connection sees it."""

    def __init__(self, journal: Journal, c: int) -> None:
        self.journal = journal
        self.c = c
        self.stats = Stats()
        self.stderr: deque[str] = deque(maxlen=STDERR_KEPT)
        self.noise_heads: deque[str] = deque(maxlen=NOISE_KEPT)
        self.hider = Hider({})
        """What the environment put into our requests is recorded as the placeholder it came from."""

    def emit(self, t: str, dir: str = LOCAL, *, raw: bytes | None = None, **body: Any) -> int:
        """Record a non-rpc event; `cause` and `op` among the fields go to their own columns."""
        event = Event(t, self.c, dir, raw=raw, cause=body.pop("cause", None), op=body.pop("op", None))
        event.pair = body.pop("pair", None)
        event.body = {key: value for key, value in body.items() if value is not None}
        if dir != S2C:
            event.body = self.hider.tree(event.body)
        return self.journal.emit(event)

    def sent(self, out: Outgoing, *, http: int | None = None, eol: str = "lf") -> Event:
        """Record a frame of ours, before it is written."""
        self.stats.frames_out += 1
        self.stats.bytes_out += len(out.raw)
        event = Event("rpc", self.c, C2S, raw=out.raw, kind=out.kind, method=out.method)
        if out.kind in (frames.REQUEST, frames.RESULT, frames.ERROR) and out.id is not None:
            event.id = id_text(out.id)
        event.cause, event.op = out.cause, out.op
        event.body = {"eol": eol, "bytes": len(out.raw)}
        if http is not None:
            event.body["http"] = http
        self.journal.emit(event)
        return event

    def received(
        self,
        raw: bytes,
        *,
        eol: str = "lf",
        http: int | None = None,
        sse: dict[str, Any] | None = None,
        frame: Frame | None = None,
    ) -> tuple[Frame, Event]:
        """Record bytes of the peer (a line, a body, an SSE payload) as `rpc` or `noise`; returns both views.

        frame: what `raw` is, when that is known already.
        """
        frame = frame or frames.classify(raw)
        self.stats.bytes_in += len(raw)
        if frame.kind == frames.NOISE:
            cut_off = eol == "none" and http is None
            why = f"unterminated, {frame.why}" if cut_off else frame.why
            return frame, self.noise(raw, why, eol=eol, http=http, **({"sse": sse} if sse else {}))
        self.stats.frames_in += 1
        event = Event("rpc", self.c, S2C, raw=raw, kind=frame.kind, method=frame.method)
        if frame.has_id:
            event.id = id_text(frame.id)
        event.body = {"eol": eol, "bytes": len(raw)}
        if http is not None:
            event.body["http"] = http
        if sse:
            event.body["sse"] = sse
        if frame.why:
            event.body["why"] = frame.why
        if frame.kind == frames.RESULT and frame.value["result"].get("isError") is True:
            event.body["tool_error"] = True
        self.journal.emit(event)
        if event.ms is not None and event.cause not in OPENING:
            self.stats.rtts.append(event.ms)
        return frame, event

    def noise(self, raw: bytes, why: str, *, eol: str = "lf", http: int | None = None, **extra: Any) -> Event:
        """Record stdout bytes (or an HTTP payload) that are no frame."""
        self.stats.noise += 1
        if len(self.noise_heads) < NOISE_KEPT:
            self.noise_heads.append(raw[:200].decode("utf-8", "backslashreplace"))
        event = Event("noise", self.c, S2C, raw=raw)
        event.body = {"why": why, "eol": eol, **extra}
        if http is not None:
            event.body["http"] = http
        self.journal.emit(event)
        return event

    def stderr_line(self, raw: bytes, eol: str = "lf") -> None:
        """Record one line of stderr, or (eol `none`) a piece that no newline ended; `eol` is said when not `lf`."""
        self.stats.stderr_lines += 1
        self.stderr.append(raw.decode("utf-8", "backslashreplace"))
        self.journal.emit(Event("stderr", self.c, S2C, {} if eol == "lf" else {"eol": eol}, raw=raw))

    def anomaly(
        self,
        name: str,
        text: str,
        *,
        origin: str = "peer",
        pair: int | None = None,
        remedy: str = "",
        **facts: Any,
    ) -> int:
        """Record something that should not have happened as an `error` event of its own.

        name: the class, one of protocol.codes' slugs. origin: who made the error (peer, sdk, console).
        """
        body = {"origin": origin, "class": name, "message": text, "remedy": remedy or None, **facts}
        return self.emit("error", LOCAL, pair=pair, **body)
