"""The error table: which row explains an error, and the table as a document. Pure, any thread.

Who made an error decides where it is looked up: a code of the client library or of ours is never explained as
the server's. Of what is known, a JSON-RPC body counts first, then the HTTP status, then the layer that failed.
"""

from __future__ import annotations

from typing import Final

from inspector.protocol.code_rows import BOTH, CODE_ROWS, ErrorEntry, Origin
from inspector.protocol.eras import HANDSHAKE, Era
from inspector.protocol.fault_rows import FAULT_ROWS

__all__ = ["ENTRIES", "ErrorEntry", "Origin", "as_markdown", "entry", "explain"]

ENTRIES: Final = CODE_ROWS + FAULT_ROWS

_BY_ID: Final = {row.id: row for row in ENTRIES}
_PEER_CODES: Final = {row.code: row for row in CODE_ROWS if row.code is not None and row.origin != "sdk"}
_SDK_CODES: Final[dict[int | None, ErrorEntry]] = {
    row.code: row for row in CODE_ROWS if row.code is not None and row.origin == "sdk"
}
_ONLY_IN_ERA: Final = (-1, -32001, -32003, -32004)
"""Numbers that mean something else in the era their row does not name."""
_STATUS: Final = {401: "auth-needed", 403: "forbidden", 404: "http-not-found", 406: "http-not-acceptable"}
_LAYERS: Final = {
    "spawn": "spawn-failed",
    "network": "network-failed",
    "tls": "tls-failed",
    "handshake": "no-era",
    "timeout": "timed-out",
    "transport": "connection-closed",
    "cancelled": "cancelled",
    "auth": "auth-needed",
    "http": "http-error",
    "protocol": "bad-reply",
}


def entry(id_: str) -> ErrorEntry:
    """The row with this id; KeyError when there is none."""
    return _BY_ID[id_]


def explain(
    code: int | None,
    *,
    era: Era | None,
    origin: str,
    http_status: int | None = None,
    session: bool = False,
    layer: str = "",
) -> ErrorEntry:
    """The row for one error; every error has one.

    code: as the peer, or the library, gave it. origin: `peer`, `sdk` or `console`, who made the code.
    http_status: of the HTTP answer. session: we sent a session id. layer: of our own error tree
    (`errors.LoupeError.layer`).
    """
    if origin == "peer" and code is not None:
        return _of_peer(code, era)
    if http_status is not None:
        found = _of_status(http_status, code, session)
        if found is not None:
            return found
    if origin == "sdk":
        return _SDK_CODES.get(code, entry("not-json" if code == -32700 else "sdk-made"))
    return entry(_LAYERS.get(layer, "bad-reply" if origin == "peer" else "console-made"))


def _of_peer(code: int, era: Era | None) -> ErrorEntry:
    row = _PEER_CODES.get(code)
    if row is not None and (code not in _ONLY_IN_ERA or era in row.eras):
        return row
    if -32019 <= code <= -32000 or (era == HANDSHAKE and -32099 <= code <= -32000):
        # Before the modern era all of JSON-RPC's -32099 … -32000 was the implementations' own.
        return entry("implementation-defined")
    if -32099 <= code <= -32023:
        return entry("reserved")
    return entry("jsonrpc-reserved" if -32768 <= code <= -32100 else "application-defined")


def _of_status(status: int, code: int | None, session: bool) -> ErrorEntry | None:
    """The row of an HTTP answer without a JSON-RPC error; None when the status explains nothing."""
    if status == 404 and session:
        return entry("session-ended")
    if status in _STATUS:
        return entry(_STATUS[status])
    if status >= 400:
        return entry("http-server-error" if status >= 500 else "http-error")
    if status >= 300:
        return entry("http-redirect")
    if status == 202:
        return entry("http-no-answer")
    return entry("http-wrong-type") if code in (None, -32600) else None


def as_markdown() -> str:
    """The whole table as docs/error-codes.md."""
    head = [
        "# Error codes",
        "",
        "Every error Loupe can show, who makes it, and what to try next. Written from",
        "`inspector/protocol/codes.py`; a test keeps the two equal.",
        "",
        "*Who* is `peer` (it came over the wire), `sdk` (the client library made it) or `console` (Loupe did).",
        "A code made on this side is never shown as the server's.",
        "",
    ]
    parts = [*head, "## With a JSON-RPC code", "", *_index(CODE_ROWS, "any other")]
    parts += ["", "## Without one", "", *_index(FAULT_ROWS, "none"), ""]
    for row in ENTRIES:
        parts += _section(row)
    return "\n".join(parts)


def _index(rows: tuple[ErrorEntry, ...], codeless: str) -> list[str]:
    lines = ["| Code | Name | Who | Era | HTTP |", "|---|---|---|---|---|"]
    for row in rows:
        where = "both" if row.eras == BOTH else row.eras[0]
        link = f"[{row.name}](#{row.id})"
        lines.append(f"| {row.shown_code or codeless} | {link} | {row.origin} | {where} | {row.http} |")
    return lines


def _section(row: ErrorEntry) -> list[str]:
    code = f" ({row.shown_code})" if row.shown_code else ""
    lines = [f'<a id="{row.id}"></a>', f"### {row.name}{code}", "", row.meaning, "", "Likely causes:", ""]
    lines += [f"{place}. {cause}" for place, cause in enumerate(row.causes, 1)]
    lines += ["", f"Try: {row.remedy}", "", f"- id: `{row.id}`", f"- `error.data`: {row.data_shape}"]
    if row.modern_must_not_send:
        lines.append("- A modern server must not send it.")
    return [*lines, f"- Source: {row.spec}", ""]
