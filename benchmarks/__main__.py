"""`python -m benchmarks [NAME…] [--json]`: measures and prints; each benchmark in a fresh process of its own."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from benchmarks import (
    calls,
    code,
    lab,
    large,
    latency,
    listing,
    opening,
    recording,
    start,
    tracing,
    weighing,
    workbench,
)
from benchmarks.report import HEADS, Row, describe, machine, print_cells, print_rows
from benchmarks.setting import compiled

BENCHMARKS: dict[str, Callable[[], list[Row]]] = {
    "list-3mb": listing.list_3mb,
    "measuring": listing.measuring,
    "catalog-memory": weighing.catalog_memory,
    "catalog-tokens": workbench.catalog_tokens,
    "catalog-page": workbench.catalog_page,
    "compare": workbench.compare,
    "small-calls": calls.small_calls,
    "code-start": code.code_start,
    "code-calls": code.code_calls,
    "start": start.start,
    "idle-memory": start.idle_memory,
    "recording": recording.recording,
    "timeline-page": recording.timeline_page,
    "trace-file": tracing.trace_file,
    "lab": lab.lab,
    "opening": opening.opening,
    "large-results": large.large_results,
    "p95-while-listing": latency.p95_while_listing,
}


def main() -> int:
    """Exit code 1 when a bar was missed or a benchmark failed, so that a script can tell."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(BENCHMARKS))
    if unknown:
        parser.error(f"there is no {unknown[0]}; there are {', '.join(BENCHMARKS)}")
    compiled()
    facts = machine()
    if not options.json:
        print(describe(facts))
        print_cells(HEADS)
    rows, failed = _run(options.names or list(BENCHMARKS), show=not options.json)
    facts["load_after"] = machine()["load"]
    if options.json:
        print(
            json.dumps(
                {"machine": facts, "rows": [row.as_json() for row in rows], "failed": failed}, indent=1
            )
        )
    else:
        print(f"load after {' '.join(map(str, facts['load_after']))}")
    return 1 if failed or any(row.verdict in ("over", "under") for row in rows) else 0


def _run(names: list[str], *, show: bool) -> tuple[list[Row], dict[str, str]]:
    rows: list[Row] = []
    failed: dict[str, str] = {}
    # What one benchmark imported or left on the heap must not be the next one's.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as fresh:
        for name in names:
            try:
                found = fresh.submit(BENCHMARKS[name]).result()
            except Exception as problem:
                failed[name] = f"{type(problem).__name__}: {problem}"
                print(f"{name} failed: {failed[name]}", file=sys.stderr)
                continue
            rows += found
            if show:
                print_rows(found)
    return rows, failed


if __name__ == "__main__":
    sys.exit(main())
