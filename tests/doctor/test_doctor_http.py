"""The doctor on URLs: credentials and where to get them, CORS, Host rules, TLS."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "wire"))

from bench import chaos_http, self_signed

from inspector.doctor import auth, http
from inspector.doctor.doctor import Doctor
from inspector.doctor.step import Step
from inspector.settings.paths import Paths
from inspector.settings.spec import STREAMABLE_HTTP, ServerSpec, Timeouts


def examine(url: str, tmp_path: Path) -> list[Step]:
    spec = ServerSpec("x", STREAMABLE_HTTP, url=url, timeouts=Timeouts(probe=5, connect=20, call=10))
    return list(Doctor(spec, Paths.locate(tmp_path)).examine())


def named(steps: list[Step], name: str) -> list[Step]:
    return [one for one in steps if one.name == name]


def test_a_healthy_endpoint_passes_every_layer(tmp_path: Path) -> None:
    with chaos_http() as url:
        steps = examine(url, tmp_path)
    assert [one.name for one in steps if one.ok is False] == []
    assert {"dns", "connect", "era", "connected", "list tools", "cors"} <= {one.name for one in steps}


def test_a_401_shows_the_challenge_and_the_status_of_each_discovery_address(tmp_path: Path) -> None:
    with chaos_http("needs_auth") as url:
        steps = examine(url, tmp_path)
    (connected,) = named(steps, "connected")
    assert "HTTP 401" in connected.evidence
    (challenge,) = named(steps, "challenge")
    assert "resource_metadata" in challenge.evidence
    asked = [one.evidence for one in named(steps, "resource metadata") + named(steps, "server metadata")]
    assert len(asked) >= 4
    pointer = challenge.evidence.split('resource_metadata="')[1].split('"')[0]
    assert asked[0].startswith(f"{pointer}: ")


def test_a_tool_that_no_http_client_may_call_is_named_with_the_reason(tmp_path: Path) -> None:
    with chaos_http("broken_tools") as url:
        steps = examine(url, tmp_path)
    (headers,) = named(steps, "tool headers")
    assert headers.ok is False
    assert headers.evidence.startswith(
        "1 cannot be called over HTTP, for its x-mcp-header: “bad_header: ratio: "
    )


@pytest.mark.parametrize(
    ("fault", "says"), [("cors_401", "HTTP 401"), ("cors_missing_headers", "could not send")]
)
def test_what_a_browser_client_would_meet_is_said_and_fails_nothing(
    fault: str, says: str, tmp_path: Path
) -> None:
    with chaos_http(fault) as url:
        spec = ServerSpec("x", STREAMABLE_HTTP, url=url)
        step = http.cors(spec)
    assert step.ok is None
    assert says in step.evidence


def test_what_a_server_says_is_quoted_with_its_dots(tmp_path: Path) -> None:
    (connected,) = [one for one in examine_refused("../elsewhere/mcp", tmp_path) if one.name == "connected"]
    assert connected.evidence == "The server redirects (HTTP 307) to ../elsewhere/mcp."


def examine_refused(where: str, tmp_path: Path) -> list[Step]:
    with answering(lambda ask: redirect(ask, where)) as url:
        return examine(f"{url}/mcp", tmp_path)


def redirect(ask: BaseHTTPRequestHandler, where: str) -> None:
    ask.send_response(307)
    ask.send_header("Location", where)
    ask.send_header("Content-Length", "0")
    ask.end_headers()


def drip(ask: BaseHTTPRequestHandler) -> None:
    ask.send_response(200)
    ask.end_headers()
    with suppress(OSError):
        while True:
            ask.wfile.write(b" ")
            threading.Event().wait(0.02)


def test_a_document_that_never_ends_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "STEP_S", 0.2)
    with answering(drip) as url:
        (step,) = list(auth.server_metadata(url, [], guessed=True))[:1]
    assert step.evidence.endswith("HTTP 200, and no end of its body within 0.2 s.")


@contextmanager
def answering(how: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[str]:
    """A server that does this with every request."""
    handler = type("Handler", (BaseHTTPRequestHandler,), {
        "do_GET": how, "do_POST": how, "do_OPTIONS": how, "log_message": lambda *_: None,
    })  # fmt: skip
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join(20)


@pytest.fixture(scope="module")
def pem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return self_signed(tmp_path_factory.mktemp("tls") / "self.pem")


def test_a_private_certificate_is_named_and_the_way_to_trust_it(pem: Path, tmp_path: Path) -> None:
    with chaos_http(f"self_signed={pem}") as url:
        steps = examine(url, tmp_path)
    (tls,) = named(steps, "tls")
    assert tls.ok is False
    assert "self-signed certificate" in tls.evidence
    assert "SSL_CERT_FILE" in tls.remedy


def test_the_certificate_file_a_person_names_is_honoured(
    pem: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(pem))
    with chaos_http(f"self_signed={pem}") as url:
        steps = examine(url, tmp_path)
    (tls,) = named(steps, "tls")
    assert tls.ok is True
    assert named(steps, "connected")[0].ok is True
