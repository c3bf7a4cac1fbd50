"""`code-start`, `code-calls`: how soon a script begins, and what brokering a call costs beside sending it."""

from __future__ import annotations

import time
from statistics import median, quantiles

from benchmarks.calls import ARGUMENTS, CALL, TOOL
from benchmarks.report import Row, compared
from benchmarks.setting import console_gc, flat_spec, ours, scratch
from benchmarks.timing import Side, interleaved
from inspector.catalog.snapshot import TOOLS
from inspector.console.catalogs import snapshot_of
from inspector.discovery.code.broker import Rules
from inspector.discovery.code.limits import Limits
from inspector.discovery.code.monty import MontyRuntime
from inspector.discovery.code.run import Run
from inspector.discovery.code.sending import sender
from inspector.discovery.code.stubs import Stubs, stubs_of
from inspector.discovery.registry import Registry, read_server, registry_of
from inspector.wire.connection import Connection
from inspector.wire.listing import walk

LONG, SHORT = (200, 10), (50, 20)
"""(calls in a script, interleaved blocks)."""
STARTS = 40
MOST_START_MS = 50.0


def code_start() -> list[Row]:
    """From asking for a run to the script's first call arriving at the broker: worker, type check, first statement."""
    found = []
    for typed in (True, False):
        with scratch() as folder, ours(folder, flat_spec()) as we:
            [connection] = we.connections
            registry, stubs = _listed(connection)
            runtime = MontyRuntime(1)
            runtime.warm()
            times = [_first_call_ms(registry, stubs, runtime, typed) for _ in range(STARTS + 3)][3:]
            runtime.close()
        low, _, high = quantiles(times, n=4)
        note = f"quartiles {low:.1f} and {high:.1f} ms; " + (
            "types checked" if typed else "types not checked"
        )
        name = f"code-start{'' if typed else ', untyped'}"
        found.append(
            Row(name, "ms", median(times), None, "asking for the run", ceiling=MOST_START_MS, note=note)
        )
    return found


def _first_call_ms(registry: Registry, stubs: Stubs, runtime: MontyRuntime, typed: bool) -> float:
    arrived: list[float] = []
    began = time.perf_counter()
    run = Run("bench", f"flat__{TOOL}(invoiceId='INV-1004')", registry, stubs, runtime, Rules(), None, typed=typed,
              on_change=lambda: arrived.append(time.perf_counter()))  # fmt: skip
    run.play()
    return (arrived[0] - began) * 1000


def code_calls() -> list[Row]:
    """Brokered calls beside plain ones, both recorded into SQLite.

    What a start costs has a row and a bar of its own: long scripts keep it from standing for the calls. Short ones,
    where it does, are measured too.
    """
    return [_calls("code-calls", *LONG, bar=1.3), _calls("code-calls, short", *SHORT, bar=None)]


def _calls(name: str, block: int, blocks: int, *, bar: float | None) -> Row:
    console_gc()
    script = f"for _ in range({block}):\n    flat__{TOOL}(invoiceId={ARGUMENTS['invoiceId']!r})\n"
    with scratch() as folder, ours(folder, flat_spec()) as we:
        [connection] = we.connections
        registry, stubs = _listed(connection)
        runtime = MontyRuntime(1)
        runtime.warm()
        rules = Rules(Limits(calls=1000, rate=1000.0), allow=("*",))
        send = sender({"flat": connection}.get)

        def plain() -> None:
            for _ in range(block):
                connection.ask("tools/call", CALL)

        def brokered() -> None:
            result = Run("bench", script, registry, stubs, runtime, rules, send).play()
            assert result.error is None and len(result.calls) == block, result.error

        times = interleaved(blocks, {"ours": Side(brokered, we.commit), "plain": Side(plain, we.commit)})
        runtime.close()
    against = "the same calls asked plainly from another thread, recorded alike"
    note = f"a script of {block} calls, its start and type check included"
    return compared(name, times["ours"], times["plain"], against, bar=bar, per=block, note=note)


def _listed(connection: Connection) -> tuple[Registry, Stubs]:
    found = connection.run(walk, connection, TOOLS, "housekeeping", timeout=30)
    server = read_server(snapshot_of(connection, found), "flat", received_at_us=1)
    registry = registry_of([server])
    return registry, stubs_of(registry)
