"""`p95-while-listing`: what a 3.2 MB list on one connection does to small calls on another; one loop for both."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from multiprocessing import get_context
from multiprocessing.synchronize import Event
from statistics import median
from typing import Any

import anyio
import anyio.to_thread

from benchmarks.calls import ARGUMENTS, CALL, TOOL
from benchmarks.report import Row
from benchmarks.setting import READY_S, ask, bare_pipe, console_gc, flat_spec, ours, replay_spec, scratch, sdk
from benchmarks.timing import p95, ratio_of
from inspector.settings.spec import ServerSpec
from inspector.wire.listing import walk

CALLS, ROUNDS = 200, 7

Work = Callable[[], Coroutine[Any, Any, object]]
Meanwhile = AbstractAsyncContextManager[None]


def p95_while_listing() -> list[Row]:
    """Listing goes on without a pause, which is the worst there is: a person lists now and then."""
    console_gc()
    with scratch() as folder:
        flat, replay = flat_spec(), replay_spec(folder)
        with ours(folder, flat, replay) as we:
            small, large = we.connections

            async def call() -> object:
                return await small.request("tools/call", CALL)

            async def list_() -> object:
                return await walk(large, "tools", "user")

            here = we.portal.call(_compare, call, lambda: _on_this_loop(list_))
            elsewhere = we.portal.call(_compare, call, lambda: _in_another_process(replay))
            with sdk(we.portal, flat) as calling, sdk(we.portal, replay) as listing:
                we.portal.call(calling.list_tools)
                sdks = we.portal.call(
                    _compare,
                    lambda: calling.call_tool(TOOL, ARGUMENTS),
                    lambda: _on_this_loop(listing.list_tools),
                )
    return [
        _row("p95-while-listing", here, bar=3.0),
        _row(
            "p95-while-listing, apart",
            elsewhere,
            note="listed by another process: what the busy cores alone do",
        ),
        _row("p95-while-listing, SDK's", sdks, note="the SDK's client at the same, not ours"),
    ]


def _row(
    name: str, both: tuple[list[float], list[float]], *, bar: float | None = None, note: str = ""
) -> Row:
    quiet, busy = both
    against = "the same calls while nothing is listed"
    ratio = ratio_of(busy, quiet)
    return Row(name, "ms", median(busy) * 1000, median(quiet) * 1000, against, ratio, bar=bar, note=note)


async def _compare(call: Work, listing: Callable[[], Meanwhile]) -> tuple[list[float], list[float]]:
    """The p95 of each round's calls, in seconds: without listing, and with."""
    quiet, busy = [], []
    await _p95_of(call)
    for _ in range(ROUNDS):
        quiet.append(await _p95_of(call))
        async with listing():
            busy.append(await _p95_of(call))
    return quiet, busy


async def _p95_of(call: Work) -> float:
    took = []
    for _ in range(CALLS):
        began = time.perf_counter()
        await call()
        took.append(time.perf_counter() - began)
    return p95(took)


@asynccontextmanager
async def _on_this_loop(list_: Work) -> AsyncIterator[None]:
    async def for_ever() -> None:
        while True:
            await list_()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(for_ever)
        await list_()  # so that it is under way
        yield
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def _in_another_process(spec: ServerSpec) -> AsyncIterator[None]:
    context = get_context("spawn")
    under_way = context.Event()
    process = context.Process(target=_list_for_ever, args=(spec, under_way))
    process.start()
    assert await anyio.to_thread.run_sync(under_way.wait, READY_S)
    yield
    process.kill()
    await anyio.to_thread.run_sync(process.join)


def _list_for_ever(spec: ServerSpec, under_way: Event) -> None:
    console_gc()
    with bare_pipe(spec) as server:
        while True:
            ask(server, "tools/list", {})
            under_way.set()
