"""The doctor's steps for a server that is a URL: DNS, TCP, TLS, Host rules, CORS. Main thread."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit, urlunsplit

from inspector.doctor.step import Step
from inspector.later import Later
from inspector.settings.spec import ServerSpec
from inspector.wire.http_base import is_loopback

if TYPE_CHECKING:
    import httpx2
else:
    httpx2 = Later("httpx2")

STEP_S = 10.0
ORIGIN = "http://localhost:6274"
BROWSER_HEADERS = "authorization, content-type, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id"
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def reach(spec: ServerSpec) -> Iterator[Step]:
    """DNS, TCP and TLS, one after the other; stops at the first that fails."""
    parts = urlsplit(spec.url or "")
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    try:
        addresses = sorted(
            {str(info[4][0]) for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
        )
    except (OSError, UnicodeError) as problem:
        yield Step("dns", False, f"{host} has no address: {problem}.", "Check the spelling of the host name.")
        return
    yield Step("dns", True, f"{host} is {', '.join(addresses)}.")
    try:
        connection = socket.create_connection((host, port), timeout=STEP_S)
    except OSError as problem:
        text = f"Nothing accepts connections at {host}:{port}: {problem}."
        yield Step("connect", False, text, "Is the server running, and is this its port?")
        return
    with connection:
        yield Step("connect", True, f"{host}:{port} accepts connections.")
        if parts.scheme == "https":
            yield _tls(connection, host)


def _tls(connection: socket.socket, host: str) -> Step:
    """The handshake with the system's roots (and SSL_CERT_FILE)."""
    context = ssl.create_default_context()
    try:
        with context.wrap_socket(connection, server_hostname=host) as wrapped:
            return Step("tls", True, f"{wrapped.version()}, certificate accepted.")
    except ssl.SSLCertVerificationError as problem:
        text = f"The certificate of {host} was refused: {problem.verify_message}."
        return Step(
            "tls", False, text, "For a private CA set SSL_CERT_FILE to its certificate and try again."
        )
    except (OSError, ssl.SSLError) as problem:
        return Step("tls", False, f"TLS failed: {problem}.", "Does the server speak https on this port?")


def host_rule(spec: ServerSpec, status: int | None) -> Iterator[Step]:
    """After a 403 on a loopback name: does another spelling of it get through? (seen on playwright-mcp)"""
    url = spec.url or ""
    parts = urlsplit(url)
    if status not in (403, 421) or f"{parts.hostname}" not in ("127.0.0.1", "localhost", "::1"):
        return
    for other in LOOPBACK:
        if other.strip("[]") == parts.hostname:
            continue
        there = urlunsplit(parts._replace(netloc=f"{other}:{parts.port}" if parts.port else other))
        found = _ask("GET", there, {"Accept": "text/event-stream"})
        if found is not None and found.status_code not in (403, 421):
            text = f"It refuses the Host {parts.netloc} (HTTP {status}) and answers to {other}."
            yield Step("host", False, text, f"Use {there}")
            return
    yield Step(
        "host", False, f"It refuses the Host {parts.netloc} (HTTP {status}).", "See which hosts it allows."
    )


def cors(spec: ServerSpec) -> Step:
    """What a browser client would meet; Loupe itself does not need it."""
    asked = {
        "Origin": ORIGIN,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": BROWSER_HEADERS,
    }
    found = _ask("OPTIONS", spec.url or "", asked)
    if found is None:
        return Step("cors", None, "The preflight got no answer.", "Only browser clients need CORS.")
    allowed = {
        name.strip().lower() for name in found.headers.get("access-control-allow-headers", "").split(",")
    }
    missing = [name for name in BROWSER_HEADERS.split(", ") if "*" not in allowed and name not in allowed]
    origin = found.headers.get("access-control-allow-origin")
    if found.status_code >= 400 or origin not in ("*", ORIGIN):
        text = f"A browser client would be refused: the preflight is HTTP {found.status_code}, Allow-Origin {origin}."
        return Step(
            "cors",
            None,
            text,
            "Only browser clients need CORS: answer OPTIONS with Allow-Origin for them.",
        )
    if missing:
        text = f"A browser client could not send {', '.join(missing)}."
        return Step("cors", None, text, "Add them to Access-Control-Allow-Headers.")
    return Step("cors", True, "A browser client may call it.")


def _ask(method: str, url: str, headers: dict[str, str]) -> httpx2.Response | None:
    """One small request; None when nothing answered. Redirects are not followed, bodies not read."""
    if parts_of(url).scheme not in ("http", "https"):
        return None
    try:
        with client_for(url) as client, client.stream(method, url, headers=headers) as found:
            return found
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError):
        return None


def client_for(url: str) -> httpx2.Client:
    """One that follows no redirect, and asks no proxy for what is on this machine."""
    local = is_loopback(parts_of(url).hostname or "")
    return httpx2.Client(timeout=STEP_S, follow_redirects=False, trust_env=not local)


def parts_of(url: str) -> SplitResult:
    """The parts of an address that a server chose; none of what is no address at all."""
    try:
        return urlsplit(url)
    except ValueError:
        return SplitResult("", "", "", "", "")
