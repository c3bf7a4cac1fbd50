"""The Raw frames tab: any bytes on the live connection or a scratch one, and all that came. Flask request threads."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any, Final

from flask import Blueprint, make_response, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from inspector.console.console import Server
from inspector.console.rawframes import MOST_S, Order, Shot
from inspector.errors import ConnectionLost, UsageError
from inspector.protocol import eras
from inspector.protocol.header_check import Compared
from inspector.settings.frames import SavedFrame
from inspector.settings.spec import STREAMABLE_HTTP
from inspector.trace.filters import Filter
from inspector.trace.rows import Row
from inspector.web.calls_links import kinds
from inspector.web.detail import beside
from inspector.web.frame import console, event_link, shell, store
from inspector.web.guard import spawns
from inspector.web.render import is_partial
from inspector.web.results import Text, shown
from inspector.web.rows import view
from inspector.wire.connection import CLIENT_INFO, CONNECTED

blueprint = Blueprint("raw", __name__)

ROWS: Final = 200
BODIES: Final = 5
FLUSH_S: Final = 0.5
AT_ONCE_S: Final = 0.3


@blueprint.get("/call/<key>/raw")
def show(key: str) -> str:
    """The form and the frame that was sent. Query: shot (an id), saved (a name), example (an id)."""
    server = console().server(key)
    shot_id = request.args.get("shot")
    shot = _shot(key, shot_id) if shot_id else None
    name = request.args.get("saved")
    saved = next((one for one in console().saved_frames.all() if one.name == name), None)
    text = dict(examples(server)).get(request.args.get("example", ""), "")
    draft = saved or (draft_of(shot) if shot is not None else SavedFrame("", text))
    return _page(server, draft, shot)


@blueprint.post("/call/<key>/raw")
@spawns
def send(key: str) -> AnyResponse | str:
    """Send what was typed, or keep it to send again."""
    server = console().server(key)
    draft = _posted()
    if request.form.get("do") == "save":
        console().saved_frames.save(draft)
        return redirect(url_for("raw.show", key=key, saved=draft.name), 303)
    try:
        order = order_of(draft)
        live = None if order.scratch else console().connection(key)
        shot = console().raw_frames.start(key, server.spec, live, order)
    except (UsageError, ConnectionLost) as problem:
        return make_response(_page(server, draft, None, f"{problem.message}. {problem.remedy}."), 422)
    shot.done.wait(AT_ONCE_S)
    return redirect(url_for("raw.show", key=key, shot=shot.id), 303)


@blueprint.post("/call/<key>/raw/forget")
def forget(key: str) -> AnyResponse:
    """Drop a saved frame."""
    console().saved_frames.forget(request.form.get("name", ""))
    return redirect(url_for("raw.show", key=console().server(key).key), 303)


@blueprint.get("/call/<key>/raw/<id>")
def shot(key: str, id: str) -> AnyResponse:
    """What came so far."""
    found = _shot(key, id)
    if not is_partial():
        return redirect(url_for("raw.show", key=key, shot=id), 303)
    return make_response(render_template("calls/_shot.html", key=key, **_shown(console().server(key), found)))


def examples(server: Server) -> list[tuple[str, str]]:
    """(name, text) of frames a well-behaved client would not send, or would; made for this server's era."""
    peer = server.connection.peer if server.connection is not None else None
    modern = peer is not None and peer.era == eras.MODERN
    meta = {"_meta": eras.modern_meta(eras.LATEST_MODERN, CLIENT_INFO, {})}
    request_ = {"jsonrpc": "2.0", "id": "raw-1", "method": "tools/list"}
    init = {"protocolVersion": eras.LATEST_HANDSHAKE, "capabilities": {}, "clientInfo": CLIENT_INFO}
    return [
        ("request", _json(request_ | ({"params": meta} if modern else {}))),
        ("modern, no _meta", _json(request_ | {"params": {}})),
        ("initialize", _json({"jsonrpc": "2.0", "id": "raw-1", "method": "initialize", "params": init})),
        ("not JSON", "this is not JSON"),
        ("batch", f"[{_json(request_)},{_json(request_ | {'id': 'raw-2'})}]"),
        ("64-bit id", _json(request_ | {"id": 9223372036854775807} | ({"params": meta} if modern else {}))),
        ("id null", _json(request_ | {"id": None})),
        ("unknown method", _json(request_ | {"method": "no/such"} | ({"params": meta} if modern else {}))),
    ]


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _posted() -> SavedFrame:
    texts = {one.name: request.form.get(one.name, "") for one in fields(SavedFrame) if one.name != "alone"}
    return SavedFrame(**texts, alone="alone" in request.form)


def order_of(draft: SavedFrame) -> Order:
    """The bytes to send and how. Raises UsageError."""
    if draft.form == "hex":
        try:
            octets = bytes.fromhex(draft.text)
        except ValueError:
            raise UsageError(
                "That is no hexadecimal text", "Write pairs of 0-9 and a-f, such as 7b 7d"
            ) from None
    else:
        octets = draft.text.replace("\r\n", "\n").encode("utf-8", "surrogatepass")
    try:
        seconds = float(draft.seconds or "3")
    except ValueError:
        raise UsageError(f"“{draft.seconds}” is no number of seconds", f"Write up to {MOST_S:g}") from None
    headers = {}
    for line in draft.headers.splitlines():
        name, found, value = line.partition(":")
        if line.strip() and (not found or not name.strip() or not f"{name}{value}".isascii()):
            raise UsageError(f"“{line[:60]}” is no header", "Write Name: value")
        if line.strip():
            headers[name.strip()] = value.strip()
    return Order(octets, draft.where == "scratch", seconds, draft.method or "POST", headers, draft.alone)


def draft_of(shot: Shot) -> SavedFrame:
    """What was typed to send it."""
    order = shot.order
    try:
        text, form = order.octets.decode(), "text"
    except UnicodeDecodeError:
        text, form = order.octets.hex(" "), "hex"
    headers = "\n".join(f"{name}: {value}" for name, value in order.headers.items())
    where = "scratch" if order.scratch else "live"
    return SavedFrame("", text, form, where, f"{order.wait_s:g}", order.method, headers, order.alone)


def _shot(key: str, id: str) -> Shot:
    found = console().raw_frames.get(id)
    if found.server_key != key:
        raise UsageError(f"{id} was sent to another server", "Look at that server's page")
    return found


def _page(server: Server, draft: SavedFrame, shot: Shot | None, problem: str = "") -> str:
    return render_template(
        "calls/raw.html",
        shell=shell("call", server.key),
        server=server,
        key=server.key,
        kinds=kinds(server, "raw"),
        live=server.state == CONNECTED,
        http=server.spec.transport == STREAMABLE_HTTP,
        draft=draft,
        problem=problem,
        saved=console().saved_frames.all(),
        examples=[name for name, _ in examples(server)],
        **(_shown(server, shot) if shot is not None else {"shot": None}),
    )


def _shown(server: Server, shot: Shot) -> dict[str, object]:
    console().recorder.flush(FLUSH_S)
    session = console().recorder.session
    found: list[Row] = []
    if shot.c:
        wanted = Filter(c=(shot.c,))
        page = store().page(session, wanted, after=shot.first_seq - 1, limit=ROWS)
        found = [row for row in page if shot.last_seq is None or row.seq <= shot.last_seq]
    came = [row for row in found if row.dir == "s2c" and row.t in ("rpc", "noise")]
    return {
        "shot": shot,
        "running": not shot.done.is_set(),
        "rows": [view(row, href=event_link(server, row.seq)) for row in found],
        "came": len(came),
        "beside": _beside(server, found),
        "bodies": [(row.seq, _text(row)) for row in came[:BODIES]],
    }


def _beside(server: Server, rows: list[Row]) -> list[Compared]:
    """The MCP headers of the request beside its body, by what the called tool's schema wants mirrored."""
    sent = next((row for row in rows if row.t == "http" and row.body.get("phase") == "request"), None)
    if sent is None:
        return []

    def schema_of(tool: str) -> Any:
        return (console().definition(server.key, tool) or {}).get("inputSchema")

    return beside(store(), sent, schema_of)


def _text(row: Row) -> Text:
    return shown((row.raw_head or b"").decode("utf-8", "backslashreplace"))
