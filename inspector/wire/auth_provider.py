"""The SDK's OAuth providers, with our store behind them and what they keep to themselves kept too. Loop thread.

Imported once there is a token or the wish for one: the SDK's models and pydantic would double a start.

The SDK forgets the authorization server's metadata at a restart and then refreshes against the MCP server's own
`/token` (mcp 2.3.0, client/auth/oauth2.py); we keep it beside the tokens.
"""

from __future__ import annotations

import logging
import time
from typing import Any, TypeVar

import anyio.to_thread
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.exceptions import OAuthFlowError
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, BaseModel, ValidationError

from inspector.settings.spec import OAuth
from inspector.settings.tokens import TokenStore
from inspector.wire.auth import Visit

M = TypeVar("M", bound=BaseModel)

NOBODY = "http://127.0.0.1/nobody-signs-in"


FAILURES = (OAuthFlowError, ValidationError, ValueError)
"""What a conversation that comes to nothing raises."""


class Kept:
    """The SDK's TokenStorage over a TokenStore; the disk and the keyring may block, so in a thread."""

    def __init__(self, store: TokenStore, url: str) -> None:
        self.store = store
        self.url = url

    async def read(self) -> dict[str, Any]:
        return await anyio.to_thread.run_sync(self.store.get, self.url)

    async def write(self, **changes: Any) -> None:
        await anyio.to_thread.run_sync(lambda: self.store.update(self.url, **changes))

    async def get_tokens(self) -> OAuthToken | None:
        return _model(OAuthToken, (await self.read()).get("tokens"))

    async def set_tokens(self, tokens: OAuthToken) -> None:
        expires = time.time() + tokens.expires_in if tokens.expires_in else None
        await self.write(tokens=_plain(tokens), expires_at=expires)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return _model(OAuthClientInformationFull, (await self.read()).get("client"))

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        await self.write(client=_plain(client_info))


def make_provider(url: str, settings: OAuth, kept: Kept, visit: Visit | None) -> OAuthClientProvider:
    """The SDK's provider for these settings; without a `visit` it can renew, never sign a person in."""
    # It logs whole documents, tokens among them, when one is not valid. We say what failed ourselves.
    logging.getLogger("mcp.client.auth").setLevel(logging.CRITICAL)
    if settings.grant == "client_credentials":
        return ClientCredentialsOAuthProvider(
            url, kept, settings.client_id or "", settings.client_secret or "", scope=settings.scope,
            issuer=settings.issuer,
        )  # fmt: skip
    where = visit.redirect_uri if visit is not None else NOBODY
    metadata = OAuthClientMetadata(
        client_name="Loupe (MCP inspector)", redirect_uris=[AnyUrl(where)], scope=settings.scope,
        grant_types=["authorization_code", "refresh_token"], response_types=["code"],
    )  # fmt: skip
    answers: list[AuthorizationCodeResult] = []

    async def redirect(address: str) -> None:
        assert visit is not None
        came = await visit.go(address)
        answers.append(AuthorizationCodeResult(code=came.code, state=came.state, iss=came.iss))

    async def callback() -> AuthorizationCodeResult:
        return answers.pop()

    return OAuthClientProvider(
        url, metadata, kept, redirect if visit is not None else None, callback,
        client_metadata_url=settings.client_metadata_url,
    )  # fmt: skip


async def remember(provider: OAuthClientProvider, settings: OAuth, kept: Kept, visit: Visit | None) -> None:
    """Load what was kept, as the provider would, and what it would have forgotten."""
    await provider._initialize()
    context, found = provider.context, await kept.read()
    context.token_expiry_time = found.get("expires_at")
    context.oauth_metadata = _model(OAuthMetadata, found.get("metadata"))
    context.protected_resource_metadata = _model(ProtectedResourceMetadata, found.get("resource"))
    context.auth_server_url = found.get("auth_server")
    if settings.grant == "authorization_code" and settings.client_id:
        context.client_info = OAuthClientInformationFull(
            client_id=settings.client_id, client_secret=settings.client_secret, issuer=settings.issuer,
            redirect_uris=context.client_metadata.redirect_uris,
            token_endpoint_auth_method="client_secret_basic" if settings.client_secret else "none",
        )  # fmt: skip
    elif visit is not None and context.client_info is not None:
        registered = map(str, context.client_info.redirect_uris or ())
        if visit.redirect_uri not in registered:
            context.client_info = None  # for another port of ours: register again


async def keep_metadata(provider: OAuthClientProvider, kept: Kept) -> None:
    """What a later refresh needs to reach the same authorization server."""
    context = provider.context
    await kept.write(
        metadata=_plain(context.oauth_metadata), resource=_plain(context.protected_resource_metadata),
        auth_server=context.auth_server_url,
    )  # fmt: skip


def _plain(model: BaseModel | None) -> dict[str, Any] | None:
    return None if model is None else model.model_dump(mode="json", exclude_none=True)


def _model(kind: type[M], value: Any) -> M | None:
    try:
        return kind.model_validate(value) if isinstance(value, dict) else None
    except ValidationError:
        return None


def invalid(problem: Exception) -> str:
    """What is wrong with a document that does not fit the SDK's models; empty for other failures. No value of it."""
    if not isinstance(problem, ValidationError):
        return ""
    first = problem.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"]))
    return f"A document of the authorization server is not valid: {where}: {first['msg']}"
