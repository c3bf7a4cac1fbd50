"""Scenarios about the end of a process: shutdown step by step, crashes, and starting again."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from inspector.demo.stdio_suite.checks import STDIO
from inspector.demo.stdio_suite.log import Life, Seen
from inspector.demo.stdio_suite.scenario import FIELD, MUST, SHOULD, Check, Scenario, is_call, kill_self

if TYPE_CHECKING:
    from inspector.demo.stdio_suite.server import SuiteServer

SHUTDOWN = f"{STDIO} (shutdown)"
CRASH = f"{STDIO} (a server process that ends unexpectedly)"
LONGEST = 300
"""Seconds after which a forgotten server ends by itself."""


class Ending(Scenario):
    group = "shutdown"
    source = SHUTDOWN
    level = MUST
    timeouts: Mapping[str, int] = MappingProxyType({"close": 500})


class SlowExit(Ending):
    """Takes 0.4 s to end after stdin was closed."""

    name = "slow-exit"
    asks = "Waits a reasonable time before it sends a signal."
    level = SHOULD
    timeouts: Mapping[str, int] = MappingProxyType({"close": 3000})

    def eof(self, server: SuiteServer) -> None:
        time.sleep(0.4)


class IgnoresEof(Ending):
    """Stays when stdin is closed, and ends at SIGTERM."""

    name = "ignores-eof"
    asks = "Sends SIGTERM once closing stdin did not help."
    signals = ("SIGTERM",)

    def eof(self, server: SuiteServer) -> None:
        server.log.put("mark", text="stays")
        time.sleep(LONGEST)

    def judge(self, seen: Seen) -> Iterable[Check]:
        names = [entry["name"] for life in seen.lives for entry in life.of("signal")]
        asks = "sends SIGTERM before SIGKILL"
        yield self.check(
            "term-first", SHOULD, "SIGTERM" in names, asks, ", ".join(names) or "no SIGTERM came"
        )


class IgnoresTerm(IgnoresEof):
    """Stays when stdin is closed, and ignores SIGTERM."""

    name = "ignores-sigterm"
    asks = "Kills it, once neither closing stdin nor SIGTERM helped."

    def term(self, server: SuiteServer) -> None:
        server.log.put("mark", text="ignored")


class HeldStdout(Ending):
    """Ends when stdin is closed, but a process it started keeps stdout open."""

    name = "held-stdout"
    asks = "Ends although stdout never does."
    level = FIELD
    source = f"{SHUTDOWN}; ours"

    def start(self, server: SuiteServer) -> None:
        child = subprocess.Popen(["sleep", str(LONGEST)], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        server.log.put("mark", text="helper", helper=child.pid)


class StdoutClosed(Ending):
    """Closes its stdout after the first call and runs on; started again, it works."""

    name = "stdout-closed"
    asks = "Takes that for the end of the server: starts it again and goes on."
    level = FIELD
    lives = 3
    calls = ("first", "second", "third")
    reaches = "third"
    signals = ("SIGTERM",)

    def request(self, server: SuiteServer, method: str, id_: Any, params: dict[str, Any]) -> None:
        server.answer(method, id_, params)
        if is_call(method, params, "first") and server.life == 0:
            os.close(1)
            os.open(os.devnull, os.O_WRONLY)


class Crash(Scenario):
    """A server that ends by itself, and works when it is started again."""

    group = "crash"
    asks = "Fails that call only; starts the server again, in either era's way, and goes on with the next."
    source = CRASH
    level = SHOULD
    lives = 3
    calls = ("first", "second", "third")
    reaches = "third"

    def judge(self, seen: Seen) -> Iterable[Check]:
        again = len(seen.lives) > 1
        asks = "starts the server again after it ended"
        yield self.check("restarts", SHOULD, again, asks, f"{len(seen.lives)} processes were started")


class CrashMidCall(Crash):
    """Exits with code 3 at the first call, unanswered."""

    name = "crash-mid-call"

    def request(self, server: SuiteServer, method: str, id_: Any, params: dict[str, Any]) -> None:
        if is_call(method, params, "first") and server.life == 0:
            server.raw(b"Traceback: out of luck\n", fd=2)
            server.die("at the first call", 3)
        server.answer(method, id_, params)


class CrashMidFrame(Crash):
    """Is killed by SIGKILL when half of the first call's answer is written."""

    name = "crash-mid-frame"

    def request(self, server: SuiteServer, method: str, id_: Any, params: dict[str, Any]) -> None:
        server.kept = is_call(method, params, "first") and server.life == 0
        server.answer(method, id_, params)

    def write(self, server: SuiteServer, raw: bytes) -> None:
        if not server.kept:
            return super().write(server, raw)
        server.raw(raw[: len(raw) // 2])
        return kill_self(server, "in the middle of an answer")


class ExitBetweenCalls(Crash):
    """Answers the first call and exits with code 0."""

    name = "exit-between-calls"

    def request(self, server: SuiteServer, method: str, id_: Any, params: dict[str, Any]) -> None:
        server.answer(method, id_, params)
        if is_call(method, params, "first") and server.life == 0:
            server.die("after the first call", 0)


class ClosedStdin(Crash):
    """Closes its stdin after the first call, and ends half a second later."""

    name = "closed-stdin"
    level = FIELD
    asks = "Is not killed by the broken pipe; starts the server again and goes on."
    source = "ours"

    def request(self, server: SuiteServer, method: str, id_: Any, params: dict[str, Any]) -> None:
        server.answer(method, id_, params)
        if is_call(method, params, "first") and server.life == 0:
            os.close(0)
            time.sleep(0.5)
            server.die("after its stdin was closed", 1)


def helpers(lives: Sequence[Life]) -> list[int]:
    """Pids of processes the servers started and do not end."""
    marks = [entry for life in lives for entry in life.of("mark")]
    return [entry["helper"] for entry in marks if "helper" in entry]


SCENARIOS = (
    SlowExit(), IgnoresEof(), IgnoresTerm(), HeldStdout(), StdoutClosed(), CrashMidCall(), CrashMidFrame(),
    ExitBetweenCalls(), ClosedStdin(),
)  # fmt: skip
