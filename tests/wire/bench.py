"""What the wire's tests stand on: a journal kept in a list, connections that are closed again, servers to talk to."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal

from inspector.settings.spec import SSE, STREAMABLE_HTTP, ServerSpec, Timeouts
from inspector.wire.children import Children
from inspector.wire.connection import Connection
from inspector.wire.events import Event, Journal

ROOT = Path(__file__).parents[2]
SERVERS = ROOT / "tests" / "servers"
BOUND = 30.0
TIMES = Timeouts(probe=10, connect=20, call=20, close=2)
ERAS = ("handshake", "modern")


def stdio(*argv: str | Path, **changed: Any) -> ServerSpec:
    return replace(ServerSpec("s", argv=tuple(map(str, argv)), cwd=str(ROOT), timeouts=TIMES), **changed)


def python(*argv: str | Path, **changed: Any) -> ServerSpec:
    return stdio(sys.executable, *argv, **changed)


def script(text: str, **changed: Any) -> ServerSpec:
    return python("-c", text, **changed)


def chaos(*faults: str, **changed: Any) -> ServerSpec:
    chosen = [word for fault in faults for word in ("--fault", fault)]
    return python("-m", "inspector.demo", "chaos", *chosen, **changed)


def http(url: str, **changed: Any) -> ServerSpec:
    return replace(ServerSpec("s", STREAMABLE_HTTP, url=url, timeouts=TIMES), **changed)


def sse(url: str, **changed: Any) -> ServerSpec:
    return http(url, transport=SSE, **changed)


class Bench:
    """`events` holds everything recorded, in order; `until` waits for more of it."""

    def __init__(self, portal: BlockingPortal, folder: Path) -> None:
        self.portal = portal
        self.events: list[Event] = []
        self.journal = Journal(self._take)
        self.children = Children(folder)
        self.opened: list[Connection] = []
        self._more = threading.Condition()

    def _take(self, event: Event) -> None:
        with self._more:
            self.events.append(event)
            self._more.notify_all()

    def make(self, spec: ServerSpec) -> Connection:
        connection = Connection(spec, self.journal, self.portal, self.children)
        self.opened.append(connection)
        return connection

    def open(self, spec: ServerSpec) -> Connection:
        connection = self.make(spec)
        connection.open()
        return connection

    def close(self) -> None:
        for connection in self.opened:
            connection.close()

    def until(self, found: Callable[[Event], bool], after: int = 0) -> Event:
        """The first event after `after` that is meant; an AssertionError when it does not come."""
        with self._more:
            got = self._more.wait_for(lambda: any(map(found, self.events[after:])), BOUND)
        assert got, [(event.t, event.body) for event in self.events[after:]]
        return next(filter(found, self.events[after:]))

    def anomalies(self, after: int = 0) -> list[str]:
        """Classes of the error events, in order."""
        return [event.body["class"] for event in self.events[after:] if event.t == "error"]

    def error(self, name: str, after: int = 0) -> Event:
        """The first error event of this class, waiting for it."""
        return self.until(lambda event: event.t == "error" and event.body["class"] == name, after)

    def of(self, t: str, **wanted: Any) -> list[Event]:
        """Events of a type whose fields (kind, method, dir, or in the body) are these."""
        return [event for event in self.events if event.t == t and matches(event, wanted)]

    def process_steps(self) -> list[str]:
        return [event.body["what"] for event in self.events if event.t == "proc"]

    def asked(self) -> list[str | None]:
        """Methods of our requests and notifications, in order."""
        kinds = ("request", "notification")
        return [e.method for e in self.events if e.t == "rpc" and e.dir == "c2s" and e.kind in kinds]


def matches(event: Event, wanted: dict[str, Any]) -> bool:
    own = {name: getattr(event, name) for name in ("kind", "method", "dir", "c", "cause", "raw", "pair")}
    return all(
        (own[name] if name in own else event.body.get(name)) == value for name, value in wanted.items()
    )


def call(name: str, **arguments: Any) -> dict[str, Any]:
    """Parameters of tools/call."""
    return {"name": name, "arguments": arguments}


def text_of(result: dict[str, Any]) -> str:
    text: str = result["content"][0]["text"]
    return text


@contextmanager
def serving(*command: str | Path) -> Iterator[str]:
    """A server process that says `{"url"}` on its first stdout line and leaves at stdin's EOF; gives the URL."""
    pipe = subprocess.PIPE
    argv = [sys.executable, *map(str, command)]
    with subprocess.Popen(argv, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.kill()


def chaos_http(*faults: str) -> Any:
    chosen = [word for fault in faults for word in ("--fault", fault)]
    return serving("-m", "inspector.demo", "chaos", "--http", "0", *chosen)


@contextmanager
def demo_http(name: str) -> Iterator[str]:
    """A shipped SDK server on HTTP; gives its URL."""
    argv = [sys.executable, "-m", "inspector.demo", name, "--http", "0"]
    with subprocess.Popen(argv, cwd=ROOT, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        try:
            yield process.stderr.readline().decode().rpartition(" ")[2].strip()
        finally:
            process.kill()


def self_signed(path: Path) -> Path:
    """A self-signed certificate for localhost and 127.0.0.1 and its key, in one file."""
    from datetime import UTC, datetime, timedelta
    from ipaddress import ip_address

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "loupe test")])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    made = made.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    made = made.add_extension(
        x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]),
        critical=False,
    )
    made = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    plain = serialization.NoEncryption()
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    path.write_bytes(made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM) + private)
    return path
