"""Deliberate faults against a person's own server, on a connection of their own, judged by the error table.

Source: the MCP error tables (docs/error-codes.md) and, for HTTP, the status table of basic/transports. Main thread.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from inspector.doctor.step import Step, sentence
from inspector.errors import LoupeError
from inspector.protocol import eras
from inspector.wire.connection import CONNECTED, Connection
from inspector.wire.http import HttpTransport
from inspector.wire.raw import RawAnswer, send_raw

WAIT_S = 3.0
OVERSIZED = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Probe:
    """One fault. build(connection) gives the bytes and extra headers; codes and status are what a good server
    answers; silence: whether no answer at all is acceptable (stdio servers may drop what is no JSON)."""

    name: str
    asks: str
    build: Callable[[Connection], tuple[bytes, dict[str, str]]]
    codes: tuple[int, ...]
    status: int | None = None
    silence: bool = False
    only: str = ""


def frame(connection: Connection, method: str, params: dict[str, Any], *, meta: bool = True) -> bytes:
    full = connection.with_meta(params) if meta else params
    body = {"jsonrpc": "2.0", "id": connection.dispatcher.next_id(), "method": method, "params": full}
    return json.dumps(body, separators=(",", ":")).encode()


def _unknown_method(connection: Connection) -> tuple[bytes, dict[str, str]]:
    return frame(connection, "loupe/no-such-method", {}), {}


def _no_meta(connection: Connection) -> tuple[bytes, dict[str, str]]:
    return frame(connection, "tools/list", {}, meta=False), {}


def _wrong_version(connection: Connection) -> tuple[bytes, dict[str, str]]:
    meta = eras.modern_meta("1999-12-31", connection.client.info, connection.client.capabilities)
    return frame(connection, "tools/list", {"_meta": meta}), {"MCP-Protocol-Version": "1999-12-31"}


def _wrong_header(connection: Connection) -> tuple[bytes, dict[str, str]]:
    return frame(connection, "tools/list", {}), {"Mcp-Method": "prompts/list"}


def _bad_cursor(connection: Connection) -> tuple[bytes, dict[str, str]]:
    return frame(connection, "tools/list", {"cursor": "loupe-no-such-cursor"}), {}


def _oversized(connection: Connection) -> tuple[bytes, dict[str, str]]:
    return frame(
        connection, "tools/call", {"name": "loupe-no-such-tool", "arguments": {"x": "x" * OVERSIZED}}
    ), {}


def _not_json(_connection: Connection) -> tuple[bytes, dict[str, str]]:
    return b'{"jsonrpc":"2.0","id":', {}


PROBES = (
    Probe("unknown method", "a method that does not exist", _unknown_method, (-32601,), 404),
    Probe("missing _meta", "a modern request without _meta", _no_meta, (-32602,), 400, only=eras.MODERN),
    Probe("wrong version", "protocol version 1999-12-31", _wrong_version, (-32022,), 400, only=eras.MODERN),
    Probe("wrong header", "Mcp-Method that contradicts the body", _wrong_header, (-32020,), 400, only="http"),
    Probe("bad cursor", "a cursor it never gave", _bad_cursor, (-32602,)),
    Probe("oversized argument", "an argument of 1 MiB to a tool that does not exist", _oversized, (-32602,)),
    Probe("not JSON", "half a JSON object", _not_json, (-32700, -32600), 400, silence=True),
)


def run(open_scratch: Callable[[], Connection]) -> Iterator[Step]:
    """Each probe that fits the server's era and transport; a server that died of one is started again for the next."""
    left = list(PROBES)
    while left:
        try:
            connection = open_scratch()
        except LoupeError as problem:
            text = sentence(f"It could not be started for what is left of the faults: {problem.message}")
            yield Step("probe: start", False, text, problem.remedy)
            return
        try:
            yield from _until_it_dies(left, connection)
        finally:
            connection.close()


def _until_it_dies(left: list[Probe], connection: Connection) -> Iterator[Step]:
    """Takes one probe after another off the list and sends it."""
    while left:
        probe = left.pop(0)
        if not _fits(probe, connection):
            continue
        raw, headers = probe.build(connection)
        answer = connection.run(_send, connection, raw, headers, timeout=WAIT_S + 10)
        yield judge(probe, answer, http=isinstance(connection.transport, HttpTransport))
        died = _died(probe, connection)
        if died is not None:
            yield died
            return


async def _send(connection: Connection, raw: bytes, headers: dict[str, str]) -> RawAnswer:
    return await send_raw(connection, raw, wait_s=WAIT_S, headers=headers)


def _fits(probe: Probe, connection: Connection) -> bool:
    era = connection.peer.era if connection.peer is not None else None
    if probe.only == "http":
        return era == eras.MODERN and isinstance(connection.transport, HttpTransport)
    return probe.only in ("", era)


def judge(probe: Probe, answer: RawAnswer, *, http: bool) -> Step:
    """The answer against what the table asks for."""
    name = f"probe: {probe.name}"
    wanted = " or ".join(map(str, probe.codes))
    if answer.reply is not None and answer.reply.result.get("isError") is True:
        text = f"Sent {probe.asks}; it answered with a tool error."
        return Step(name, None, text, f"A tool that does not exist is a protocol error: answer {wanted}.")
    if answer.reply is not None:
        text = f"Sent {probe.asks}; it answered with a result as if nothing were wrong."
        return Step(name, None if probe.name == "bad cursor" else False, text, f"Answer with error {wanted}.")
    if answer.error is None:
        text = f"Sent {probe.asks}; nothing came back within {WAIT_S:g} s."
        return Step(
            name,
            probe.silence,
            text,
            "" if probe.silence else f"Answer with error {wanted}.",
        )
    if answer.code is None:
        status = f"HTTP {answer.status}" if answer.status is not None else answer.error.message
        return Step(
            name,
            False,
            f"Sent {probe.asks}; it answered {status} without a JSON-RPC error.",
            f"Answer {wanted}.",
        )
    return _judge_code(probe, answer, http, wanted)


def _judge_code(probe: Probe, answer: RawAnswer, http: bool, wanted: str) -> Step:
    name = f"probe: {probe.name}"
    status = f", HTTP {answer.status}" if http and answer.status is not None else ""
    text = f"Sent {probe.asks}; it answered {answer.code}{status}."
    if answer.code not in probe.codes:
        return Step(name, False, text, f"The specification asks for {wanted}.")
    if http and probe.status is not None and answer.status not in (None, probe.status):
        return Step(name, None, text, f"The specification asks for HTTP {probe.status} with it.")
    return Step(name, True, text)


def _died(probe: Probe, connection: Connection) -> Step | None:
    """What to say when the connection no longer answers a plain request after the fault."""
    try:
        if connection.state == CONNECTED:
            connection.ask("tools/list", timeout=WAIT_S, cause="housekeeping")
            return None
        problem: LoupeError | None = connection.error
    except LoupeError as found:
        if found.code is not None:
            return None
        problem = found
    why = problem.message if problem is not None else "it is gone"
    text = sentence(f"After that it no longer answers: {why}")
    return Step(f"probe: {probe.name}", False, text, "Refuse what is wrong and go on serving.")
