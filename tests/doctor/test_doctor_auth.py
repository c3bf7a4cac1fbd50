"""What the doctor says of a server that wants a token: each thing that can be wrong on the way to one, by name."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal

from inspector.doctor.auth import _judged, _resource_problem, refusal, server_metadata
from inspector.doctor.doctor import Doctor
from inspector.doctor.step import Step
from inspector.errors import LoupeError
from inspector.settings.paths import Paths
from inspector.settings.spec import STREAMABLE_HTTP, ServerSpec
from inspector.settings.tokens import TokenStore
from inspector.wire.children import Children
from inspector.wire.connection import Connection
from inspector.wire.events import Journal

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "wire"))

from bench import BOUND
from signing import control, person, protected

GOOD = ("challenge", "resource metadata", "server metadata", "registration", "scopes")
NAMED = {
    "plain": ("server metadata", True, "issuer"),
    "prm-root": ("resource metadata", None, "found at the root only"),
    "lower": ("challenge", None, "not spelled as in the RFCs"),
    "no-pointer": ("challenge", None, "names no resource_metadata"),
    "dpop": ("challenge", False, "bound to a key (DPoP, RFC 9449)"),
    "no-challenge": ("challenge", False, "no WWW-Authenticate header"),
    "wrong-issuer": ("server metadata", False, "it calls itself http://other.invalid"),
    "wrong-resource": ("resource metadata", False, "neither this server's URL nor a parent"),
    "as-elsewhere": ("server metadata", None, "oauth-authorization-server: HTTP 307"),
    "no-registration": ("registration", None, "It registers no clients"),
    "refuse-scope": ("scopes", False, "wants notes:read"),
}


@pytest.fixture(scope="module")
def urls() -> Iterator[dict[str, str]]:
    with protected(*NAMED) as found:
        yield found


def examine(url: str, paths: Paths) -> list[Step]:
    return list(Doctor(ServerSpec("x", STREAMABLE_HTTP, url=url), paths).examine())


@pytest.mark.parametrize("knob", NAMED)
def test_what_is_wrong_on_the_way_to_a_token_is_named(
    knob: str, urls: dict[str, str], tmp_path: Path
) -> None:
    steps = examine(urls[knob], Paths.locate(tmp_path))
    name, ok, says = NAMED[knob]
    found = [step for step in steps if step.name == name and step.ok is ok and says in step.evidence]
    assert found, [(step.name, step.ok, step.evidence) for step in steps]
    assert found[0].remedy or ok
    odd = [step.name for step in steps if step.name in GOOD and step.ok is not True]
    assert odd == [] if knob == "plain" else name in odd


def test_addresses_that_are_none_and_headers_of_any_length_are_told_in_a_sentence() -> None:
    spec = ServerSpec("x", STREAMABLE_HTTP, url="http://127.0.0.1:9/mcp")
    header = 'Bearer resource_metadata="http://[", ' + ", ".join(f'p{n}="<b>"' for n in range(10_000))
    said, *steps = refusal(spec, 401, header, [])
    whole = len(f"WWW-Authenticate: {header}")
    assert (said.name, said.ok) == ("challenge", True)
    assert said.evidence.endswith(f"… and {whole - 2000:,} more characters.")
    assert "http://[: no http(s) address, so it is not asked." in [step.evidence for step in steps]
    (asked, none) = server_metadata("http://[", [], guessed=False)
    assert asked.evidence == "http://[: no http(s) address, so it is not asked."
    assert none.evidence == "No metadata of an authorization server was found for http://[."
    found = {
        "issuer": "i",
        "authorization_endpoint": "a",
        "token_endpoint": "t",
        "code_challenge_methods_supported": 7,
    }
    assert [(step.name, step.ok) for step in _judged("at", found, "i", False)][1] == ("pkce", False)
    assert _resource_problem(
        {"authorization_servers": ["x"], "resource": "http://["}, spec.url or ""
    ).startswith("its `resource` is http://[, which is neither")


def test_a_redirect_of_the_metadata_says_where_to(urls: dict[str, str], tmp_path: Path) -> None:
    steps = examine(urls["as-elsewhere"], Paths.locate(tmp_path))
    assert any("redirects to http://127.0.0.1:9/metadata" in step.remedy for step in steps)


def test_a_token_that_is_refused_and_cannot_be_renewed_is_said(urls: dict[str, str], tmp_path: Path) -> None:
    url, paths = urls["plain"], Paths.locate(tmp_path).ensure()
    tokens = TokenStore(paths.tokens)
    with start_blocking_portal("asyncio") as portal:
        spec = ServerSpec("x", STREAMABLE_HTTP, url=url)
        connection = Connection(spec, Journal(), portal, Children(paths.children), tokens=tokens)
        with pytest.raises(LoupeError):
            connection.open()
        connection.sign_in(person()).result(BOUND)
        connection.close()
    control(url, "revoke")
    (said,) = [step for step in examine(url, paths) if step.name == "token"]
    assert said.ok is False
    assert "rotated, revoked or expired" in said.evidence
