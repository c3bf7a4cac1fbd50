"""The client that a conformance suite drives, over our own wire layer: the official one over HTTP, ours over stdio.

It does what a client of a scenario does: connects, signs in where it must, lists, calls what the scenario or the
schemas say, answers what is asked with defaults, and starts a server that ended by itself again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl, urljoin, urlsplit

import httpx2
from anyio.from_thread import BlockingPortal

from inspector.cli.terminal import printable, warn
from inspector.console.calls import call_headers
from inspector.console.rounds import converse
from inspector.console.signing import read_answer
from inspector.errors import AuthNeeded, ConnectionLost, LoupeError
from inspector.protocol.headers import header_faults
from inspector.settings.spec import CLIENT_CAPABILITIES, STDIO, STREAMABLE_HTTP, OAuth, ServerSpec, Timeouts
from inspector.settings.tokens import TokenStore
from inspector.wire.auth import CameBack, Visit
from inspector.wire.children import Children
from inspector.wire.connection import Connection
from inspector.wire.dispatcher import Reply
from inspector.wire.events import Journal
from inspector.wire.link import RawJson
from inspector.wire.listing import Walk, walk_whole
from inspector.wire.questions import declined

T = TypeVar("T")

CALLBACK: Final = "http://127.0.0.1:6280/oauth/callback"
"""Never listened on: the suite's authorization server redirects at once, and we read where to."""
METADATA_URL: Final = "https://conformance-test.local/client-metadata.json"
"""The client metadata document the suite's servers know."""
WAIT_S: Final = 20.0
MOST_SIGN_INS: Final = 3
MOST_HOPS: Final = 10
MOST_RESTARTS: Final = 2
NO_DEREF: Final = "json-schema-ref-no-deref"
"""Lists a tool whose schema points elsewhere: listing it is the whole scenario."""


class Run:
    """One scenario. folder: for tokens and the list of child processes. spec: `http_spec` or `stdio_spec`."""

    def __init__(
        self,
        spec: ServerSpec,
        scenario: str,
        context: Mapping[str, Any],
        folder: Path,
        portal: BlockingPortal,
    ) -> None:
        self.scenario = scenario
        self.context = context
        self.spec = spec
        self.portal = portal
        self.tokens = TokenStore(folder / "tokens.json")
        self.children = Children(folder / "children")
        self.journal = Journal()
        self.made: list[Connection] = []
        self.sign_ins = 0
        self.restarts = 0
        self.lost = False

    def close(self) -> None:
        for connection in self.made:
            connection.close()

    def play(self) -> None:
        """Connect, list, and do what the scenario is about."""
        connection = self.connected()
        tools = self._listed(connection, "tools")
        if self.scenario == NO_DEREF:
            return
        self._call_all(connection, tools)
        if self.scenario == "http-standard-headers":
            for resource in self._listed(connection, "resources"):
                self._asked(connection, "resources/read", {"uri": resource["uri"]})
            for prompt in self._listed(connection, "prompts"):
                named = {one["name"]: "x" for one in prompt.get("arguments") or [] if one.get("required")}
                self._asked(connection, "prompts/get", {"name": prompt["name"], "arguments": named})

    def connected(self) -> Connection:
        """An open connection, after signing in where the server wants it."""
        self.lost = False
        while True:
            connection = Connection(self.spec, self.journal, self.portal, self.children, tokens=self.tokens)
            connection.on_question = answer
            self.made.append(connection)
            try:
                connection.open()
            except LoupeError as problem:
                self._sign_in(connection, problem)
            else:
                return connection

    def gone(self, connection: Connection) -> bool:
        """Whether the server's process ended, or takes nothing any more."""
        transport = connection.transport
        return self.lost or (transport is not None and transport.ended.is_set())

    def _sign_in(self, connection: Connection, problem: LoupeError) -> None:
        """Get a token, or raise `problem` when this was no refusal, or one too many."""
        auth = connection.auth
        if auth is None or auth.refused is None or self.sign_ins >= MOST_SIGN_INS:
            raise problem
        self.sign_ins += 1
        connection.sign_in(Visit(CALLBACK, visit)).result(WAIT_S * 2)
        auth.refused = None

    def _allowed(self, connection: Connection, work: Callable[[], T]) -> T:
        """What `work` gives, after signing in (again) where the server wants that."""
        while True:
            try:
                return work()
            except LoupeError as problem:
                self._sign_in(connection, problem)

    def _listed(self, connection: Connection, what: str) -> list[dict[str, Any]]:
        def walk() -> Walk:
            return connection.run(walk_whole, connection, what, "user", timeout=WAIT_S * 2)

        try:
            found = self._allowed(connection, walk)
        except LoupeError as problem:
            warn(printable(f"{what} are not listed: {problem.message}"))
            return []
        items = [item for page in found.pages for item in page.reply.result.get(what) or []]
        return [item for item in items if isinstance(item, dict)]

    def _call_all(self, connection: Connection, tools: list[dict[str, Any]]) -> None:
        """The calls the suite names, else each tool once with arguments its schema accepts.

        A server that ended is started again, and the calls that are left are made there.
        """
        by_name = {tool.get("name"): tool for tool in tools}
        named = self.context.get("toolCalls") or [
            {"name": tool["name"], "arguments": sample(tool.get("inputSchema"))} for tool in tools
        ]
        for one in named:
            tool = by_name.get(one["name"])
            if tool is None or header_faults(tool.get("inputSchema")):
                continue  # a tool with an invalid x-mcp-header must be left out (basic/transports, Mcp-Param-*)
            if self.spec.transport == STDIO and self.gone(connection) and self.restarts < MOST_RESTARTS:
                self.restarts += 1
                connection.close()
                connection = self.connected()
            self._call(connection, tool, one.get("arguments") or {}, one.get("cancelAfterMs"))

    def _call(
        self, connection: Connection, tool: dict[str, Any], arguments: dict[str, Any], cancel_ms: Any
    ) -> None:
        text = json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
        headers = call_headers(connection, tool, text)
        params = {"name": tool["name"], "arguments": RawJson(text)}
        if isinstance(cancel_ms, int):
            self._cancelled(connection, params, cancel_ms / 1000)
        else:
            self._asked(connection, "tools/call", params, headers)

    def _cancelled(self, connection: Connection, params: dict[str, Any], after_s: float) -> None:
        """A call that is cancelled when it is not answered by then."""
        call = connection.submit("tools/call", params)
        try:
            call.result(after_s)
        except TimeoutError:
            call.cancel()
        except LoupeError as problem:
            warn(printable(f"tools/call: {problem.message}"))

    def _asked(
        self,
        connection: Connection,
        method: str,
        params: dict[str, Any],
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """One request with all its rounds; signs in again when more scope is wanted. A refusal of it is no end."""

        async def send(whole: dict[str, Any]) -> Reply:
            return await connection.request(method, whole, headers=headers)

        async def talk() -> Reply:
            return await converse(
                send, params, lambda asked, given, _key: answer(asked, given), connection, lambda _: None
            )

        try:
            self._allowed(connection, lambda: connection.run(talk, timeout=WAIT_S * 3))
        except LoupeError as problem:
            self.lost = isinstance(problem, ConnectionLost)
            warn(printable(f"{method}: {problem.message}"))


async def visit(address: str) -> CameBack:
    """Follow the authorization server's redirects until they lead to us; nothing is asked of a person there."""
    async with httpx2.AsyncClient(trust_env=False) as client:
        for _ in range(MOST_HOPS):
            found = await client.get(address)
            address = urljoin(address, found.headers.get("location", ""))
            if not found.is_redirect:
                break
            if address.startswith(CALLBACK):
                came = read_answer(dict(parse_qsl(urlsplit(address).query)))
                if isinstance(came, LoupeError):
                    raise came
                return came
    raise AuthNeeded("The authorization server did not lead back", "A person would have to sign in there")


async def answer(method: str, params: Mapping[str, Any]) -> tuple[str, Any]:
    """Defaults: of the form's schema, an empty list of roots, a stub for a model's answer."""
    if method == "elicitation/create" and params.get("mode") != "url":
        return "result", {"action": "accept", "content": sample(params.get("requestedSchema"))}
    if method == "sampling/createMessage":
        content = {"type": "text", "text": "a stub, not a model"}
        return "result", {"role": "assistant", "content": content, "model": "stub", "stopReason": "endTurn"}
    if method == "roots/list":
        return "result", {"roots": []}
    return declined(method)


def sample(schema: Any) -> dict[str, Any]:
    """Arguments an object schema accepts: defaults, and the least of what else is required."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    found = {}
    for name, each in (properties or {}).items():
        if isinstance(each, dict) and "default" in each:
            found[name] = each["default"]
        elif name in (schema.get("required") or []):
            found[name] = _least(each if isinstance(each, dict) else {})
    return found


def _least(schema: Mapping[str, Any]) -> Any:
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    if kind == "object":
        return sample(dict(schema))
    return {"integer": 1, "number": 1, "boolean": True, "array": [], "null": None}.get(str(kind), "x")


def http_spec(url: str, context: Mapping[str, Any], version: str) -> ServerSpec:
    """The server of a scenario of the official suite. version: the revision it is about, "" for any."""
    handshake = version != "" and version < "2026"
    return ServerSpec(
        "conformance", STREAMABLE_HTTP, url=url, era="handshake" if handshake else "auto",
        timeouts=Timeouts(WAIT_S, WAIT_S, WAIT_S), declare=CLIENT_CAPABILITIES, oauth=_oauth(context),
    )  # fmt: skip


def stdio_spec(argv: Sequence[str], context: Mapping[str, Any]) -> ServerSpec:
    """The server of one of our stdio scenarios, whose context may hint at time-outs in ms."""
    hints = context.get("timeouts")
    known = {field.name for field in fields(Timeouts)}
    given = {
        name: value / 1000
        for name, value in (hints if isinstance(hints, dict) else {}).items()
        if name in known and isinstance(value, int | float) and value > 0
    }
    waits = replace(Timeouts(WAIT_S, WAIT_S, WAIT_S), **given)
    return ServerSpec("conformance", argv=tuple(argv), timeouts=waits, declare=CLIENT_CAPABILITIES)


def _oauth(context: Mapping[str, Any]) -> OAuth:
    """Credentials the suite registered beforehand; else a metadata document it knows."""
    client_id, secret = context.get("client_id"), context.get("client_secret")
    if isinstance(client_id, str):
        return OAuth(client_id=client_id, client_secret=secret if isinstance(secret, str) else None)
    return OAuth(client_metadata_url=METADATA_URL)
