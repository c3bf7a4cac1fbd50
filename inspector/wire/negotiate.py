"""Finding out which era a server speaks, visibly: every attempt is recorded and listed. Loop thread.

Source: MCP 2026-07-28 basic/versioning and the transports' "backward compatibility" sections. The verdicts are
pure functions in protocol/eras.py; this is the part that asks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import anyio

from inspector.errors import (
    BadReply,
    ConnectionLost,
    HttpFailed,
    LoupeError,
    NoEra,
    PeerError,
    ProtocolFailure,
    TimedOut,
)
from inspector.protocol import eras
from inspector.protocol.eras import Ended, Era, Probe, Silence
from inspector.wire.dispatcher import Dispatcher, Reply
from inspector.wire.watching import Watch, watched


@dataclass(slots=True)
class Attempt:
    """One step of the negotiation, for people: what was asked, what came, what was concluded."""

    asked: str
    outcome: str
    ok: bool
    seq: int | None = None


@dataclass(slots=True)
class Peer:
    """What a server said of itself. Fields are None where it said nothing."""

    era: Era
    protocol_version: str
    server_info: dict[str, Any] | None = None
    capabilities: dict[str, Any] | None = None
    instructions: str | None = None
    supported_versions: list[str] | None = None
    hello_seq: int | None = None
    attempts: list[Attempt] = field(default_factory=list)


class Speaker(Protocol):
    """A transport that wants to know the era (HTTP headers depend on it)."""

    era: Era
    version: str | None


@dataclass(slots=True)
class Client:
    """Who we say we are: `info` is the Implementation, `capabilities` what the switches declare.

    tasks: questions may come as tasks, which only the handshake era has as a capability.
    """

    info: dict[str, Any]
    capabilities: dict[str, Any]
    tasks: bool = False

    def at_handshake(self) -> dict[str, Any]:
        """The capabilities as `initialize` names them: there, changes of roots are announced, and tasks are one."""
        roots = {"roots": {"listChanged": True}} if "roots" in self.capabilities else {}
        asked: dict[str, Any] = {"sampling": {"createMessage": {}}, "elicitation": {"create": {}}}
        requests = {name: each for name, each in asked.items() if name in self.capabilities}
        tasks = {"tasks": {"list": {}, "cancel": {}, "requests": requests}} if self.tasks else {}
        return self.capabilities | roots | tasks


class Negotiation:
    """Runs the handshake of either era over a dispatcher whose transport is up, until `deadline` (loop time)."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        client: Client,
        speaker: Speaker | None,
        deadline: float,
        watch: Watch | None = None,
    ) -> None:
        self.dispatcher = dispatcher
        self.client = client
        self.speaker = speaker
        self.deadline = deadline
        self.watch = watch
        self.attempts: list[Attempt] = []

    async def discover(self, probe_s: float) -> tuple[Probe, Peer | None]:
        """Ask `server/discover`; returns the verdict, and the peer when it is a modern one we can speak to."""
        probe, reply = await self._ask_discover(eras.LATEST_MODERN, probe_s)
        if reply is None and probe.version is not None and probe.versions:
            probe, reply = await self._ask_discover(probe.version, probe_s)  # -32022 named a version we share
        if probe.era != eras.MODERN:
            return probe, None
        if probe.version is None:
            listed = ", ".join(probe.versions) or "none"
            raise NoEra(
                f"The server speaks only revisions Loupe does not know: {listed}",
                "Update Loupe, or ask the server's author for a revision both speak",
                facts={"tried": self.attempts},
            )
        return probe, self._modern_peer(probe.version, reply)

    async def _ask_discover(self, version: str, probe_s: float) -> tuple[Probe, Reply | None]:
        self._speak(eras.MODERN, version)
        params = {"_meta": eras.modern_meta(version, self.client.info, self.client.capabilities)}
        method, cause = "server/discover", "probe"
        reply: Reply | None = None
        seq: int | None = None
        try:
            reply = await watched(
                self.watch, method, params, cause,
                lambda: self.dispatcher.request(method, params, timeout=probe_s, cause=cause),
            )  # fmt: skip
            answer: eras.Reply | Silence | Ended = eras.Reply({"result": reply.result})
            seq = reply.seq
        except TimedOut:
            answer = Silence(probe_s)
        except PeerError as problem:
            error = {"code": problem.raw_code, "message": problem.text, "data": problem.data}
            answer = eras.Reply({"error": error}, problem.facts.get("status"))
            seq = problem.facts.get("seq")
        except HttpFailed as problem:
            answer = eras.Reply(None, problem.facts.get("status", 0))
        except BadReply as problem:
            answer, seq = eras.Reply(None), problem.facts.get("seq")
        except ConnectionLost as problem:
            answer = Ended(_how(problem))
        except LoupeError as problem:
            self.attempts.append(Attempt("server/discover", problem.message, False))
            raise
        probe = eras.verdict(answer)
        self.attempts.append(Attempt("server/discover", probe.why, probe.era == eras.MODERN, seq))
        return probe, reply

    def _modern_peer(self, version: str, reply: Reply | None) -> Peer:
        result = reply.result if reply is not None else {}
        meta = result.get("_meta")
        info = (meta.get(eras.META_SERVER_INFO) if isinstance(meta, dict) else None) or result.get(
            "serverInfo"
        )
        self._speak(eras.MODERN, version)
        versions = result.get("supportedVersions")
        return Peer(
            eras.MODERN, version, _object(info), _object(result.get("capabilities")), _text(result.get("instructions")),
            versions if isinstance(versions, list) else None, reply.seq if reply else None, self.attempts,
        )  # fmt: skip

    async def initialize(self) -> Peer:
        """The handshake of 2025-11-25 and before; raises the first real error, with everything that was tried."""
        self._speak(eras.HANDSHAKE, None)
        params = {
            "protocolVersion": eras.LATEST_HANDSHAKE,
            "capabilities": self.client.at_handshake(),
            "clientInfo": self.client.info,
        }
        try:
            reply = await self.dispatcher.request(
                "initialize", params, timeout=self._left(), cause="handshake"
            )
        except LoupeError as problem:
            self.attempts.append(Attempt("initialize", problem.message, False, problem.facts.get("seq")))
            raise
        version = reply.result.get("protocolVersion")
        if eras.era_of(version if isinstance(version, str) else "") != eras.HANDSHAKE:
            text = f"The server answered initialize with protocol version {version!r}, which no handshake revision has"
            self.attempts.append(Attempt("initialize", text, False, reply.seq))
            raise ProtocolFailure(text, "Ask the server's author which revision it speaks", layer="handshake")
        assert isinstance(version, str)
        self.attempts.append(Attempt("initialize", f"The server speaks {version}.", True, reply.seq))
        self._speak(eras.HANDSHAKE, version)
        await self.dispatcher.notify("notifications/initialized", cause="handshake")
        result = reply.result
        return Peer(
            eras.HANDSHAKE, version, _object(result.get("serverInfo")), _object(result.get("capabilities")),
            _text(result.get("instructions")), None, reply.seq, self.attempts,
        )  # fmt: skip

    def _left(self) -> float:
        return max(round(self.deadline - anyio.current_time(), 1), 0.1)

    def _speak(self, era: Era, version: str | None) -> None:
        if self.speaker is not None:
            self.speaker.era = era
            self.speaker.version = version


def _how(problem: ConnectionLost) -> str:
    facts = problem.facts
    if "signal" in facts:
        return f"signal {facts['signal']}"
    return f"code {facts['exit']}" if "exit" in facts else ""


def _object(value: Any) -> dict[str, Any] | None:
    return value if isinstance(value, dict) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
