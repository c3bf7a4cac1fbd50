"""MCP servers that want a token, each with the SDK's authorization server beside it, and knobs for what goes wrong.

`protected.py [KNOB[,KNOB…]…]` starts one for each word (`plain` has no knob) and prints {word: URL}. Control, for
tests only: POST /control/expire ends every access token, /control/revoke every refresh token too; GET
/control/secrets lists every secret it ever gave out.

Knobs: prm-root (resource metadata at the root only), lower (header and scheme in lower case), no-pointer (challenge
without resource_metadata), no-challenge, wrong-issuer, wrong-resource, as-elsewhere (server metadata redirects to
another origin), no-registration, refuse-scope, no-rotation, client-credentials.
"""

from __future__ import annotations

import asyncio
import html
import json
import secrets
import socket
import sys
import time
from typing import Any
from urllib.parse import parse_qs

import uvicorn
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    AuthorizeError,
    RefreshToken,
    TokenError,
    construct_redirect_uri,
)
from mcp.server.auth.routes import create_auth_routes
from mcp.server.auth.settings import ClientRegistrationOptions, RevocationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route

SCOPES = ["notes:read", "notes:write"]
FIXED = OAuthClientInformationFull(
    client_id="fixed-client", client_secret="fixed-secret-of-the-client", redirect_uris=None,
    grant_types=["client_credentials"], token_endpoint_auth_method="client_secret_basic",
)  # fmt: skip


class Provider:
    """The SDK's provider protocol, in memory."""

    def __init__(self, base: str, knobs: set[str]) -> None:
        self.base = base
        self.knobs = knobs
        self.clients: dict[str, OAuthClientInformationFull] = {FIXED.client_id: FIXED}
        self.waiting: dict[str, tuple[OAuthClientInformationFull, AuthorizationParams]] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refresh: dict[str, RefreshToken] = {}
        self.given: list[str] = []

    def secret(self) -> str:
        self.given.append(secrets.token_urlsafe(24))
        return self.given[-1]

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        if client_info.client_secret:
            self.given.append(client_info.client_secret)
        client_info.scope = " ".join(SCOPES)  # a client may step up to what it did not ask for at first
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        if "refuse-scope" in self.knobs:
            raise AuthorizeError("invalid_scope", "no such scope here")
        ticket = secrets.token_urlsafe(8)
        self.waiting[ticket] = (client, params)
        return f"{self.base}/consent?ticket={ticket}"

    def grant(self, ticket: str) -> str:
        client, params = self.waiting.pop(ticket)
        code = self.secret()
        self.codes[code] = AuthorizationCode(
            code=code, scopes=params.scopes or ["notes:read"], expires_at=time.time() + 60, client_id=client.client_id,
            code_challenge=params.code_challenge, redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=True, resource=params.resource,
        )  # fmt: skip
        return construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state)

    def deny(self, ticket: str) -> str:
        _client, params = self.waiting.pop(ticket)
        return construct_redirect_uri(str(params.redirect_uri), error="access_denied", state=params.state)

    async def load_authorization_code(self, client: Any, authorization_code: str) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: Any, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self.issue(client.client_id, authorization_code.scopes)

    def issue(self, client_id: str, scopes: list[str], *, refreshable: bool = True) -> OAuthToken:
        access, refresh = self.secret(), self.secret() if refreshable else None
        self.access[access] = AccessToken(token=access, client_id=client_id, scopes=scopes)
        if refresh is not None:
            self.refresh[refresh] = RefreshToken(token=refresh, client_id=client_id, scopes=scopes)
        return OAuthToken(access_token=access, refresh_token=refresh, expires_in=3600, scope=" ".join(scopes))

    async def load_refresh_token(self, client: Any, refresh_token: str) -> RefreshToken | None:
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(
        self, client: Any, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        if "no-rotation" not in self.knobs:
            if refresh_token.token not in self.refresh:
                raise TokenError("invalid_grant", "used before")
            del self.refresh[refresh_token.token]
        return self.issue(client.client_id, scopes or refresh_token.scopes)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.access.pop(token.token, None)
        self.refresh.pop(token.token, None)

    async def exchange_identity_assertion(self, client: Any, params: Any) -> OAuthToken:
        raise TokenError("unsupported_grant_type")


class Guarded:
    """Lets a request through with a token of enough scope; the challenge is as the knobs want it."""

    def __init__(self, app: Any, provider: Provider) -> None:
        self.app = app
        self.provider = provider

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        body = await Request(scope, receive).body()
        granted = self._scopes(scope)
        wanted = "notes:write" if b'"write_note"' in body else "notes:read"
        if granted is None:
            await self._refuse(401, 'error="invalid_token"')(scope, receive, send)
        elif wanted not in granted:
            await self._refuse(403, f'error="insufficient_scope", scope="{wanted}"')(scope, receive, send)
        else:
            given = [{"type": "http.request", "body": body, "more_body": False}]

            async def again() -> Any:
                return given.pop() if given else await receive()

            await self.app(scope, again, send)

    def _scopes(self, scope: Any) -> list[str] | None:
        for name, value in scope["headers"]:
            if name == b"authorization":
                found = self.provider.access.get(value.decode().removeprefix("Bearer "))
                return found.scopes if found is not None else None
        return None

    def _refuse(self, status: int, said: str) -> Response:
        knobs = self.provider.knobs
        path = "" if "prm-root" in knobs else "/mcp"
        pointer = f'resource_metadata="{self.provider.base}/.well-known/oauth-protected-resource{path}"'
        parts = [said] if knobs & {"no-pointer", "prm-root"} else [said, pointer]
        name, scheme = ("www-authenticate", "bearer") if "lower" in knobs else ("WWW-Authenticate", "Bearer")
        scheme = "DPoP" if "dpop" in knobs else scheme
        headers = {} if "no-challenge" in knobs else {name: f"{scheme} {', '.join(parts)}"}
        return JSONResponse({"error": said}, status, headers=headers)


def routes(provider: Provider, knobs: set[str]) -> list[Any]:
    base = provider.base

    async def resource(_request: Request) -> Response:
        where = "http://other.invalid/mcp" if "wrong-resource" in knobs else f"{base}/mcp"
        return JSONResponse(
            {"resource": where, "authorization_servers": [base], "scopes_supported": ["notes:read"]}
        )

    async def metadata(_request: Request) -> Response:
        if "as-elsewhere" in knobs:
            return RedirectResponse("http://127.0.0.1:9/metadata")
        found: dict[str, Any] = {
            "issuer": "http://other.invalid" if "wrong-issuer" in knobs else base,
            "authorization_endpoint": f"{base}/authorize", "token_endpoint": f"{base}/token",
            "revocation_endpoint": f"{base}/revoke", "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "scopes_supported": ["files:read"] if "refuse-scope" in knobs else SCOPES,
            "token_endpoint_auth_methods_supported": ["client_secret_post", "client_secret_basic", "none"],
        }  # fmt: skip
        if "no-registration" not in knobs:
            found["registration_endpoint"] = f"{base}/register"
        return JSONResponse(found)

    async def consent(request: Request) -> Response:
        ticket = html.escape(request.query_params["ticket"])
        return HTMLResponse(
            f"<!doctype html><title>Sign in</title><h1>Let Loupe read your notes?</h1><form method=post>"
            f"<input type=hidden name=ticket value='{ticket}'><button name=say value=yes>Allow</button> "
            f"<button name=say value=no>Deny</button></form>"
        )

    async def decide(request: Request) -> Response:
        form = {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}
        where = provider.grant(form["ticket"]) if form["say"] == "yes" else provider.deny(form["ticket"])
        return RedirectResponse(where, 302)

    async def control(request: Request) -> Response:
        what = request.path_params["what"]
        if what == "secrets":
            return JSONResponse(provider.given)
        provider.access.clear()
        if what == "revoke":
            provider.refresh.clear()
        return Response(status_code=204)

    prm = "/.well-known/oauth-protected-resource"
    own = [
        Route(prm if "prm-root" in knobs else f"{prm}/mcp", resource),
        Route("/.well-known/oauth-authorization-server", metadata),
        Route("/consent", consent, methods=["GET"]),
        Route("/consent", decide, methods=["POST"]),
        Route("/control/{what}", control, methods=["GET", "POST"]),
    ]
    if "client-credentials" in knobs:
        own.append(Route("/token", machine_token(provider), methods=["POST"]))
    registering = ClientRegistrationOptions(
        enabled="no-registration" not in knobs, valid_scopes=SCOPES, default_scopes=["notes:read"]
    )
    theirs = create_auth_routes(
        provider, AnyHttpUrl(base), client_registration_options=registering,
        revocation_options=RevocationOptions(enabled=True),
    )  # fmt: skip
    return [*own, *(route for route in theirs if "well-known" not in route.path)]


def machine_token(provider: Provider) -> Any:
    """The client_credentials grant, which the SDK's server has not."""

    async def token(request: Request) -> Response:
        form = {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}
        basic = request.headers.get("authorization", "")
        if form.get("grant_type") != "client_credentials" or not basic.startswith("Basic "):
            return JSONResponse({"error": "unsupported_grant_type"}, 400)
        scopes = form.get("scope", "notes:read").split()
        issued = provider.issue(FIXED.client_id, scopes, refreshable=False)
        return JSONResponse(json.loads(issued.model_dump_json(exclude_none=True)))

    return token


def serve(knobs: set[str]) -> tuple[str, uvicorn.Server, socket.socket]:
    """One server and the socket it listens on."""
    listening = socket.create_server(("127.0.0.1", 0))
    base = f"http://127.0.0.1:{listening.getsockname()[1]}"
    server = MCPServer("notes")

    @server.tool()
    def read_note() -> str:
        """Read the note."""
        return "buy milk"

    @server.tool()
    def write_note(text: str) -> str:
        """Replace the note."""
        return f"noted: {text}"

    provider = Provider(base, knobs)
    inner = server.streamable_http_app()
    app = Starlette(
        routes=[*routes(provider, knobs), Mount("/", Guarded(inner, provider))],
        lifespan=lambda _app: inner.router.lifespan_context(inner),
    )
    return f"{base}/mcp", uvicorn.Server(uvicorn.Config(app, log_level="warning")), listening


async def main() -> None:
    made = {word: serve(set(word.split(",")) - {"plain"}) for word in sys.argv[1:] or ["plain"]}
    print(json.dumps({word: url for word, (url, _server, _socket) in made.items()}), flush=True)
    await asyncio.gather(*(server.serve(sockets=[listening]) for _url, server, listening in made.values()))


if __name__ == "__main__":
    asyncio.run(main())
