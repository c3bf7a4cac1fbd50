"""One recorded HTTP exchange: what both HTTP transports are made of. Loop thread.

We speak through `httpx2` (the SDK's own HTTP library) rather than through the SDK's transport: that one hides
status and body, stops reading at the answer, and one dropped body ends its whole session (docs/architecture.md).
"""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import anyio
from anyio.lowlevel import checkpoint

from inspector.errors import AuthNeeded, ConnectionLost, HttpFailed, LoupeError, NetworkFailed, TlsFailed
from inspector.later import Later
from inspector.protocol.headers import not_carried
from inspector.settings.spec import ServerSpec
from inspector.wire.events import C2S, S2C
from inspector.wire.link import LINE_CAP, Link
from inspector.wire.sse import SseEvent, SseSplitter, SseTooLong

if TYPE_CHECKING:
    import httpx2
else:
    httpx2 = Later("httpx2")

CONNECT_S = 10.0
BODY_KEPT = 64 * 1024
MOST_PORT = 65_535
EVENTS_AT_ONCE = 50
"""Server-sent events of one chunk before other connections have their turn."""

Pairs = list[tuple[str, str]]


def load_library() -> None:
    """Import httpx2, a tenth of a second: on the thread that wants a connection, not on the loop's."""
    import_module("httpx2")


def make_client(spec: ServerSpec) -> httpx2.AsyncClient:
    """A client without redirects (they are shown, not followed) and without read time-outs (requests have deadlines).

    Proxy variables of the environment count for other machines only: a proxy cannot reach our loopback.
    """
    timeout = httpx2.Timeout(None, connect=min(CONNECT_S, spec.timeouts.connect))
    host = urlsplit(spec.url or "").hostname or ""
    direct: dict[str, None] = {}
    if is_loopback(host):
        direct = {f"all://[{host}]" if ":" in host else f"all://{host}": None}
    return httpx2.AsyncClient(
        timeout=timeout, follow_redirects=False, headers={"Accept-Encoding": "identity"}, mounts=direct
    )


def is_loopback(host: str) -> bool:
    """Whether a URL's host names this machine: localhost and its subdomains, 127/8, ::1, and the unspecified ones."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


class Exchange:
    """One HTTP request and its answer, recorded as `http` events that share `seq` of the request."""

    def __init__(self, link: Link, response: httpx2.Response, seq: int) -> None:
        self.link = link
        self.response = response
        self.seq = seq
        self.kept = bytearray()
        encoding = response.headers.get("content-encoding", "").strip().lower()
        self.compressed = encoding if encoding != "identity" else ""
        self._chunks = response.aiter_bytes() if self.compressed else response.aiter_raw()

    @property
    def status(self) -> int:
        return self.response.status_code

    @property
    def media_type(self) -> str:
        return str(self.response.headers.get("content-type", "")).split(";")[0].strip().lower()

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it crosses; decompressed when the server compresses although we ask it not to.

        Once only: what was compressed twice or more unpacks for ever, for four thousand bytes are two thousand million.
        Raises HttpFailed. Other connections have their turn between two pieces.
        """
        if "," in self.compressed:
            text = f"The server compressed its answer more than once ({self.compressed}); it was not unpacked"
            remedy = "Send it as it is: Loupe asks for identity"
            self.link.anomaly("unasked-encoding", text, pair=self.seq, remedy=remedy)
            raise HttpFailed(text, remedy, facts={"status": self.status, "http_seq": self.seq})
        first = True
        async for chunk in self._chunks:
            if not first:
                await checkpoint()
            first = False
            yield chunk

    async def body(self, cap: int | None = None) -> bytes:
        """The whole body; raises HttpFailed past the cap (LINE_CAP), keeping its beginning."""
        cap = LINE_CAP if cap is None else cap
        held = bytearray()
        async for chunk in self.chunks():
            held += chunk
            if len(held) > cap:
                self.kept += held[:BODY_KEPT]
                raise self.too_long(f"an HTTP body of more than {cap:,} bytes")
        return bytes(held)

    async def events(self) -> AsyncGenerator[SseEvent]:
        """The server-sent events of the body as they become whole; one that never did is recorded as noise.

        Raises HttpFailed past the cap.
        """
        splitter = SseSplitter()
        try:
            async for chunk in self.chunks():
                for number, event in enumerate(splitter.feed(chunk), start=1):
                    yield event
                    if number % EVENTS_AT_ONCE == 0:
                        await checkpoint()
        except SseTooLong as problem:
            raise self.too_long(str(problem)) from None
        left = splitter.left_over()
        if left.strip():
            self.link.noise(left, "unterminated server-sent event", eol="none", http=self.seq)

    def too_long(self, what: str) -> HttpFailed:
        """Record that the answer passed the cap; returns the error to raise."""
        text, remedy = f"The server sent {what}", "Page the list, or make the result smaller"
        self.link.anomaly("too-long", text, pair=self.seq, remedy=remedy)
        return HttpFailed(text, remedy, facts={"status": self.status, "http_seq": self.seq})


@asynccontextmanager
async def exchange(
    client: httpx2.AsyncClient,
    link: Link,
    method: str,
    url: str,
    headers: Pairs,
    content: bytes | None,
    *,
    on_sent: Any = None,
    cause: str | None = None,
) -> AsyncIterator[Exchange]:
    """Send one HTTP request and hand over the open answer; request, answer and end are recorded.

    on_sent(seq) runs after the `http` request event and before anything is written: record the frame there.
    Raises NetworkFailed or TlsFailed, each naming what failed, and records them as error events. An end that is
    `aborted` is ours: a time-out, a cancel, our own closing.
    """
    request = _build(client, method, url, headers, content)
    seq = link.emit(
        "http", C2S, phase="request", method=method, url=str(request.url), headers=pairs(request.headers),
        bytes=len(content or b""), cause=cause,
    )  # fmt: skip
    if on_sent is not None:
        on_sent(seq)
    found: Exchange | None = None
    aborted: bool | None = None
    try:
        found = _answered(await client.send(request, stream=True), link, seq)
        yield found
    except httpx2.HTTPError as problem:
        failure = network_failure(problem, url)
        if found is not None:  # it was reached, and broke off later
            failure = ConnectionLost(failure.message, failure.remedy)
        link.anomaly("network", failure.message, origin="console", pair=seq, remedy=failure.remedy)
        raise failure from None
    except anyio.get_cancelled_exc_class():
        aborted = True
        raise
    finally:
        with anyio.CancelScope(shield=True):
            if found is not None:
                with anyio.move_on_after(1), suppress(httpx2.HTTPError):
                    await found.response.aclose()
            kept = bytes(found.kept) or None if found is not None else None
            size = found.response.num_bytes_downloaded if found is not None else 0
            link.emit("http", S2C, phase="end", pair=seq, raw=kept, bytes=size, aborted=aborted)


def _build(
    client: httpx2.AsyncClient, method: str, url: str, headers: Pairs, content: bytes | None
) -> httpx2.Request:
    odd = not_carried(headers)
    if odd is not None:
        text = f"The header {odd} is none that HTTP can carry: plain ASCII, with no space at either end"
        raise NetworkFailed(text, "Correct the headers of this server")
    try:
        request = client.build_request(method, url, headers=headers, content=content)
        if request.url.scheme not in ("http", "https") or not request.url.host:
            raise ValueError("it must begin with http:// or https:// and a host")
        if (request.url.port or 0) > MOST_PORT:
            raise ValueError(f"there is no port {request.url.port}")
    except (httpx2.InvalidURL, UnicodeError, ValueError) as problem:
        text = f"{url[:200]} is not a URL that can be asked: {problem}"
        raise NetworkFailed(text, "Check the address") from None
    return request


def _answered(response: httpx2.Response, link: Link, seq: int) -> Exchange:
    """Record the answer's head."""
    found = Exchange(link, response, seq)
    link.emit(
        "http", S2C, phase="response", status=response.status_code, reason=response.reason_phrase, pair=seq,
        headers=pairs(response.headers), version=response.http_version,
    )  # fmt: skip
    if found.compressed:
        text = f"The server compressed its answer ({found.compressed}) although Loupe asked for identity"
        link.anomaly("unasked-encoding", text, pair=seq, remedy="Recorded bytes are the decompressed ones")
    return found


def pairs(headers: httpx2.Headers) -> list[list[str]]:
    """Header pairs in order, names as httpx2 holds them."""
    return [[name.decode("latin-1"), value.decode("latin-1")] for name, value in headers.raw]


def network_failure(problem: Exception, url: str) -> LoupeError:
    """What went wrong below HTTP, in one sentence."""
    host = httpx2.URL(url).netloc.decode("ascii", "replace").rpartition("@")[2]
    certificate = _cause(problem, ssl.SSLCertVerificationError)
    if certificate is not None:
        remedy = "If this is a private CA, set SSL_CERT_FILE to its certificate and start Loupe again"
        return TlsFailed(f"The TLS certificate of {host} was refused: {certificate.verify_message}", remedy)
    if _cause(problem, ssl.SSLError) is not None:
        return TlsFailed(
            f"TLS with {host} failed: {problem}", "Check that the URL's scheme is what the server speaks"
        )
    if isinstance(problem, httpx2.ConnectTimeout):
        return NetworkFailed(
            f"{host} did not accept a connection in time", "Check host and port, and any firewall"
        )
    if isinstance(problem, httpx2.ConnectError):
        return NetworkFailed(
            f"Could not connect to {host}: {problem}", "Is the server running, and is this its port?"
        )
    text = str(problem) or type(problem).__name__
    return NetworkFailed(
        f"The connection to {host} broke: {text}", "Look at the server's own log, then try again"
    )


def _cause(problem: BaseException | None, kind: type[Any]) -> Any:
    while problem is not None:
        if isinstance(problem, kind):
            return problem
        problem = problem.__cause__ or problem.__context__
    return None


def refuse_status(found: Exchange, body: bytes, url: str, why: str = "") -> LoupeError:
    """The error for an HTTP answer that carries no JSON-RPC; `why` it is none, when it was looked at."""
    status, reason = found.status, found.response.reason_phrase
    facts: dict[str, Any] = {
        "status": status,
        "body": body[:2048].decode("utf-8", "replace"),
        "http_seq": found.seq,
    }
    if status in (401, 403):
        challenge = found.response.headers.get("www-authenticate")
        facts["www_authenticate"] = challenge
        if status == 401 or challenge:
            remedy = (
                "Sign in (Servers screen, or --sign-in), or put an Authorization header into its definition"
            )
            return AuthNeeded(
                f"The server answered HTTP {status} {reason}: it wants credentials", remedy, facts=facts
            )
        remedy = "It refuses this client, or where it comes from: ask whoever runs it"
        if is_loopback(urlsplit(url).hostname or ""):
            remedy = "Servers here often allow one spelling only: try localhost instead of 127.0.0.1, or the reverse"
        return HttpFailed(f"The server answered HTTP 403 {reason}", remedy, facts=facts)
    if 300 <= status < 400:
        where = found.response.headers.get("location", "nowhere")
        remedy = "Loupe does not follow redirects; use that address if you trust it"
        return HttpFailed(f"The server redirects (HTTP {status}) to {where}", remedy, facts=facts)
    if status == 406:
        remedy = "Loupe accepts both application/json and text/event-stream, as MCP asks; the server wants something else"
        return HttpFailed("The server answered HTTP 406 Not Acceptable", remedy, facts=facts)
    if status < 300:
        what = found.media_type or "no content type"
        remedy = f"An MCP endpoint answers application/json or text/event-stream; is {url} the right path?"
        kind = "an empty body" if not body else f"{what} that is no JSON-RPC{': ' if why else ''}{why}"
        return HttpFailed(f"The server answered HTTP {status} with {kind}", remedy, facts=facts)
    remedy = "Is this the MCP endpoint's path?" if status in (404, 405) else "Look at the server's own log"
    return HttpFailed(
        f"The server answered HTTP {status} {reason} without a JSON-RPC body", remedy, facts=facts
    )


def merge(base: Pairs, *more: Mapping[str, str]) -> Pairs:
    """`base` with later headers replacing earlier ones of the same name, in order."""
    merged = dict[str, tuple[str, str]]()
    for name, value in [*base, *(pair for extra in more for pair in extra.items())]:
        merged[name.lower()] = (name, value)
    return list(merged.values())
