"""`catalog-memory`: what reading, weighing and counting 3.2 MB takes at most, in the process that does it."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from subprocess import run

from benchmarks.report import Row
from benchmarks.setting import ROOT, catalog_file, console_gc, scratch
from benchmarks.workbench import console_with, list_now, page
from inspector.catalog.findings.rule import find
from inspector.catalog.findings.subject import Subject
from inspector.catalog.report import count_listing, measure_listing
from inspector.catalog.snapshot import Page, Snapshot

_SMALL = b'{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}}'
_BAR = 8.0


def catalog_memory() -> list[Row]:
    """Each in a process of its own, vocabulary and rules loaded: most resident, less what it held before."""
    with scratch() as folder:
        raw = folder / "page.json"
        raw.write_bytes(catalog_file(folder).read_bytes().split(b"\n")[0])
        return [_row(name, raw) for name in ("json.loads", "bytes", "tokens", "whole", "findings", "console")]


def _row(what: str, raw: Path) -> Row:
    argv = [sys.executable, "-m", "benchmarks.weighing", what, str(raw)]
    grown = int(run(argv, cwd=ROOT, capture_output=True, check=True, text=True).stdout)
    times, judged = grown / raw.stat().st_size, what != "json.loads"
    ceiling = _BAR if judged else None
    return Row(f"catalog-memory, {what}", "×", times, None, "the raw payload", ceiling=ceiling)


def _work(what: str, raw: bytes) -> object:
    if what == "json.loads":
        return json.loads(raw)
    if what == "findings":
        return find(Subject.of(Snapshot("tools", (Page(None, raw, 0),))))
    if what == "tokens":
        return count_listing("tools", [raw])
    return measure_listing("tools", [raw], tokens=what == "whole", rendered=what == "whole")


def _console(raw: bytes) -> int:
    """What the console's own process grows by: the list comes, is counted elsewhere, and its screen is opened."""
    with scratch() as folder, console_with(folder, {"small": _SMALL, "large": raw}) as (console, client):
        list_now(console, "small")
        page(client, "small")
        before = _most_from_now()
        list_now(console, "large")
        page(client, "large")
        return _most() - before


def _most_from_now() -> int:
    Path("/proc/self/clear_refs").write_text("5")
    return _most()


def _most() -> int:
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


def _grown(what: str, raw: bytes) -> int:
    if what == "console":
        return _console(raw)
    _work(what, _SMALL)
    before = _most_from_now()
    kept = _work(what, raw)
    del kept
    return _most() - before


if __name__ == "__main__":
    console_gc()
    print(_grown(sys.argv[1], Path(sys.argv[2]).read_bytes()))
