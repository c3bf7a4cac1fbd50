"""One worker process for what would hold the GIL: measuring, tokens, schema checks. Called from any thread.

anyio's own process workers: they end when our end of the pipe closes, so a killed console leaves none behind.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import anyio
import anyio.to_process
from anyio.from_thread import BlockingPortal

T = TypeVar("T")

CAREFUL_BYTES = 200_000
"""Payloads above this are measured in the worker: the work passes ~20 ms."""


IDLE_S = 10.0
"""After that the processes that have nothing to do are ended: a vocabulary and what was counted with it are 80 MB, and
another one is there in half a second."""


class Worker:
    """Runs module-level functions on picklable values, one at a time, in a process started on first need."""

    def __init__(self, portal: BlockingPortal, idle_s: float = IDLE_S) -> None:
        self._portal = portal
        self._idle_s = idle_s
        self._used = 0
        self._closed = False
        self._minder: Future[None] | None = None
        self._starting = threading.Lock()
        self._limiter: anyio.CapacityLimiter | None = None
        self._processes: anyio.CapacityLimiter | None = None
        self._running: set[Future[Any]] = set()

    def submit(self, work: Callable[..., T], *args: object, **options: object) -> Future[T]:
        """Start `work` and return its future; cancelling the future kills the process, not the console."""

        async def run() -> T:
            return await self.run(work, *args, **options)

        future = self._portal.start_task_soon(run)
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        with self._starting:
            if not self._closed and (self._minder is None or self._minder.done()):
                self._minder = self._portal.start_task_soon(self._end_idle)
        return future

    async def run(self, work: Callable[..., T], *args: object, **options: object) -> T:
        """The same for the loop thread; cancelling it kills the process."""
        if self._limiter is None or self._processes is None:
            self._limiter, self._processes = anyio.CapacityLimiter(1), anyio.CapacityLimiter(1)
        async with self._limiter:
            with anyio.CancelScope(shield=True):
                # A start cancelled half-way leaves a process nobody ends: anyio kills only one that works.
                await anyio.to_process.run_sync(os.getpid, limiter=self._processes)
            call = partial(work, *args, **options)
            self._used += 1
            return await anyio.to_process.run_sync(call, cancellable=True, limiter=self._processes)

    async def _end_idle(self) -> None:
        """End the loop's idle processes, whoever used them, once nothing was submitted here for a while."""
        used = -1
        while used != self._used or self._running:
            used = self._used
            await anyio.sleep(self._idle_s)
        while _idle_processes():
            with anyio.CancelScope(shield=True), suppress(anyio.BrokenWorkerProcess):
                await anyio.to_process.run_sync(os._exit, 0, limiter=anyio.CapacityLimiter(1))

    def close(self) -> None:
        """Drop what still runs: a console that is being closed does not wait for a count nobody will read."""
        with self._starting:
            self._closed = True
        for future in list(self._running):
            future.cancel()
        if self._minder is not None:
            self._minder.cancel()


def _idle_processes() -> int:
    """How many anyio keeps for this loop; 0 as well when it keeps them otherwise than we know. Loop thread."""
    try:
        return len(anyio.to_process._process_pool_idle_workers.get())
    except (AttributeError, LookupError):
        return 0
