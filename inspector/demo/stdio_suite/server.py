"""The process behind every scenario: it reads stdin to the byte, writes down what it sees, and answers; one thread.

A scenario changes what is answered (`request`), how the answer is written (`write`), and how the process ends (`eof`,
`term`); all else is the healthy half of the chaos server, which speaks both eras.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from inspector.demo.chaos_faults import CALL, Ask, State
from inspector.demo.chaos_server import ChaosServer
from inspector.demo.stdio_suite.log import Log, params_of

if TYPE_CHECKING:
    from inspector.demo.stdio_suite.scenario import Scenario

CHUNK: Final = 65_536


class Healthy(ChaosServer):
    """Answers both eras; every tool call works."""

    def right(self, ask: Ask) -> dict[str, Any] | None:
        if ask.method == CALL:
            return self._stamped(ask, {"content": [{"type": "text", "text": "called"}]})
        return super().right(ask)


class SuiteServer:
    """One server process of one scenario; also the way out for the healthy half."""

    def __init__(self, scenario: Scenario, folder: Path) -> None:
        self.scenario = scenario
        self.log = Log(folder)
        self.life = self.log.life
        self.healthy = Healthy("stdio", {}, {})
        self.healthy.tools = scenario.tools()
        self.healthy.state.eras = set(scenario.eras)
        self.healthy.state.era_lock = scenario.era_lock
        self.state: State = self.healthy.state
        self.kept: Any = None
        """What a scenario keeps from one frame to the next."""

    def run(self) -> int:
        """Serve until stdin ends; the exit code."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._signalled)
        self.scenario.start(self)
        rest = b""
        while chunk := os.read(0, CHUNK):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self._line(line)
        if rest:
            self.log.line(rest, "tail")
        self.log.put("eof")
        self.scenario.eof(self)
        self.log.put("exit", text="after stdin closed")
        return 0

    def _line(self, line: bytes) -> None:
        self.log.line(line)
        if line.strip():
            try:
                self._taken(line)
            except (ValueError, TypeError, AttributeError, RecursionError) as problem:
                self.log.put("mark", text=f"cannot be answered: {type(problem).__name__}")

    def _taken(self, line: bytes) -> None:
        """Hand a line to the scenario when it is a message, to the healthy half when it is none."""
        try:
            frame = json.loads(line)
        except ValueError:
            frame = None
        if not isinstance(frame, dict):
            return self.healthy.handle(line, self)
        params = params_of(frame)
        if "method" not in frame:
            return self.scenario.replied(self, frame)
        if "id" in frame:
            return self.scenario.request(self, str(frame["method"]), frame["id"], params)
        return self.scenario.notified(self, str(frame["method"]), params)

    def _signalled(self, number: int, _frame: Any) -> None:
        self.log.put("signal", name=signal.Signals(number).name)
        self.scenario.term(self)

    def answer(self, method: str, id_: Any, params: dict[str, Any]) -> None:
        """As a healthy server would."""
        self.healthy.request(method, id_, params, self)

    def raw(self, data: bytes, fd: int = 1) -> None:
        """Exactly these bytes, unbuffered; a client that has gone ends the process."""
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(fd, rest) :]
        except BrokenPipeError:
            self.die("nobody reads any more", 0)

    def die(self, why: str, code: int) -> NoReturn:
        """End at once, by itself."""
        self.log.put("exit", text=why)
        os._exit(code)

    # --- inspector.demo.chaos_faults.Out

    def frame(self, raw: bytes, status: int = 200) -> None:
        self.scenario.write(self, raw)

    def later(self, seconds: float, raw: bytes) -> None:
        self.frame(raw)

    def when_cancelled(self, ask: Ask, raw: bytes) -> None:
        pass

    def accepted(self) -> None:
        pass

    def admit(self, ask: Ask) -> bool:
        return True


def main(argv: list[str]) -> int:
    """`python -m inspector.demo.stdio_suite SCENARIO FOLDER`: started by the client under test."""
    from inspector.demo.stdio_suite.scenarios import SCENARIOS

    known = {each.name: each for each in SCENARIOS}
    if len(argv) != 2 or argv[0] not in known or not Path(argv[1]).is_dir():
        sys.stderr.write("usage: python -m inspector.demo.stdio_suite SCENARIO FOLDER\n")
        return 2
    return SuiteServer(known[argv[0]], Path(argv[1])).run()
