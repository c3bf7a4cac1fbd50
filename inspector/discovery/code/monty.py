"""The sandbox as we have it: Monty's interpreter in a pool of worker processes. Each run on its caller's thread.

The worker has no environment, files or network of ours: every question it has comes here as a snapshot, and all but
the functions of the script are refused.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import time
from contextlib import suppress
from difflib import get_close_matches
from typing import Any, Final

from inspector.discovery.code.limits import HARDEST, LimitHit, Limits
from inspector.discovery.code.runtime import (
    Answer,
    CheckFailed,
    Clock,
    Print,
    Raised,
    SandboxDied,
    Script,
    ScriptFailed,
)
from inspector.errors import UsageError
from inspector.settings.extras import install_command

NAME: Final = "script.py"
_UNKNOWN: Final = re.compile(r"Name `(\w+)` used when not defined")
_GRACE_S: Final = 2.0
_SUSPENSIONS: Final = 100_000
_LIMITS: Final = (
    (re.compile(r"feed time limit exceeded"), "run_s"),
    (re.compile(r"turn time limit exceeded"), "turn_s"),
    (re.compile(r"memory limit exceeded: (\d+) bytes"), "memory_bytes"),
    (re.compile(r"maximum recursion depth exceeded"), "recursion"),
)
_REFUSED: Final = {
    "open": "files",
    "Path": "files",
    "os": "the system",
    "socket": "the network",
    "system": "the system",
}
_LONGEST: Final = 4000


def installed() -> bool:
    """Whether the extra is there."""
    try:
        import pydantic_monty
    except ImportError:
        return False
    return bool(pydantic_monty.__version__)


class MontyRuntime:
    """A pool that is started by its first run (or `warm`) and kept."""

    name = "pydantic-monty"
    counts_steps = False

    def __init__(self, processes: int = 2) -> None:
        self._processes = min(processes, HARDEST.concurrency)
        self._lock = threading.Lock()
        self._pool: Any = None
        self._monty: Any = None

    def warm(self) -> None:
        """Start a worker and its type checker, so that the first run is as quick as the next."""
        with self._start().checkout(type_check=True, type_check_stubs="") as session:
            session.feed_run("0")

    def _start(self) -> Any:
        with self._lock:
            if self._pool is None:
                try:
                    import pydantic_monty
                except ImportError:
                    raise UsageError(
                        "Code mode needs its sandbox, which is not installed",
                        f"Run: {install_command('code')}",
                    ) from None
                self._monty = pydantic_monty
                pool = pydantic_monty.Monty(
                    min_processes=1, max_processes=self._processes, checkout_timeout=0.5,
                    request_timeout=HARDEST.run_s, feed_duration_limit_grace=_GRACE_S, turn_duration_limit_grace=_GRACE_S,
                )  # fmt: skip
                self._pool = pool.__enter__()
            return self._pool

    def end(self, pid: int) -> None:
        end(pid)

    def close(self) -> None:
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.__exit__(None, None, None)

    def run(self, script: Script, limits: Limits, answer: Answer, print_: Print, clock: Clock) -> Any:
        pool = self._start()
        began = time.perf_counter()
        checkout = pool.checkout(
            script_name=NAME, limits=_worker_limits(limits), type_check=bool(script.stubs),
            type_check_stubs=script.stubs or None, type_check_format="concise",
            os_policy={"sleep": "call_host", "process_time": "zero"},
        )  # fmt: skip
        try:
            with checkout as session:
                clock.pid = session.worker_pid
                clock.start_ms = (time.perf_counter() - began) * 1000
                return _Turns(self._monty, session, script, limits, answer, print_, clock).play()
        except TimeoutError:
            raise LimitHit("concurrency", self._processes) from None
        finally:
            clock.pid = None


def _worker_limits(limits: Limits) -> Any:
    return {
        "max_feed_duration_secs": limits.run_s, "max_turn_duration_secs": limits.turn_s,
        "max_memory": limits.memory_bytes, "max_recursion_depth": limits.recursion, "max_suspensions": _SUSPENSIONS,
        "max_total_sleep_secs": 0.0,
    }  # fmt: skip


class _Turns:
    """One run: the worker computes until it needs something, the host answers, and so on."""

    def __init__(
        self, monty: Any, session: Any, script: Script, limits: Limits, answer: Answer, print_: Print, clock: Clock
    ) -> None:  # fmt: skip
        self.monty, self.session, self.script, self.limits, self.clock = monty, session, script, limits, clock
        self.answer, self.print = answer, print_
        self.source = script.code.encode("utf-8", "surrogatepass")
        self.ends_with: BaseException | None = None

    def play(self) -> Any:
        snapshot = self._turn(
            lambda: self.session.feed_start(
                self.script.code, print_callback=self._printed, skip_type_check=not self.script.stubs
            )
        )
        while not isinstance(snapshot, self.monty.MontyComplete):
            snapshot = self._next(snapshot)
        return snapshot.output

    def _printed(self, _stream: str, text: str) -> None:
        if self.ends_with is not None:
            return
        try:
            self.print(text)
        except BaseException as problem:  # the sandbox would go on until its next turn: end it
            self.ends_with = problem
            if self.clock.pid is not None:
                end(self.clock.pid)
            raise

    def _turn(self, go: Any) -> Any:
        """Let the worker compute; what it raised becomes one of our errors."""
        began = time.perf_counter()
        try:
            found = go()
        except self.monty.MontyError as problem:
            if self.ends_with is not None:
                raise self.ends_with from None
            raise self._told(problem) from None
        finally:
            self.clock.compute_ms += (time.perf_counter() - began) * 1000
        if self.ends_with is not None:
            raise self.ends_with
        return found

    def _next(self, snapshot: Any) -> Any:
        line = self._line(snapshot)
        if isinstance(snapshot, self.monty.FutureSnapshot):
            raise ScriptFailed(
                "RuntimeError", "there is nothing to await: tools are plain functions", line, ""
            )
        if isinstance(snapshot, self.monty.NameLookupSnapshot):
            return self._turn(lambda: self._named(snapshot))
        if snapshot.is_os_function:
            return self._turn(lambda: self._of_system(snapshot))
        try:
            value = self.answer(snapshot.function_name, snapshot.args, snapshot.kwargs, line)
        except Raised as problem:
            told = {"exc_type": problem.name, "message": problem.message}
            return self._turn(lambda: snapshot.resume(told))
        return self._turn(lambda: snapshot.resume({"return_value": value}))

    def _named(self, snapshot: Any) -> Any:
        name = snapshot.variable_name
        if snapshot.object_id is None and name in self.script.types:
            return snapshot.resume(value=f"<type {name}>")
        return snapshot.resume()

    def _of_system(self, snapshot: Any) -> Any:
        name = str(snapshot.function_name)
        if name in ("import_stubs", "import"):
            return snapshot.resume_not_handled()
        about = _REFUSED.get(name.split(".")[0], "the system")
        sentence = f"the sandbox has no access to {about} ({name})"
        return snapshot.resume({"exc_type": "PermissionError", "message": sentence})

    def _line(self, snapshot: Any) -> int | None:
        place = snapshot.position
        if not place.filename.startswith("<python-input"):
            return None
        return self.source.count(b"\n", 0, place.start) + 1

    def _told(self, problem: Any) -> Exception:
        """The worker's error as ours."""
        if isinstance(problem, self.monty.MontyCrashedError):
            if problem.timed_out:
                return LimitHit("run_s", self.limits.run_s)
            return SandboxDied(
                "The sandbox's worker process ended during the run",
                "What was called is recorded; run it again or resume",
            )
        if isinstance(problem, self.monty.MontyTypingError | self.monty.MontySyntaxError):
            told = problem.display()
            return CheckFailed(
                _cut(told), f"Nothing ran. {self._mended(told)}", facts={"line": _first_line(problem)}
            )
        inner = problem.exception()
        text, name = str(inner), type(inner).__name__
        for pattern, kind in _LIMITS:
            found = pattern.search(text)
            if found and name in ("TimeoutError", "MemoryError", "RecursionError"):
                used = float(found[1]) if found.groups() else None
                hit = LimitHit(kind, getattr(self.limits, kind), None if used is None else int(used))
                hit.line = _last_line(problem)
                return hit
        if name == "MemoryError":
            return LimitHit("memory_bytes", self.limits.memory_bytes)
        shown = problem.display("type-msg") if hasattr(problem, "traceback") else f"{name}: {text}"
        word, _, message = shown.partition(":")
        trace = problem.display() if hasattr(problem, "traceback") else ""
        return ScriptFailed(word, _cut(message.strip()), _last_line(problem), _cut(trace))

    def _mended(self, told: str) -> str:
        """What to try: the functions named most like one there is not."""
        unknown = _UNKNOWN.search(told)
        near = get_close_matches(unknown[1], self.script.names, n=3) if unknown else []
        return f"Is {' or '.join(near)} meant?" if near else "Mend the script"


def end(pid: int) -> None:
    """End a worker of ours that is computing; the pool puts another in its place."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)


def _last_line(problem: Any) -> int | None:
    frames = problem.traceback() if hasattr(problem, "traceback") else []
    return frames[-1].line if frames else None


def _first_line(problem: Any) -> int | None:
    found = re.search(rf"{re.escape(NAME)}:(\d+):", problem.display())
    return int(found[1]) if found else _last_line(problem)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
