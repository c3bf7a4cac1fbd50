"""Sends a catalog to a provider's token counter, only when a person asked for just that. Blocks: not on the loop.

The key comes from the environment at that moment, goes into one header, and is taken out of whatever we say of an
answer. It is never kept, logged, recorded or shown. Nothing is redirected, retried or sent twice.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from inspector.catalog import jsontext
from inspector.catalog.counters import COUNTERS, CountRequest, count_in, said_in
from inspector.errors import (
    AuthNeeded,
    BadReply,
    HttpFailed,
    LoupeError,
    NetworkFailed,
    TimedOut,
    TlsFailed,
    UsageError,
)

WAIT_S: Final = 60.0
ANSWER_BYTES: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Exact:
    """What the provider counted. tools: the difference, hidden tool prompt included."""

    request: CountRequest
    with_tools: int
    without_tools: int

    @property
    def tools(self) -> int:
        return self.with_tools - self.without_tools


class Counting:
    """What providers have counted in this run, by catalog, provider and model. Thread-safe."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, str], Exact] = {}
        self._lock = threading.Lock()

    def count(self, request: CountRequest, sha256: str) -> Exact:
        """`count_exactly`, kept for the catalog of that hash."""
        found = count_exactly(request)
        key = (sha256, request.provider, request.model)
        with self._lock:
            self._known.pop(key, None)  # the newest stands last
            self._known[key] = found
        return found

    def newest(self, sha256: str, provider: str) -> Exact | None:
        """The last count of a catalog by a provider, whichever the model."""
        with self._lock:
            found = [exact for (sha, by, _), exact in self._known.items() if (sha, by) == (sha256, provider)]
        return found[-1] if found else None

    def known(self, request: CountRequest, sha256: str) -> Exact | None:
        with self._lock:
            return self._known.get((sha256, request.provider, request.model))


def key_name(provider: str, environ: Mapping[str, str] | None = None) -> str | None:
    """The variable that holds the key, None when none is set."""
    known = os.environ if environ is None else environ
    return next((name for name in COUNTERS[provider].keys if known.get(name, "").strip()), None)


def require_key(provider: str, environ: Mapping[str, str] | None = None) -> str:
    """`key_name`, or a UsageError that says what to set."""
    found = key_name(provider, environ)
    if found is None:
        wanted = " or ".join(COUNTERS[provider].keys)
        host = urlsplit(COUNTERS[provider].url).netloc
        raise UsageError(
            f"{wanted} is not set: {host} counts only for a key of yours", "Set it, then ask again"
        )
    return found


def base_url(provider: str, environ: Mapping[str, str] | None = None) -> str:
    """Where to ask: the provider, or what its own SDKs' variable names instead. Raises UsageError for a URL that
    would send the key in the clear."""
    counter = COUNTERS[provider]
    known = os.environ if environ is None else environ
    found = known.get(counter.base, "").strip() or counter.url
    parts = urlsplit(found)
    local = parts.hostname in ("localhost", "127.0.0.1", "::1")
    if (
        not parts.hostname
        or not (parts.scheme == "https" or (parts.scheme == "http" and local))
        or parts.username
    ):
        raise UsageError(
            f"{counter.base} is no https URL: a key is not sent to it", f"Unset it, or write {counter.url}"
        )
    return found


def count_exactly(request: CountRequest, environ: Mapping[str, str] | None = None) -> Exact:
    """Ask twice, with the tools and without. Raises one sentence that never holds the key."""
    known = os.environ if environ is None else environ
    name = require_key(request.provider, known)
    if not request.tools:
        raise UsageError("There is no tool the provider would take", "Look at the findings of this catalog")
    key = known[name].strip()
    try:
        with_tools = _ask(request, request.body, key)
        return Exact(request, with_tools, _ask(request, request.bare, key))
    except LoupeError as problem:
        problem.message = problem.message.replace(key, "…")
        problem.args = (problem.message,)
        raise problem from None


def _ask(request: CountRequest, body: bytes, key: str) -> int:
    import httpx2

    counter = COUNTERS[request.provider]
    headers = {counter.header: counter.prefix + key, "Content-Type": "application/json", **counter.headers}
    host = _host(request)
    try:
        with (
            httpx2.Client(timeout=WAIT_S, follow_redirects=False) as client,
            client.stream("POST", request.url, content=body, headers=headers) as answer,
        ):
            status, content = answer.status_code, _limited(answer)
    except httpx2.TimeoutException:
        raise TimedOut(f"{host} did not answer within {WAIT_S:g} s", "Try again later") from None
    except httpx2.ConnectError as problem:
        text = str(problem)
        kind = TlsFailed if "SSL" in text or "certificate" in text.lower() else NetworkFailed
        raise kind(
            f"{host} cannot be reached: {text or type(problem).__name__}", "Check the network or the proxy"
        ) from None
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as problem:
        text = str(problem) or type(problem).__name__
        raise NetworkFailed(f"The exchange with {host} broke: {text}", "Try again") from None
    return _read(request, status, content)


def _limited(answer: Any) -> bytes:
    held = bytearray()
    for chunk in answer.iter_bytes():
        held += chunk
        if len(held) > ANSWER_BYTES:
            break
    return bytes(held)


def _read(request: CountRequest, status: int, content: bytes) -> int:
    host = _host(request)
    try:
        answer = jsontext.loads(content)
    except (ValueError, RecursionError):
        answer = None
    said = said_in(answer)
    words = f"{host} answered {status}" + (f": {said}" if said else "")
    if status in (401, 403):
        raise AuthNeeded(words, f"Check the key in {' or '.join(COUNTERS[request.provider].keys)}")
    if status == 429:
        raise HttpFailed(words, "Wait a minute and ask again: the provider limits how often")
    if status == 404:
        raise HttpFailed(words, f"Check the model's name, {request.model}")
    if status != 200:
        remedy = "Read what it says" if said else "Try again later"
        raise HttpFailed(words, remedy)
    count = count_in(answer, request.provider)
    if count is None:
        raise BadReply(
            f"{host} answered 200 without {COUNTERS[request.provider].answer}",
            "Its API may have changed; see docs/exact-counts.md",
        )
    return count


def _host(request: CountRequest) -> str:
    parts = urlsplit(request.url)
    return parts.netloc
