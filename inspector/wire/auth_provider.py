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

from inspector.protocol.headers import not_carried
from inspector.settings.spec import OAuth
from inspector.settings.tokens import TokenStore
from inspector.wire.auth import Visit

M = TypeVar("M", bound=BaseModel)

NOBODY = "http://127.0.0.1/nobody-signs-in"


LONGEST_TOKEN = 64 * 1024
"""Characters; no server takes a header as long."""
LONGEST_ADDRESS = 16 * 1024
"""Characters of the page a person is sent to; browsers and servers take half of it."""


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
        found = _model(OAuthToken, (await self.read()).get("tokens"))
        return found if found is not None and not unusable(found) else None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Raises OAuthFlowError for a token that could never be sent: it would be refused here at every request."""
        if why := unusable(tokens):
            raise OAuthFlowError(f"The token that was given is unusable: {why}")
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
        came = await visit.go(_page(address, provider.context.oauth_metadata))
        answers.append(AuthorizationCodeResult(code=came.code, state=came.state, iss=came.iss))

    async def callback() -> AuthorizationCodeResult:
        return answers.pop()

    provider = OAuthClientProvider(
        url, metadata, kept, redirect if visit is not None else None, callback,
        client_metadata_url=settings.client_metadata_url,
    )  # fmt: skip
    return provider


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


def unusable(tokens: OAuthToken) -> str:
    """Why no request can carry this access token; empty when one can."""
    token = tokens.access_token
    if not token:
        return "it is empty"
    if len(token) > LONGEST_TOKEN:
        return f"it has {len(token):,} characters, and no server takes a header as long"
    if not_carried([("Authorization", f"Bearer {token}")]):
        return "it holds characters that no HTTP header can carry"
    return ""


def _page(address: str, metadata: OAuthMetadata | None) -> str:
    """Where the person goes: the SDK's address, with the query its endpoint has of its own kept (RFC 6749 §3.1).

    Raises OAuthFlowError for one that would lose the request, its `state` first of all.
    """
    endpoint = str(metadata.authorization_endpoint) if metadata is not None else ""
    if "#" in endpoint:
        text = "The address of its sign-in page has a fragment (#), which RFC 6749 §3.1 forbids"
        raise OAuthFlowError(f"{text}: the request would be lost in it")
    if "?" in endpoint and address.startswith(f"{endpoint}?"):
        joint = "" if endpoint.endswith(("?", "&")) else "&"
        address = endpoint + joint + address[len(endpoint) + 1 :]
    if len(address) > LONGEST_ADDRESS:
        text = f"The address of its sign-in page has {len(address):,} characters"
        raise OAuthFlowError(f"{text}, more than browsers and servers take")
    return address


def sentence_of(problem: Exception) -> str:
    """What a conversation failed of. No value of a document that is not valid is quoted, nor the state."""
    invalid = next(
        (each for each in (problem, problem.__cause__, problem.__context__) if _is_invalid(each)), None
    )
    if isinstance(invalid, ValidationError):
        said = what_is_wrong(invalid)
        return f"A document of the authorization server is not valid: {said}"
    if isinstance(invalid, UnicodeError):
        return "An answer of the authorization server is no UTF-8"
    if isinstance(problem, OverflowError):
        return "A document of the authorization server holds a number beyond all bounds"
    text = str(problem).strip()
    if text.startswith("State parameter mismatch"):
        return "What came back belongs to another sign-in: its state is not the one that was sent"
    return text or type(problem).__name__


def _is_invalid(problem: BaseException | None) -> bool:
    return isinstance(problem, ValidationError | UnicodeError)


def what_is_wrong(problem: ValidationError) -> str:
    """The first thing, without its value."""
    first = problem.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"]))
    return f"{where}: {first['msg']}" if where else first["msg"]


def misfit(what: str, body: bytes) -> str:
    """Why the SDK passes over a metadata document it was given; empty when it does not."""
    kind = ProtectedResourceMetadata if what == "resource metadata" else OAuthMetadata
    try:
        kind.model_validate_json(body)
    except ValidationError as problem:
        return what_is_wrong(problem)
    return ""
