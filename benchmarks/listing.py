"""`list-3mb`: a catalog of 3.2 MB through our connection, against a bare pipe, and what weighing it costs."""

from __future__ import annotations

import json

from benchmarks.report import Row, compared
from benchmarks.setting import ask, bare_pipe, catalog_file, console_gc, ours, replay_spec, scratch, sdk
from benchmarks.timing import Side, interleaved
from inspector.catalog.report import measure_listing
from inspector.wire.listing import walk

ROUNDS = 15


def list_3mb() -> list[Row]:
    """Listing: request written to result in hand. The commit to SQLite is in the CPU column and in its own row."""
    console_gc()
    with scratch() as folder:
        spec = replay_spec(folder)
        with ours(folder, spec) as we, bare_pipe(spec) as pipe, sdk(we.portal, spec) as session:
            [connection] = we.connections

            def listed() -> None:
                connection.run(walk, connection, "tools", "user", timeout=60)

            def committed() -> None:
                listed()
                we.commit()

            times = interleaved(
                ROUNDS,
                {
                    "ours": Side(listed, we.commit),
                    "bare": Side(lambda: ask(pipe, "tools/list", {})),
                    "sdk": Side(lambda: we.portal.call(session.list_tools)),
                    "committed": Side(committed),
                },
            )
    bare = "a bare pipe and json.loads"
    return [
        compared("list-3mb", times["ours"], times["bare"], bare, bar=1.8),
        compared("list-3mb, committed", times["committed"], times["bare"], bare, note="until SQLite has it"),
        compared(
            "list-3mb, SDK's client", times["sdk"], times["bare"], bare, note="the SDK's figure, not ours"
        ),
    ]


def measuring() -> list[Row]:
    """What the worker does with that list afterwards, off the loop."""
    console_gc()
    with scratch() as folder:
        raw = catalog_file(folder).read_bytes().split(b"\n")[0]

    def weigh(*, tokens: bool) -> Side:
        return Side(lambda: measure_listing("tools", [raw], tokens=tokens, rendered=tokens))

    loads = Side(lambda: json.loads(raw))
    bytes_ = interleaved(7, {"ours": weigh(tokens=False), "loads": loads})
    tokens = interleaved(2, {"ours": weigh(tokens=True), "loads": loads})
    how = "json.loads of the same 3.2 MB"
    return [
        compared(
            "measuring, bytes", bytes_["ours"], bytes_["loads"], how, note="exact bytes by part, both hashes"
        ),
        compared(
            "measuring, tokens",
            tokens["ours"],
            tokens["loads"],
            how,
            note="wire, definitions, three providers; vocabulary loaded, chunk cache warm",
        ),
    ]
