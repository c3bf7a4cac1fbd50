"""Protocol revisions, the two eras, and what an answer to `server/discover` tells. Pure, any thread.

Source: MCP 2026-07-28 basic/versioning, basic/index#_meta, basic/transports/*#backward-compatibility; the
answers real servers gave to the probe are the cases of tests/protocol/test_eras.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal

Era = Literal["handshake", "modern"]
HANDSHAKE: Final = "handshake"
MODERN: Final = "modern"

HANDSHAKE_VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_VERSIONS: Final = ("2026-07-28",)
VERSIONS: Final = HANDSHAKE_VERSIONS + MODERN_VERSIONS
"""An enumerated set: a version is known or it is not, and no order is to be read into the strings."""

LATEST_HANDSHAKE: Final = "2025-11-25"
LATEST_MODERN: Final = "2026-07-28"

META_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
META_CLIENT_INFO: Final = "io.modelcontextprotocol/clientInfo"
META_CLIENT_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
META_LOG_LEVEL: Final = "io.modelcontextprotocol/logLevel"
META_SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"
META_SUBSCRIPTION_ID: Final = "io.modelcontextprotocol/subscriptionId"

HEADER_MISMATCH: Final = -32020
MISSING_CAPABILITY: Final = -32021
UNSUPPORTED_VERSION: Final = -32022
MODERN_CODES: Final = (HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION)
"""Error codes that only a server of the modern era has a use for."""

_METHOD_NOT_FOUND: Final = -32601
_BUSY: Final = (408, 429)


def era_of(version: str) -> Era | None:
    """The era a revision belongs to, None for one we do not know."""
    if version in MODERN_VERSIONS:
        return MODERN
    return HANDSHAKE if version in HANDSHAKE_VERSIONS else None


def modern_meta(
    version: str,
    client_info: dict[str, Any] | None,
    capabilities: dict[str, Any],
    log_level: str | None = None,
) -> dict[str, Any]:
    """The `_meta` keys every modern request carries; `capabilities` {} declares none (the key itself is a
    MUST).
    """
    meta: dict[str, Any] = {META_VERSION: version, META_CLIENT_CAPABILITIES: capabilities}
    if client_info is not None:
        meta[META_CLIENT_INFO] = client_info
    if log_level is not None:
        meta[META_LOG_LEVEL] = log_level
    return meta


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer to the probe. value: its JSON, None when it was empty or no JSON; over SSE, that of the event.

    status: the HTTP status, None on stdio.
    """

    value: Any
    status: int | None = None


@dataclass(frozen=True, slots=True)
class Silence:
    """No answer within `after_s` seconds."""

    after_s: float


@dataclass(frozen=True, slots=True)
class Ended:
    """The process ended, or its output closed, before it answered. how: `code 1`, `signal SIGSEGV`."""

    how: str = ""


@dataclass(frozen=True, slots=True)
class Probe:
    """What the probe tells.

    era: None when the answer is no verdict at all (the process died, credentials are wanted, the server
    failed): show what happened, do not guess. why: for people. versions: as the server listed them, () when
    it did not. version: the modern revision to speak; None in the handshake era and when a modern server
    shares none with us.
    """

    era: Era | None
    why: str
    versions: tuple[str, ...] = ()
    version: str | None = None


def verdict(answer: Reply | Silence | Ended) -> Probe:
    """Decide the era from the answer to `server/discover` (protocol digest 1.6)."""
    if isinstance(answer, Silence):
        return Probe(
            HANDSHAKE, f"No answer to server/discover in {answer.after_s:g} s; old servers may ignore it."
        )
    if isinstance(answer, Ended):
        how = f" ({answer.how})" if answer.how else ""
        return Probe(None, f"The server ended{how} before it answered server/discover; that tells no era.")
    value, status = answer.value, answer.status
    if isinstance(value, dict) and isinstance(value.get("error"), dict):
        return _from_error(value["error"], status)
    if status is not None and (not isinstance(value, dict) or "result" not in value):
        return _from_status(status)
    if isinstance(value, dict) and isinstance(value.get("result"), dict):
        return _from_result(value["result"])
    return Probe(HANDSHAKE, "The answer to server/discover was neither a result nor an error.")


def _from_result(result: dict[str, Any]) -> Probe:
    versions = _strings(result.get("supportedVersions"))
    version = _first(MODERN_VERSIONS, versions)
    if version is not None:
        return Probe(MODERN, f"server/discover answered and lists {version}.", versions, version)
    listed = ", ".join(versions) or "no version at all"
    return Probe(
        HANDSHAKE,
        f"server/discover answered but lists {listed}, no revision of the modern era we speak.",
        versions,
    )


def _from_error(error: dict[str, Any], status: int | None) -> Probe:
    code = error.get("code")
    if isinstance(code, int) and code in MODERN_CODES:
        return _from_modern_error(code, error.get("data"))
    if status in (401, 403):
        return _from_status(status)
    if status == 404 and code == _METHOD_NOT_FOUND:
        return Probe(
            MODERN,
            'HTTP 404 with a -32601 body is how the modern era says "unknown method": the endpoint is there '
            "and modern, it only lacks server/discover, which every modern server must have.",
            version=LATEST_MODERN,
        )
    return Probe(
        HANDSHAKE,
        f"server/discover was answered with error {code!r}: not an answer of the modern era, so initialize is next.",
    )


def _from_modern_error(code: int, details: Any) -> Probe:
    if code != UNSUPPORTED_VERSION:
        return Probe(MODERN, f"Error {code} exists only in the modern era.", version=LATEST_MODERN)
    versions = _strings(details.get("supported") if isinstance(details, dict) else None)
    version = _first(MODERN_VERSIONS, versions)
    if version is not None:
        return Probe(MODERN, f"Error -32022, and the server lists {version}.", versions, version)
    offered = _first(HANDSHAKE_VERSIONS, versions)
    if offered is not None:
        # Not a blind fallback: the server itself names a revision that only initialize can reach.
        return Probe(
            HANDSHAKE, f"Error -32022, and of what the server lists we share only {offered}.", versions
        )
    listed = ", ".join(versions) or "none"
    return Probe(
        MODERN, f"Error -32022: a modern server, but we speak none of its versions ({listed}).", versions
    )


def _from_status(status: int) -> Probe:
    """HTTP without a JSON-RPC body."""
    if status in (401, 403):
        return Probe(
            None, f"HTTP {status}: the server wants credentials or refuses our address; that tells no era."
        )
    if status in _BUSY or status >= 500 or 300 <= status < 400:
        return Probe(None, f"HTTP {status} without a JSON-RPC body: the endpoint failed; that tells no era.")
    if status in (404, 405):
        return Probe(
            HANDSHAKE,
            f"HTTP {status} without a modern body: try initialize; if that fails too, GET the URL and look "
            "for the endpoint event of the old HTTP+SSE transport.",
        )
    return Probe(HANDSHAKE, f"HTTP {status} without a modern JSON-RPC body: try initialize.")


def _strings(value: Any) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _first(ours: Iterable[str], theirs: Iterable[str]) -> str | None:
    return next((version for version in ours if version in theirs), None)
