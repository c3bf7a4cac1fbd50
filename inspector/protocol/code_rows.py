"""The rows of the error table that a JSON-RPC code leads to: whoever made it, what it means. Pure, any thread.

Source: MCP 2026-07-28 basic/index#error-codes and the pages each row names; 2025-11-25; SEP-2663; codes the
Python SDK makes itself were measured on mcp 2.3.0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from inspector.protocol.eras import HANDSHAKE, MODERN, Era

Origin = Literal["peer", "sdk", "console", "any"]

BOTH: Final[tuple[Era, ...]] = (HANDSHAKE, MODERN)
_INDEX: Final = "2026-07-28 basic/index#error-codes"


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorEntry:
    """One row. All texts are ours, for people.

    id: stable slug, the `explain` of traces and of the command line. code: None for a row without one;
    span: the first and last code of a row that stands for a range. eras: where the row is defined. http:
    the status that goes with it in the modern era, `—` where none is fixed. data_shape: of `error.data`.
    origin: who makes it. causes: likeliest first. modern_must_not_send: a modern server that sends it
    breaks the specification.
    """

    id: str
    name: str
    meaning: str
    causes: tuple[str, ...]
    remedy: str
    spec: str
    code: int | None = None
    span: tuple[int, int] | None = None
    eras: tuple[Era, ...] = BOTH
    http: str = "—"
    data_shape: str = "anything"
    origin: Origin = "peer"
    modern_must_not_send: bool = False

    @property
    def shown_code(self) -> str:
        """`-32601`, `-32000 … -32019`, or an empty string."""
        if self.span is not None:
            return f"{self.span[0]} … {self.span[1]}"
        return "" if self.code is None else str(self.code)


CODE_ROWS: Final = (
    ErrorEntry(
        id="parse-error",
        code=-32700,
        name="Parse error",
        http="400 (usual)",
        meaning="The other side could not read what it got as JSON.",
        causes=(
            "the line or body was cut, or two were glued together",
            "something other than JSON was printed into the stream",
            "the text is not UTF-8",
        ),
        remedy="Look at the exact bytes of the request, then send it again as valid JSON on one line.",
        spec=f"JSON-RPC 2.0 §5.1; {_INDEX}",
    ),
    ErrorEntry(
        id="invalid-request",
        code=-32600,
        name="Invalid request",
        http="400 (usual)",
        meaning="It was JSON, but not a JSON-RPC request the server accepts.",
        causes=(
            "the envelope is wrong: jsonrpc or method missing, id null, or a batch",
            "over HTTP, a header such as Accept or the session id was refused",
            "2025-11-25 tasks: this tool must be called as a task",
        ),
        remedy="Compare the request's envelope and HTTP headers with one that worked.",
        spec=f"JSON-RPC 2.0 §5.1; {_INDEX}",
    ),
    ErrorEntry(
        id="method-not-found",
        code=-32601,
        name="Method not found",
        http="404 (must)",
        meaning="The server does not know this method, or does not offer the capability it belongs to.",
        causes=(
            "the capability is not in what the server announced",
            "the method belongs to the other era: initialize, ping, logging/setLevel and resources/subscribe are "
            "gone in the modern one",
            "2025-11-25: a tool and the task mode it was called in do not fit, or the client has no roots",
        ),
        remedy="Check the server's capabilities and the connection's era, then the spelling of the method.",
        spec=f"{_INDEX}; basic/transports/streamable-http",
    ),
    ErrorEntry(
        id="invalid-params",
        code=-32602,
        name="Invalid params",
        http="400 (must) when required _meta is missing, else open",
        data_shape="anything; resource not found: {uri}",
        meaning="The method is known, but what it was given is not accepted.",
        causes=(
            "the tool, prompt, resource or task of that name does not exist (any more)",
            "a cursor the server no longer knows, or a log level it never knew",
            "modern: params._meta lacks the protocol version or the client capabilities",
            "params of the wrong shape; bad tool arguments should come as a tool error instead",
        ),
        remedy="Read the server's own text and compare with a fresh tools/list. After a refused cursor, drop all "
        "pages and list from the start.",
        spec="2026-07-28 basic/index#_meta, server/tools, server/resources#error-handling, "
        "server/utilities/pagination",
    ),
    ErrorEntry(
        id="internal-error",
        code=-32603,
        name="Internal error",
        meaning="The server failed while it worked on a request it had accepted.",
        causes=("an exception inside the server", "something the server depends on did not answer"),
        remedy="Read the server's stderr or logs around that moment; try again only if repeating does no harm.",
        spec=f"JSON-RPC 2.0 §5.1; {_INDEX}",
    ),
    ErrorEntry(
        id="header-mismatch",
        code=-32020,
        name="Header mismatch",
        eras=(MODERN,),
        http="400 (must)",
        data_shape="none defined",
        meaning="An HTTP header MCP asks for is missing, malformed, or says something else than the body.",
        causes=(
            "a proxy between us dropped or changed an Mcp- header",
            "the tool's x-mcp-header annotations changed since it was listed",
            "the request was written or edited by hand",
        ),
        remedy="Put headers and body side by side, run tools/list again, then repeat the call.",
        spec="2026-07-28 basic/transports/streamable-http, server/tools#x-mcp-header",
    ),
    ErrorEntry(
        id="missing-client-capability",
        code=-32021,
        name="Missing required client capability",
        eras=(MODERN,),
        http="400 (must)",
        data_shape="{requiredCapabilities: ClientCapabilities}",
        meaning="The server needs something from the client that this very request did not declare.",
        causes=(
            "elicitation, sampling or roots are switched off for this connection",
            "an extension (tasks, say) is not among the declared ones",
        ),
        remedy="Switch on the capabilities named in data.requiredCapabilities, if you can honour them, and retry.",
        spec=f"{_INDEX}; basic/index#_meta",
    ),
    ErrorEntry(
        id="unsupported-protocol-version",
        code=-32022,
        name="Unsupported protocol version",
        http="400 (must)",
        data_shape="{supported: string[], requested: string}",
        meaning="The server does not speak the revision this request names.",
        causes=(
            "the server speaks other revisions only; data.supported lists them",
            "initialize was sent to a modern-only server, or on a connection that is already modern",
        ),
        remedy="Retry at a version both sides list; without one, compare both lists. Do not fall back to "
        "initialize on this code alone.",
        spec="2026-07-28 basic/versioning",
    ),
    ErrorEntry(
        id="resource-not-found",
        code=-32002,
        name="Resource not found",
        eras=(HANDSHAKE,),
        data_shape="{uri} (usual)",
        meaning="The server has no resource with this URI.",
        causes=("the resource is gone", "the URI is misspelt, or a template was filled in wrongly"),
        remedy="List the resources again and use a URI from there. Modern servers answer -32602 instead.",
        spec="2025-11-25 server/resources; 2026-07-28 server/resources#error-handling",
        modern_must_not_send=True,
    ),
    ErrorEntry(
        id="url-elicitation-required",
        code=-32042,
        name="URL elicitation required",
        eras=(HANDSHAKE,),
        data_shape="{elicitations: [{mode: 'url', elicitationId, url, message}]}",
        meaning="The server wants the person to visit one or more web pages before it goes on.",
        causes=("a login or a consent is needed outside MCP",),
        remedy="Read the whole URL, open it only if you trust it, then repeat the request. Modern servers answer "
        "input_required instead.",
        spec="2025-11-25 client/elicitation",
        modern_must_not_send=True,
    ),
    ErrorEntry(
        id="implementation-defined",
        span=(-32000, -32019),
        name="Implementation-defined error",
        meaning="A number each implementation uses as it likes; only the server's text says what it means.",
        causes=(
            "-32000: 'Server not initialized' from servers that want initialize and a session first",
            "-32000 or -32001: a gateway passes on its own time-out, lost connection or unknown session",
            "the server's own use of the range, which new code should avoid",
        ),
        remedy="Read the server's text; search its documentation for the code.",
        spec=_INDEX,
    ),
    ErrorEntry(
        id="sdk-connection-closed",
        code=-32000,
        name="Connection closed (made by the client library)",
        origin="sdk",
        meaning="Our client library gave up on the request because the connection ended. The server sent no "
        "such error.",
        causes=("the server's process ended", "the HTTP stream broke or grew past a limit"),
        remedy="Look at the exit code or signal and the last stderr lines, then reconnect.",
        spec="none: a convention of the Python SDK",
    ),
    ErrorEntry(
        id="sdk-request-timeout",
        code=-32001,
        name="Request timed out (made by the client library)",
        origin="sdk",
        meaning="Our client library stopped waiting. The server sent no such error and may still be at work.",
        causes=("the work takes longer than the time-out", "the server hangs, or never saw the request"),
        remedy="Raise the time-out, look for progress notifications, try again.",
        spec="none: a convention of the Python SDK",
    ),
    ErrorEntry(
        id="draft-header-mismatch",
        code=-32001,
        name="Header mismatch (pre-release number)",
        eras=(MODERN,),
        http="400",
        meaning="Probably what is -32020 today: drafts of the modern revision used this number.",
        causes=("the server was built on a draft", "or it uses the number in its own way"),
        remedy="Upgrade the server; until then read it as a header that does not fit the body.",
        spec="2026-07-28 changelog",
        modern_must_not_send=True,
    ),
    ErrorEntry(
        id="draft-missing-capability",
        code=-32003,
        name="Missing capability (pre-release number)",
        eras=(MODERN,),
        http="400",
        data_shape="{requiredCapabilities: ClientCapabilities}",
        meaning="Probably what is -32021 today: drafts of the modern revision used this number.",
        causes=("the server was built on a draft", "or it uses the number in its own way"),
        remedy="Upgrade the server; until then declare the capabilities it names.",
        spec="2026-07-28 changelog",
        modern_must_not_send=True,
    ),
    ErrorEntry(
        id="draft-unsupported-version",
        code=-32004,
        name="Unsupported version (pre-release number)",
        eras=(MODERN,),
        http="400",
        data_shape="{supported: string[], requested: string}",
        meaning="Probably what is -32022 today: drafts of the modern revision used this number.",
        causes=("the server was built on a draft", "or it uses the number in its own way"),
        remedy="Upgrade the server; until then connect to it in the handshake era.",
        spec="2026-07-28 changelog",
        modern_must_not_send=True,
    ),
    ErrorEntry(
        id="reserved",
        span=(-32023, -32099),
        name="Reserved, not defined",
        eras=(MODERN,),
        meaning="MCP keeps this number for itself and has given it no meaning yet.",
        causes=("the server made up a code inside the reserved range",),
        remedy="Go by the server's text, and report the code to its authors as a breach of the specification.",
        spec=_INDEX,
        modern_must_not_send=True,
    ),
    ErrorEntry(
        id="jsonrpc-reserved",
        span=(-32100, -32768),
        name="Reserved by JSON-RPC, not defined",
        meaning="JSON-RPC keeps this number for itself; neither it nor MCP defines it.",
        causes=("the server made up a code inside JSON-RPC's range",),
        remedy="Go by the server's text; application codes belong outside -32768 … -32000.",
        spec="JSON-RPC 2.0 §5.1",
    ),
    ErrorEntry(
        id="user-rejected",
        code=-1,
        name="User rejected the request",
        eras=(HANDSHAKE,),
        origin="any",
        meaning="A client's answer to a server that asked for sampling: the person said no.",
        causes=(
            "the sampling request was declined",
            "when a server sent it: a code of its own, with a meaning of its own",
        ),
        remedy="Nothing is broken; approve the request next time if you want it to go through.",
        spec="2025-11-25 client/sampling",
    ),
    ErrorEntry(
        id="application-defined",
        name="Server-specific error",
        meaning="A code outside the ranges JSON-RPC and MCP reserve: its meaning is the server's own.",
        causes=(
            "the server's own numbering",
            "0: older Go servers use it for everything, a refused server/discover or initialize among it",
            "-32800: 'request cancelled', a habit taken over from the Language Server Protocol",
        ),
        remedy="Read the server's text; search its documentation for the code.",
        spec="JSON-RPC 2.0 §5.1",
    ),
)
