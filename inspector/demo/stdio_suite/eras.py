"""Scenarios about finding the era: each answer to the probe, and each silence, that servers in the field give."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from inspector.demo.chaos_faults import DISCOVER, INITIALIZE, Ask
from inspector.demo.stdio_suite.log import Seen, version_of
from inspector.demo.stdio_suite.scenario import FIELD, MUST, SHOULD, Check, Scenario

if TYPE_CHECKING:
    from inspector.demo.stdio_suite.server import SuiteServer

FALLBACK = "basic/transports/stdio (backward compatibility)"
VERSIONS = "basic/versioning"
NOISY_LINE = b"pydantic_core._pydantic_core.ValidationError: 1 validation error for ClientRequest\n"
QUICK: Mapping[str, int] = MappingProxyType({"probe": 500})


class Era(Scenario):
    group = "era"
    asks = "Sends initialize, in whatever words the probe was refused."
    source = FALLBACK
    level = MUST


class OldServer(Era):
    """Knows `initialize` only."""

    eras = ("handshake",)
    code: int = -32601
    message = "Method not found"
    data: str | None = None

    def request(self, server: SuiteServer, method: str, id_: Any, params: dict[str, Any]) -> None:
        if method != DISCOVER:
            return server.answer(method, id_, params)
        more = {} if self.data is None else {"data": self.data}
        return server.frame(Ask(method, id_).error(self.code, self.message, **more))


class Code32601(OldServer):
    """Refuses the probe with -32601."""

    name = "probe-32601"
    source = f"{FALLBACK}; seen: servers of the TypeScript SDK 1.x and the C# SDK"


class Code32602(OldServer):
    """Refuses the probe with -32602, after 250 lines on stderr."""

    name = "probe-32602"
    source = f"{FALLBACK}; seen: servers of the Python SDK 1.x"
    code, message, data = -32602, "Invalid request parameters", ""

    def request(self, server: SuiteServer, method: str, id_: Any, params: dict[str, Any]) -> None:
        if method == DISCOVER:
            server.raw(NOISY_LINE * 250, fd=2)
        super().request(server, method, id_, params)


class Code32000(OldServer):
    """Refuses the probe with -32000."""

    name = "probe-32000"
    source = f"{FALLBACK}; seen over HTTP: server-everything, @playwright/mcp"
    code, message = -32000, "Bad Request: Server not initialized"


class CodeZero(OldServer):
    """Refuses the probe with the code 0."""

    name = "probe-0"
    source = f"{FALLBACK}; seen: slop-mcp 0.15.0 (Go)"
    code, message = 0, 'method "server/discover" is invalid during session initialization'


class ProbeSilence(OldServer):
    """Never answers what comes before `initialize`."""

    name = "probe-silence"
    asks = "Sends initialize when the probe is not answered in time."
    timeouts = QUICK

    def request(self, server: SuiteServer, method: str, id_: Any, params: dict[str, Any]) -> None:
        if method != DISCOVER:
            server.answer(method, id_, params)


class ProbeExit(OldServer):
    """Exits with code 1 at the probe, each time."""

    name = "probe-exit"
    asks = "Starts it again and sends initialize, not the probe once more."
    level = SHOULD
    lives = 3

    def request(self, server: SuiteServer, method: str, id_: Any, params: dict[str, Any]) -> None:
        if method == DISCOVER:
            server.die("at the probe", 1)
        server.answer(method, id_, params)


class Stateful(OldServer):
    """Answers the probe with a result that lists 2025-11-25 only."""

    name = "probe-lists-old"
    asks = "Sends initialize: that the probe was answered does not make a server modern."
    source = f"{VERSIONS}; seen over HTTP: kubernetes-mcp-server, stateful"

    def request(self, server: SuiteServer, method: str, id_: Any, params: dict[str, Any]) -> None:
        if method != DISCOVER:
            return server.answer(method, id_, params)
        result = {
            "supportedVersions": ["2025-11-25"],
            "capabilities": {"tools": {}},
            "resultType": "complete",
        }
        return server.frame(Ask(method, id_, right=result).answer())


class Modern(Era):
    """A modern server."""

    eras: tuple[str, ...] = ("modern",)
    asks = "Speaks 2026-07-28 and sends no initialize after the probe was answered."

    def judge(self, seen: Seen) -> Iterable[Check]:
        late = [
            life
            for life in seen.lives
            if life.handshaken and any(version_of(ask) for ask in life.requests(DISCOVER))
        ]
        yield self.check(
            "no-initialize", MUST, not late, "sends no initialize to a server whose probe named a modern revision",
            "initialize came after server/discover was answered" if late else "none",
        )  # fmt: skip


class ModernOnly(Modern):
    """Speaks 2026-07-28 only; answers `initialize` with -32022."""

    name = "modern-only"
    source = f"{VERSIONS} (compatibility matrix)"


class EraLock(Modern):
    """Speaks either era, but only the one of its first request: the other is answered with -32022."""

    name = "era-lock"
    eras = ("handshake", "modern")
    era_lock = True
    source = f"{FALLBACK}; seen: servers of the Python SDK 2.x"


class SecondInitialize(Modern):
    """Answers the probe, then refuses `initialize` with the code 0, "duplicate initialize received"."""

    name = "duplicate-initialize"
    eras = ("handshake", "modern")
    source = f"{FALLBACK}; seen: kubernetes-mcp-server (Go)"

    def request(self, server: SuiteServer, method: str, id_: Any, params: dict[str, Any]) -> None:
        if method == INITIALIZE and server.kept:
            return server.frame(Ask(method, id_).error(0, "duplicate initialize received"))
        server.kept = server.kept or method == DISCOVER
        return server.answer(method, id_, params)


class SlowStart(Scenario):
    """Reads nothing for 1.5 s, then answers what came, in the era of its first request only."""

    name = "slow-start"
    group = "era"
    asks = "Gets through, whether it waited or had begun to fall back."
    source = f"{FALLBACK}; seen: workspace-mcp 2.2.1, 3.9 s"
    era_lock = True
    timeouts = QUICK

    def start(self, server: SuiteServer) -> None:
        time.sleep(1.5)


class FutureVersion(Scenario):
    """Refuses every request with -32022 and lists 2099-01-01."""

    name = "future-version"
    group = "era"
    asks = "Gives up: no initialize, nothing in a revision the server did not list."
    source = FALLBACK
    eras = ("modern",)
    reaches = None

    def request(self, server: SuiteServer, method: str, id_: Any, params: dict[str, Any]) -> None:
        details = {"supported": ["2099-01-01"], "requested": "2026-07-28"}
        server.frame(Ask(method, id_).error(-32022, "Unsupported protocol version", data=details))

    def judge(self, seen: Seen) -> Iterable[Check]:
        asked = [ask for life in seen.lives for ask in life.requests()]
        first = bool(asked) and version_of(asked[0]) is not None
        later = [str(ask["method"]) for ask in asked[1:] if version_of(ask) != "2099-01-01"]
        found = (
            f"then {later[0]}" if later else "nothing more" if first else "no request of the modern era came"
        )
        yield self.check(
            "gives-up", MUST, first and not later, "asks once in a modern revision, and no more", found
        )


class OlderVersion(OldServer):
    """Refuses the probe, and answers `initialize` with 2024-11-05."""

    name = "older-version"
    asks = "Goes on in the older revision the server chose."
    source = "2025-11-25 basic/lifecycle (version negotiation); seen: server-github 2025.4.8"
    level = FIELD

    def request(self, server: SuiteServer, method: str, id_: Any, params: dict[str, Any]) -> None:
        if method == INITIALIZE:
            params = {**params, "protocolVersion": "2024-11-05"}
        super().request(server, method, id_, params)


class UnknownVersion(OldServer):
    """Refuses the probe, and answers `initialize` with 1999-12-31."""

    name = "unknown-version"
    asks = "Disconnects: it does not know that revision."
    source = "2025-11-25 basic/lifecycle (version negotiation)"
    reaches = None

    def request(self, server: SuiteServer, method: str, id_: Any, params: dict[str, Any]) -> None:
        if method != INITIALIZE:
            return super().request(server, method, id_, params)
        result = {"protocolVersion": "1999-12-31", "capabilities": {"tools": {}}}
        result |= {"serverInfo": {"name": "old", "version": "1"}}
        return server.frame(Ask(method, id_, right=result).answer())

    def judge(self, seen: Seen) -> Iterable[Check]:
        asked = [str(ask["method"]) for life in seen.lives for ask in life.requests()]
        later = asked[asked.index(INITIALIZE) + 1 :] if INITIALIZE in asked else ["no initialize at all"]
        asks = "sends no request after initialize was answered with a revision it does not know"
        yield self.check("disconnects", SHOULD, not later, asks, later[0] if later else "nothing more")


class Silence(Scenario):
    """Reads everything and never answers."""

    name = "silence"
    group = "era"
    asks = "Gives up after its own time-out, and closes."
    source = "2025-11-25 basic/lifecycle (timeouts); seen: the servers of Stripe and Apify without a network"
    reaches = None
    timeouts: Mapping[str, int] = MappingProxyType({"probe": 500, "connect": 2000})

    def request(self, server: SuiteServer, method: str, id_: Any, params: dict[str, Any]) -> None:
        pass

    def judge(self, seen: Seen) -> Iterable[Check]:
        calls = [ask for life in seen.lives for ask in life.requests("tools/call")]
        yield self.check("no-calls", MUST, not calls, "calls nothing it was never told of",
                         "tools were called" if calls else "none")  # fmt: skip


class ExitAtStart(Scenario):
    """Writes why on stderr and exits with code 1, before it reads anything."""

    name = "exit-at-start"
    group = "era"
    asks = "Gives up after at most two more starts."
    source = "seen: servers that want an API key (Sentry, Figma, Supabase)"
    reaches = None
    lives = 3

    def start(self, server: SuiteServer) -> None:
        server.raw(b"fatal: EXAMPLE_API_KEY is not set\n", fd=2)
        server.die("at its start", 1)


SCENARIOS = (
    Code32601(), Code32602(), Code32000(), CodeZero(), ProbeSilence(), ProbeExit(), Stateful(), ModernOnly(), EraLock(),
    SecondInitialize(), SlowStart(), FutureVersion(), OlderVersion(), UnknownVersion(), Silence(), ExitAtStart(),
)  # fmt: skip
