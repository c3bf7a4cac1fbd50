"""Authorization of one HTTP server: which token goes with a request, and the way to a new one. Loop thread.

The conversation (discovery, registration, tokens) is the SDK's `httpx2.Auth` flow, driven by hand: every request
of it goes through `exchange`, so it is in the timeline as it crossed, secrets masked. Nothing is opened or asked
of a person unless `sign_in` is called; renewing a token needs nobody and happens by itself.

Source: MCP 2026-07-28 basic/authorization; RFC 9728, 8414, 7591, 7636, 8707, 9207.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

import anyio

from inspector.errors import AuthNeeded, HttpFailed, LoupeError, TimedOut
from inspector.later import Later
from inspector.settings.spec import OAuth, ServerSpec
from inspector.settings.tokens import TokenStore, secret_values
from inspector.wire.auth_masks import HIDDEN, MASKED_FIELDS, masked, masked_text, without
from inspector.wire.http_base import BODY_KEPT, Exchange, Pairs, exchange
from inspector.wire.link import Link

if TYPE_CHECKING:
    import httpx2
    from mcp.client.auth import OAuthClientProvider

    from inspector.wire.auth_provider import Kept
else:
    httpx2 = Later("httpx2")

CAUSE = "auth"
MOST_STEPS, MOST_SAID = 60, 1000
"""Steps kept of a conversation, and characters of each; the timeline has all of it."""
DOCUMENT_CAP = 256 * 1024
"""Bytes of one document of the conversation; real ones have a few thousand."""
SENTENCE = 600
"""Characters of what a failure says: it may quote a whole answer, which the timeline has anyway."""


@dataclass(frozen=True, slots=True)
class AuthStep:
    """One thing tried on the way to a token. ok: None when its failure is no fault (the next address is tried).

    what: challenge, resource metadata, server metadata, registration, authorization, token, refresh. http: seq
    of its http event.
    """

    what: str
    said: str
    ok: bool | None = True
    url: str = ""
    status: int | None = None
    http: int | None = None


@dataclass(frozen=True, slots=True)
class CameBack:
    """What an authorization server sent the browser back with (RFC 6749 §4.1.2, RFC 9207)."""

    code: str
    state: str | None = None
    iss: str | None = None


@dataclass(frozen=True, slots=True)
class Visit:
    """A person's (or a test's) way through the authorization server.

    redirect_uri: where it sends the browser back. go(url): take the person to `url` and return what came back
    at `redirect_uri`. Raises LoupeError when the person declined or took too long.
    """

    redirect_uri: str
    go: Callable[[str], Awaitable[CameBack]]


class Renewed(Exception):
    """A refusal that a new token answers: send the request again."""


class Authorizer:
    """Tokens of one server. `steps` is the latest conversation; `refused` the last challenge a server made."""

    def __init__(
        self, link: Link, spec: ServerSpec, url: str, store: TokenStore, client: httpx2.AsyncClient
    ) -> None:
        self.link = link
        self.patience_s = spec.timeouts.connect
        self.url = url
        self.settings = spec.oauth or OAuth()
        self.client = client
        self.store = store
        self.steps: list[AuthStep] = []
        self.refused: tuple[int, str | None] | None = None
        self.version: str | None = None
        self._provider: OAuthClientProvider | None = None
        self._kept_nothing: bool | None = None
        self._kept: Kept
        self._base_hider = link.hider
        self._secrets: set[str] = set()
        self._turn = anyio.Lock()

    async def header(self) -> dict[str, str]:
        """The Authorization header of the next request, after a renewal where one is due; {} without a token."""
        if self._provider is None:
            if self._kept_nothing is None:  # looked up once: a refusal looks again
                self._kept_nothing = not await self._keeps_something()
            if self._kept_nothing:
                return {}
        async with self._turn:
            provider = await self._ready()
            context = provider.context
            if not context.is_token_valid() and context.can_refresh_token():
                await self._converse(provider, None)
            token = context.current_tokens
            return {"Authorization": f"Bearer {token.access_token}"} if token is not None else {}

    async def heed(self, found: Exchange, sent: str | None) -> None:
        """Note a refusal for `sign_in`; raises Renewed when a new token was got without a person.

        sent: the Authorization header of the refused request.
        """
        if self.note(found) and await self._renewed(sent):
            found.kept += (await found.body())[:BODY_KEPT]
            raise Renewed

    def note(self, found: Exchange) -> bool:
        """Whether this answer asks for a token (401), or for one with more scope (403); kept for `sign_in`."""
        challenge = found.response.headers.get("www-authenticate")
        if found.status == 401 or (found.status == 403 and "insufficient_scope" in (challenge or "")):
            self.refused = (found.status, challenge)
            return True
        return False

    async def _renewed(self, sent: str | None) -> bool:
        """Whether there is a new token; when another one than was sent is held by now, somebody renewed it."""
        if (
            self._provider is None
            and self.settings.grant != "client_credentials"
            and not await self._keeps_something()
        ):
            return False
        status, challenge = self.refused or (401, None)
        async with self._turn:
            provider = await self._ready()
            context = provider.context
            token = context.current_tokens
            if token is not None and sent is not None and sent != f"Bearer {token.access_token}":
                return True
            before = token.access_token if token is not None else None
            if self.settings.grant == "client_credentials":
                await self._converse(provider, _refusal(self.url, status, challenge))
            elif status == 401 and context.can_refresh_token():
                context.token_expiry_time = (
                    1.0  # the server says it is over, whatever it said when it gave it
                )
                await self._converse(provider, None)
            token = context.current_tokens
            return token is not None and token.access_token != before

    async def sign_in(self, visit: Visit) -> None:
        """The whole way to a token, with a person at the authorization server. Raises AuthNeeded."""
        status, challenge = self.refused or (401, None)
        async with self._turn:
            self._provider = None
            provider = await self._ready(visit)
            await self._converse(provider, _refusal(self.url, status, challenge))

    async def sign_out(self) -> None:
        """Forget every token of this server, here and in the store."""
        async with self._turn:
            await anyio.to_thread.run_sync(self.store.forget, self.url)
            self._provider = None
            self.refused = None

    @property
    def holds_token(self) -> bool:
        return self._provider is not None and self._provider.context.current_tokens is not None

    @property
    def scope(self) -> str | None:
        """The scope of the token held, as the authorization server named it; None when unknown."""
        token = self._provider.context.current_tokens if self._provider is not None else None
        return token.scope if token is not None else None

    @property
    def token(self) -> str | None:
        """The access token held, to tell authorization contexts apart. Never to show, log or record."""
        token = self._provider.context.current_tokens if self._provider is not None else None
        return token.access_token if token is not None else None

    # --- the conversation

    async def _keeps_something(self) -> bool:
        return bool(await anyio.to_thread.run_sync(self.store.get, self.url))

    async def _ready(self, visit: Visit | None = None) -> OAuthClientProvider:
        if self._provider is None:
            from inspector.wire.auth_provider import Kept, make_provider, remember

            self._kept = Kept(self.store, self.url)
            self._provider = make_provider(self.url, self.settings, self._kept, visit)
            await remember(self._provider, self.settings, self._kept, visit)
            await self._hide(secret_values(await self._kept.read()))
            await self._hide([self.settings.client_secret or ""])
        return self._provider

    async def _converse(self, provider: OAuthClientProvider, refused: httpx2.Response | None) -> None:
        """Drive the SDK's flow. Its own request is never sent: `refused` stands for its answer, None ends there."""
        from inspector.wire.auth_provider import keep_metadata

        self.steps = []
        if refused is not None:
            self._note(_challenge_step(refused))
        stand_in = httpx2.Request(
            "POST", self.url, headers={"MCP-Protocol-Version": self.version or "2025-11-25"}
        )
        flow = provider.async_auth_flow(stand_in)
        try:
            request = await anext(flow)
            asked = False
            while True:
                if request is stand_in:
                    if asked or refused is None:
                        break
                    asked = True
                    request = await flow.asend(refused)
                else:
                    request = await flow.asend(await self._send(provider, request))
        except StopAsyncIteration:
            pass
        except LoupeError:
            raise
        except Exception as problem:  # noqa: BLE001 - what a library makes of a hostile document is anything
            self._provider = None  # what it half took over is not to be used
            raise self._failed(problem) from None
        finally:
            with anyio.CancelScope(shield=True):
                await flow.aclose()
        token = provider.context.current_tokens
        if token is not None:
            await self._hide([token.access_token, token.refresh_token or ""])
        await keep_metadata(provider, self._kept)

    async def _send(self, provider: OAuthClientProvider, request: httpx2.Request) -> httpx2.Response:
        """One request of the conversation, recorded with its form and its answer, secrets masked in both."""
        content = await request.aread()
        form = dict(parse_qsl(content.decode("utf-8", "replace"))) if _is_form(request) else {}
        await self._hide([value for name, value in form.items() if name in MASKED_FIELDS])
        await self._hide(_basic(request))
        headers: Pairs = [(k.decode("latin-1"), v.decode("latin-1")) for k, v in request.headers.raw]
        headers = [(name, value) for name, value in headers if name.lower() not in ("host", "content-length")]
        url = str(request.url)
        shown = b""
        with anyio.move_on_after(self.patience_s) as patience:
            async with exchange(
                self.client, self.link, request.method, url, headers, content or None, cause=CAUSE
            ) as found:
                try:
                    body = await found.body(DOCUMENT_CAP)
                except HttpFailed as problem:
                    problem.remedy = (
                        "The documents of a sign-in have a few thousand bytes: is that the right address?"
                    )
                    found.kept.clear()  # its beginning may hold half a secret
                    raise
                shown, secrets = masked(body)
                await self._hide(secrets)
                shown = without(shown, self._secrets)
                found.kept += shown
        if patience.cancelled_caught:
            text = f"{request.url.host} did not finish its answer within {self.patience_s:g} s"
            self._note(AuthStep("failed", text, False, url))
            raise TimedOut(text, "Look whether that address answers at all; then sign in again")
        self._note(_step(provider, request, form, found, shown))
        answer = httpx2.Response(found.status, headers=_plain_headers(found), content=body, request=request)
        answer.next_request = found.response.next_request
        return answer

    def _note(self, step: AuthStep) -> None:
        if len(self.steps) < MOST_STEPS:
            self.steps.append(replace(step, said=step.said[:MOST_SAID], url=step.url[:MOST_SAID]))

    def _failed(self, problem: Exception) -> AuthNeeded:
        """The sentence for a conversation that ended without a token."""
        from inspector.wire.auth_provider import sentence_of

        text = self.link.hider.text(masked_text(sentence_of(problem))[: 2 * SENTENCE]).strip().rstrip(".")
        if len(text) > SENTENCE:
            text = f"{text[:SENTENCE]}… (its answer is in the timeline)"
        remedy = remedy_for(text)
        self._note(AuthStep("failed", text, False))
        self.link.anomaly("auth-failed", text, origin="console", remedy=remedy)
        return AuthNeeded(f"Signing in did not work: {text}", remedy, facts={"auth_steps": self.steps})

    async def _hide(self, values: list[str]) -> None:
        """From now on these values are recorded and shown as a placeholder."""
        fresh = {value for value in values if value} - self._secrets
        if fresh:
            self._secrets |= fresh
            self.link.hider = self._base_hider.also(dict.fromkeys(self._secrets, HIDDEN))


def authorizer(
    link: Link, spec: ServerSpec, tokens: TokenStore | None, client: httpx2.AsyncClient
) -> Authorizer | None:
    """Of an HTTP server; None where a person gave an Authorization header of their own, or nothing can be kept."""
    own = any(name.lower() == "authorization" for name in spec.headers)
    if tokens is None or own or spec.url is None:
        return None
    return Authorizer(link, spec, spec.url, tokens, client)


def remedy_for(text: str) -> str:
    """The next thing to try for a failure of the conversation, by what it says."""
    low = text.lower()
    rows = (
        ("iss mismatch", "Another authorization server answered than was asked (RFC 9207): do not trust that answer"),
        ("issuer", "Its metadata must name exactly the issuer it is found under (RFC 8414 §3.3): mend the server"),
        ("does not match expected", "Its `resource` must be this server's URL or a parent of it (RFC 9728 §3.3)"),
        ("registration", "Register a client there by hand, and put its client id into this server's settings"),
        ("state", "The answer belongs to another sign-in: start again"),
        ("scope", "Ask for a scope the server knows: set it in this server's settings"),
        ("invalid_grant", "The code or refresh token is no longer good: sign in again"),
        ("metadata", "Look at the addresses tried: one of them must answer with JSON"),
    )  # fmt: skip
    return next(
        (remedy for word, remedy in rows if word in low), "Look at the steps below for what was answered"
    )


def _basic(request: httpx2.Request) -> list[str]:
    value = request.headers.get("authorization", "")
    return [value.partition(" ")[2]] if value else []


def _is_form(request: httpx2.Request) -> bool:
    return "x-www-form-urlencoded" in request.headers.get("content-type", "")


def _refusal(url: str, status: int, challenge: str | None) -> httpx2.Response:
    headers = [(b"WWW-Authenticate", challenge.encode("utf-8", "replace"))] if challenge else []
    return httpx2.Response(status, headers=headers, request=httpx2.Request("POST", url))


def _plain_headers(found: Exchange) -> Pairs:
    """The answer's headers without those that describe a body we have decoded already."""
    raw = found.response.headers.raw
    pairs = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in raw]
    skipped = ("content-encoding", "content-length", "transfer-encoding")
    return [(name, value) for name, value in pairs if name.lower() not in skipped]


def _challenge_step(refused: httpx2.Response) -> AuthStep:
    header = refused.headers.get("www-authenticate")
    said = f"WWW-Authenticate: {header}" if header else "without a WWW-Authenticate header"
    return AuthStep("challenge", said, bool(header) or None, str(refused.request.url), refused.status_code)


def _step(
    provider: OAuthClientProvider,
    request: httpx2.Request,
    form: Mapping[str, str],
    found: Exchange,
    shown: bytes,
) -> AuthStep:
    """What one request of the conversation was for, and what came of it."""
    url, path, status = str(request.url), request.url.path, found.status
    fine = 200 <= status < 300
    grant = form.get("grant_type", "")
    if "/.well-known/" in path and "oauth-protected-resource" not in path:
        what, bad = "server metadata", None
    elif request.method == "GET":  # the challenge may name any address for it
        what, bad = "resource metadata", None
    elif grant:
        what, bad = ("refresh" if grant == "refresh_token" else "token"), False
    else:
        what, bad = "registration", False
    said = f"HTTP {status}"
    if status == 200 and what.endswith("metadata"):
        from inspector.wire.auth_provider import misfit

        if why := misfit(what, shown):
            fine, said = False, f"HTTP 200, not valid and passed over: {why}"
    elif not fine:
        said += f": {shown[:300].decode('utf-8', 'replace')}" if shown.strip() else ""
        location = found.response.headers.get("location")
        said += f", redirects to {location}; followed only within its origin" if location else ""
    elif grant:
        said += f", grant {grant}" + (f", scope {form['scope']}" if "scope" in form else "")
    return AuthStep(what, said, True if fine else bad, url, status, found.seq)


__all__ = ["AuthStep", "Authorizer", "Visit"]
