"""The doctor's steps after a refusal: the challenge, and each document on the way to a token, judged. Main thread.

Source: MCP 2026-07-28 basic/authorization; RFC 9728 §3 (resource metadata), RFC 8414 §3 (server metadata).
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any, Final

from inspector.doctor import http
from inspector.doctor.http import parts_of
from inspector.doctor.step import Step
from inspector.later import Later
from inspector.settings.spec import ServerSpec
from inspector.wire.auth import AuthStep

if TYPE_CHECKING:
    import httpx2
else:
    httpx2 = Later("httpx2")

MOST_BYTES: Final = 1 << 20
RESOURCE, SERVER, OPENID = "oauth-protected-resource", "oauth-authorization-server", "openid-configuration"
_POINTER = re.compile(r'resource_metadata="?([^",\s]+)', re.IGNORECASE)


def refusal(spec: ServerSpec, status: int, header: str | None, tried: list[AuthStep]) -> Iterator[Step]:
    """After a 401, or a 403 for want of a scope. tried: what Loupe did about it with the tokens it keeps."""
    if status == 403:
        scope = re.search(r'scope="([^"]*)"', header or "")
        wants = f"the scope {scope[1]}" if scope else "more scope than the token has"
        yield Step(
            "scope", False, f"It wants {wants}: {header}", "Sign in again: Loupe asks for that scope then."
        )
    elif any(step.what == "refresh" and not step.ok for step in tried):
        said = next(step.said for step in tried if step.what == "refresh" and not step.ok)
        text = f"The token Loupe keeps was refused, and the refresh token too ({said}): rotated, revoked or expired."
        yield Step("token", False, text, "Sign in again.")
    yield from challenge(header)
    issuer, scopes = yield from resource_metadata(spec.url or "", header)
    yield from server_metadata(issuer or _origin(spec.url or ""), scopes, guessed=issuer is None)


def challenge(header: str | None) -> Iterator[Step]:
    """What WWW-Authenticate says, and what it leaves out."""
    if header is None:
        text = "The refusal has no WWW-Authenticate header: it does not say where to get a token."
        yield Step("challenge", False, text, 'Send WWW-Authenticate: Bearer resource_metadata="…".')
        return
    said = f"WWW-Authenticate: {header}"
    if header[:5].lower() == "dpop ":
        text = (
            f"{said}: it wants tokens bound to a key (DPoP, RFC 9449), an extension that Loupe does not have."
        )
        yield Step("challenge", False, text, "Let it offer Bearer too, or use a client with DPoP.")
    elif header[:7].lower() != "bearer ":
        yield Step("challenge", False, f"{said} is no Bearer challenge.", "MCP wants the Bearer scheme.")
    elif _POINTER.search(header) is None:
        remedy = 'Add resource_metadata="…" to it (RFC 9728 §5.1).'
        yield Step(
            "challenge", None, f"{said}: it names no resource_metadata, so clients guess the address.", remedy
        )
    elif not header.startswith("Bearer ") or "resource_metadata" not in header:
        text = f"{said}: not spelled as in the RFCs; case does not count, but some clients compare it."
        yield Step("challenge", None, text, "Write Bearer and resource_metadata.")
    else:
        yield Step("challenge", True, said)


def resource_metadata(url: str, header: str | None) -> Generator[Step, None, tuple[str | None, list[str]]]:
    """Each address tried for the resource's metadata; returns the issuer and scopes the first document names."""
    parts = parts_of(url)
    path = parts.path.rstrip("/")
    for at in resource_urls(url, header):
        status, found, where = _document(at)
        if found is None:
            yield Step("resource metadata", None, f"{at}: {status}.", _elsewhere(where))
            continue
        only_root = (
            bool(path)
            and at == f"{_origin(url)}/.well-known/{RESOURCE}"
            and _POINTER.search(header or "") is None
        )
        problem = _resource_problem(found, url)
        if problem:
            yield Step("resource metadata", False, f"{at}: {problem}", "Mend that document (RFC 9728 §3).")
        elif only_root:
            text = f"{at}: found at the root only; RFC 9728 wants it at /.well-known/{RESOURCE}{path}."
            yield Step("resource metadata", None, text, "Serve it there too: some clients look nowhere else.")
        else:
            yield Step(
                "resource metadata",
                True,
                f"{at}: {status}, authorization server {found['authorization_servers'][0]}.",
            )
        servers = found.get("authorization_servers")
        named = servers[0] if isinstance(servers, list) and servers and isinstance(servers[0], str) else None
        return named, _texts(found.get("scopes_supported"))
    return None, []


def server_metadata(issuer: str, scopes: list[str], *, guessed: bool) -> Iterator[Step]:
    """Each address tried for the authorization server's metadata, and what the first document is worth.

    scopes: those the resource says a client may ask for.
    """
    for at in server_urls(issuer):
        status, found, where = _document(at)
        if found is None:
            yield Step("server metadata", None, f"{at}: {status}.", _elsewhere(where))
            continue
        yield from _judged(at, found, issuer, guessed)
        offered = _texts(found.get("scopes_supported"))
        refused = [scope for scope in scopes if offered and scope not in offered]
        if refused:
            text = f"The server wants {', '.join(refused)}; the authorization server lists {', '.join(offered)} only."
            yield Step("scopes", False, text, "It will refuse that scope: let both documents name the same.")
        return
    text = f"No metadata of an authorization server was found for {issuer}."
    remedy = "Serve RFC 8414 metadata there: without it clients can only guess /authorize and /token, as in 2025-03-26."
    yield Step("server metadata", False, text, remedy)


def resource_urls(url: str, header: str | None) -> list[str]:
    """Where RFC 9728 says to look, in order: what the challenge names, then with the path, then the root."""
    path, root = parts_of(url).path.rstrip("/"), _origin(url)
    named = _POINTER.search(header or "")
    found = [named[1]] if named else []
    return list(
        dict.fromkeys([*found, f"{root}/.well-known/{RESOURCE}{path}", f"{root}/.well-known/{RESOURCE}"])
    )


def server_urls(issuer: str) -> list[str]:
    """Where RFC 8414 and OpenID say to look for an issuer's metadata, in the order of MCP's authorization page."""
    if not parts_of(issuer).netloc:
        return [issuer]  # no address to ask; it is said of it as it stands
    path, root = parts_of(issuer).path.rstrip("/"), _origin(issuer)
    found = [f"{root}/.well-known/{SERVER}{path}", f"{root}/.well-known/{OPENID}{path}"]
    return list(dict.fromkeys([*found, f"{root}{path}/.well-known/{OPENID}"]))


def _resource_problem(found: dict[str, Any], url: str) -> str:
    resource, servers = found.get("resource"), found.get("authorization_servers")
    if not isinstance(servers, list) or not servers or not isinstance(servers[0], str):
        return "it names no authorization_servers."
    if not isinstance(resource, str):
        return "it has no `resource`."
    ours, theirs = parts_of(url), parts_of(resource)
    within = f"{ours.path.rstrip('/')}/".startswith(f"{theirs.path.rstrip('/')}/")
    if (ours.scheme, ours.netloc.lower()) != (theirs.scheme, theirs.netloc.lower()) or not within:
        return f"its `resource` is {resource}, which is neither this server's URL nor a parent of it."
    return ""


def _judged(at: str, found: dict[str, Any], issuer: str, guessed: bool) -> Iterator[Step]:
    """What a client must be able to rely on in an authorization server's metadata."""
    says = str(found.get("issuer"))
    if says.rstrip("/") != issuer.rstrip("/"):
        text = f"{at}: it calls itself {says}, and was looked up as {issuer}: clients must refuse it (RFC 8414 §3.3)."
        yield Step("server metadata", False, text, "Make `issuer` exactly what authorization_servers names.")
        return
    missing = [key for key in ("authorization_endpoint", "token_endpoint") if not found.get(key)]
    if missing:
        yield Step("server metadata", False, f"{at}: it has no {' and no '.join(missing)}.", "Add it.")
        return
    note = ", looked up at the server itself, as before 2025-06-18" if guessed else ""
    yield Step("server metadata", True, f"{at}: issuer {says}{note}.")
    if "S256" not in _texts(found.get("code_challenge_methods_supported")):
        text = "It does not say that it supports PKCE with S256: clients must refuse to go on."
        yield Step("pkce", False, text, 'Add "code_challenge_methods_supported": ["S256"].')
    if found.get("client_id_metadata_document_supported") or found.get("registration_endpoint"):
        how = (
            "by a metadata document"
            if found.get("client_id_metadata_document_supported")
            else "at its endpoint"
        )
        yield Step("registration", True, f"Clients register {how}.")
    else:
        text = "It registers no clients: neither registration_endpoint nor client_id_metadata_document_supported."
        yield Step(
            "registration",
            None,
            text,
            "Register one there by hand, and put its client id into the definition.",
        )


def _document(url: str) -> tuple[str, dict[str, Any] | None, str]:
    """(what came, the JSON object or None, where it redirects). Redirects are shown, not followed."""
    if parts_of(url).scheme not in ("http", "https"):
        return "no http(s) address, so it is not asked", None, ""
    until = time.monotonic() + http.STEP_S
    wanted = {"Accept": "application/json"}
    try:
        with http.client_for(url) as client, client.stream("GET", url, headers=wanted) as answer:
            if answer.status_code != 200:
                where = answer.headers.get("location", "")
                return f"HTTP {answer.status_code}", None, where
            body = b""
            for chunk in answer.iter_bytes():
                body += chunk
                if len(body) > MOST_BYTES:
                    return f"HTTP 200 with more than {MOST_BYTES:,} bytes", None, ""
                if time.monotonic() > until:
                    return f"HTTP 200, and no end of its body within {http.STEP_S:g} s", None, ""
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as problem:
        return f"no answer ({type(problem).__name__})", None, ""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return "HTTP 200 with what is no JSON", None, ""
    return ("HTTP 200", found, "") if isinstance(found, dict) else ("HTTP 200 with no JSON object", None, "")


def _elsewhere(where: str) -> str:
    return f"It redirects to {where}; clients follow that within its origin at most." if where else ""


def _texts(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _origin(url: str) -> str:
    parts = parts_of(url)
    return f"{parts.scheme}://{parts.netloc}"
