"""The stdio transport: bytes split at LF and recorded before anything parses them. Loop thread.

Source: MCP basic/transports/stdio. Measured facts behind it: shared reference "sdk.md" §2.
"""

from __future__ import annotations

from collections.abc import Callable

import anyio
import anyio.abc

from inspector.errors import ConnectionLost, LoupeError
from inspector.protocol.stderr_hints import remedy_for
from inspector.settings.spec import ServerSpec
from inspector.wire.children import Children
from inspector.wire.dispatcher import Dispatcher, Waiter
from inspector.wire.events import Event
from inspector.wire.link import LINE_CAP, Link, Outgoing, cancellation
from inspector.wire.process import ServerProcess
from inspector.wire.reading import classify

CHUNK = 64 * 1024
STDERR_CHUNK = 64 * 1024
CUT_KEPT = 64 * 1024
DRAIN_S = 0.5


class StdioTransport:
    """One server process and its three pipes."""

    kind = "stdio"

    def __init__(self, link: Link, spec: ServerSpec, dispatcher: Dispatcher, children: Children) -> None:
        self.link = link
        self.spec = spec
        self.dispatcher = dispatcher
        self.children = children
        self.server: ServerProcess | None = None
        self.ended: anyio.Event = anyio.Event()
        self._writing = anyio.Lock()
        self._closing = False
        self._unread = False
        self._read_out = anyio.Event()
        self._arrived: list[tuple[bytes, str | int]] = []
        self._splitter = LineSplitter(self._keep, self._keep)
        self._read_err = anyio.Event()

    async def start(
        self,
        tasks: anyio.abc.TaskGroup,
        argv: list[str],
        env: dict[str, str],
        cwd: str | None,
        *,
        again: bool = False,
    ) -> None:
        """Spawn the server and its readers."""
        self.server = await ServerProcess.spawn(
            self.link, self.children, self.spec, argv, env, cwd, again=again
        )
        tasks.start_soon(self.server.watch)
        tasks.start_soon(self._read_stdout)
        tasks.start_soon(self._read_stderr)
        tasks.start_soon(self._mind_the_end)

    async def request(self, waiter: Waiter) -> None:
        await self._write(waiter.out, waiter)
        await waiter.done.wait()

    async def send(self, out: Outgoing) -> None:
        await self._write(out)

    def pending(self) -> str:
        held = self._splitter.size
        return f"; {held:,} bytes without a newline wait on its stdout" if held else ""

    async def abandon(self, waiter: Waiter, reason: str) -> None:
        """On stdio a client says so with `notifications/cancelled` (basic/patterns/cancellation)."""
        if self._closing or self.ended.is_set():
            return
        try:
            await self._write(cancellation(waiter.out, reason))
        except LoupeError:
            return  # the error event of the failed write already says it

    async def _write(self, out: Outgoing, waiter: Waiter | None = None) -> None:
        assert self.server is not None
        async with self._writing:
            event = self.link.sent(out)
            if waiter is not None:
                waiter.sent = event
            if self.ended.is_set():
                raise self.lost()
            assert self.server.process.stdin is not None
            if self._unread:  # asyncio would take the bytes, drop them and complain on our stderr
                raise await self._not_written(event)
            try:
                await self.server.process.stdin.send(out.raw + b"\n")
            except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                raise await self._not_written(event) from None

    async def _not_written(self, event: Event) -> ConnectionLost:
        """The server reads no more. Its exit is usually known a moment later, and says more than a broken pipe."""
        text = "The server closed its stdin: nothing can be asked of it any more"
        remedy = "Reconnect to start it again, and keep stdin open until exit"
        self.link.anomaly("write-failed", text, pair=event.seq, remedy=remedy)
        if not self._unread:
            self._unread = True
            with anyio.move_on_after(DRAIN_S):
                await self.ended.wait()
        return self.lost() if self.ended.is_set() else ConnectionLost(text, remedy)

    async def _read_stdout(self) -> None:
        assert self.server is not None and self.server.process.stdout is not None
        splitter = self._splitter
        try:
            async for chunk in self.server.process.stdout:
                splitter.feed(chunk)
                await self._take_arrived()
                while self.link.journal.pressure():
                    await anyio.sleep(0.005)
        except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass
        splitter.finish()
        await self._take_arrived()
        self._read_out.set()

    def _keep(self, raw: bytes, what: str | int) -> None:
        """A line with its ending, or the head of one that is too long with its size."""
        self._arrived.append((raw, what))

    async def _take_arrived(self) -> None:
        """Record and route the lines that became whole, in order."""
        arrived, self._arrived = self._arrived, []
        for raw, what in arrived:
            if isinstance(what, int):
                self._cut(raw, what)
            elif not raw.strip():
                self.link.stats.blank_lines += 1
            else:
                frame = await classify(raw)
                self.dispatcher.received(*self.link.received(raw, eol=what, frame=frame))

    def _cut(self, head: bytes, full_bytes: int) -> None:
        why = f"one line of more than {LINE_CAP:,} bytes"
        self.link.noise(head, why, eol="lf", cut=True, full_bytes=full_bytes)

    async def _read_stderr(self) -> None:
        assert self.server is not None and self.server.process.stderr is not None
        splitter = StderrSplitter(self.link.stderr_line)
        try:
            async for chunk in self.server.process.stderr:
                splitter.feed(chunk)
                while self.link.journal.pressure():
                    await anyio.sleep(0.005)
        except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass
        splitter.finish()
        self._read_err.set()

    async def _mind_the_end(self) -> None:
        """Settle everything once the process is gone or its stdout is closed, whichever comes first."""
        assert self.server is not None
        await first_of(self.server.exited, self._read_out)
        # The exit code makes the better sentence, and the last bytes may still be in the pipe.
        with anyio.move_on_after(DRAIN_S):
            await self.server.exited.wait()
            await self._read_out.wait()
            await self._read_err.wait()
        if not self.server.exited.is_set() and not self._closing:
            self.link.anomaly(
                "stdout-closed",
                "The server closed its stdout while its process still runs",
                remedy="Nothing can be read from it any more: reconnect, and keep stdout open until exit",
            )
        self.ended.set()
        self.dispatcher.fail_all(self.lost)

    def lost(self) -> ConnectionLost:
        """Why nothing can be asked any more, with exit code or signal and the last stderr lines."""
        assert self.server is not None
        facts = {**self.server.outcome, "stderr": list(self.link.stderr)[-20:], "argv": list(self.spec.argv)}
        remedy = self._remedy()
        if self._closing:
            return ConnectionLost("The connection was closed by Loupe", "Connect again", facts=facts)
        if "signal" in facts:
            return ConnectionLost(f"The server was killed by {facts['signal']}", remedy, facts=facts)
        if "exit" in facts:
            return ConnectionLost(f"The server exited with code {facts['exit']}", remedy, facts=facts)
        return ConnectionLost(
            "The server closed its stdout while its process still runs", remedy, facts=facts
        )

    def _remedy(self) -> str:
        """The next thing to try when the server is gone."""
        if self.link.stats.frames_in == 0 and self.link.noise_heads:
            said = self.link.noise_heads[0][:80]
            return f"It printed “{said}” on stdout, which is no frame: is this the command of the MCP server?"
        if self.server is not None and self.server.outcome.get("signal") == "SIGKILL":
            return "SIGKILL mostly comes from outside, as from a system out of memory: look there, then reconnect"
        if not self.link.stderr:
            return "Reconnect to start it again"
        read = "Read its last stderr lines, then reconnect"
        # What it logged while it worked says nothing of why it ended later: only a server that never spoke is judged.
        return remedy_for(list(self.link.stderr), read) if self.link.stats.frames_in == 0 else read

    async def close(self) -> None:
        self._closing = not self.ended.is_set()  # when the server went first, that stays the reason
        if self.server is not None:
            await self.server.close(self.spec.timeouts.close)
            with anyio.CancelScope(shield=True), anyio.move_on_after(DRAIN_S):
                await self._read_out.wait()
                await self._read_err.wait()
            self.server.let_go()


async def first_of(*events: anyio.Event) -> None:
    """Wait until one of them is set."""
    async with anyio.create_task_group() as race:

        async def wait(event: anyio.Event) -> None:
            await event.wait()
            race.cancel_scope.cancel()

        for event in events:
            race.start_soon(wait, event)


class LineSplitter:
    """Splits a byte stream at LF; remembers CRLF; holds at most LINE_CAP bytes of one line."""

    def __init__(self, line: Callable[[bytes, str], None], cut: Callable[[bytes, int], None]) -> None:
        self._line = line
        self._cut = cut
        self._held = bytearray()
        self._skipped = 0

    @property
    def size(self) -> int:
        """Bytes of the line that has not ended yet."""
        return self._skipped or len(self._held)

    def feed(self, chunk: bytes) -> None:
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            self._end_line(chunk[start:end])
            start = end + 1
        if self._skipped:
            self._skipped += len(chunk) - start
            return
        self._held += chunk[start:] if start else chunk
        if len(self._held) > LINE_CAP:
            self._skipped = len(self._held)
            del self._held[CUT_KEPT:]

    def _end_line(self, tail: bytes) -> None:
        size = self.size + len(tail)
        line = bytes(self._held) + tail if self._held else tail
        self._held.clear()
        self._skipped = 0
        if size > LINE_CAP:
            self._cut(line[:CUT_KEPT], size)
        elif line.endswith(b"\r"):
            self._line(line[:-1], "crlf")
        else:
            self._line(line, "lf")

    def finish(self) -> None:
        """The stream ended: what is left is an unterminated line."""
        if self._skipped:
            self._cut(bytes(self._held), self._skipped)
        elif self._held:
            self._line(bytes(self._held), "none")
        self._held.clear()
        self._skipped = 0


class StderrSplitter:
    """Lines of stderr; a piece without a newline once it is long."""

    def __init__(self, line: Callable[[bytes, str], None]) -> None:
        self._line = line
        self._held = b""

    def feed(self, chunk: bytes) -> None:
        *lines, self._held = (self._held + chunk).split(b"\n")
        for line in lines:
            crlf = line.endswith(b"\r")
            self._line(line[:-1] if crlf else line, "crlf" if crlf else "lf")
        if len(self._held) >= STDERR_CHUNK:
            self.finish()

    def finish(self) -> None:
        if self._held:
            self._line(self._held, "none")
        self._held = b""
