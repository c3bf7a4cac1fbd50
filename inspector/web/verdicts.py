"""Which recorded results break the outputSchema of their tool, as the calls of this run were judged. Request threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inspector.catalog.validation import Verdict
from inspector.console.console import Console
from inspector.trace.rows import Row as Stored
from inspector.web.headlines import breaks_schema


def invalid_outputs(console: Console, rows: Sequence[Stored]) -> Mapping[int, Verdict]:
    """By seq of a result among `rows`: the verdict, when it is that the output is invalid.

    A recording holds no verdicts, and the schema of that day may not be in it: of other runs nothing is said.
    """
    results = {row.seq: row.c for row in rows if row.kind == "result" and row.method == "tools/call"}
    if not results or rows[0].session != console.recorder.session:
        return {}
    connections, first = set(results.values()), min(results)
    found = {}
    for server in console.servers():
        for call in console.calls.recent(server.key):
            if call.c not in connections:
                continue
            for outcome in reversed(list(call.outcomes)):
                if (seq := outcome.reply_seq) is not None and seq < first:
                    break
                if seq in results and outcome.output is not None and breaks_schema(outcome):
                    found[seq] = outcome.output
    return found
