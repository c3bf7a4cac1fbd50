"""Faults of HTTP: status, headers, bodies, sessions, auth; run on the connection's thread."""

from __future__ import annotations

import gzip

from inspector.demo.chaos_faults import HANDSHAKE, START, Ask, dumps, fault
from inspector.demo.chaos_http import ALLOWED, JSON, PATH, Exchange, Site, event

HTML = b"<!doctype html><title>Error</title><h1>The proxy is unwell</h1>\n"
HTML_TYPE = "text/html; charset=utf-8"
METADATA = "/.well-known/oauth-protected-resource"


@fault("http", "B8, SDK 1", "Status, content type and first bytes; the next call works.")
def html_500(ask: Ask, out: Exchange) -> None:
    """Answers 500 with an HTML page."""
    out.respond("500 Internal Server Error", HTML, HTML_TYPE)


@fault("http", "B8", "The server's own error, and the status beside it.")
def json_500(ask: Ask, out: Exchange) -> None:
    """Answers 500 with a JSON-RPC error under the right id."""
    out.respond("500 Internal Server Error", ask.error(-32603, "Chaos inside"))


@fault("http", "B7", "Status and code at once, never a time-out.")
def json_400(ask: Ask, out: Exchange) -> None:
    """Answers 400 with a JSON-RPC error -32600 under id 0."""
    error = {"jsonrpc": "2.0", "id": 0, "error": {"code": -32600, "message": "Invalid Request"}}
    out.respond("400 Bad Request", dumps(error))


@fault("http", "SDK 1", "The status, not -32601: the library made that up.")
def bare_404(ask: Ask, out: Exchange) -> None:
    """Answers 404 with no body."""
    out.respond("404 Not Found")


@fault("http", "B8", "The status; no second failure of our own.")
def text_409(ask: Ask, out: Exchange) -> None:
    """Answers 409 with plain text."""
    out.respond("409 Conflict", b"another request is running\n", "text/plain")


@fault("http", "B8", "The status and how long to wait; no retry on our own.", takes=("seconds", 7))
def rate_limited(ask: Ask, out: Exchange) -> None:
    """Answers 429 with `Retry-After: seconds`."""
    out.respond("429 Too Many Requests", b"slow down\n", "text/plain", f"Retry-After: {ask.arg}")


@fault("http", "SDK 1", "That a request was answered 202 and nothing will follow.")
def empty_202(ask: Ask, out: Exchange) -> None:
    """Answers a request with an empty 202."""
    out.respond("202 Accepted")


@fault("http", "SDK 1, SDK 2", "The status, and the body the library never reads.")
def body_202(ask: Ask, out: Exchange) -> None:
    """Answers with 202 and the answer as its body."""
    out.respond("202 Accepted", ask.answer())


@fault("http", "SDK 1", "An empty body where the answer belongs.")
def empty_200(ask: Ask, out: Exchange) -> None:
    """Answers 200, application/json, with no bytes."""
    out.respond("200 OK", b"", JSON, f"Content-Type: {JSON}")


@fault("http", "SDK 1", "The content type received and the two that were expected; the body.")
def wrong_content_type(ask: Ask, out: Exchange) -> None:
    """Sends the answer as text/plain."""
    out.respond("200 OK", ask.answer(), "text/plain")


@fault("http", "SDK 1", "That there is no content type; the body.")
def no_content_type(ask: Ask, out: Exchange) -> None:
    """Sends the answer without a content type."""
    out.respond("200 OK", ask.answer(), "")


@fault("http", "SDK 1", "The raw body and where it stops being JSON; not the library's -32700.")
def bad_json(ask: Ask, out: Exchange) -> None:
    """Sends the first half of the answer as a complete body."""
    answer = ask.answer()
    out.respond("200 OK", answer[: len(answer) // 2])


@fault("http", "A8, SDK 1", "The bad byte in hex and where it is.")
def bad_utf8_body(ask: Ask, out: Exchange) -> None:
    """Sends the answer with the byte 0x93 inside a string."""
    frame = ask.result(content=[{"type": "text", "text": "%"}])
    out.respond("200 OK", frame.replace(b'"%"', b'"\x93"'))


@fault("http", "C3", "Every hop, and that the server sends us round in circles.")
def redirect_loop(ask: Ask, out: Exchange) -> None:
    """Answers 307 to the same address."""
    out.respond("307 Temporary Redirect", b"", "", f"Location: {PATH}")


@fault("http", "C3", "The address it points to; nothing is followed to another host.")
def redirect_away(ask: Ask, out: Exchange) -> None:
    """Answers 302 to a host that does not exist."""
    out.respond("302 Found", b"", "", "Location: http://elsewhere.invalid/mcp")


@fault("http", "A10, SDK 1", "How much arrived of how much; the session lives.")
def drop_body(ask: Ask, out: Exchange) -> None:
    """Announces the whole answer, sends half and closes."""
    answer = ask.answer()
    out.head("200 OK", f"Content-Type: {JSON}", f"Content-Length: {len(answer)}")
    out.write(answer[: len(answer) // 2])
    out.hang_up()


@fault("http", "A10, SDK 2", "A closed connection before any header; the session lives.")
def drop_before_headers(ask: Ask, out: Exchange) -> None:
    """Closes without a byte."""
    out.hang_up()


@fault("http", "A10, SDK 1", "A reset; the session lives.")
def reset_connection(ask: Ask, out: Exchange) -> None:
    """Resets the connection after the headers."""
    out.head("200 OK", f"Content-Type: {JSON}", "Content-Length: 1000")
    out.reset()


@fault("http", "SDK 2", "Half of the body, and that the last chunk never came.")
def cut_chunks(ask: Ask, out: Exchange) -> None:
    """Sends half of the answer as one chunk and closes without the last chunk."""
    answer = ask.answer()
    out.head("200 OK", f"Content-Type: {JSON}", "Transfer-Encoding: chunked")
    out.chunk(answer[: len(answer) // 2])
    out.hang_up()


@fault("http", "SDK 2", "The answer whole.")
def byte_chunks(ask: Ask, out: Exchange) -> None:
    """Sends the answer in chunks of one byte."""
    out.head("200 OK", f"Content-Type: {JSON}", "Transfer-Encoding: chunked")
    for byte in ask.answer():
        out.chunk(bytes([byte]))
    out.chunk(b"")


@fault("http", "SDK 2", "The answer, and that it came compressed although we asked for identity.")
def gzip_anyway(ask: Ask, out: Exchange) -> None:
    """Sends the answer gzipped, asked or not."""
    out.respond("200 OK", gzip.compress(ask.answer(), mtime=0), JSON, "Content-Encoding: gzip")


@fault("http", "SDK 1", "The bytes that are no HTTP.")
def no_http(ask: Ask, out: Exchange) -> None:
    """Answers with the bare JSON, no status line."""
    out.write(ask.answer() + b"\n")
    out.hang_up()


def _lose_session(name: str, status: int, ask: Ask, out: Exchange) -> None:
    if name in out.state.spent and not ask.modern:
        return out.frame(ask.answer())
    out.state.spent.add(name)
    out.state.sessions.discard(out.session)
    out.state.unknown_session = status
    return out.refuse_session(status)


@fault("http", "C2", "The session lost, one new handshake, the call repeated and fine.")
def session_lost_404(ask: Ask, out: Exchange) -> None:
    """Forgets the session once and answers 404; works after a new handshake."""
    _lose_session("session_lost_404", 404, ask, out)


@fault("http", "C2", "That the server breaks the session rule: 400 where 404 is due.")
def session_lost_400(ask: Ask, out: Exchange) -> None:
    """Forgets the session once and answers 400, as to every unknown session from then on."""
    _lose_session("session_lost_400", 400, ask, out)


@fault("http", "C2", "That the server breaks the session rule: 401 where 404 is due.")
def session_lost_401(ask: Ask, out: Exchange) -> None:
    """Forgets the session once and answers 401, as to every unknown session from then on."""
    _lose_session("session_lost_401", 401, ask, out)


@fault("http", "C8", "Header and body side by side; the list read again before any retry.")
def header_mismatch(ask: Ask, out: Exchange) -> None:
    """Claims with 400 and -32020 that a header disagrees with the body."""
    out.frame(ask.error(-32020, "Mcp-Name: header 'foo', body 'bar'"), 400)


@fault("http", "C1", "The Accept header we sent beside the server's words.", on="POST")
def not_acceptable(ask: Ask, out: Exchange) -> None:
    """Answers every POST with 406 and a -32600 whose id is "server-error", whatever was accepted."""
    error = {"code": -32600, "message": "Not Acceptable: Client must accept text/event-stream"}
    out.respond("406 Not Acceptable", dumps({"jsonrpc": "2.0", "id": "server-error", "error": error}))


@fault("http", "C3", "The optional stream refused, not fatal.", on="GET", takes=("status", 404))
def get_refused(ask: Ask, out: Exchange) -> None:
    """Answers GET with `status`."""
    out.respond(f"{ask.arg} Chaos", HTML, HTML_TYPE)


@fault("http", "C3", "An open stream with nothing on it; closing is not held up.", on="GET")
def get_hangs(ask: Ask, out: Exchange) -> None:
    """Takes GET and never answers it."""
    out.wait()


@fault("http", "C3", "Notifications of the optional stream.", on="GET")
def get_stream(ask: Ask, out: Exchange) -> None:
    """Answers GET with an event stream that carries one notification and stays open."""
    out.head("200 OK", "Content-Type: text/event-stream", "Transfer-Encoding: chunked", "Connection: close")
    out.chunk(event(dumps({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})))
    out.wait()


@fault("http", "C3", "The POST's own error first.", on=HANDSHAKE)
def handshake_500(ask: Ask, out: Exchange) -> None:
    """Answers the handshake with 500 and HTML."""
    out.respond("500 Internal Server Error", HTML, HTML_TYPE)


@fault("http", "SDK 1", "Closing done in time although the DELETE is never answered.", on="DELETE")
def delete_hangs(ask: Ask, out: Exchange) -> None:
    """Takes DELETE and never answers it."""
    out.wait()


@fault("http", "SDK 1", "Closed; the refused DELETE only noted.", on="DELETE")
def delete_405(ask: Ask, out: Exchange) -> None:
    """Refuses DELETE, as a server may."""
    out.respond("405 Method Not Allowed")


@fault("http", "C5", "Connected all the same; the CORS check lists each missing header.", on="OPTIONS")
def cors_missing_headers(ask: Ask, out: Exchange) -> None:
    """Allows only Content-Type in the preflight, and no DELETE."""
    allowed = ALLOWED.split(",")[0]
    methods = "Access-Control-Allow-Methods: POST, GET"
    out.respond("204 No Content", b"", "", methods, f"Access-Control-Allow-Headers: {allowed}")


@fault("http", "C5", "Connected all the same; the CORS check says the preflight needs a login.", on="OPTIONS")
def cors_401(ask: Ask, out: Exchange) -> None:
    """Answers the preflight with 401."""
    out.respond("401 Unauthorized")


@fault("http", "C7", "Each address tried, with its status.", on=("POST", "GET"), takes=("metadata", "header"))
def needs_auth(ask: Ask, out: Exchange) -> None:
    """Answers every POST with 401; the metadata's place is `header`, `root`, `suffixed` or `none`."""
    own = {"header": "/login/about", "root": METADATA, "suffixed": METADATA + PATH}.get(ask.arg, "")
    host = out.handler.headers.get("Host", "127.0.0.1")
    if ask.method == "GET":
        about = dumps({"resource": f"http://{host}{PATH}", "authorization_servers": [f"http://{host}"]})
        found = out.path == own
        out.respond("200 OK" if found else "404 Not Found", about if found else b"")
    elif ask.arg == "header":
        challenge = f'www-authenticate: bearer resource_metadata="http://{host}{own}"'
        out.respond("401 Unauthorized", b"", "", challenge)
    else:
        out.respond("401 Unauthorized")


@fault("http", "C7", "The scope that is missing.")
def needs_scope(ask: Ask, out: Exchange) -> None:
    """Answers 403 with a challenge that names the scope `chaos:write`."""
    challenge = 'WWW-Authenticate: Bearer error="insufficient_scope", scope="chaos:write"'
    out.respond("403 Forbidden", b"", "", challenge)


@fault(
    "http",
    "C6",
    "The certificate that fails, by name, and the option for a CA file.",
    on=START,
    takes=("pem", ""),
)
def self_signed(ask: Ask, out: Site) -> None:
    """Serves TLS with the certificate and key of the file `pem`."""
    out.use_certificate(ask.arg)
