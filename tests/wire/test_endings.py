"""How calls and processes end: death, time-out, cancel, late answers, the shutdown ladder, and what is swept."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import CancelledError
from functools import partial
from pathlib import Path

import anyio
import psutil
import pytest
from bench import BOUND, ROOT, SERVERS, Bench, call, chaos, http, python, script, stdio, text_of

from inspector.errors import ConnectionLost, LoupeError, TimedOut
from inspector.settings.spec import ServerSpec, Timeouts
from inspector.wire.children import Children, started_at
from inspector.wire.connection import CLOSED, LOST, Connection
from inspector.wire.raw import send_raw

QUICK_CLOSE = Timeouts(probe=10, connect=20, call=20, close=0.3)


def gone(pid: int) -> bool:
    """Whether no such process runs, waiting a while for it to end; a zombie runs no more."""
    try:
        process = psutil.Process(pid)
        if process.status() != psutil.STATUS_ZOMBIE:
            process.wait(BOUND)
    except psutil.NoSuchProcess:
        return True
    except psutil.TimeoutExpired:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    return True


def lost(connection: Connection, name: str, **arguments: object) -> ConnectionLost:
    with pytest.raises(ConnectionLost) as caught:
        connection.ask("tools/call", call(name, **arguments))
    return caught.value


def ended(connection: Connection) -> None:
    """Wait for the actor's end."""
    assert connection._actor is not None
    connection._actor.result(BOUND)


@pytest.mark.parametrize(
    ("name", "arguments", "facts", "message"),
    [
        ("exit_with", {"code": 3}, {"exit": 3}, "The server exited with code 3"),
        ("crash_mid_frame", {}, {"exit": 1}, "The server exited with code 1"),
        ("segv_mid_frame", {}, {"signal": "SIGSEGV"}, "The server was killed by SIGSEGV"),
        ("segv_mid_frame", {"signal": 9}, {"signal": "SIGKILL"}, "The server was killed by SIGKILL"),
    ],
)
def test_a_death_during_a_call_is_told_with_its_code_or_signal(
    bench: Bench, name: str, arguments: dict[str, object], facts: dict[str, object], message: str
) -> None:
    connection = bench.open(chaos())
    waiting = [connection.submit("tools/call", call("never_answer")) for _ in range(3)]
    problem = lost(connection, name, **arguments)
    assert problem.message == message
    assert problem.remedy.startswith("SIGKILL mostly comes from outside") == ("SIGKILL" in message)
    assert {key: problem.facts.get(key) for key in facts} == facts
    for future in waiting:
        with pytest.raises(ConnectionLost, match=message):
            future.result(BOUND)
    ended(connection)
    assert (connection.state, bench.of("proc", what="exited")[0].body["expected"]) == (LOST, False)
    pairs = [event.pair for event in bench.of("error", **{"class": "connection-closed"})]
    assert set(pairs) == {e.seq for e in bench.of("rpc", method="tools/call", kind="request")}


def test_the_last_stderr_lines_go_with_a_death(bench: Bench) -> None:
    problem = lost(bench.open(chaos()), "exit_with")
    assert problem.facts["stderr"] == ["chaos: leaving"]
    assert problem.remedy == "Read its last stderr lines, then reconnect"


def test_a_closed_stdout_loses_the_connection_while_the_process_lives(bench: Bench) -> None:
    connection = bench.open(chaos())
    problem = lost(connection, "close_stdout")
    assert problem.message == "The server closed its stdout while its process still runs"
    ended(connection)
    assert (connection.state, bench.process_steps()) == (LOST, ["spawned", "stdin-closed", "exited"])


def test_an_orphan_on_stdout_does_not_hide_the_exit(bench: Bench) -> None:
    connection = bench.open(chaos("orphan", era="modern"))
    grandchild = int(bench.until(lambda event: event.t == "stderr").raw.split()[1])  # type: ignore[union-attr]
    assert lost(connection, "exit_with").message == "The server exited with code 3"
    ended(connection)
    assert gone(grandchild)
    assert bench.error("left-children").body["message"].startswith("The server ended but left 1 of its child")


@pytest.mark.parametrize("era", ["modern", "handshake"])
def test_a_time_out_on_stdio_is_told_to_the_server(bench: Bench, era: str) -> None:
    connection = bench.open(chaos(era=era))
    with pytest.raises(TimedOut) as caught:
        connection.ask("tools/call", call("never_answer"), timeout=0.2)
    sent = json.loads(bench.of("rpc", method="notifications/cancelled")[0].raw or b"")
    assert sent["params"] == {"requestId": 10, "reason": "no answer within 0.2 s"}
    assert caught.value.facts["request_seq"] == bench.error("timeout").pair
    assert caught.value.origin == bench.error("timeout").body["origin"] == "console"


@pytest.mark.parametrize(("era", "told"), [("modern", 0), ("handshake", 1)])
def test_a_time_out_over_http_is_told_as_the_era_wants_it(
    bench: Bench, chaos_url: str, era: str, told: int
) -> None:
    connection = bench.open(http(chaos_url, era=era))
    with pytest.raises(TimedOut):
        connection.ask("tools/call", call("never_answer"), timeout=0.2, cause="housekeeping")
    said = bench.of("rpc", method="notifications/cancelled")
    assert [event.cause for event in said] == ["housekeeping"] * told
    posted = next(e for e in bench.of("rpc", method="tools/call")).body["http"]
    assert [e.body.get("aborted") for e in bench.of("http", phase="end", pair=posted)] == [True]


@pytest.mark.parametrize("where", ["stdio", "http"])
def test_a_cancelled_call_is_recorded_and_frees_its_place(bench: Bench, chaos_url: str, where: str) -> None:
    connection = bench.open(chaos() if where == "stdio" else http(chaos_url))
    asked = connection.submit("tools/call", call("never_answer"))
    sent = bench.until(lambda event: event.method == "tools/call")
    assert asked.cancel()
    with pytest.raises(CancelledError):
        asked.result(BOUND)
    note = bench.error("cancelled")
    assert (note.pair, note.body["origin"]) == (sent.seq, "console")
    assert text_of(connection.ask("tools/call", call("echo", a=1)).result) == '{"a":1}'
    assert connection.dispatcher.waiting == {}


def test_an_answer_after_the_time_out_is_joined_to_its_request(bench: Bench) -> None:
    connection = bench.open(chaos())
    with pytest.raises(TimedOut):
        connection.ask("tools/call", call("late_answer", seconds=0.6), timeout=0.2)
    note = bench.error("late-answer")
    late = bench.events[(note.pair or 0) - 1]
    assert (late.kind, late.pair) == ("result", note.body["request"])
    assert note.body["message"] == "The answer to id 10 came late: the request had timed out"
    assert connection.link.stats.late == 1


def test_an_answer_to_a_frame_by_hand_that_nobody_waits_for_any_more_is_joined_to_it(bench: Bench) -> None:
    connection = bench.open(chaos(era="handshake"))
    params = call("late_answer", seconds=0.4)
    raw = json.dumps({"jsonrpc": "2.0", "id": "mine", "method": "tools/call", "params": params}).encode()
    assert connection.run(partial(send_raw, wait_s=0.1), connection, raw, timeout=BOUND).reply is None
    note = bench.error("late-answer")
    assert note.body["message"] == 'The answer to id "mine" came late: the request had timed out'
    assert note.body["request"] == bench.of("rpc", raw=raw)[0].seq


def test_an_answer_after_a_cancel_is_named_as_one(bench: Bench) -> None:
    connection = bench.open(chaos(era="handshake"))
    asked = connection.submit("tools/call", call("late_answer_after_cancel"))
    bench.until(lambda event: event.method == "tools/call")
    asked.cancel()
    assert bench.error("late-answer").body["message"].endswith("the request had been cancelled")


ASKS_AND_PINGS = """
import json, sys
def say(**body): print(json.dumps({"jsonrpc": "2.0", **body}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "initialize":
        say(id=asked["id"], result={"protocolVersion": "2025-11-25", "capabilities": {}})
    elif asked.get("method") == "tools/call":
        call = asked["id"]
        say(id="who", method="elicitation/create", params={"message": "Who?"})
        say(id="alive", method="ping")
    elif asked.get("id") == "alive":
        say(method="notifications/progress", params={"progressToken": call, "progress": 1})
    elif asked.get("id") == "who":
        say(id=call, result={"content": []})
"""


def test_no_time_out_strikes_while_a_question_is_thought_about_whatever_else_comes(bench: Bench) -> None:
    connection = bench.make(script(ASKS_AND_PINGS, era="handshake", declare=("elicitation",)))
    limit = 1.0

    async def think(_method: str, _params: object) -> tuple[str, object]:
        await anyio.sleep(1.5 * limit)
        return "result", {"action": "decline"}

    connection.on_question = think
    connection.open()
    asked = connection.submit("tools/call", call("any"), timeout=limit, most=20, on_progress=lambda _: None)
    assert asked.result(BOUND).result == {"content": []}
    bench.until(lambda event: event.method == "notifications/progress")
    assert bench.anomalies() == []


ANSWERS_THE_FIRST_LAST = """
import json, sys
def say(asked, **result): print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
calls = []
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "initialize":
        say(asked, protocolVersion="2025-11-25", capabilities={})
    elif asked.get("method") == "tools/call":
        calls.append(asked)
        if calls[1:]:
            say(asked, content=[{"type": "text", "text": "quick"}])
        if calls[2:]:
            say(calls[0], content=[{"type": "text", "text": "slow"}])
"""


def test_other_calls_go_on_while_one_waits(bench: Bench) -> None:
    connection = bench.open(script(ANSWERS_THE_FIRST_LAST, era="handshake"))
    slow = connection.submit("tools/call", call("any"))
    bench.until(lambda event: event.method == "tools/call")
    assert text_of(connection.ask("tools/call", call("any")).result) == "quick"
    assert not slow.done()
    assert text_of(connection.ask("tools/call", call("any")).result) == "quick"
    assert text_of(slow.result(BOUND).result) == "slow"


@pytest.mark.parametrize("where", ["stdio", "http"])
def test_closing_settles_what_still_waits(bench: Bench, chaos_url: str, where: str) -> None:
    connection = bench.open(chaos() if where == "stdio" else http(chaos_url))
    asked = connection.submit("tools/call", call("never_answer"))
    bench.until(lambda event: event.method == "tools/call")
    connection.close()
    with pytest.raises(ConnectionLost, match="closed by Loupe"):
        asked.result(BOUND)
    with pytest.raises(ConnectionLost, match="closed by Loupe"):
        connection.ask("tools/list")
    assert (connection.state, bench.anomalies()) == (CLOSED, ["connection-closed"])


def test_a_good_server_leaves_when_its_stdin_closes(bench: Bench) -> None:
    connection = bench.open(chaos())
    connection.close()
    assert bench.process_steps() == ["spawned", "stdin-closed", "exited"]
    assert (bench.of("proc", what="exited")[0].body["expected"], bench.anomalies()) == (True, [])
    connection.close()  # again: nothing left to do


def test_the_ladder_ends_a_server_that_will_not_go_and_its_grandchild(bench: Bench) -> None:
    connection = bench.open(python(SERVERS / "stubborn.py", timeouts=QUICK_CLOSE))
    pids = json.loads(bench.until(lambda event: event.t == "stderr").raw or b"")
    connection.close()
    assert bench.process_steps() == ["spawned", "stdin-closed", "term", "kill", "exited"]
    assert bench.of("proc", what="exited")[0].body["signal"] == "SIGKILL"
    assert gone(pids["pid"]) and gone(pids["grandchild"])
    assert list(bench.children.folder.iterdir()) == []  # type: ignore[union-attr]


def test_a_server_that_heeds_sigterm_alone_is_not_killed(bench: Bench) -> None:
    deaf = script("import signal; signal.pause()", era="handshake", timeouts=Timeouts(1, 0.5, 1, 0.5))
    with pytest.raises(LoupeError):
        bench.make(deaf).open()
    bench.until(lambda event: event.t == "proc" and event.body["what"] == "exited")
    assert bench.process_steps() == ["spawned", "stdin-closed", "term", "exited"]


def test_a_grandchild_in_a_process_group_of_its_own_goes_too(bench: Bench) -> None:
    text = """
import os, subprocess, sys
child = subprocess.Popen(["sleep", "300"], process_group=0, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
print(child.pid, file=sys.stderr, flush=True)
sys.argv = ["demo", "chaos"]
from inspector.demo.__main__ import main
main()
"""
    connection = bench.open(script(text, era="modern"))
    grandchild = int(bench.until(lambda event: event.t == "stderr").raw or b"0")
    connection.close()
    assert gone(grandchild)
    assert bench.anomalies() == ["left-children"]


CONSOLE = """
import sys, threading
from pathlib import Path
from anyio.from_thread import start_blocking_portal
from inspector.settings.spec import ServerSpec
from inspector.wire.children import Children
from inspector.wire.connection import Connection
from inspector.wire.events import Journal

with start_blocking_portal() as portal:
    spec = ServerSpec("s", argv=(sys.executable, sys.argv[2]))
    seen = threading.Event()
    said = []
    journal = Journal(lambda event: (said.append(event.raw), seen.set()) if event.t == "stderr" else None)
    Connection(spec, journal, portal, Children(Path(sys.argv[1]))).open()
    seen.wait(20)
    print(said[0].decode(), flush=True)
    threading.Event().wait(60)
"""


def test_what_a_killed_console_left_is_swept_and_nothing_else(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", CONSOLE, str(tmp_path), str(SERVERS / "stubborn.py")]
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, env=here()) as console:
        assert console.stdout is not None
        pids = json.loads(console.stdout.readline())
        assert Children(tmp_path).sweep() == []  # its console lives
        console.kill()
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as bystander:
        reused = {
            "pid": bystander.pid,
            "start": (started_at(bystander.pid) or 0) - 100,
            "argv": ["x"],
            "owner": DEAD,
        }
        (tmp_path / "reused.json").write_text(json.dumps(reused))
        (tmp_path / "torn.json").write_text('{"pid":')
        swept = Children(tmp_path).sweep()
        assert [(each.pid, each.processes) for each in swept] == [(pids["pid"], 2)]
        assert gone(pids["pid"]) and gone(pids["grandchild"])
        assert bystander.poll() is None
        bystander.kill()
    assert list(tmp_path.iterdir()) == []


DEAD = {"pid": 1, "start": 1.0}


def here() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def test_children_are_recorded_while_they_run_for_our_eyes_only(bench: Bench) -> None:
    connection = bench.open(chaos())
    folder = bench.children.folder
    assert folder is not None
    (record,) = folder.iterdir()
    facts = json.loads(record.read_text())
    assert (facts["pid"], facts["owner"]["pid"]) == (bench.of("proc")[0].body["pid"], os.getpid())
    assert (folder.stat().st_mode & 0o777, record.stat().st_mode & 0o777) == (0o700, 0o600)
    connection.close()
    assert list(folder.iterdir()) == []


def test_the_environment_is_recorded_by_name_alone(bench: Bench) -> None:
    secret = "sk-" + "x" * 20
    bench.open(chaos(env={"API_KEY": secret}))
    assert bench.of("proc", what="spawned")[0].body["env_names"] == ["API_KEY"]
    assert secret not in repr([(event.raw, event.body) for event in bench.events])


def test_an_argument_with_a_space_stays_one_argument(bench: Bench, tmp_path: Path) -> None:
    server = tmp_path / "my server.py"
    server.write_text("import os, sys; os._exit(len(sys.argv))")
    problem = None
    try:
        bench.open(python(server, "--dir", "C:\\My Files", era="handshake"))
    except ConnectionLost as caught:
        problem = caught
    assert problem is not None and problem.facts["exit"] == 3


def connections_of(bench: Bench, specs: list[ServerSpec]) -> list[Connection]:
    """Open them all at once, each from a thread of its own."""
    made = [bench.make(spec) for spec in specs]
    threads = [threading.Thread(target=each.open) for each in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(BOUND * 2)
    return made


def open_files() -> list[str]:
    """What our descriptors lead to, without the numbers that change."""
    links = (Path(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd"))
    return sorted(os.readlink(link).split(":")[0] for link in links if link.is_symlink())


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts descriptors in /proc")
def test_twenty_connections_at_once_leave_nothing_behind(bench: Bench, chaos_url: str) -> None:
    bench.open(chaos(era="modern")).close()
    bench.open(http(chaos_url, era="handshake")).close()
    files, threads = open_files(), threading.active_count()
    children = {child.pid for child in psutil.Process().children()}
    specs = [http(chaos_url, era="handshake") if n % 2 else chaos(era="modern") for n in range(20)]
    made = connections_of(bench, specs)
    asked = [(n, each.submit("tools/call", call("echo", n=n))) for n, each in enumerate(made * 5)]
    assert [text_of(future.result(BOUND).result) for _, future in asked] == [f'{{"n":{n}}}' for n, _ in asked]
    hanging = [each.submit("tools/call", call("never_answer")) for each in made]
    bench.until(lambda _: sum(len(each.dispatcher.waiting) for each in made) == 20)
    for each in made:
        each.close()
    for future in hanging:
        with pytest.raises(ConnectionLost):
            future.result(BOUND)
    for child in psutil.Process().children():
        assert child.pid in children or gone(child.pid)
    assert bench.portal.call(count_tasks) == 1
    assert (open_files(), threading.active_count()) == (files, threads)
    assert set(bench.anomalies()) == {"connection-closed"}


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts descriptors in /proc")
def test_a_daemon_that_holds_the_pipes_is_not_ours_to_end_and_costs_no_descriptor(bench: Bench) -> None:
    text = """
import subprocess, sys
child = subprocess.Popen(["sleep", "300"], start_new_session=True, stdin=subprocess.DEVNULL)
print(child.pid, file=sys.stderr, flush=True)
sys.argv = ["demo", "chaos"]
from inspector.demo.__main__ import main
main()
"""
    bench.open(chaos()).close()
    files = open_files()
    connection = bench.open(script(text, era="modern"))
    daemon = int(bench.until(lambda event: event.t == "stderr").raw or b"0")
    connection.close()
    try:
        assert open_files() == files
        assert psutil.Process(daemon).is_running()
    finally:
        psutil.Process(daemon).kill()


async def count_tasks() -> int:
    import asyncio

    return len([task for task in asyncio.all_tasks() if task is not asyncio.current_task()])


def test_requests_of_many_threads_each_get_their_own_answer(bench: Bench) -> None:
    connection = bench.open(chaos())
    wrong: list[int] = []

    def work(n: int) -> None:
        for turn in range(10):
            reply = connection.ask("tools/call", call("echo", n=n, turn=turn))
            if json.loads(text_of(reply.result)) != {"n": n, "turn": turn}:
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(BOUND)
    assert (wrong, bench.anomalies()) == ([], [])
    assert len({event.id for event in bench.of("rpc", kind="request", method="tools/call")}) == 160


def test_a_program_that_is_no_server_says_what_it_printed(bench: Bench) -> None:
    connection = bench.make(stdio("echo", "hello there"))
    with pytest.raises(ConnectionLost, match="exited with code 0"):
        connection.open()
    assert bench.of("noise")[0].raw == b"hello there"
