"""Scenarios about what crosses during a call: cancelling, late answers, floods, and requests of the server's own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from inspector.demo.chaos_faults import DISCOVER, Ask, dumps
from inspector.demo.stdio_suite.checks import CANCELLED, STDIO
from inspector.demo.stdio_suite.log import Seen, params_of
from inspector.demo.stdio_suite.scenario import FIELD, MUST, SHOULD, Check, Scenario, is_call

if TYPE_CHECKING:
    from inspector.demo.stdio_suite.server import SuiteServer

CANCELLING: Final = "basic/patterns/cancellation"
FLOOD: Final = 1_048_576
LONG: Final = 400_000
UNKNOWN: Final = -32601


class Unanswered(Scenario):
    """Never answers the first call. cancels: the level of the notification that is asked for."""

    group = "cancelling"
    source = CANCELLING
    cancels = MUST

    def request(self, server: SuiteServer, method: str, id_: Any, params: dict[str, Any]) -> None:
        if is_call(method, params, "first"):
            server.kept = (method, id_, params)
        else:
            server.answer(method, id_, params)

    def judge(self, seen: Seen) -> Iterable[Check]:
        given = [
            params_of(note).get("requestId") for life in seen.lives for note in life.notifications(CANCELLED)
        ]
        wanted = [ask["id"] for ask in seen.calls("first")]
        ok = bool(wanted) and json.dumps(given[-1:]) == json.dumps(wanted[-1:])
        asks = "sends notifications/cancelled with the id of the call, in its JSON type"
        found = f"the call was {wanted}, cancelled was {given}"
        yield self.check("cancelled", self.cancels, ok, asks, found)


class Cancelled(Unanswered):
    """Never answers the first call, which the client is told to cancel after 0.3 s."""

    name = "cancel"
    asks = "Cancels it by notification, and goes on in the same process."
    level = MUST
    cancel: Mapping[str, int] = MappingProxyType({"first": 300})


class LateAnswer(Cancelled):
    """Answers the first call only after it was cancelled."""

    name = "late-answer"
    asks = "Ignores the answer that crossed the cancellation, and goes on in the same process."

    def notified(self, server: SuiteServer, method: str, params: dict[str, Any]) -> None:
        if method == CANCELLED and server.kept:
            server.answer(*server.kept)


class CallTimeout(Unanswered):
    """Never answers the first call; the client's own time-out has to end it."""

    name = "call-timeout"
    asks = "Gives up the call after its own time-out, cancels it, and goes on in the same process."
    source = f"2025-11-25 basic/lifecycle (timeouts); {CANCELLING}"
    level = cancels = SHOULD
    timeouts: Mapping[str, int] = MappingProxyType({"call": 500})


class Flood(Scenario):
    group = "flood"


class StderrFlood(Flood):
    """Writes 1 MiB of lines that begin with ERROR to stderr before it answers a list or a call."""

    name = "stderr-flood"
    asks = "Drains stderr, and takes nothing on it for a failure."
    source = STDIO
    level = SHOULD

    def request(self, server: SuiteServer, method: str, id_: Any, params: dict[str, Any]) -> None:
        if method.startswith("tools/"):
            server.raw(b"ERROR this is only a log line\n" * (FLOOD // 30), fd=2)
        server.answer(method, id_, params)


class StderrBytes(Flood):
    """Writes 256 KiB without a line feed to stderr, and bytes that are no UTF-8."""

    name = "stderr-bytes"
    asks = "Survives bytes on stderr, whatever they are."
    source = STDIO

    def start(self, server: SuiteServer) -> None:
        server.raw(b"\xff\x00\x1b[31m" + b"e" * (FLOOD // 4), fd=2)

    def request(self, server: SuiteServer, method: str, id_: Any, params: dict[str, Any]) -> None:
        server.raw(b"\xf0\x9f\n", fd=2)
        server.answer(method, id_, params)


class FullPipes(Flood):
    """Writes 1 MiB of notifications and reads nothing meanwhile, while the client writes a call of 400 kB."""

    name = "full-pipes"
    asks = "Reads while it writes: otherwise both sides wait for ever."
    source = STDIO

    def token(self, name: str) -> str:
        return super().token(name) + ("x" * LONG if name == "second" else "")

    def request(self, server: SuiteServer, method: str, id_: Any, params: dict[str, Any]) -> None:
        server.answer(method, id_, params)
        if is_call(method, params, "first"):
            note = {"level": "info", "data": "n" * 1000}
            frame = dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": note}) + b"\n"
            server.raw(frame * (FLOOD // len(frame)))


class ServerAsks(Scenario):
    """Sends requests of its own, and answers the call once they are answered."""

    group = "server requests"
    eras = ("handshake",)
    source = "2025-11-25 basic/utilities/ping; JSON-RPC 2.0"
    level = MUST
    timeouts: Mapping[str, int] = MappingProxyType({"call": 5000})

    def asked(self, id_: Any) -> list[tuple[Any, str]]:
        """Ids and methods of the server's requests; id_: of the client's call."""
        raise NotImplementedError

    def request(self, server: SuiteServer, method: str, id_: Any, params: dict[str, Any]) -> None:
        if not is_call(method, params, "first"):
            return server.answer(method, id_, params)
        server.kept = [(method, id_, params), len(self.asked(id_))]
        for own, what in self.asked(id_):
            server.frame(dumps({"jsonrpc": "2.0", "id": own, "method": what}))
        return None

    def replied(self, server: SuiteServer, frame: dict[str, Any]) -> None:
        if server.kept:
            server.kept[1] -= 1
            if server.kept[1] == 0:
                server.answer(*server.kept[0])

    def judge(self, seen: Seen) -> Iterable[Check]:
        call = next(iter(seen.calls("first")), None)
        given = {json.dumps(one.get("id")): one for life in seen.lives for one in life.answers()}
        for own, method in self.asked(call["id"] if call else None):
            one = given.get(json.dumps(own))
            if method == "ping":
                ok, asks = one is not None and one.get("result") == {}, "answers a ping with an empty result"
            elif method == "roots/list":
                ok, asks = one is not None, "answers roots/list, with its roots or an error"
            else:
                code = (one or {}).get("error")
                ok = isinstance(code, dict) and code.get("code") == UNKNOWN
                asks = "answers a request of a method it does not know with -32601"
            found = "no answer" if one is None else json.dumps(one)[:120]
            yield self.check(f"answers-{method.replace('/', '-')}", MUST, ok, asks, found)


class ServerRequests(ServerAsks):
    """Handshake era: asks `ping`, `roots/list` and `nobody/knows`, and then answers the call."""

    name = "server-requests"
    asks = "Answers each, and gets its own answer."

    def asked(self, id_: Any) -> list[tuple[Any, str]]:
        return [("s-1", "ping"), (0, "roots/list"), ("s-3", "nobody/knows")]


class SameId(ServerAsks):
    """Handshake era: asks `ping` under the very id of the call it has not answered yet."""

    name = "same-id"
    asks = "Keeps the two apart: the ids of either side are its own."

    def asked(self, id_: Any) -> list[tuple[Any, str]]:
        return [(id_, "ping")]


class ModernRequest(Scenario):
    """Modern era: sends a `ping` request before it answers the call, which no server may."""

    name = "modern-request"
    group = "server requests"
    asks = "Writes no answer: a modern client sends requests and notifications only."
    source = STDIO
    eras = ("modern",)
    level = FIELD

    def request(self, server: SuiteServer, method: str, id_: Any, params: dict[str, Any]) -> None:
        if is_call(method, params, "first"):
            server.frame(dumps({"jsonrpc": "2.0", "id": "s-1", "method": "ping"}))
        server.answer(method, id_, params)

    def judge(self, seen: Seen) -> Iterable[Check]:
        given = [one for life in seen.lives for one in life.answers()]
        modern = any(life.requests(DISCOVER) or life.requests("tools/list") for life in seen.lives)
        found = (
            json.dumps(given[0])[:120] if given else "none" if modern else "the modern era was never spoken"
        )
        yield self.check("no-answers", MUST, modern and not given, "writes no JSON-RPC answer", found)


class ErrorAnswer(Scenario):
    """Answers the first call with error -32001, "Request timed out", and the second with a result."""

    name = "error-answer"
    group = "cancelling"
    asks = "Takes it for the answer it is: no cancelling, no new process, on to the next call."
    source = "JSON-RPC 2.0 §5.1; ours"

    def request(self, server: SuiteServer, method: str, id_: Any, params: dict[str, Any]) -> None:
        if is_call(method, params, "first"):
            server.frame(Ask(method, id_).error(-32001, "Request timed out"))
        else:
            server.answer(method, id_, params)

    def judge(self, seen: Seen) -> Iterable[Check]:
        sent = [note for life in seen.lives for note in life.notifications(CANCELLED)]
        yield self.check("no-cancel", SHOULD, not sent, "cancels no request that was answered",
                         "notifications/cancelled came" if sent else "none")  # fmt: skip


SCENARIOS = (
    Cancelled(), LateAnswer(), CallTimeout(), ErrorAnswer(), StderrFlood(), StderrBytes(), FullPipes(), ServerRequests(),
    SameId(), ModernRequest(),
)  # fmt: skip
