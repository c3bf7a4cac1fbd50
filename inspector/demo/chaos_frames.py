"""Faults of the JSON-RPC envelope and of timing, the same on every transport; run on the server's thread."""

from __future__ import annotations

from inspector.demo.chaos_faults import Ask, Out, dumps, fault


@fault("both", "D2", "An answer to an id nobody used, flagged; the call ends by Loupe's own time-out.")
def wrong_id(ask: Ask, out: Out) -> None:
    """Answers under another id, never under the right one."""
    out.frame(ask.answer(id=ask.id + 100_000 if isinstance(ask.id, int) else f"not-{ask.id}"))


@fault("both", "D2, SDK 1", "The result, and that the id came back as another JSON type.")
def id_as_string(ask: Ask, out: Out) -> None:
    """Answers with the id as a JSON string."""
    out.frame(ask.answer(id=str(ask.id)))


@fault("both", "D2, SDK 1", "An unparsed frame with its reason at once, not a hang until the time-out.")
def id_as_float(ask: Ask, out: Out) -> None:
    """Answers with the id as a float, `3.0` for `3`."""
    out.frame(ask.answer(id=float(ask.id) if isinstance(ask.id, int) else 0.5))


@fault("both", "D2", "Both answers; the first one ends the call, the second is flagged as a duplicate.")
def duplicate_answer(ask: Ask, out: Out) -> None:
    """Answers twice under the same id, the second time with `_meta.again`."""
    out.frame(ask.answer())
    out.frame(ask.result(_meta={"again": True}))


@fault("both", "D2", "The stray answer flagged, the call itself fine.")
def unknown_id(ask: Ask, out: Out) -> None:
    """Sends an answer to an id nobody used, then the right one."""
    out.frame(ask.answer(id="nobody-asked"))
    out.frame(ask.answer())


@fault(
    "both", "D2", "The error, marked as answering something the server could not read; the call still open."
)
def null_id_error(ask: Ask, out: Out) -> None:
    """Answers with an error whose id is null."""
    out.frame(dumps({"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "Invalid Request"}}))


@fault("both", "D2", "An unparsed frame: the answer has no id.")
def missing_id(ask: Ask, out: Out) -> None:
    """Answers with a result and no id at all."""
    out.frame(dumps({"jsonrpc": "2.0", "result": ask.right}))


@fault("both", "D2, SDK 1", "An unparsed frame: both result and error.")
def result_and_error(ask: Ask, out: Out) -> None:
    """Answers with both a result and an error."""
    out.frame(ask.answer(error={"code": -32603, "message": "and yet it failed"}))


@fault("both", "D2", "An unparsed frame: neither result nor error.")
def neither(ask: Ask, out: Out) -> None:
    """Answers with neither a result nor an error."""
    out.frame(dumps({"jsonrpc": "2.0", "id": ask.id}))


@fault("both", "D2, SDK 1", "An unparsed frame: the result is no object; the call ends at once.")
def result_is_list(ask: Ask, out: Out) -> None:
    """Answers with an array where the result object belongs."""
    out.frame(ask.answer(result=[ask.right]))


@fault("both", "D2", "An unparsed frame: the result is no object.")
def result_is_null(ask: Ask, out: Out) -> None:
    """Answers with a null result."""
    out.frame(ask.answer(result=None))


@fault("both", "D2, SDK 1", 'An unparsed frame: jsonrpc is missing or not "2.0".')
def no_jsonrpc(ask: Ask, out: Out) -> None:
    """Answers without the `jsonrpc` member."""
    out.frame(dumps({"id": ask.id, "result": ask.right}))


@fault("both", "D2", 'An unparsed frame: jsonrpc is missing or not "2.0".')
def jsonrpc_one(ask: Ask, out: Out) -> None:
    """Answers with `"jsonrpc":"1.0"`."""
    out.frame(ask.answer(jsonrpc="1.0"))


@fault("both", "D2, SDK 1", "An unparsed frame: a batch.")
def batch_answer(ask: Ask, out: Out) -> None:
    """Answers with a JSON-RPC batch of one."""
    out.frame(b"[" + ask.answer() + b"]")


@fault("both", "D2", "An unparsed frame: error is not an object.")
def error_is_string(ask: Ask, out: Out) -> None:
    """Answers with a string where the error object belongs."""
    out.frame(dumps({"jsonrpc": "2.0", "id": ask.id, "error": "it failed"}))


@fault("both", "D2", "An unparsed frame: error.code is not an integer.")
def error_code_string(ask: Ask, out: Out) -> None:
    """Answers with an error whose code is a string."""
    out.frame(ask.error("EFAILED", "it failed"))


@fault(
    "both",
    "B2, SDK 1",
    "The code, its meaning in the table, and that the server sent it.",
    takes=("code", 4242),
)
def custom_error_code(ask: Ask, out: Out) -> None:
    """Answers with an error of the code asked for, and `data`."""
    out.frame(ask.error(ask.arg, "Chaos was asked for this error", data={"asked": ask.arg}))


@fault("both", "A9, B2, SDK 1", "Origin peer: the server sent it; not our time-out, not our lost connection.")
def sdk_code(ask: Ask, out: Out) -> None:
    """Answers with -32001 "Request timed out", which client libraries make up themselves."""
    out.frame(ask.error(-32001, "Request timed out"))


@fault("both", "SDK 2", "The exact bytes, both members; never a re-serialised copy.")
def duplicate_keys(ask: Ask, out: Out) -> None:
    """Answers with an object that has the member `content` twice, and odd spacing."""
    text = b'{"type":"text","text":"%b"}'
    content = b'"content" :  [%b],"content":[%b]' % (text % b"first", text % b"second")
    kind = b'"resultType":"complete",' if ask.modern else b""
    out.frame(b'{"jsonrpc":"2.0","id":%b,"result":{%b%b}}' % (dumps(ask.id), kind, content))


@fault("both", "D2", "The request, flagged: no server may send one in the modern era.")
def server_request(ask: Ask, out: Out) -> None:
    """Sends a `ping` request of its own before the answer."""
    out.frame(dumps({"jsonrpc": "2.0", "id": "chaos-1", "method": "ping"}))
    out.frame(ask.answer())


@fault("both", "SDK 1, SDK 6", "The notification in the timeline, though no library knows its name.")
def unknown_notification(ask: Ask, out: Out) -> None:
    """Sends a notification of no known method before the answer."""
    out.frame(dumps({"jsonrpc": "2.0", "method": "notifications/chaos", "params": {"n": 1}}))
    out.frame(ask.answer())


@fault(
    "both",
    "E5",
    "The catalog stale and listed again, even inside its ttlMs; in the modern era: not asked for.",
)
def list_changed(ask: Ask, out: Out) -> None:
    """Sends `notifications/tools/list_changed` before the answer."""
    out.frame(dumps({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}))
    out.frame(ask.answer())


@fault("both", "G4", "All of them, batched; the page stays usable.", takes=("count", 1000))
def notification_flood(ask: Ask, out: Out) -> None:
    """Sends `count` log notifications before the answer."""
    for n in range(ask.arg):
        params = {"level": "info", "data": f"line {n}"}
        out.frame(dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": params}))
    out.frame(ask.answer())


def _progress(token: object, done: float) -> bytes:
    params = {"progressToken": token, "progress": done, "total": 3}
    return dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})


@fault("both", "B3", "Progress, because Loupe sends a token.")
def progress_with_token(ask: Ask, out: Out) -> None:
    """Sends progress 1, 2, 3 before the answer, if the request carries a progress token."""
    token = (ask.params.get("_meta") or {}).get("progressToken")
    for done in (1, 2, 3) if token is not None else ():
        out.frame(_progress(token, done))
    out.frame(ask.answer())


@fault("both", "B3", "The steps as sent, flagged: progress must rise, and belong to a token in use.")
def progress_backwards(ask: Ask, out: Out) -> None:
    """Sends progress 2, then 1, then one for a token nobody gave, then the answer."""
    token = (ask.params.get("_meta") or {}).get("progressToken", "absent")
    for given, done in ((token, 2), (token, 1), ("nobody-gave", 3)):
        out.frame(_progress(given, done))
    out.frame(ask.answer())


@fault("both", "B2, B5, SDK 1", "Loupe's own time-out, named as ours; after a cancel: cancelled, no answer.")
def never_answer(ask: Ask, out: Out) -> None:
    """Never answers; over HTTP the exchange stays open until the client leaves."""


@fault(
    "both", "B1, B2", "The wait of each request; a late answer joined to its request.", takes=("seconds", 1.0)
)
def late_answer(ask: Ask, out: Out) -> None:
    """Answers after `seconds`; other requests are answered meanwhile."""
    out.later(ask.arg, ask.answer())


@fault("both", "B1, B5", "Cancelled, then the late answer joined to its request and flagged.")
def late_answer_after_cancel(ask: Ask, out: Out) -> None:
    """Answers only once the request has been cancelled, which the specification forbids."""
    out.when_cancelled(ask, ask.answer())
