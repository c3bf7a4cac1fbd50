"""The error tree: every error is one sentence a user can act on. Any thread.

LoupeError                  layer       exit
├── UsageError              usage          2   the command line or a form was not understood
├── ConfigError             config         7   a config file, or one entry of it, cannot be used
├── FileError               file           7   a trace, snapshot or lock that cannot be read or written
├── StorageError            storage        7   the data folder or its database cannot be written
├── Unreachable             *              3   no answer from the server at all
│   ├── SpawnFailed         spawn          3   the command does not exist, may not run, or ended at once
│   ├── NetworkFailed       network        3   DNS, refused, reset, proxy
│   ├── TlsFailed           tls            3   certificate or handshake
│   └── NoEra               handshake      3   neither era was answered within the time-out
├── ProtocolFailure         *              4   reached, then something went wrong
│   ├── PeerError           protocol       4   the server answered with a JSON-RPC `error`
│   ├── HttpFailed          http           4   an HTTP status or body that is no JSON-RPC
│   ├── TimedOut            timeout        4   we gave up waiting; never the server's own code
│   ├── ConnectionLost      transport      4   the process ended or the stream broke while we waited
│   └── BadReply            protocol       4   an answer that breaks JSON-RPC or MCP
├── AuthNeeded              auth           5   401 or 403 with a challenge
└── Cancelled               cancelled    130   stopped by the person
"""

from __future__ import annotations

from typing import Any


class LoupeError(Exception):
    """An error with a sentence (`message`), the next thing to try (`remedy`) and where it happened (`layer`).

    `exit_code` is the command line's (design: `docs/cli.md`). `code` is a JSON-RPC error code only when a
    peer sent it; `origin` says who made the error: `peer`, `sdk` or `console`.
    """

    layer = "console"
    exit_code = 70
    origin = "console"

    def __init__(
        self, message: str, remedy: str = "", *, layer: str | None = None, facts: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        if layer is not None:
            self.layer = layer
        self.facts: dict[str, Any] = facts or {}
        """Evidence by name: `stderr` (list of lines), `exit`, `signal`, `argv`, `url`, `status`, `tried`…"""
        self.code: int | None = None

    def as_json(self) -> dict[str, Any]:
        """The `error` object of the command line's JSON: layer, message, remedy, and `code` when a peer sent one."""
        found: dict[str, Any] = {"layer": self.layer, "message": self.message, "remedy": self.remedy}
        if self.code is not None:
            found["code"] = self.code
        return found


class UsageError(LoupeError):
    layer = "usage"
    exit_code = 2


class ConfigError(LoupeError):
    layer = "config"
    exit_code = 7


class FileError(LoupeError):
    layer = "file"
    exit_code = 7


class StorageError(LoupeError):
    layer = "storage"
    exit_code = 7


class Unreachable(LoupeError):
    layer = "network"
    exit_code = 3


class SpawnFailed(Unreachable):
    layer = "spawn"


class NetworkFailed(Unreachable):
    layer = "network"


class TlsFailed(Unreachable):
    layer = "tls"


class NoEra(Unreachable):
    layer = "handshake"


class ProtocolFailure(LoupeError):
    layer = "protocol"
    exit_code = 4


class PeerError(ProtocolFailure):
    """The server answered a request with an `error` object; `code`, `data` are as it sent them."""

    origin = "peer"

    def __init__(self, code: Any, text: Any, data: Any = None, *, remedy: str = "") -> None:
        super().__init__(f"The server answered with error {code}: {text}", remedy)
        self.code = code if isinstance(code, int) and not isinstance(code, bool) else None
        self.raw_code = code
        self.text = text if isinstance(text, str) else repr(text)
        self.data = data


class HttpFailed(ProtocolFailure):
    layer = "http"
    origin = "peer"


class TimedOut(ProtocolFailure):
    layer = "timeout"


class ConnectionLost(ProtocolFailure):
    layer = "transport"


class BadReply(ProtocolFailure):
    origin = "peer"


class AuthNeeded(LoupeError):
    layer = "auth"
    exit_code = 5
    origin = "peer"


class Cancelled(LoupeError):
    layer = "cancelled"
    exit_code = 130
