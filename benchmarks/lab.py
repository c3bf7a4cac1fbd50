"""`lab`: a dry run of every strategy over 2,720 tools against parsing them, keyword search against bare FTS5,
and hybrid search against keyword search."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable

from benchmarks.report import Row, compared
from benchmarks.setting import catalog_file, console_gc, scratch
from benchmarks.timing import Side, Times, interleaved, p95
from inspector.catalog.listed_files import snapshot_of_lines
from inspector.discovery.access import EVERYONE
from inspector.discovery.context import Weigher
from inspector.discovery.play import Setting
from inspector.discovery.prompt_cache import rules_for
from inspector.discovery.registry import read_server, registry_of
from inspector.discovery.running import flat_of, run_all
from inspector.discovery.search.search import Search, method_of
from inspector.discovery.search.semantic import available
from inspector.discovery.search.words import asked as words_asked
from inspector.discovery.strategies import strategies

TASK = "find protein structures"
QUERIES = (
    "find protein structures",
    "drug interactions",
    "gene expression in tissue",
    "clinical trials",
    "list files",
)
TOOLS = 10_000


def lab() -> list[Row]:
    console_gc()
    with scratch() as folder:
        raw = catalog_file(folder).read_bytes()
    registry = registry_of([read_server(snapshot_of_lines(raw), "x")])

    def dry() -> None:
        setting = Setting(TASK, Weigher("anthropic"), rules_for("anthropic"), Search(method_of("keyword")))
        run_all(list(strategies().values()), setting, registry, flat_of(setting, registry), "top1")

    times = interleaved(3, {"ours": Side(dry), "parse": Side(lambda: snapshot_of_lines(raw).listing())})
    how = "reading the same catalog from its lines"
    row = compared("lab, dry run of all strategies", times["ours"], times["parse"], how, bar=20)
    return [row, *_searches(raw)]


def _searches(raw: bytes) -> list[Row]:
    """10,000 tools: the catalog several times over, each copy a server of its own. Hybrid needs the extra [semantic]."""
    snapshot, servers, count = snapshot_of_lines(raw), [], 0
    while count < TOOLS:
        servers.append(read_server(snapshot, f"s{len(servers)}"))
        count += len(servers[-1].tools)
    registry, search = registry_of(servers), Search(method_of("keyword"))
    index = search.index(registry.visible(EVERYONE))
    bare = sqlite3.connect(":memory:")
    bare.execute("create virtual table t using fts5(name, said, tokenize='porter unicode61')")
    tools = registry.visible(EVERYONE)
    bare.executemany(
        "insert into t values (?, ?)", [(tool.name.replace("_", " "), tool.description) for tool in tools]
    )

    def asked(query: str) -> object:
        match = " OR ".join([f'"{word}"' for word in words_asked(query)])
        return bare.execute("select rowid from t where t match ? order by rank limit 5", (match,)).fetchall()

    ours = [_p95(lambda query: search.find(registry, EVERYONE, query)) for _ in range(7)]
    theirs = [_p95(asked) for _ in range(7)]
    assert index.ranked(QUERIES[0], 5)
    against = "p95 of a bare FTS5 query over names and descriptions"
    keyword = Times(ours, ours)
    rows = [compared("lab, keyword search p95, 10,000 tools", keyword, Times(theirs, theirs), against, bar=5)]
    if available():
        both = Search(method_of("hybrid"))
        both.index(tools)
        took = [_p95(lambda query: both.find(registry, EVERYONE, query)) for _ in range(7)]
        name, against = "lab, hybrid search p95, 10,000 tools", "p95 of our keyword search"
        rows.append(compared(name, Times(took, took), keyword, against, bar=3))
    return rows


def _p95(work: Callable[[str], object]) -> float:
    took = []
    for _ in range(6):
        for query in QUERIES:
            began = time.process_time()
            work(query)
            took.append(time.process_time() - began)
    return p95(took)
