"""`small-calls`: a thousand sequential tools/call, recorded into SQLite, against the SDK's bare client."""

from __future__ import annotations

from mcp import ClientSession

from benchmarks.report import Row, compared
from benchmarks.setting import console_gc, flat_over_http, flat_spec, ours, scratch, sdk
from benchmarks.timing import Side, interleaved
from inspector.settings.spec import ServerSpec
from inspector.wire.connection import Connection

BLOCK, BLOCKS = 50, 20
TOOL, ARGUMENTS = "get_invoice", {"invoiceId": "INV-1004"}
"""It has no outputSchema, so the SDK validates no more than we do."""
CALL = {"name": TOOL, "arguments": ARGUMENTS}


def small_calls() -> list[Row]:
    """A thousand calls each, in 20 interleaved blocks of 50; milliseconds a call."""
    rows = _measured("small-calls, stdio", flat_spec())
    with flat_over_http() as spec:
        rows += _measured("small-calls, HTTP", spec)
    return rows


def _measured(name: str, spec: ServerSpec) -> list[Row]:
    console_gc()
    with scratch() as folder, ours(folder, spec) as we, sdk(we.portal, spec) as session:
        [connection] = we.connections
        we.portal.call(session.list_tools)  # else the first call would list by itself

        def from_a_request_thread() -> None:
            for _ in range(BLOCK):
                connection.ask("tools/call", CALL)

        times = interleaved(
            BLOCKS,
            {
                "ours": Side(lambda: we.portal.call(_call_ours, connection), we.commit),
                "sdk": Side(lambda: we.portal.call(_call_sdk, session)),
                "hopping": Side(from_a_request_thread, we.commit),
            },
        )
    against = "the SDK's ClientSession.call_tool, same server and era"
    hopping = "asked from another thread each time, as a page does"
    return [
        compared(name, times["ours"], times["sdk"], against, bar=1.15, per=BLOCK),
        compared(f"{name}, hopping", times["hopping"], times["sdk"], against, per=BLOCK, note=hopping),
    ]


async def _call_ours(connection: Connection) -> None:
    for _ in range(BLOCK):
        await connection.request("tools/call", CALL)


async def _call_sdk(session: ClientSession) -> None:
    for _ in range(BLOCK):
        await session.call_tool(TOOL, ARGUMENTS)
