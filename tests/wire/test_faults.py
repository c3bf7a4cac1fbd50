"""Every fault of the chaos server that is a call settles once, is named, and harms nothing after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest
from bench import Bench, call, chaos, chaos_http, http, text_of
from faults import HANDSHAKE_HTTP, MODERN_HTTP, OURS, STDIO, Expected

from inspector.demo.chaos import registry
from inspector.errors import ConnectionLost, LoupeError, PeerError, TimedOut
from inspector.settings.spec import ServerSpec
from inspector.wire.connection import CONNECTED, Connection

HANG_S = 0.4
ARGUMENTS: dict[str, dict[str, float]] = {"slow_drip": {"milliseconds": 0}, "late_answer": {"seconds": 0.8}}


class Lane:
    """One connection for many faults, opened anew after those that end it."""

    def __init__(self, bench: Bench, spec: ServerSpec) -> None:
        self.bench = bench
        self.spec = spec
        self.connection: Connection | None = None

    def ready(self) -> Connection:
        if self.connection is None or self.connection.state != CONNECTED:
            self.connection = self.bench.open(self.spec)
        return self.connection

    def drop(self) -> None:
        assert self.connection is not None
        self.connection.close()
        self.connection = None


@pytest.fixture(scope="module")
def lanes(shared: Bench) -> Iterator[dict[str, Lane]]:
    with chaos_http() as modern, chaos_http() as handshake:
        yield {
            "stdio": Lane(shared, chaos()),
            "modern": Lane(shared, http(modern, era="modern")),
            "handshake": Lane(shared, http(handshake, era="handshake")),
        }


ROWS = [
    pytest.param(lane, name, expected, id=f"{lane}-{name}")
    for lane, table in (("stdio", STDIO), ("modern", MODERN_HTTP), ("handshake", HANDSHAKE_HTTP))
    for name, expected in table.items()
]


@pytest.mark.parametrize(
    ("where", "table"), [("stdio", STDIO), ("http", MODERN_HTTP), ("http", HANDSHAKE_HTTP)]
)
def test_the_table_has_every_fault_that_is_a_call(where: str, table: dict[str, Expected]) -> None:
    assert set(table) == {name for name, each in registry().items() if each.is_tool and each.at(where)}


@pytest.mark.parametrize(("lane", "name", "expected"), ROWS)
def test_a_call_of_a_fault_settles_as_the_table_says(
    lanes: dict[str, Lane], shared: Bench, lane: str, name: str, expected: Expected
) -> None:
    connection = lanes[lane].ready()
    start = len(shared.events)
    asked = call(name, **ARGUMENTS.get(name, {}))
    hanging = expected.error is TimedOut
    problem: LoupeError | None = None
    try:
        connection.ask("tools/call", asked, timeout=HANG_S if hanging else None)
    except LoupeError as caught:
        problem = caught
    assert (problem is None) if expected.error is None else isinstance(problem, expected.error), problem
    if expected.ends:
        lanes[lane].drop()
    for wanted in expected.classes:
        shared.error(wanted, start)
    if not expected.ends:
        assert text_of(connection.ask("tools/call", call("echo", a=1)).result) == '{"a":1}'
    named = [event for event in shared.events[start:] if event.t == "error"]
    assert {event.body["class"] for event in named} == expected.classes
    assert all(
        event.body["origin"] == ("console" if event.body["class"] in OURS else "peer") for event in named
    )
    assert any(event.t == "noise" for event in shared.events[start:]) == expected.noise


def test_an_error_of_the_server_is_never_taken_for_our_time_out(lanes: dict[str, Lane]) -> None:
    with pytest.raises(PeerError) as caught:
        lanes["stdio"].ready().ask("tools/call", call("sdk_code"))
    assert (caught.value.code, caught.value.origin, caught.value.layer) == (-32001, "peer", "protocol")


def test_a_time_out_is_ours_and_has_no_code(lanes: dict[str, Lane]) -> None:
    with pytest.raises(TimedOut) as caught:
        lanes["stdio"].ready().ask("tools/call", call("never_answer"), timeout=HANG_S)
    assert (caught.value.code, caught.value.origin, caught.value.layer) == (None, "console", "timeout")


def test_a_time_out_names_the_bytes_that_wait_for_a_newline(bench: Bench) -> None:
    connection = bench.open(chaos())
    with pytest.raises(TimedOut, match=r"; \d+ bytes without a newline wait on its stdout$"):
        connection.ask("tools/call", call("no_newline"), timeout=HANG_S)
    with pytest.raises(TimedOut):
        connection.ask("tools/call", call("echo"), timeout=HANG_S)  # its answer ends the line, as noise
    assert text_of(connection.ask("tools/call", call("echo", a=2)).result) == '{"a":2}'


@pytest.mark.parametrize("spec", [chaos(), chaos(era="handshake")], ids=["modern", "handshake"])
def test_progress_reaches_whoever_asked_for_it_and_must_rise(bench: Bench, spec: ServerSpec) -> None:
    connection = bench.open(spec)
    steps: list[object] = []
    take = lambda params: steps.append(params["progress"])  # noqa: E731
    connection.ask("tools/call", call("progress_with_token"), on_progress=take)
    assert (steps, bench.anomalies()) == ([1, 2, 3], [])
    steps.clear()
    connection.ask("tools/call", call("progress_backwards"), on_progress=take)
    assert (steps, bench.anomalies()) == ([2, 1], ["progress-order", "progress-token"])


def test_a_ping_of_the_server_is_answered_in_the_handshake_era_alone(bench: Bench) -> None:
    bench.open(chaos(era="handshake")).ask("tools/call", call("server_request"))
    bench.until(lambda event: event.raw == b'{"jsonrpc":"2.0","id":"chaos-1","result":{}}')
    connection = bench.open(chaos(era="modern"))
    connection.ask("tools/call", call("server_request"))
    connection.ask("tools/call", call("echo"))
    assert [e for e in bench.of("rpc", dir="c2s", c=connection.c) if e.kind != "request"] == []


def test_after_a_closed_stdin_every_call_says_so_and_no_library_says_more(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    connection = bench.open(chaos())
    connection.ask("tools/call", call("close_stdin"))
    for _ in range(8):  # asyncio warns on our own stderr from the fifth write to a closed pipe
        with pytest.raises(ConnectionLost, match="closed its stdin"):
            connection.ask("tools/call", call("echo"))
    failed = [event.pair for event in bench.of("error") if event.body["class"] == "write-failed"]
    assert failed == [event.seq for event in bench.of("rpc", dir="c2s", method="tools/call")][1:]
    assert caplog.messages == []


def test_a_server_that_died_can_be_connected_again(bench: Bench) -> None:
    first = bench.open(chaos())
    with suppress(ConnectionLost):
        first.ask("tools/call", call("segv_mid_frame"))
    second = bench.open(chaos())
    assert text_of(second.ask("tools/call", call("echo", a=3)).result) == '{"a":3}'
    with pytest.raises(ConnectionLost, match="SIGSEGV"):
        first.ask("tools/call", call("echo"))
