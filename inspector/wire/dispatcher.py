"""Who waits for which answer: JSON-RPC correlation for one connection. Loop thread.

Our own, not a subclass of the SDK's `JSONRPCDispatcher`: that one needs a validated model for each frame,
lets a caller hang on an answer it refuses, and drops unknown and late answers without a word (measured,
docs/architecture.md "The byte layer"). Results stay the dicts that json.loads made.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio

from inspector.errors import BadReply, LoupeError, PeerError, TimedOut
from inspector.protocol import frames
from inspector.protocol.frames import Frame
from inspector.wire.events import Event, id_text
from inspector.wire.link import Link, Outgoing, RawJson, dumps, notification_text, request_text, shown
from inspector.wire.waiting import Progress, Reply, Transport, Waiter

FIRST_ID = 10
"""Ids count from here after the handshake, so byte counts agree between runs (docs/definitions.md)."""

REMEMBERED = 512
MOST_ANSWERS = 100
"""Requests of the server we answer at a time: one that asks without reading must not fill our memory."""

Answer = Callable[[str, Mapping[str, Any]], Awaitable[tuple[str, Any]]]
"""Answers a request of the server: ("result", {...}) or ("error", {...})."""


class Dispatcher:
    """Sends requests over a transport and settles each exactly once."""

    def __init__(self, link: Link, *, string_ids: bool = False) -> None:
        self.link = link
        self.string_ids = string_ids
        self.transport: Transport | None = None
        self.waiting: dict[str, Waiter] = {}
        self.on_notification: Callable[[str, Mapping[str, Any]], None] = lambda _method, _params: None
        self.on_request: Answer | None = None
        self.may_answer = True
        """False in the modern era, where a server may ask nothing and a client must answer nothing."""
        self.spawn: Callable[..., object] | None = None
        self._answering: dict[int, tuple[str, anyio.CancelScope]] = {}
        """By the seq of the question: its id, and what ends our thinking about it."""
        self._settled: OrderedDict[str, tuple[str, int | None]] = OrderedDict()
        self._ids = itertools.count(1)

    def count_from(self, first: int) -> None:
        """Restart the ids; `FIRST_ID` after the handshake."""
        self._ids = itertools.count(first)

    def next_id(self) -> int | str:
        number = next(self._ids)
        return f"c{number}" if self.string_ids else number

    async def request(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        timeout: float,
        cause: str | None = None,
        op: str | None = None,
        headers: Mapping[str, str] | None = None,
        on_progress: Progress | None = None,
        most: float | None = None,
    ) -> Reply:
        """Send one request and wait for its answer.

        `params` is sent as given (values may be `RawJson`); with `on_progress` a `_meta.progressToken` is added, and
        with `most` each step starts the time-out again, up to `most` seconds in all.
        Raises PeerError for an `error` answer, BadReply for one that breaks JSON-RPC, TimedOut after `timeout`
        seconds, and what the transport raises.
        """
        id_ = self.next_id()
        if on_progress is not None:
            params = _with_token(params, id_)
        raw = request_text(id_, method, params)
        out = Outgoing(raw, frames.REQUEST, id_, method, params, cause, op, headers or {})
        return await self._run(Waiter(out, on_progress=on_progress), timeout, most)

    async def _run(self, waiter: Waiter, timeout: float, most: float | None) -> Reply:
        key = id_text(waiter.out.id)
        self.waiting[key] = waiter
        assert self.transport is not None
        try:
            with waiter.living(timeout, most) as life:
                await self.transport.request(waiter)
            if life.cancelled_caught and not waiter.done.is_set():
                await self._give_up(waiter, key)
        except anyio.get_cancelled_exc_class():
            await self._cancelled(waiter, key)
            raise
        except LoupeError:
            self.remember(key, "failed", waiter)
            raise
        finally:
            self.waiting.pop(key, None)
        if waiter.error is not None:
            if isinstance(waiter.error, BadReply) and waiter.sent is not None:
                waiter.error.facts.setdefault("request_seq", waiter.sent.seq)
            raise waiter.error
        if waiter.reply is None:
            raise BadReply(
                "The transport ended the request without an answer", "Look at the timeline for what came"
            )
        return waiter.reply

    async def _give_up(self, waiter: Waiter, key: str) -> None:
        """We stop waiting: recorded as our own time-out, never as the server's code."""
        self.remember(key, "timed out", waiter)
        pair = waiter.sent.seq if waiter.sent else None
        assert self.transport is not None
        pending = self.transport.pending()
        waited = waiter.waited()
        text = f"No answer to {waiter.out.method} {waited}; Loupe stopped waiting{pending}"
        remedy = "Raise the call time-out of this server, or look at its stderr for what it is doing"
        self.link.anomaly("timeout", text, origin="console", pair=pair, remedy=remedy)
        await self._abandon(waiter, f"no answer {waited}")
        waiter.fail(TimedOut(text, remedy, facts={"request_seq": pair}))

    async def _cancelled(self, waiter: Waiter, key: str) -> None:
        if waiter.done.is_set():
            return
        self.remember(key, "been cancelled", waiter)
        pair = waiter.sent.seq if waiter.sent else None
        text = f"{waiter.out.method} was cancelled before it was answered"
        self.link.anomaly("cancelled", text, origin="console", pair=pair)
        await self._abandon(waiter, "cancelled by the user")

    async def _abandon(self, waiter: Waiter, reason: str) -> None:
        """Tell the server, within a second; never of `initialize`, which must not be cancelled (2025-11-25)."""
        assert self.transport is not None
        if waiter.out.method != "initialize":
            with anyio.move_on_after(1, shield=True):
                await self.transport.abandon(waiter, reason)

    async def notify(
        self, method: str, params: Mapping[str, Any] | None = None, cause: str | None = None
    ) -> None:
        """Send a notification."""
        raw = notification_text(method, params)
        assert self.transport is not None
        await self.transport.send(Outgoing(raw, frames.NOTIFICATION, None, method, params, cause))

    def received(self, frame: Frame, event: Event, waiter: Waiter | None = None) -> None:
        """Route a recorded frame of the peer. `waiter`: the request whose HTTP exchange carried it, if any."""
        if frame.kind in (frames.RESULT, frames.ERROR):
            self._settle(frame, event, waiter)
        elif frame.kind == frames.NOTIFICATION:
            self._notified(frame, event)
        elif frame.kind == frames.REQUEST:
            self._asked(frame, event)
        elif frame.kind == frames.UNPARSED:
            self._refuse(frame, event, waiter)
        elif frame.kind == frames.NOISE:
            self._unreadable(frame, event)

    def _settle(self, frame: Frame, event: Event, carried: Waiter | None) -> None:
        key = id_text(frame.id) if frame.has_id else ""
        waiter = self.waiting.get(key)
        if waiter is None or waiter.done.is_set():
            waiter = self._stray(frame, event, key, carried)
            if waiter is None:
                return
        self.remember(id_text(waiter.out.id), "answered", waiter)
        sent = waiter.sent
        if frame.kind == frames.ERROR:
            error = frame.value["error"]
            problem = PeerError(error.get("code"), error.get("message"), error.get("data"))
            problem.facts.update(seq=event.seq, request_seq=sent.seq if sent else None)
            waiter.fail(problem)
            return
        waiter.reply = Reply(
            frame.value["result"],
            event.raw or b"",
            sent.seq if sent else 0,
            event.seq,
            event.ms or 0.0,
            event.at_us,
        )
        waiter.done.set()

    def _stray(self, frame: Frame, event: Event, key: str, carried: Waiter | None) -> Waiter | None:
        """An answer nobody waits for by that id: name it, and settle the request it must have been meant for."""
        if frame.kind == frames.ERROR and (not frame.has_id or frame.id is None):
            meant = carried or (next(iter(self.waiting.values())) if len(self.waiting) == 1 else None)
            note = "taken as the answer to the only request waiting" if meant else "it settles no request"
            self.link.anomaly("id-less-error", f"An error came without an id; {note}", pair=event.seq)
            return meant if meant is not None and not meant.done.is_set() else None
        past = self._settled.get(key)
        if past is not None and past[0] == "answered":
            self.link.stats.duplicate += 1
            text = f"A second answer to id {key} came; the first one counts"
            self.link.anomaly("duplicate-answer", text, pair=event.seq)
        elif past is not None:
            self.link.stats.late += 1
            event_text = f"The answer to id {key} came late: the request had {past[0]}"
            self.link.anomaly("late-answer", event_text, pair=event.seq, request=past[1])
        else:
            return self._unknown(frame, event, key, carried)
        return None

    def _unknown(self, frame: Frame, event: Event, key: str, carried: Waiter | None) -> Waiter | None:
        self.link.stats.unknown += 1
        meant = self._same_but_for_type(frame.id) or carried
        if meant is None:
            text = f"An answer came to id {key}, which no request of ours has"
            self.link.anomaly("unknown-id", text, pair=event.seq)
            return None
        text = f"The answer carries id {key}, but the request's id is {id_text(meant.out.id)}"
        remedy = "Send the id back exactly as it was received, with its JSON type"
        self.link.anomaly("wrong-id", text, pair=event.seq, remedy=remedy)
        if frame.kind == frames.ERROR:
            return (
                meant  # the HTTP exchange, or the likeness of the id, leaves no doubt whom the error is for
            )
        meant.fail(BadReply(text, remedy, facts={"seq": event.seq}))
        return None

    def _same_but_for_type(self, id_: Any) -> Waiter | None:
        """The waiting request whose id looks like `id_` as text: 3, "3" and 3.0 alike."""
        text = str(id_).removesuffix(".0") if isinstance(id_, float) else str(id_)
        return next((w for w in self.waiting.values() if str(w.out.id) == text and not w.done.is_set()), None)

    def _refuse(self, frame: Frame, event: Event, carried: Waiter | None) -> None:
        """A frame that breaks JSON-RPC: recorded as such, and no request is left hanging by it."""
        self.link.stats.refused += 1
        remedy = "Fix the envelope; the raw bytes are in the timeline"
        text = f"The server sent a frame that is no valid JSON-RPC: {frame.why}"
        self.link.anomaly("refused-frame", text, pair=event.seq, remedy=remedy)
        ids = [frame.id] if frame.has_id else []
        if isinstance(frame.value, list):
            ids = [item["id"] for item in frame.value if isinstance(item, dict) and "id" in item]
        hit = [waiter for id_ in ids if (waiter := self._same_but_for_type(id_)) is not None]
        for waiter in hit or ([carried] if carried is not None else []):
            waiter.fail(BadReply(text, remedy, facts={"seq": event.seq}))

    def _unreadable(self, frame: Frame, event: Event) -> None:
        """Bytes that are no frame: when they carry the id of a request, it is settled rather than left to time out."""
        if str(event.body.get("why", "")).startswith("unterminated"):
            return  # the end of the process says it better
        id_ = frames.likely_id(event.raw or b"")
        waiter = self._same_but_for_type(id_) if id_ is not None else None
        if waiter is None:
            return
        self.link.stats.refused += 1
        remedy = "Send one line of valid UTF-8 JSON per message; the raw bytes are in the timeline"
        text = f"The answer to id {id_text(id_)} could not be read: {frame.why}"
        self.link.anomaly("refused-frame", text, pair=event.seq, remedy=remedy)
        waiter.fail(BadReply(text, remedy, facts={"seq": event.seq}))

    def _notified(self, frame: Frame, event: Event) -> None:
        params = frame.value.get("params")
        params = params if isinstance(params, dict) else {}
        if frame.method == "notifications/progress":
            self._progressed(params, event)
        elif frame.method == "notifications/cancelled":
            for id_, scope in list(self._answering.values()):
                if id_ == id_text(params.get("requestId")):
                    scope.cancel()
        self.on_notification(frame.method or "", params)

    def _progressed(self, params: dict[str, Any], event: Event) -> None:
        """Hand a step to whoever waits for it; it must belong to a token in use, and rise (basic/patterns/progress)."""
        token, step = params.get("progressToken"), params.get("progress")
        waiter = next((w for w in self.waiting.values() if _token(w.out.params) == token), None)
        if token is None or waiter is None:
            text = f"Progress came for the token {dumps(token)}, which no running request has"
            self.link.anomaly("progress-token", text, pair=event.seq)
            return
        if isinstance(step, int | float) and not isinstance(step, bool):
            if waiter.progress is not None and step <= waiter.progress:
                text = f"Progress went from {shown(waiter.progress)} to {shown(step)}; it must rise"
                self.link.anomaly("progress-order", text, pair=event.seq)
            waiter.progress = step
        self._alive(waiter)
        if waiter.on_progress is not None:
            waiter.on_progress(params)

    def _asked(self, frame: Frame, event: Event) -> None:
        if not self.may_answer:
            text = f"The server sent a request of its own, {frame.method}; Loupe leaves it unanswered"
            remedy = "The modern era has no such requests: answer with resultType input_required instead"
            self.link.anomaly("server-request", text, pair=event.seq, remedy=remedy)
        elif len(self._answering) >= MOST_ANSWERS:
            self.link.stats.unanswered += 1
            if self.link.stats.unanswered == 1:
                text = f"{MOST_ANSWERS} requests of the server wait for it to read our answers; further ones are dropped"
                self.link.anomaly("server-request", text, pair=event.seq, remedy="Read stdin while asking")
        elif self.spawn is not None:
            self._answering[event.seq] = (id_text(frame.id), anyio.CancelScope())
            self.spawn(self._answer, frame, event)

    async def _answer(self, frame: Frame, event: Event) -> None:
        """Answer a request of the server, unless it takes it back; our own requests wait for as long."""
        for waiter in self.waiting.values():
            waiter.hold()
        try:
            with self._answering[event.seq][1]:
                await self._answer_it(frame, event)
        finally:
            self._answering.pop(event.seq, None)
            for waiter in self.waiting.values():
                self._alive(waiter)

    def _alive(self, waiter: Waiter) -> None:
        """A sign of life; while another question of the server is thought about here, only the cap counts still."""
        if self._answering:
            waiter.hold()
        else:
            waiter.extend()

    async def _answer_it(self, frame: Frame, event: Event) -> None:
        """What nobody handles is refused with -32601, as a client must."""
        params = frame.value.get("params")
        method = frame.method or ""
        if self.on_request is None:
            kind, body = "error", {"code": -32601, "message": f"Loupe does not answer {method}"}
        else:
            kind, body = await self.on_request(method, params if isinstance(params, dict) else {})
        raw = f'{{"jsonrpc":"2.0","id":{dumps(frame.id)},"{kind}":{dumps(body)}}}'.encode()
        out = Outgoing(
            raw, frames.RESULT if kind == "result" else frames.ERROR, frame.id, method, cause="answer"
        )
        assert self.transport is not None
        try:
            await self.transport.send(out)
        except LoupeError as problem:
            self.link.anomaly("answer-not-sent", problem.message, origin="console", pair=event.seq)

    def fail_all(self, error: Callable[[], LoupeError]) -> None:
        """The connection is gone: settle everything in flight, and say of each that it was."""
        for waiter in list(self.waiting.values()):
            if waiter.done.is_set():
                continue
            problem = error()
            pair = waiter.sent.seq if waiter.sent else None
            text = f"{waiter.out.method or 'A request'} was not answered: {problem.message}"
            self.link.anomaly("connection-closed", text, origin="console", pair=pair, remedy=problem.remedy)
            waiter.fail(problem)

    def remember(self, key: str, how: str, waiter: Waiter) -> None:
        """What became of a request that is over, so that an answer that still comes is named rightly."""
        self._settled[key] = (how, waiter.sent.seq if waiter.sent else None)
        self._settled.move_to_end(key)
        while len(self._settled) > REMEMBERED:
            self._settled.popitem(last=False)


def _token(params: Mapping[str, Any] | None) -> Any:
    meta = params.get("_meta") if params is not None else None
    return meta.get("progressToken") if isinstance(meta, Mapping) else None


def _with_token(params: Mapping[str, Any], token: int | str) -> dict[str, Any]:
    meta = params.get("_meta")
    return {**params, "_meta": {**(meta if isinstance(meta, Mapping) else {}), "progressToken": token}}


__all__ = ["FIRST_ID", "Dispatcher", "Outgoing", "Progress", "RawJson", "Reply", "Transport", "Waiter"]
