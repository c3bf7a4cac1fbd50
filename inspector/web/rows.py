"""A recorded event as a row people read: one value for the list, the pinned column and the live push. Pure.

The words come from the fields of the event and the first 4 KiB of its bytes; a larger answer is described only as
far as that head tells, unless the caller put all of it into `raw_head`.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from inspector.protocol import codes, frames
from inspector.protocol.eras import HANDSHAKE, META_SERVER_INFO, Era
from inspector.trace.rows import Row as Stored
from inspector.web.render import MINUS, Row, num

ITEMS: Final = {
    "tools/list": ("tools", "tool"),
    "prompts/list": ("prompts", "prompt"),
    "resources/list": ("resources", "resource"),
    "resources/templates/list": ("resourceTemplates", "template"),
}
"""Method of a list -> key of its items, and the word for one."""

_ANSI: Final = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_CALLED: Final = re.compile(rb'"params":\{"name":("(?:[^"\\]|\\.)*")')
_CODE: Final = re.compile(rb'"error":\{"code":(-?\d{1,9})\b')
_LONGEST: Final = 240
_PROC: Final = {
    "spawned": "spawned", "restarted": "spawned again", "stdin-closed": "stdin closed", "term": "SIGTERM sent",
    "kill": "SIGKILL sent", "exited": "exited",
}  # fmt: skip


@dataclass(slots=True, frozen=True)
class Known:
    """What one event cannot tell by itself.

    eras: by connection number. asked: by seq, the requests that the events to show belong to. invalid: seqs of the
    results whose structuredContent breaks the tool's outputSchema (see verdicts.py).
    """

    eras: Mapping[int, Era] = field(default_factory=dict)
    asked: Mapping[int, Stored] = field(default_factory=dict)
    invalid: Collection[int] = ()


@dataclass(slots=True, frozen=True)
class Words:
    """How a row reads; the fields are those of `render.Row`."""

    cls: str
    kind: str
    icon: str
    lead: str = ""
    rest: str = ""
    status: str = ""


NOTHING_KNOWN: Final = Known()


def view(row: Stored, *, href: str = "", known: Known = NOTHING_KNOWN) -> Row:
    """The row as the templates show it; without a place in the waterfall."""
    words = _WORDS.get(row.t, _unknown)(row, known)
    ms = row.ms
    asked = known.asked.get(row.pair) if row.pair is not None else None
    if ms is None and row.t == "http" and asked is not None:
        ms = (row.dt_us - asked.dt_us) / 1000
    sev = "err" if row.bad else "warn" if row.seq in known.invalid else ""
    return Row(
        seq=row.seq, at_us=row.at_us, cls=words.cls, kind=words.kind, icon=words.icon, lead=_short(words.lead),
        rest=_short(words.rest), status=words.status, sev=sev, bytes=_size(row), ms=ms,
        pair=row.pair, href=href,
    )  # fmt: skip


def parsed(row: Stored) -> Any:
    """The JSON value of the event's bytes; None when there is none, or only the head of it is at hand."""
    return None if row.raw_head is None or row.cut else frames.parse(row.raw_head)[0]


def plain(text: str) -> str:
    """`text` without terminal escape sequences."""
    return _ANSI.sub("", text)


def listed(result: Mapping[str, Any], method: str, era: Era | None) -> str:
    """A page of a list: how many items, and the freshness hints exactly as sent; `no ttlMs` says it was not sent."""
    key, word = ITEMS[method]
    items = result.get(key)
    parts = [count(len(items), word) if isinstance(items, list) else f"{key} missing"]
    if era != HANDSHAKE or "ttlMs" in result or "cacheScope" in result:
        parts.append(hint("ttlMs", result, "ttlMs "))
        parts.append(hint("cacheScope", result, ""))
    if result.get("nextCursor") is not None:
        parts.append("more pages")
    return " · ".join(parts)


def hint(name: str, sent: Mapping[str, Any], label: str, key: str = "") -> str:
    """A hint as sent, `no NAME` when it was not."""
    key = key or name
    if key not in sent:
        return f"no {name}"
    return f"{label}{_scalar(sent[key])}"


def count(number: int, word: str) -> str:
    """`1 tool`, `1,047 tools`."""
    return f"{num(number)} {word}{'' if number == 1 else 's'}"


def place(url: str) -> str:
    """The path of a URL: what tells two requests to one server apart, without its query's values."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "?"
    return (parts.path or "/") + ("?…" if parts.query else "")


def _short(text: str) -> str:
    text = " ".join(text[: 4 * _LONGEST].split("\n"))
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def _size(row: Stored) -> int | None:
    """Bytes of the frame or line; of an HTTP event, of the body that crossed."""
    size = row.body.get("bytes") if row.t == "http" else row.bytes
    return size if isinstance(size, int) else row.bytes


def _text(row: Stored) -> str:
    return (row.raw_head or b"").decode("utf-8", "backslashreplace")


def _scalars(value: Any) -> str:
    """The values of an object that fit on a line: `prod, app=checkout` for two strings."""
    if not isinstance(value, dict):
        return ""
    shown = (_scalar(each) for each in value.values())
    return ", ".join(each for each in shown if each)


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict | list):
        return "{…}" if isinstance(value, dict) else "[…]"
    return json.dumps(value)


# --- frames


def _frame(row: Stored, known: Known) -> Words:
    return _FRAMES.get(row.kind or "", _refused)(row, known)


def _request(row: Stored, _known: Known) -> Words:
    value = parsed(row)
    params = value.get("params") if isinstance(value, dict) else None
    params = params if isinstance(params, dict) else {}
    lead, rest = row.method or "?", ""
    if row.method in ("tools/call", "prompts/get"):
        lead = f"{row.method} {params.get('name') or _called(row)}"
        rest = _scalars(params.get("arguments"))
    elif row.method == "resources/read":
        rest = str(params.get("uri", ""))
    elif params.get("cursor") is not None:
        rest = f"cursor {_scalar(params['cursor'])}"
    elif row.method == "initialize":
        rest = str(params.get("protocolVersion", ""))
    return Words("req", "request", "request", lead, rest, "from the server" if row.dir == "s2c" else "")


def _called(row: Stored) -> str:
    """The name in a call too long to parse here; our own calls begin with it."""
    found = _CALLED.search(row.raw_head or b"")
    return str(frames.parse(found[1])[0] or "") if found else ""


def _result(row: Stored, known: Known) -> Words:
    value = parsed(row)
    result = value.get("result") if isinstance(value, dict) else None
    rest = _about(row, result, known) if isinstance(result, dict) else ""
    status = "tool error" if row.body.get("tool_error") is True else ""
    status = status or ("output invalid" if row.seq in known.invalid else "")
    return Words("res", "answer", "answer", row.method or "unknown request", rest, status)


def _about(row: Stored, result: dict[str, Any], known: Known) -> str:
    if row.method in ITEMS:
        return listed(result, row.method, known.eras.get(row.c))
    if row.method in ("initialize", "server/discover"):
        return _introduction(result)
    if row.method == "tools/call":
        return _called_result(result)
    if row.method == "resources/read":
        contents = result.get("contents")
        return count(len(contents), "content") if isinstance(contents, list) else ""
    return ""


def _introduction(result: dict[str, Any]) -> str:
    """`kubernetes 2.0.0 · 2025-11-25 · tools, prompts`."""
    meta = result.get("_meta")
    info = result.get("serverInfo") or (meta.get(META_SERVER_INFO) if isinstance(meta, dict) else None)
    name = f"{info.get('name', '?')} {info.get('version', '')}".strip() if isinstance(info, dict) else ""
    versions = result.get("protocolVersion") or result.get("supportedVersions")
    spoken = ", ".join(map(str, versions)) if isinstance(versions, list) else str(versions or "")
    able = result.get("capabilities")
    return " · ".join(
        filter(None, (name, spoken, ", ".join(map(str, able)) if isinstance(able, dict) else ""))
    )


def _called_result(result: dict[str, Any]) -> str:
    if result.get("resultType") == "input_required":
        return "input required"
    content = result.get("content")
    blocks = content if isinstance(content, list) else []
    first = next((each["text"] for each in blocks if isinstance(each, dict) and _has_text(each)), "")
    others = [str(each.get("type", "?")) for each in blocks if isinstance(each, dict) and not _has_text(each)]
    parts = [first[:_LONGEST], *others[:3], "structuredContent" if "structuredContent" in result else ""]
    return " · ".join(filter(None, parts)) or "no content"


def _has_text(block: dict[str, Any]) -> bool:
    return isinstance(block.get("text"), str)


def _error(row: Stored, known: Known) -> Words:
    value = parsed(row)
    error = value.get("error") if isinstance(value, dict) else None
    error = error if isinstance(error, dict) else {}
    code = error_code(row)
    name = codes.explain(code, era=known.eras.get(row.c), origin="peer").name if code is not None else "Error"
    shown = str(code).replace("-", MINUS) if code is not None else str(error.get("code", ""))
    cls, status = ("err", "") if row.bad else ("res", "refuses the probe")
    return Words(cls, "error", "error", f"{shown} {name}".strip(), str(error.get("message", "")), status)


def error_code(row: Stored) -> int | None:
    """The code of an error frame; None when it is no integer, or not in sight."""
    value = parsed(row)
    if isinstance(value, dict) and isinstance(value.get("error"), dict):
        code = value["error"].get("code")
        return code if isinstance(code, int) and not isinstance(code, bool) else None
    found = _CODE.search(row.raw_head or b"")
    return int(found[1]) if found else None


def _notification(row: Stored, _known: Known) -> Words:
    value = parsed(row)
    params = value.get("params") if isinstance(value, dict) else None
    rest = _noted(row.method or "", params) if isinstance(params, dict) else ""
    return Words("note", "notify", "notify", row.method or "?", rest)


def _noted(method: str, params: dict[str, Any]) -> str:
    if method == "notifications/progress":
        total = f" of {_scalar(params['total'])}" if "total" in params else ""
        message = params.get("message")
        return f"{_scalar(params.get('progress'))}{total}" + (f" · {message}" if message else "")
    if method == "notifications/cancelled":
        reason = params.get("reason")
        return f"request {_scalar(params.get('requestId'))}" + (f" · {reason}" if reason else "")
    if method == "notifications/message":
        return f"{params.get('level', '?')}: {_scalar(params.get('data'))}"
    return _scalars({name: each for name, each in params.items() if name != "_meta"})


def _refused(row: Stored, _known: Known) -> Words:
    said = str(row.body.get("why") or "") or plain(_text(row)).rstrip("\r\n")
    return Words("noise", "refused", "noise", row.method or "", said, "no valid frame")


# --- everything else


def _stderr(row: Stored, _known: Known) -> Words:
    text = plain(_text(row)).rstrip("\r\n")
    return Words("stderr", "stderr", "stderr", "", text, "" if text.strip() else "empty line")


def _noise(row: Stored, _known: Known) -> Words:
    return Words("noise", "noise", "noise", "", plain(_text(row)).rstrip("\r\n"), "not a frame")


def _http(row: Stored, known: Known) -> Words:
    body, phase = row.body, row.body.get("phase")
    asked = body if phase == "request" else _asked_of(row, known)
    line = f"{asked['method']} {place(str(asked.get('url', '')))}" if "method" in asked else "HTTP"
    rest, status = "", ""
    if phase == "request":
        rest = _named_in(body.get("headers"))
    elif phase == "end":
        rest = "body ended"
    elif isinstance(body.get("sse"), dict):
        rest = "event stream: " + (
            ", ".join(f"{key} {_scalar(each)}" for key, each in body["sse"].items()) or "empty event"
        )
    else:
        status = f"{body.get('status', '?')} {body.get('reason', '')}".strip()
        rest = header(body.get("headers"), "content-type") or "no content type"
    return Words("http", "http", "http", line, rest, status)


def _asked_of(row: Stored, known: Known) -> Mapping[str, Any]:
    asked = known.asked.get(row.pair) if row.pair is not None else None
    return asked.body if asked is not None else {}


def _named_in(headers: Any) -> str:
    """What the modern era's headers say about the frame inside."""
    method, name = header(headers, "mcp-method"), header(headers, "mcp-name")
    return " ".join(filter(None, (method, name)))


def header(headers: Any, name: str) -> str:
    """The first value of a header, names in any case; empty when it was not sent."""
    pairs = headers if isinstance(headers, list) else []
    return next((str(value) for key, value in pairs if str(key).lower() == name), "")


def _proc(row: Stored, _known: Known) -> Words:
    body, what = row.body, str(row.body.get("what", "?"))
    rest = f"pid {body['pid']}" if "pid" in body else ""
    if what in ("spawned", "restarted"):
        rest = f"{shlex.join(map(str, body.get('argv', [])))} {rest}".strip()
    elif what == "exited":
        ended = str(body["signal"]) if "signal" in body else f"code {body.get('code', 'unknown')}"
        rest = f"{ended}, {'as asked' if body.get('expected') else 'by itself'}"
    return Words("proc", "process", "process", _PROC.get(what, what), rest)


def _noted_error(row: Stored, _known: Known) -> Words:
    body = row.body
    return Words("err", "error", "error", str(body.get("class", "error")), str(body.get("message", "")))


def _connection(row: Stored, _known: Known) -> Words:
    body = row.body
    info = body.get("server_info")
    name = f"{info.get('name', '?')} {info.get('version', '')}".strip() if isinstance(info, dict) else ""
    spoken = f"{body['era']} · {body.get('protocol_version', '?')}" if "era" in body else "connecting"
    tapped = "tapped" if body.get("tapped") else ""
    rest = " · ".join(filter(None, (tapped, str(body.get("transport", "")), spoken, name)))
    return Words("other", "connect", "connection", str(body.get("label", "")), rest)


def _catalog(row: Stored, _known: Known) -> Words:
    body, pages = row.body, row.body.get("pages") or [{}]
    what = str(body.get("what", "items"))
    word = what.removesuffix("s")
    parts = [count(int(body.get("count", 0)), word), count(len(pages), "page")]
    parts += [
        hint("ttlMs", pages[0], "ttlMs ", "ttl_ms"),
        hint("cacheScope", pages[0], "", "cache_scope"),
    ]
    return Words("other", "catalog", "catalog", f"{what} listed", " · ".join(parts))


def _cache(row: Stored, _known: Known) -> Words:
    body = row.body
    rest = f"{body.get('key', '')} {body.get('why', '')}".strip()
    return Words("cache", "cache", "cache", "", rest, str(body.get("verdict", "")))


def _lab(row: Stored, _known: Known) -> Words:
    body = row.body
    what = f"step {body['n']}" if "n" in body else "run"
    said = [body.get("strategy"), body.get("got"), f"run {body.get('run', '')}"]
    return Words("lab", "lab", "lab", what, " · ".join([str(each) for each in said if each]))


def _remark(row: Stored, _known: Known) -> Words:
    return Words("other", "note", "pinned", "", str(row.body.get("text", "")))


def _unknown(row: Stored, _known: Known) -> Words:
    return Words("other", row.t, "unknown", row.t, "an event of a kind this version does not know")


_FRAMES: Final[Mapping[str, Callable[[Stored, Known], Words]]] = {
    "request": _request, "result": _result, "error": _error, "notification": _notification,
}  # fmt: skip
_WORDS: Final[Mapping[str, Callable[[Stored, Known], Words]]] = {
    "rpc": _frame, "stderr": _stderr, "noise": _noise, "http": _http, "proc": _proc, "error": _noted_error,
    "connection": _connection, "catalog": _catalog, "cache": _cache, "lab": _lab, "note": _remark,
}  # fmt: skip
