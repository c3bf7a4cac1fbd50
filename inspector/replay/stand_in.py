"""A recorded trace in its server's place: what a client asks in, the recorded bytes out. No I/O; any thread.

A recorded answer keeps every byte but its id. What was never recorded is answered with an error that says so:
nothing is made up, except the answer to `ping`, which asks whether this process lives.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any, Final

from inspector.errors import UsageError
from inspector.protocol import eras, frames
from inspector.protocol.frames import Frame
from inspector.replay.compare import OPENERS, Ignore, fits, question
from inspector.replay.exchanges import LISTEN, REDACTED, Exchange, Recorded, Recording
from inspector.replay.splice import spliced
from inspector.wire.link import dumps

UNKNOWN_METHOD: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL: Final = -32603
PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
MODERN_STATUS: Final = {UNKNOWN_METHOD: 404, **dict.fromkeys(eras.MODERN_CODES, 400)}
"""How streamable HTTP of 2026-07-28 says these errors."""
SHOWN_CHARS: Final = 300
LIKENED: Final = 200


@dataclass(slots=True)
class Step:
    """One frame to send, `after_us` the request came when the original timing is wanted."""

    raw: bytes
    after_us: int = 0


@dataclass(slots=True)
class Play:
    """What answers one request. status: for HTTP. hold: keep the stream open, for no answer was recorded."""

    steps: list[Step] = field(default_factory=list)
    status: int = 200
    hold: bool = False


class StandIn:
    """Plays a recording. Several answers to one question come in their order; the last one repeats."""

    def __init__(self, recording: Recording, *, ignore: Ignore, c: int | None = None) -> None:
        self.recording = recording
        self.ignore = ignore
        self.exchanges = [one for one in recording.exchanges if one.c == _connection(recording, c)]
        self.eras = _eras(recording, self.exchanges)
        self._lock = threading.Lock()
        self._played: dict[str, int] = {}
        self._answers: dict[str, list[Exchange]] = defaultdict(list)
        for one in self.exchanges:
            with suppress(RecursionError):  # no client will ask that
                self._answers[question(one.method, one.params, ignore)].append(one)

    @property
    def methods(self) -> list[str]:
        """What was asked in the trace, in order of first appearance."""
        return list(dict.fromkeys(one.method for one in self.exchanges))

    def play(self, raw: bytes) -> Play | None:
        """What to send back for a frame of the client; None when it wants no answer."""
        frame = frames.classify(raw)
        if frame.kind == frames.REQUEST:
            try:
                return self._play_request(frame)
            except RecursionError:
                return _refusal(frame.id, INVALID_PARAMS, "The params are nested too deeply to be compared")
        if frame.kind == frames.NOISE:
            return _refusal(None, PARSE_ERROR, f"This is no JSON-RPC: {frame.why}", status=400)
        if frame.kind == frames.UNPARSED:
            return _refusal(None, INVALID_REQUEST, f"This is no valid JSON-RPC: {frame.why}", status=400)
        return None

    def _play_request(self, frame: Frame) -> Play:
        assert frame.method is not None
        params = frame.value.get("params")
        found = self._find(frame.method, params)
        foreign = self._other_era(frame)
        if foreign is not None and (found is None or frame.method not in OPENERS):
            return foreign
        if found is not None:
            return self._as_recorded(found, frame)
        if frame.method == "ping":
            return Play([Step(_frame(frame.id, "result", {}))])
        return self._never_recorded(frame, params)

    def _find(self, method: str, params: Any) -> Exchange | None:
        key = question(method, params, self.ignore)
        with self._lock:
            if key not in self._answers:
                fitting = self._unredacted(method, params)
                if fitting is None:
                    return None
                key = fitting
            answers, n = self._answers[key], self._played.get(key, 0)
            self._played[key] = n + 1
        return answers[min(n, len(answers) - 1)]

    def _unredacted(self, method: str, params: Any) -> str | None:
        """The key of the first recorded question that was this one before its secrets were replaced."""
        asked = self.ignore.without(params, ("params",))
        for key, answers in self._answers.items():
            one = answers[0]
            alike = REDACTED in key and one.method == method
            if alike and fits(self.ignore.without(one.params, ("params",)), asked):
                return key
        return None

    def _as_recorded(self, exchange: Exchange, frame: Frame) -> Play:
        began = exchange.request.dt_us
        steps = []
        for one in exchange.between:
            raw = _addressed(one, exchange, frame)
            if raw is not None:
                steps.append(Step(raw, one.dt_us - began))
        answer = exchange.answer
        if answer is None and exchange.method == LISTEN:
            return Play(steps, hold=True)
        if answer is None or answer.cut:
            what = "without an answer" if answer is None else "with its answer cut"
            text = f"The trace holds this {exchange.method} {what} (event {exchange.request.seq})"
            return _refusal(frame.id, INTERNAL, text)
        raw = spliced(answer.raw, ("id",), dumps(frame.id))
        if exchange.method == LISTEN:
            raw = spliced(raw, ("result", "_meta", eras.META_SUBSCRIPTION_ID), dumps(frame.id))
        return Play([*steps, Step(raw, answer.dt_us - began)], answer.status or self._status(answer.value))

    def _status(self, value: Any) -> int:
        error = value.get("error") if isinstance(value, dict) else None
        code = error.get("code") if isinstance(error, dict) else None
        return MODERN_STATUS.get(code, 200) if eras.MODERN in self.eras and isinstance(code, int) else 200

    def _other_era(self, frame: Frame) -> Play | None:
        """The error for a client that speaks the era the trace was not recorded in."""
        params = frame.value.get("params")
        meta = params.get("_meta") if isinstance(params, dict) else None
        version = meta.get(eras.META_VERSION) if isinstance(meta, dict) else None
        if frame.method == "initialize" and self.eras == {eras.MODERN}:
            asked = params.get("protocolVersion") if isinstance(params, dict) else None
            supported = list(eras.MODERN_VERSIONS)
            text = f"This stand-in plays a trace of the modern era ({supported[0]}): ask without initialize"
        elif version is not None and frame.method != "server/discover" and self.eras == {eras.HANDSHAKE}:
            asked, supported = version, [self._handshake_version()]
            text = f"This stand-in plays a trace of the handshake era ({supported[0]}): begin with initialize"
        else:
            return None
        facts = {"supported": supported, "requested": asked}
        return _refusal(frame.id, eras.UNSUPPORTED_VERSION, text, facts, status=400)

    def _handshake_version(self) -> str:
        opened = (one.members.get("result") for one in self.exchanges if one.method == "initialize")
        found = (result.get("protocolVersion") for result in opened if isinstance(result, dict))
        return next((version for version in found if isinstance(version, str)), eras.LATEST_HANDSHAKE)

    def _never_recorded(self, frame: Frame, params: Any) -> Play:
        method = str(frame.method)
        alike = [one for one in self.exchanges if one.method == method]
        facts: dict[str, Any] = {"method": method, "recorded_methods": self.methods}
        if not alike:
            text = f"{method} was never asked in the trace this stand-in plays; it holds {', '.join(self.methods)}"
            error = {"code": UNKNOWN_METHOD, "message": text, "data": facts}
            return Play([Step(_frame(frame.id, "error", error))], self._status({"error": error}))
        nearest = self._nearest(alike, method, params)
        facts["nearest"] = {"seq": nearest.request.seq, "params": nearest.params}
        shown = dumps(self.ignore.without(nearest.params, ("params",)))
        shown = shown if len(shown) <= SHOWN_CHARS else f"{shown[:SHOWN_CHARS]}…"
        text = (
            f"{method} was never asked with these params in the trace this stand-in plays; nearest: {shown}"
        )
        return _refusal(frame.id, INVALID_PARAMS, text, facts)

    def _nearest(self, alike: list[Exchange], method: str, params: Any) -> Exchange:
        asked = question(method, params, self.ignore)
        name = params.get("name", params.get("uri")) if isinstance(params, dict) else None
        same = [one for one in alike if name is not None and one.name == name] or alike

        def likeness(one: Exchange) -> float:
            recorded = question(one.method, one.params, self.ignore)
            return SequenceMatcher(None, asked[:2000], recorded[:2000], autojunk=False).quick_ratio()

        return max(same[:LIKENED], key=likeness)


def _addressed(one: Recorded, exchange: Exchange, frame: Frame) -> bytes | None:
    """A recorded notification as the asker knows it: its token, its subscription; None when it asked for none."""
    params = one.value.get("params") if isinstance(one.value, dict) else None
    params = params if isinstance(params, dict) else {}
    if "progressToken" in params:
        asked = frame.value.get("params")
        meta = asked.get("_meta") if isinstance(asked, dict) else None
        if not isinstance(meta, dict) or "progressToken" not in meta:
            return None
        return spliced(one.raw, ("params", "progressToken"), dumps(meta["progressToken"]))
    if exchange.method == LISTEN:
        return spliced(one.raw, ("params", "_meta", eras.META_SUBSCRIPTION_ID), dumps(frame.id))
    return one.raw


def _refusal(id_: Any, code: int, text: str, facts: dict[str, Any] | None = None, status: int = 200) -> Play:
    error: dict[str, Any] = {"code": code, "message": text}
    if facts is not None:
        error["data"] = facts
    return Play([Step(_frame(id_, "error", error))], status)


def _frame(id_: Any, kind: str, body: dict[str, Any]) -> bytes:
    return dumps({"jsonrpc": "2.0", "id": id_, kind: body}).encode()


def _connection(recording: Recording, c: int | None) -> int:
    """Which connection of the trace to play; the only one when none is named."""
    numbers = sorted({one.c for one in recording.exchanges})
    if c is None and len(numbers) == 1:
        return numbers[0]
    if c in numbers:
        return c
    listed = ", ".join(
        f"{number} ({recording.connections.get(number, {}).get('label', 'unnamed')})" for number in numbers
    )
    if c is None:
        raise UsageError(f"The trace holds several connections: {listed}", "Choose one with --connection")
    raise UsageError(f"The trace holds no connection {c} with a request", f"Choose among {listed}")


def _eras(recording: Recording, exchanges: list[Exchange]) -> set[str]:
    """The eras the server spoke: an answered initialize, results to modern requests, or what the trace says."""
    found: set[str] = set()
    for one in exchanges:
        if "result" in one.members:
            if one.method == "initialize":
                found.add(eras.HANDSHAKE)
            elif one.modern:
                found.add(eras.MODERN)
    said = recording.connections.get(exchanges[0].c, {}).get("era")
    return found or ({said} if isinstance(said, str) else set())
