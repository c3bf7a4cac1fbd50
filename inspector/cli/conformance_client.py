"""`mcp-loupe conformance URL`: the client that the official conformance suite drives, over our own wire layer.

The suite starts it once a scenario, with the URL as last argument and what it wants in the environment
(MCP_CONFORMANCE_SCENARIO, _CONTEXT, _PROTOCOL_VERSION). It does what a client of that scenario does: connects, signs
in where it must, lists, calls what the scenario or the schemas say, and answers what is asked with defaults.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl, urljoin, urlsplit

import click
import httpx2
from anyio.from_thread import BlockingPortal, start_blocking_portal

from inspector.cli.terminal import printable, warn
from inspector.console.calls import call_headers
from inspector.console.rounds import converse
from inspector.console.signing import read_answer
from inspector.errors import AuthNeeded, LoupeError
from inspector.protocol.headers import header_faults
from inspector.settings.spec import CLIENT_CAPABILITIES, STREAMABLE_HTTP, OAuth, ServerSpec, Timeouts
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
NO_DEREF: Final = "json-schema-ref-no-deref"
"""Lists a tool whose schema points elsewhere: listing it is the whole scenario."""


@click.command("conformance")
@click.argument("url")
def conformance(url: str) -> int:
    """Be the client of one scenario of the official conformance suite."""
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    try:
        context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    except ValueError:
        context = {}
    version = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        portal = stack.enter_context(start_blocking_portal(name="mcp-loop"))
        run = Run(url, scenario, context if isinstance(context, dict) else {}, version, folder, portal)
        stack.callback(run.close)
        try:
            run.play()
        except LoupeError as problem:
            warn(printable(f"{scenario}: {problem.message}. {problem.remedy}"))
            return problem.exit_code
    return 0


class Run:
    """One scenario."""

    def __init__(
        self,
        url: str,
        scenario: str,
        context: Mapping[str, Any],
        version: str,
        folder: Path,
        portal: BlockingPortal,
    ) -> None:
        self.scenario = scenario
        self.context = context
        handshake = version != "" and version < "2026"
        self.spec = ServerSpec(
            "conformance", STREAMABLE_HTTP, url=url, era="handshake" if handshake else "auto",
            timeouts=Timeouts(WAIT_S, WAIT_S, WAIT_S), declare=CLIENT_CAPABILITIES, oauth=_oauth(context),
        )  # fmt: skip
        self.portal = portal
        self.tokens = TokenStore(folder / "tokens.json")
        self.children = Children(folder / "children")
        self.journal = Journal()
        self.made: list[Connection] = []
        self.sign_ins = 0

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
        """The calls the suite names, else each tool once with arguments its schema accepts."""
        by_name = {tool.get("name"): tool for tool in tools}
        named = self.context.get("toolCalls") or [
            {"name": tool["name"], "arguments": sample(tool.get("inputSchema"))} for tool in tools
        ]
        for one in named:
            tool = by_name.get(one["name"])
            if tool is None or header_faults(tool.get("inputSchema")):
                continue  # a tool with an invalid x-mcp-header must be left out (basic/transports, Mcp-Param-*)
            self._call(connection, tool, one.get("arguments") or {})

    def _call(self, connection: Connection, tool: dict[str, Any], arguments: dict[str, Any]) -> None:
        text = json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
        headers = call_headers(connection, tool, text)
        params = {"name": tool["name"], "arguments": RawJson(text)}
        self._asked(connection, "tools/call", params, headers)

    def _asked(
        self,
        connection: Connection,
        method: str,
        params: dict[str, Any],
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """One request with all its rounds; signs in again when more scope is wanted. A refusal of it is no end."""

        async def send(whole: dict[str, Any]) -> Reply:
            return await connection.request(method, whole, timeout=WAIT_S, headers=headers)

        async def talk() -> Reply:
            return await converse(
                send, params, lambda asked, given, _key: answer(asked, given), connection, lambda _: None
            )

        try:
            self._allowed(connection, lambda: connection.run(talk, timeout=WAIT_S * 3))
        except LoupeError as problem:
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


def _oauth(context: Mapping[str, Any]) -> OAuth:
    """Credentials the suite registered beforehand; else a metadata document it knows."""
    client_id, secret = context.get("client_id"), context.get("client_secret")
    if isinstance(client_id, str):
        return OAuth(client_id=client_id, client_secret=secret if isinstance(secret, str) else None)
    return OAuth(client_metadata_url=METADATA_URL)
