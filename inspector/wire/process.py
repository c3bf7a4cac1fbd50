"""A server's process: spawn, exit, and the shutdown ladder, each step an event. Loop thread."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from typing import Any

import anyio
import anyio.abc

from inspector.errors import SpawnFailed
from inspector.settings.spec import ServerSpec
from inspector.wire.children import Children, end_group, started_at
from inspector.wire.link import Link

POLL_S = 0.05
WINDOWS = sys.platform == "win32"


class ServerProcess:
    """One child in a session (process group) of its own."""

    def __init__(self, link: Link, children: Children, process: anyio.abc.Process, argv: list[str]) -> None:
        self.link = link
        self.children = children
        self.process = process
        self.argv = argv
        self.pid = process.pid
        self.began = started_at(process.pid)
        self.exited = anyio.Event()
        self.ended_by_us = False

    @classmethod
    async def spawn(
        cls,
        link: Link,
        children: Children,
        spec: ServerSpec,
        argv: list[str],
        env: dict[str, str],
        cwd: str | None,
        *,
        again: bool,
    ) -> ServerProcess:
        """Start `argv` in `cwd`; records `spawned` (or `restarted`), with what `spec` says: its placeholders
        instead of values. Raises SpawnFailed with the reason in words."""
        options: dict[str, Any] = {} if WINDOWS else {"start_new_session": True}
        try:
            process = await anyio.open_process(
                argv, stdin=-1, stdout=-1, stderr=-1, cwd=cwd, env=env, **options
            )
        except OSError as problem:
            raise spawn_failed(spec, argv, cwd, problem) from None
        children.record(process.pid, [link.hider.text(argv[0]), *spec.argv[1:]])
        what = "restarted" if again else "spawned"
        link.emit(
            "proc", what=what, pid=process.pid, argv=list(spec.argv), cwd=spec.cwd, env_names=sorted(spec.env)
        )
        return cls(link, children, process, argv)

    async def watch(self) -> None:
        """Wait for the exit and record it. `process.wait()` would also wait for pipes a grandchild holds."""
        await self._until_exit()
        code = self.process.returncode
        fields: dict[str, Any] = {"what": "exited", "pid": self.pid, "expected": self.ended_by_us}
        if code is not None and code < 0:
            fields["signal"] = signal_name(-code)
        else:
            fields["code"] = code
        self.link.emit("proc", **fields)
        self.exited.set()

    async def _until_exit(self) -> None:
        if hasattr(os, "pidfd_open"):
            with suppress(OSError):
                fd = os.pidfd_open(self.pid)
                try:
                    await anyio.wait_readable(fd)
                finally:
                    os.close(fd)
        while self.process.returncode is None:
            await anyio.sleep(POLL_S)

    @property
    def outcome(self) -> dict[str, Any]:
        """`{"exit": 3}`, `{"signal": "SIGSEGV"}`, or `{}` while it runs."""
        code = self.process.returncode
        if code is None:
            return {}
        return {"signal": signal_name(-code)} if code < 0 else {"exit": code}

    async def close(self, step_s: float) -> None:
        """The ladder: close stdin, SIGTERM the group, SIGKILL the group; at most `step_s` for each step."""
        with anyio.CancelScope(shield=True):
            self.ended_by_us = True
            if self.process.returncode is None:
                self.link.emit("proc", what="stdin-closed", pid=self.pid)
            with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                if self.process.stdin is not None:
                    await self.process.stdin.aclose()
            killed = False
            if not await self._gone(step_s):
                self._signal("term", signal.SIGTERM)
                if not await self._gone(step_s):
                    killed = True
                    self._signal("kill", signal.SIGKILL if not WINDOWS else signal.SIGTERM)
                    await self._gone(step_s)
            self._end_leftovers(say=not killed)
            self.children.forget(self.pid)

    def _end_leftovers(self, *, say: bool) -> None:
        """Kill what the server started and left in its session, in process groups of their own too."""
        count = 0 if WINDOWS else end_group(self.pid, self.began)
        if count and say:
            text = f"The server ended but left {count} of its child processes running; Loupe ended them"
            self.link.anomaly("left-children", text, remedy="End child processes when stdin closes")

    def let_go(self) -> None:
        """Close our ends of its pipes.

        A daemon it started, in a session of its own, may hold the other ends for ever; asyncio then waits for
        their end, and anyio has no public way to stop that.
        """
        transport = getattr(getattr(self.process, "_process", None), "_transport", None)
        if transport is not None:
            transport.close()

    async def _gone(self, within_s: float) -> bool:
        with anyio.move_on_after(within_s):
            await self.exited.wait()
        return self.exited.is_set()

    def _signal(self, what: str, number: signal.Signals) -> None:
        self.link.emit("proc", what=what, pid=self.pid)
        with suppress(ProcessLookupError, PermissionError):
            if WINDOWS:
                self.process.terminate()
            else:
                os.killpg(self.pid, number)


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def spawn_failed(spec: ServerSpec, argv: list[str], cwd: str | None, problem: OSError) -> SpawnFailed:
    """One sentence for what the operating system said."""
    command = argv[0]
    facts = {"argv": list(spec.argv), "cwd": spec.cwd, "errno": problem.errno}
    if cwd is not None and not os.path.isdir(cwd):
        return SpawnFailed(
            f"The working folder {spec.cwd} does not exist", "Set cwd to an existing folder", facts=facts
        )
    if isinstance(problem, PermissionError):
        return SpawnFailed(f"{command} may not be executed", f"Try: chmod +x {command}", facts=facts)
    if isinstance(problem, FileNotFoundError):
        remedy = "Give the command's absolute path, or put its folder on PATH"
        return SpawnFailed(f"The command {command} was not found", remedy, facts=facts)
    text = problem.strerror or str(problem)
    return SpawnFailed(
        f"{command} could not be started: {text}", "Run it in a terminal to see why", facts=facts
    )
