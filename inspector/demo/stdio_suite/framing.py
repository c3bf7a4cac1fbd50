"""Scenarios about lines and bytes on stdout; the classes are values, their methods run in the server's process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.demo.chaos_faults import dumps
from inspector.demo.stdio_suite.checks import STDIO
from inspector.demo.stdio_suite.scenario import FIELD, MUST, Scenario

if TYPE_CHECKING:
    from inspector.demo.stdio_suite.server import SuiteServer

NOTE = dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "é"}})
BIG = 3_300_000
PIECE = 7


class Framing(Scenario):
    group = "framing"
    asks = "Reads each message to the byte, and calls `second` with a default that is not plain ASCII."
    source = f"{STDIO} (messages are delimited by newlines)"
    level = MUST


class Healthy(Framing):
    """Does nothing wrong: one message a line, one line a write."""

    name = "healthy"


class Split(Framing):
    """Writes each message in pieces of 7 bytes, so that characters of several bytes come apart."""

    name = "split"

    def write(self, server: SuiteServer, raw: bytes) -> None:
        line = raw + b"\n"
        for start in range(0, len(line), PIECE):
            server.raw(line[start : start + PIECE])


class Together(Framing):
    """Writes each answer in one write with a notification before and one behind it."""

    name = "together"

    def write(self, server: SuiteServer, raw: bytes) -> None:
        server.raw(b"\n".join((NOTE, raw, NOTE, b"")))


class Separators(Framing):
    """Lists a tool whose description holds U+2028, U+2029, U+0085 and U+007F, which JSON allows and are no line feeds."""

    name = "separators"

    def tools(self) -> list[dict[str, Any]]:
        first, second = super().tools()
        return [first | {"description": "a\u2028b\u2029c\x85d\x7fe"}, second]


class HugeLine(Framing):
    """Lists its tools in one line of 3.3 MB, the one to call last."""

    name = "huge-line"
    asks = "Reads a line far longer than any buffer, and calls the tool at its end."
    source = f"{STDIO}; seen: tooluniverse 1.5.7, 3.2 MB"

    def tools(self) -> list[dict[str, Any]]:
        first, second = super().tools()
        return [first | {"description": "x" * BIG}, second]


class Noisy(Framing):
    """A server that breaks a rule a client can get over."""

    asks = "Passes over what is no message, and goes on."
    source = f"{STDIO} (a server must not do this)"
    level = FIELD


class BlankLines(Noisy):
    """Writes blank lines before and between messages."""

    name = "blank-lines"

    def write(self, server: SuiteServer, raw: bytes) -> None:
        server.raw(b"\n  \n\n" + raw + b"\n\r\n\n")


class CrLf(Noisy):
    """Ends each message with CR LF."""

    name = "crlf"

    def write(self, server: SuiteServer, raw: bytes) -> None:
        server.raw(raw + b"\r\n")


class Noise(Noisy):
    """Prints a banner on stdout at its start and a log line before each answer."""

    name = "noise"
    source = f"{STDIO} (a server must not do this); seen: @azure/mcp 2.0.5"

    def start(self, server: SuiteServer) -> None:
        server.raw(b"\n> server@1.0.0 start\n> node dist/index.js\n\n[dotenv] injecting env (0) from .env\n")

    def write(self, server: SuiteServer, raw: bytes) -> None:
        server.raw(b"No X display available. Running in headless mode.\n" + raw + b"\n")


class OtherJson(Noisy):
    """Prints JSON that is no message between messages: a log object, a number, null, an empty array."""

    name = "other-json"

    def write(self, server: SuiteServer, raw: bytes) -> None:
        server.raw(b'{"level":"info","msg":"ready"}\n42\nnull\n[]\n' + raw + b"\n")


class BadUtf8(Noisy):
    """Prints lines that are no UTF-8 between messages: a lone byte FF, half a character, text in Latin-1."""

    name = "bad-utf8"

    def write(self, server: SuiteServer, raw: bytes) -> None:
        server.raw(b"\xff\n\xf0\x9f\ncaf\xe9 ready\n" + raw + b"\n")


class Strays(Noisy):
    """Sends a notification nobody knows, an answer to an unused id, and each answer twice."""

    name = "strays"
    asks = "Ignores what belongs to none of its requests, and takes the first answer of two."
    source = "JSON-RPC 2.0 §5; basic/index"

    def write(self, server: SuiteServer, raw: bytes) -> None:
        stray = (
            b'{"jsonrpc":"2.0","method":"notifications/nobody-knows"}',
            b'{"jsonrpc":"2.0","id":"nobody-asked","result":{}}',
        )
        server.raw(b"\n".join((*stray, raw, raw, b"")))


SCENARIOS = (
    Healthy(), Split(), Together(), Separators(), HugeLine(), BlankLines(), CrLf(), Noise(), OtherJson(), BadUtf8(),
    Strays(),
)  # fmt: skip
