"""Which era is spoken with whom, and what is said when none can be: every row of the probe table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench import (
    SERVERS,
    TIMES,
    Bench,
    call,
    chaos,
    chaos_http,
    demo_http,
    http,
    python,
    script,
    serving,
    sse,
    stdio,
    text_of,
)

from inspector.errors import (
    AuthNeeded,
    Cancelled,
    ConnectionLost,
    HttpFailed,
    LoupeError,
    NetworkFailed,
    NoEra,
    PeerError,
    ProtocolFailure,
    SpawnFailed,
    Unreachable,
)
from inspector.settings.spec import ServerSpec, Timeouts
from inspector.wire.connection import CLOSED, FAILED, Connection

QUICK = Timeouts(probe=0.3, connect=20, call=20, close=2)
MODERN, HANDSHAKE = ("modern", "2026-07-28"), ("handshake", "2025-11-25")


def spoken(connection: Connection) -> tuple[str, str]:
    assert connection.peer is not None
    return connection.peer.era, connection.peer.protocol_version


def refused(bench: Bench, spec: ServerSpec) -> tuple[LoupeError, Connection]:
    """Why a connection did not come up; it is settled as failed, and says so in the journal."""
    connection = bench.make(spec)
    with pytest.raises(LoupeError) as caught:
        connection.open()
    bench.error("connect-failed")
    assert (connection.state, connection.error) == (FAILED, caught.value)
    return caught.value, connection


def test_the_demo_speaks_both_eras_over_http(bench: Bench) -> None:
    with demo_http("flat") as url:
        for era, expected in (("auto", MODERN), ("modern", MODERN), ("handshake", HANDSHAKE)):
            connection = bench.open(http(url, era=era))
            assert spoken(connection) == expected
            assert len(connection.ask("tools/list").result["tools"]) == 50
            connection.close()
    assert bench.anomalies() == []


def test_ids_count_from_ten_after_either_handshake(bench: Bench) -> None:
    for era, ids in (("modern", "int"), ("handshake", "str")):
        bench.open(chaos(era=era, ids=ids)).ask("tools/list")
    assert [event.id for event in bench.of("rpc", kind="request", method="tools/list")] == ["10", '"c10"']


ANSWERS = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "server/discover":
        print('{"jsonrpc":"2.0","id":%s,%s}' % (json.dumps(asked["id"]), REPLY), flush=True)
    elif asked.get("method") == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {}}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


@pytest.mark.parametrize(
    "reply",
    [
        '"error":{"code":-32601,"message":"Method not found"}',
        '"error":{"code":-32602,"message":"Invalid request parameters","data":""}',
        '"error":{"code":-32000,"message":"Server not initialized"}',
        '"error":{"code":0,"message":"invalid during session initialization"}',
        '"result":{"supportedVersions":["2025-11-25"],"capabilities":{}}',
        '"result":{}',
        '"error":"not an object"',
    ],
)
def test_any_other_answer_to_the_probe_leads_to_the_handshake(bench: Bench, reply: str) -> None:
    connection = bench.open(script(f"REPLY = {reply!r}{ANSWERS}"))
    assert spoken(connection) == ("handshake", "2025-06-18")
    assert bench.process_steps() == ["spawned"]
    assert bench.asked() == ["server/discover", "initialize", "notifications/initialized"]
    assert [step.asked for step in connection.attempts] == ["server/discover", "initialize"]
    assert [step.ok for step in connection.attempts] == [False, True]


def test_silence_after_the_probe_leads_to_the_handshake_in_the_same_process(bench: Bench) -> None:
    connection = bench.open(chaos("mute_on_probe", timeouts=QUICK))
    assert spoken(connection) == HANDSHAKE
    assert (bench.process_steps(), bench.anomalies()) == (["spawned"], ["timeout"])
    assert (
        connection.attempts[0].outcome == "No answer to server/discover in 0.3 s; old servers may ignore it."
    )


def test_a_modern_server_that_is_slower_than_the_probe_is_modern_all_the_same(bench: Bench) -> None:
    spec = python("-m", "inspector.demo", "flat", timeouts=Timeouts(probe=0.05, connect=60, call=20, close=3))
    connection = bench.open(spec)
    assert spoken(connection) == ("modern", "2026-07-28")
    asked = bench.asked()
    assert asked.index("initialize") > asked.index("server/discover")
    assert asked[-1] == "server/discover"
    assert [attempt.ok for attempt in connection.attempts][-1] is True


def test_a_server_that_dies_of_the_probe_is_started_again_for_the_handshake(bench: Bench) -> None:
    connection = bench.open(chaos("exit_on_probe"))
    assert spoken(connection) == HANDSHAKE
    assert bench.process_steps() == ["spawned", "exited", "restarted"]
    exited = bench.of("proc", what="exited")[0]
    assert (exited.body["code"], exited.body["expected"]) == (1, False)
    assert connection.attempts[0].outcome.startswith("The server ended (code 1) before it answered")
    assert text_of(connection.ask("tools/call", call("echo", a=1)).result) == '{"a":1}'


CHANGES_ITS_MIND = """
import json, sys
first = True
for line in sys.stdin:
    asked = json.loads(line)
    reply = {"jsonrpc": "2.0", "id": asked.get("id")}
    if first:
        reply["error"] = {"code": -32022, "message": "no", "data": {"supported": ["2026-07-28"], "requested": "x"}}
    elif asked["method"] == "initialize":
        reply["result"] = {"protocolVersion": "2025-11-25", "capabilities": {}}
    else:
        reply |= THEN
    first = False
    if "id" in asked:
        print(json.dumps(reply), flush=True)
"""


@pytest.mark.parametrize(
    ("then", "expected"),
    [
        ({"result": {"supportedVersions": ["2026-07-28"], "capabilities": {}}}, MODERN),
        ({"error": {"code": -32601, "message": "Method not found"}}, HANDSHAKE),
    ],
)
def test_an_unsupported_version_that_names_a_shared_one_is_asked_again(
    bench: Bench, then: dict[str, object], expected: tuple[str, str]
) -> None:
    assert spoken(bench.open(script(f"THEN = {then!r}{CHANGES_ITS_MIND}"))) == expected
    assert bench.asked()[:2] == ["server/discover", "server/discover"]


def test_an_unsupported_version_that_shares_none_is_no_reason_to_fall_back(bench: Bench) -> None:
    problem, _ = refused(bench, chaos("other_modern_version"))
    assert isinstance(problem, NoEra)
    assert problem.message == "The server speaks only revisions Loupe does not know: 2099-01-01"
    assert bench.asked() == ["server/discover"]


def test_a_modern_only_server_names_its_versions_to_a_forced_handshake(bench: Bench) -> None:
    assert spoken(bench.open(chaos("modern_only"))) == MODERN
    problem, _ = refused(bench, chaos("modern_only", era="handshake"))
    assert isinstance(problem, PeerError)
    assert (problem.code, problem.data["supported"]) == (-32022, ["2026-07-28"])


def test_a_handshake_server_refuses_a_forced_modern_era(bench: Bench) -> None:
    problem, _ = refused(bench, chaos("handshake_only", era="modern"))
    assert isinstance(problem, NoEra)
    assert problem.remedy == "Set its era to auto, so that initialize is tried too"
    assert bench.asked() == ["server/discover"]


def test_noise_before_and_around_the_handshake_does_not_hide_the_capabilities(bench: Bench) -> None:
    connection = bench.open(chaos("banner", "info_lines", era="handshake"))
    assert connection.peer is not None
    assert connection.peer.capabilities == {"tools": {"listChanged": True}}
    assert len(bench.of("noise")) == 5 and connection.link.stats.blank_lines == 1


@pytest.mark.parametrize(
    ("fault", "kind", "text"),
    [
        (
            "unknown_version",
            ProtocolFailure,
            "protocol version '1999-12-31', which no handshake revision has",
        ),
        ("empty_handshake@initialize", ProtocolFailure, "protocol version None"),
        ("refuse_handshake@initialize", PeerError, "error -32603: Chaos will not be initialized"),
    ],
)
def test_a_bad_answer_to_initialize_is_the_error(
    bench: Bench, fault: str, kind: type[LoupeError], text: str
) -> None:
    problem, _ = refused(bench, chaos(fault, era="handshake"))
    assert isinstance(problem, kind) and text in problem.message


def test_a_server_that_exits_at_start_is_quoted(bench: Bench) -> None:
    problem, _ = refused(bench, chaos("exit_at_start=7"))
    assert isinstance(problem, ConnectionLost)
    assert problem.message == "The server exited with code 7"
    assert problem.facts["stderr"] == [f"fatal {n}: no API key" for n in range(1, 6)]
    assert (problem.facts["exit"], problem.facts["argv"][-1]) == (7, "exit_at_start=7")


def test_a_usage_text_on_stdout_is_kept(bench: Bench) -> None:
    problem, _ = refused(bench, chaos("usage_on_stdout"))
    assert problem.facts["exit"] == 0
    assert bench.of("noise")[0].raw == b"usage: server [-h] {serve,version}"


def test_a_mute_server_is_no_era_within_our_time_out(bench: Bench) -> None:
    times = Timeouts(probe=0.2, connect=0.6, call=1, close=2)
    problem, connection = refused(bench, chaos("mute", timeouts=times))
    assert isinstance(problem, NoEra)
    assert problem.message == "The server did not get ready within 0.6 s"
    assert [step.asked for step in connection.attempts] == ["server/discover", "initialize"]
    cancelled = [json.loads(e.raw or b"") for e in bench.of("rpc", method="notifications/cancelled")]
    assert [each["params"]["requestId"] for each in cancelled] == [1]  # initialize must not be cancelled


def test_a_command_that_does_not_exist_is_a_failed_start(bench: Bench) -> None:
    problem, connection = refused(bench, stdio("no-such-command-anywhere"))
    assert isinstance(problem, SpawnFailed)
    assert problem.facts["argv"] == ["no-such-command-anywhere"] and problem.facts["searched"]
    assert connection.transport is None and bench.process_steps() == []


def test_closing_while_connecting_does_not_wait_for_the_server(bench: Bench) -> None:
    connection = bench.make(chaos("mute"))
    connection.start()
    bench.until(lambda event: event.method == "server/discover")
    connection.close()
    assert connection.state == CLOSED and bench.process_steps()[-1] == "exited"
    with pytest.raises(Cancelled):
        connection._ready.result(0)


@pytest.mark.parametrize(
    "fault",
    [
        "bare_404@server/discover",
        "empty_202@server/discover",
        "html_500@server/discover",
        "json_400@server/discover",
        "rate_limited@server/discover",
        "handshake_only",
        "mute_on_probe",
    ],
)
def test_http_answers_that_are_no_modern_ones_lead_to_initialize(bench: Bench, fault: str) -> None:
    with chaos_http(fault) as url:
        assert spoken(bench.open(http(url, timeouts=QUICK))) == HANDSHAKE


def test_http_speaks_the_modern_era_to_those_who_do(bench: Bench) -> None:
    with chaos_http("modern_only") as url:
        assert spoken(bench.open(http(url))) == MODERN
    with chaos_http("other_modern_version") as url:
        assert isinstance(refused(bench, http(url))[0], NoEra)


@pytest.mark.parametrize(
    ("fault", "kind", "text"),
    [
        ("handshake_500", HttpFailed, "The server answered HTTP 500 Internal Server Error without a JSON-RPC body"),
        ("needs_auth", AuthNeeded, "The server answered HTTP 401 Unauthorized: it wants credentials"),
        ("not_acceptable", PeerError, "-32600: Not Acceptable: Client must accept text/event-stream"),
        ("redirect_away@POST", HttpFailed, "The server redirects (HTTP 302) to http://elsewhere.invalid/mcp"),
        ("bare_404@POST", HttpFailed, "The server answered HTTP 404 Not Found without a JSON-RPC body"),
        ("drop_before_headers@POST", NetworkFailed, "Server disconnected without sending a response"),
    ],
)  # fmt: skip
def test_over_http_the_first_real_error_is_shown_not_the_fallbacks(
    bench: Bench, fault: str, kind: type[LoupeError], text: str
) -> None:
    with chaos_http(fault) as url:
        problem, connection = refused(bench, http(url))
    assert isinstance(problem, kind) and text in problem.message
    assert (connection.attempts[-1].asked == "GET (HTTP+SSE)") == ("404" in text)


def test_a_fallback_that_hangs_does_not_hide_the_first_error(bench: Bench) -> None:
    with chaos_http("bare_404@POST", "get_hangs") as url:
        problem, connection = refused(bench, http(url, timeouts=QUICK))
    assert isinstance(problem, HttpFailed) and problem.facts["status"] == 404
    assert connection.attempts[-1].outcome == "No endpoint was named in time."


def test_nobody_listening_is_said_with_the_address(bench: Bench) -> None:
    problem, _ = refused(bench, http("http://127.0.0.1:1/mcp"))
    assert isinstance(problem, NetworkFailed) and isinstance(problem, Unreachable)
    assert problem.message.startswith("Could not connect to 127.0.0.1:1")


@pytest.mark.parametrize("value", ["Bearer sécret", "Bearer secret ", " secret", "sec\x01ret", "secret\x7f"])
def test_a_header_http_cannot_carry_is_named_and_its_value_is_nowhere(bench: Bench, value: str) -> None:
    problem, _ = refused(bench, http("http://127.0.0.1:1/mcp", headers={"X-Key": value}))
    assert problem.message.startswith("The header X-Key is none that HTTP can carry")
    told = repr([event.body for event in bench.events]) + repr(
        (problem.message, problem.remedy, problem.facts)
    )
    assert "cret" not in told


@pytest.mark.parametrize("path", ["/sse", "/sse-404"])
def test_an_old_sse_server_is_found_by_the_fallback(bench: Bench, path: str) -> None:
    with serving(Path(__file__).with_name("sse_server.py")) as base:
        connection = bench.open(http(base + path))
        assert connection.transport is not None
        assert (connection.transport.kind, spoken(connection)) == ("sse", ("handshake", "2024-11-05"))
        assert connection.ask("tools/list").result == {"tools": []}
        assert [step.ok for step in connection.attempts] == [False, False, True, True]


def test_an_sse_server_is_spoken_to_at_once_when_configured(bench: Bench) -> None:
    with serving(Path(__file__).with_name("sse_server.py")) as base:
        connection = bench.open(sse(base + "/sse"))
        assert connection.ask("tools/list").result == {"tools": []}
        assert bench.asked()[0] == "initialize"
        with pytest.raises(ConnectionLost, match="The server ended its event stream"):
            connection.ask("hang-up")


def test_an_endpoint_of_another_origin_is_refused(bench: Bench) -> None:
    with serving(Path(__file__).with_name("sse_server.py")) as base:
        problem, _ = refused(bench, sse(base + "/elsewhere", headers={"Authorization": "Bearer x"}))
    assert problem.message == "The server names an endpoint of another origin: http://elsewhere.invalid/post"


def test_a_fastmcp_server_is_walked_in_pages(bench: Bench) -> None:
    connection = bench.open(python(SERVERS / "fastmcp_paged.py", timeouts=TIMES))
    first = connection.ask("tools/list").result
    second = connection.ask("tools/list", {"cursor": first["nextCursor"]}).result
    assert (len(first["tools"]), len(second["tools"])) == (10, 10)
