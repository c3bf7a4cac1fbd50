"""What one event means: the sentences of the detail pane. Pure, any thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from inspector.catalog.validation import Verdict
from inspector.protocol import codes
from inspector.protocol.codes import ErrorEntry
from inspector.protocol.eras import Era
from inspector.trace.rows import Row as Stored
from inspector.web import rows
from inspector.web.causes import http_causes, plain_sentence, tool_error_causes
from inspector.web.endings import ending
from inspector.web.masking import masked_url
from inspector.web.origins import said_by, subject
from inspector.web.render import ms, num

Facts = list[tuple[str, str]]

_LAYER_OF: Final = {
    "timeout": "timeout", "network": "network", "stream-ended": "transport", "stdout-closed": "transport",
    "write-failed": "transport", "refused-frame": "protocol", "wrong-id": "protocol", "unknown-id": "protocol",
    "id-less-error": "protocol", "duplicate-answer": "protocol", "late-answer": "timeout", "paging": "protocol",
    "cancelled": "cancelled", "connection-closed": "transport", "too-long": "protocol", "server-request": "protocol",
    "progress-token": "protocol", "progress-order": "protocol", "unasked-encoding": "http", "http-wrong-type": "http",
}  # fmt: skip
"""Class of an error we noted -> the layer of the error table; other classes speak for themselves."""

_IDS: Final = {"session-lost": "session-ended", "session-rule": "session-ended"}
_ENTRY_IDS: Final = frozenset(entry.id for entry in codes.ENTRIES)

_NOT_RUN: Final = "No: it was refused before anything ran. Safe to send again."
_RAN: Final = {
    "parse-error": _NOT_RUN,
    "invalid-request": _NOT_RUN,
    "method-not-found": "No. Sending it again is safe, and will be refused again.",
    "invalid-params": "Most likely not: names and parameters are checked first. The server does not promise it.",
    "header-mismatch": _NOT_RUN,
    "missing-client-capability": _NOT_RUN,
    "unsupported-protocol-version": _NOT_RUN,
    "resource-not-found": "No: there was nothing to read. Safe to send again.",
    "url-elicitation-required": "Not yet: the server waits for the person.",
    "tool-error": "Yes, the tool was reached and may have done part of its work. Read its text before repeating it.",
    "internal-error": "Perhaps in part: the server failed while it worked. Repeat only what does no harm twice.",
    "timed-out": "Unknown: it may still be running. Repeat only what does no harm twice.",
    "connection-closed": "Unknown: it may have run. Repeat only what does no harm twice.",
    "cancelled": "Perhaps in part: the server may have begun before it was told to stop.",
    "auth-needed": _NOT_RUN,
    "forbidden": _NOT_RUN,
    "http-not-found": "No: nothing at this address took it.",
    "session-ended": "No: the server did not know the session. Safe to send again in a new one.",
}


@dataclass(slots=True)
class Explained:
    """The Explain tab. sev: "", `warn` or `err`. since_ms: wall clock a wait began, for a running clock.

    entry: the row of the error table it rests on. stderr: lines shown beneath.
    """

    name: str
    lead: str
    code: int | None = None
    sev: str = ""
    facts: Facts = field(default_factory=list)
    causes: Sequence[str] = ()
    remedy: str = ""
    entry: ErrorEntry | None = None
    stderr: Sequence[str] = ()
    since_ms: int | None = None
    stderr_during: bool = False
    """All of stderr came between the request and this."""


@dataclass(slots=True, frozen=True)
class Around:
    """What is known beside the event itself.

    pair: the other half. http_status: of the exchange that carried it. stderr: the last lines before it; during:
    all of them came between the request and this. open: the connection is still up, so an answer may come.
    output: the verdict on a result that breaks its tool's outputSchema. content_type: of that exchange's answer.
    """

    era: Era | None = None
    pair: Stored | None = None
    http_status: int | None = None
    stderr: Sequence[str] = ()
    open: bool = False
    during: bool = False
    output: Verdict | None = None
    content_type: str = ""


def explain(row: Stored, around: Around) -> Explained:
    """What `row` means, and what to try when something is wrong."""
    if row.t == "rpc":
        return _frame(row, around)
    if row.t == "error":
        return _noted(row, around)
    if row.t == "proc":
        return _process(row, around)
    if row.t == "http":
        return _http(row, around)
    if row.t == "noise":
        return _noise(row)
    words = rows.view(row)
    name, lead = _PLAIN.get(
        row.t, ("Unknown event", "This version of Loupe does not know events of this kind.")
    )
    return Explained(name, lead, facts=[("Says", words.rest)] if words.rest and row.raw_head is None else [])


_PLAIN: Final = {
    "stderr": (
        "A line on stderr",
        "What the server's process wrote for people. It is no part of the protocol.",
    ),
    "connection": ("Connection", "What became known of the connection at this moment."),
    "catalog": ("A list was read to its end", "Loupe measured it and kept it as a snapshot."),
    "cache": ("Host cache", "What a host's cache would do at this point by the server's hints."),
    "lab": ("A step of the discovery lab", "Simulated or real, as the lab says."),
    "note": ("A remark", "Written by a person, or by Loupe where it sent a recorded request again."),
}


# --- frames


def _frame(row: Stored, around: Around) -> Explained:
    if row.kind == "error":
        return _error_frame(row, around)
    if row.kind == "request":
        return _request(row, around)
    if row.kind == "notification":
        return _notification(row)
    if row.kind == "result":
        return _tool_error(row, around) if row.body.get("tool_error") is True else _answer(row, around)
    why = str(row.body.get("why", "it breaks JSON-RPC"))
    return _of_entry(
        codes.entry("bad-reply"), f"This frame is no valid JSON-RPC: {why}.", [("Whose", _side(row))]
    )


def _error_frame(row: Stored, around: Around) -> Explained:
    code = rows.error_code(row)
    if code is None:
        return _of_entry(
            codes.entry("bad-reply"), "An error whose code is no integer.", [("Whose", _side(row))]
        )
    ours = row.dir == "c2s"
    entry = codes.explain(code, era=around.era, origin="peer", http_status=around.http_status)
    whose = "Loupe's own answer to a request of the server." if ours else _whose(entry)
    facts = [("Whose code", whose), *_ran(entry), *_http_fact(around), ("Spec", entry.spec)]
    if entry.modern_must_not_send and around.era == "modern" and not ours:
        facts.insert(1, ("Breach", "A modern server must not send this code."))
    found = _of_entry(entry, _said(row) or entry.meaning, facts)
    if _said(row):
        found.facts.insert(0, ("Means", entry.meaning))
    found.code = code
    return found


def _said(row: Stored) -> str:
    """The peer's own text of an error frame."""
    value = rows.parsed(row)
    error = value.get("error") if isinstance(value, dict) else None
    message = error.get("message") if isinstance(error, dict) else None
    return message if isinstance(message, str) else ""


def _whose(entry: ErrorEntry) -> str:
    by = "MCP's or JSON-RPC's" if entry.span is None and entry.code is not None else "the server's own"
    return f"Sent by the server; the number is {by}. Not raised by Loupe."


def _tool_error(row: Stored, around: Around) -> Explained:
    entry = codes.entry("tool-error")
    facts = [("Whose", "The tool's, sent by the server as a result."), *_ran(entry), ("Spec", entry.spec)]
    found = _of_entry(entry, entry.meaning, facts + _took(row, around))
    found.causes, found.stderr, found.stderr_during = tool_error_causes(around.stderr), around.stderr, True
    if around.stderr:
        found.remedy = f"Read what it wrote to stderr, beneath. {entry.remedy}"
    return found


def _noise(row: Stored) -> Explained:
    where = "an HTTP body" if "http" in row.body else "stdout"
    lead = f"It came on {where}, where only JSON-RPC may come. Loupe skipped it and went on; other clients may not."
    remedy = (
        "Answer with JSON-RPC alone."
        if "http" in row.body
        else "Print to stderr instead: print(…, file=sys.stderr), console.error(…), or a logger that writes to stderr."
    )
    why = [("Why", str(row.body["why"]))] if row.body.get("why") else []
    facts = [("Whose", "The server's: its process wrote it."), *why]
    causes = (
        "a print() or console.log() in the server, or in a library it uses",
        "a banner of the program at its start",
    )
    return Explained("Not a frame", lead, None, "warn", facts, causes, remedy)


def _request(row: Stored, around: Around) -> Explained:
    whose = "Loupe" if row.dir == "c2s" else "the server"
    facts: Facts = [("Sent by", whose), ("Id", row.rpc_id or "none"), *_cause(row)]
    answer = around.pair
    if answer is None:
        if around.open:
            return Explained(
                "Waiting for an answer", f"{row.method} has not been answered yet.", None, "warn", facts,
                since_ms=row.at_us // 1000,
            )  # fmt: skip
        lead = (
            f"{row.method} was never answered: the connection ended first, or nobody waited for it any more."
        )
        return Explained("No answer", lead, None, "warn", facts, entry=codes.entry("connection-closed"))
    if answer.t == "error":
        lead = f"{row.method} got no answer; Loupe noted why: {answer.body.get('message', '')}"
        return Explained("No answer", lead, None, "err", facts, remedy=str(answer.body.get("remedy") or ""))
    took = f"after {ms(answer.ms)} ms" if answer.ms is not None else "at an unknown time"
    outcome = {"error": "an error", "result": "a result"}.get(
        answer.kind or "", "a frame that breaks the rules"
    )
    facts += [("Answer", f"{outcome}, {num(answer.bytes)} B")]
    return Explained("Request", f"{row.method} was answered {took}.", facts=facts)


def _answer(row: Stored, around: Around) -> Explained:
    lead = f"The answer to {row.method}." if row.pair else "An answer to no request of this recording."
    facts: Facts = [("Sent by", _side(row)), ("Id", row.rpc_id or "none"), *_took(row, around)]
    about = rows.view(row).rest
    facts += [("Says", about)] if about else []
    if around.output is None:
        return Explained("Answer", lead, facts=facts)
    breaches = [
        f"{each.path or 'as a whole'}: {plain_sentence(each.message)}" for each in around.output.errors[:5]
    ]
    lead = "The tool answered, but its structuredContent breaks the outputSchema it declares."
    remedy = "Mend the tool's output or its outputSchema: a client that checks it refuses this answer."
    return Explained(
        "Output invalid", lead, None, "warn", [("Breach", each) for each in breaches] + facts, (), remedy
    )


def _notification(row: Stored) -> Explained:
    lead = _NOTICES.get(row.method or "", "A message that wants no answer.")
    return Explained("Notification", lead, facts=[("Sent by", _side(row)), *_cause(row)])


_NOTICES: Final = {
    "notifications/progress": "How far a running request has come; it answers nothing.",
    "notifications/message": "A log line the server sends through the protocol.",
    "notifications/cancelled": "The sender no longer waits for the named request. It may have run all the same.",
    "notifications/initialized": "The client says that the handshake is over.",
    "notifications/tools/list_changed": "The tools changed: every copy of tools/list is stale from here on.",
    "notifications/prompts/list_changed": "The prompts changed: every copy of prompts/list is stale from here on.",
    "notifications/resources/list_changed": "The resources changed: every copy of their lists is stale from here on.",
    "notifications/resources/updated": "A resource changed: a copy of it is stale from here on.",
}


def _side(row: Stored) -> str:
    return {"c2s": "Loupe", "s2c": "the server"}.get(row.dir, "Loupe")


def _cause(row: Stored) -> Facts:
    return [("Cause", row.cause)] if row.cause else []


def _took(row: Stored, around: Around) -> Facts:
    facts = [("Took", f"{ms(row.ms)} ms")] if row.ms is not None else []
    return facts + _http_fact(around)


def _http_fact(around: Around) -> Facts:
    return [("HTTP", str(around.http_status))] if around.http_status is not None else []


def _ran(entry: ErrorEntry) -> Facts:
    return [("Ran?", _RAN.get(entry.id, "Unknown: nothing promises either."))]


def _of_entry(entry: ErrorEntry, lead: str, facts: Facts) -> Explained:
    return Explained(entry.name, lead, None, "err", facts, entry.causes, entry.remedy, entry)


# --- what we noted, processes, HTTP


def _noted(row: Stored, around: Around) -> Explained:
    body = row.body
    name = str(body.get("class", "error"))
    origin = str(body.get("origin", "console"))
    entry = entry_for(body, around.era)
    about = subject(str(body.get("layer") or _LAYER_OF.get(name, "")), body) if origin != "peer" else ""
    facts: Facts = [("Said by", said_by(origin)), *([("About", about)] if about else []), ("Class", name)]
    if entry is not None:
        facts += [*_ran(entry), ("Means", entry.meaning), ("Spec", entry.spec)]
    remedy = str(body.get("remedy") or (entry.remedy if entry is not None else ""))
    title = entry.name if entry is not None else name.replace("-", " ").capitalize()
    causes = http_causes(entry, body.get("http_status"), around.content_type) if entry is not None else ()
    stderr = around.stderr if around.during or name in ("connect-failed", "stdout-closed") else ()
    found = Explained(title, str(body.get("message", "")), None, "err", facts, causes, remedy, entry, stderr)
    found.stderr_during = around.during
    return found


def entry_for(body: Mapping[str, Any], era: Era | None) -> ErrorEntry | None:
    """The row of the error table for an `error` event; None when its class is ours alone."""
    name, origin, status = str(body.get("class")), str(body.get("origin", "console")), body.get("http_status")
    if (same := _IDS.get(name, name)) in _ENTRY_IDS:
        return codes.entry(same)
    layer = str(body.get("layer") or _LAYER_OF.get(name, ""))
    code = body.get("code") if isinstance(body.get("code"), int) else None
    if not layer and code is None and not isinstance(status, int):
        return None
    made_by = "console" if layer else origin
    if layer == "protocol":
        return codes.entry("bad-reply")
    return codes.explain(
        code, era=era, origin=made_by, http_status=status if isinstance(status, int) else None, layer=layer
    )


def _process(row: Stored, around: Around) -> Explained:
    body, what = row.body, str(row.body.get("what", ""))
    facts: Facts = [("Process", str(body.get("pid", "unknown")))]
    if body.get("cwd"):
        facts.append(("Folder", str(body["cwd"])))
    if body.get("env_names"):
        facts.append(("Variables", ", ".join(map(str, body["env_names"]))))
    if what != "exited":
        return Explained(
            *_STEPS.get(what, ("Process", "A step in the life of the server's process.")), facts=facts
        )
    asked = bool(body.get("expected"))
    facts.append(("Asked to?", "Yes: Loupe ended the connection." if asked else "No: it ended by itself."))
    name, lead = ending(body)
    return Explained(name, lead, None, "err" if row.bad else "", facts, stderr=around.stderr)


_STEPS: Final = {
    "spawned": ("Process started", "Loupe started the server's process."),
    "restarted": (
        "Process started again",
        "The first process ended at the modern probe; Loupe tried once more.",
    ),
    "stdin-closed": ("Stdin closed", "The polite way to end a server: it should leave when its input ends."),
    "term": (
        "SIGTERM sent",
        "The server did not leave when its stdin closed; Loupe asked its process group to end.",
    ),
    "kill": ("SIGKILL sent", "The server did not leave on SIGTERM either; Loupe killed its process group."),
}


def _http(row: Stored, around: Around) -> Explained:
    body, phase = row.body, row.body.get("phase")
    status = body.get("status")
    if phase == "request":
        facts: Facts = [("URL", masked_url(str(body.get("url", "")))), *_cause(row)]
        return Explained(
            "HTTP request", "Sent by Loupe; the frame inside is an event of its own.", facts=facts
        )
    if phase == "end":
        return Explained("HTTP body ended", "The last byte of the body came, or reading it was given up.")
    if not isinstance(status, int):
        return Explained("Event stream", "An event without a frame: a comment, a retry time or an endpoint.")
    if status >= 300:
        entry = codes.explain(None, era=None, origin="peer", http_status=status)
        found = _of_entry(
            entry, entry.meaning, [("HTTP", f"{status} {body.get('reason', '')}"), ("Spec", entry.spec)]
        )
        # A server need not offer GET or DELETE: only what a POST is answered with says what the URL is.
        asked = around.pair.body.get("method") if around.pair is not None else "POST"
        if asked == "POST":
            found.causes = http_causes(entry, status, rows.header(body.get("headers"), "content-type"))
        return found
    return Explained("HTTP answer", f"The server answered {status} {body.get('reason', '')}".rstrip() + ".")
