"""`server_driven` on real servers over real connections: our demo, and FastMCP's transforms; presets recognised."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from lab_parts import setting, strategy

from inspector.catalog.listed_files import snapshot_of_lines
from inspector.console.direct import direct
from inspector.console.listed import snapshot_of
from inspector.discovery.live import caller
from inspector.discovery.play import Move, Setting, State, begin, turn
from inspector.discovery.policies import play_out
from inspector.discovery.presets import parse_preset, presets, recognise
from inspector.discovery.reading import told
from inspector.discovery.registry import Registry, read_server, registry_of
from inspector.errors import UsageError
from inspector.settings.paths import Paths
from inspector.settings.spec import ServerSpec, Timeouts
from inspector.settings.targets import demo_spec
from inspector.wire.events import Event
from inspector.wire.listing import walk

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"
PROGRESSIVE = Path(__file__).with_name("progressive_server.py")


@contextmanager
def live(spec: ServerSpec, tmp_path: Path, task: str) -> Iterator[tuple[Setting, Registry, list[Event]]]:
    frames: list[Event] = []
    patient = replace(spec, timeouts=Timeouts(probe=60.0, connect=60.0, call=60.0))
    with direct(patient, Paths.locate(tmp_path)) as connection:
        connection.link.journal.sinks.append(frames.append)
        found = connection.run(walk, connection, "tools", "user", timeout=30)
        listed = snapshot_of(connection, found)
        registry = registry_of([read_server(listed, "live")])
        yield setting(task, call=caller({"live": connection}, registry)), registry, frames


Live = tuple[Setting, Registry, list[Event]]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """The progressive demo, listed once; a test that calls leaves nothing behind in it."""
    with live(demo_spec("progressive"), tmp_path_factory.mktemp("demo"), "a billing question") as opened:
        yield opened


def played_out(at: Setting, registry: Registry) -> State:
    driven = strategy("server_driven")
    return play_out(driven, begin(driven, at, registry), "top1")


def test_every_step_on_the_demo_is_its_real_frames_to_the_byte(demo: Live) -> None:
    at, registry, frames = demo
    state = played_out(at, registry)
    entry, groups, expand, call = state.ledger.rows
    sizes = {event.seq: len(event.raw or b"") for event in frames if event.t == "rpc"}
    for row in (groups, expand):
        assert (sizes[row.frames[0]], sizes[row.frames[1]]) == (row.request_bytes, row.reply_bytes)
        assert (row.provenance, row.actor, row.column) == ("measured", "server", "discovery")
    lists = [event for event in frames if event.method == "tools/list" and event.kind == "result"]
    assert entry.reply_bytes == sum([len(event.raw or b"") for event in lists])
    assert '"category":"billing"' in expand.asked
    assert state.totals.revealed_tools == 10
    assert (state.called, call.column, call.frames) == ("list_invoices", "business", ())
    assert all(event.cause == "lab" for event in frames if event.method == "tools/call")


def test_a_call_the_person_wrote_is_sent_when_confirmed_and_only_then(demo: Live) -> None:
    move = Move("live__call_tool", {"name": "get_balance", "arguments": {"customerId": "CUS-1001"}})
    (at, registry, _), driven = demo, strategy("server_driven")
    held = turn(driven, begin(driven, at, registry), move)
    assert "it was not confirmed" in held.ledger.rows[-1].got
    agreed = Setting(at.task, at.weigher, at.rules, at.search, call=at.call, confirmed=True)
    sent = turn(driven, begin(driven, agreed, registry), move)
    row = sent.ledger.rows[-1]
    assert (row.column, row.provenance, sent.called) == ("business", "measured", "get_balance")
    assert row.reply_bytes > 0
    assert sent.totals.total_bytes == sent.totals.entry_bytes


def test_a_wrong_category_is_the_servers_own_error_and_no_discovery(demo: Live) -> None:
    (at, registry, _), driven = demo, strategy("server_driven")
    state = turn(driven, begin(driven, at, registry), Move("live__expand_category", {"category": "nope"}))
    row = state.ledger.rows[-1]
    assert row.column == "error"
    assert row.reply_bytes > 0
    assert state.totals.discovery_bytes == 0


@pytest.mark.parametrize(("kind", "discoveries"), [("bm25", 1), ("code", 2)])
def test_fastmcps_transforms_are_recognised_and_driven(kind: str, discoveries: int, tmp_path: Path) -> None:
    spec = ServerSpec("fastmcp", argv=(sys.executable, str(PROGRESSIVE), kind))
    with live(spec, tmp_path, "refund a payment") as (at, registry, _):
        state = played_out(at, registry)
    assert state.called == "refund_payment"
    assert len([row for row in state.ledger.rows if row.column == "discovery"]) == discoveries
    assert state.totals.error_bytes == 0
    assert state.revealed == ("refund_payment",)


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("file", "preset"),
    [
        ("ms365-discovery.legacy", "search-schema-execute"),
        ("pg-tooluniverse-compact.legacy", "find-info-execute"),
        ("kubectl-search.modern", "search-call"),
        ("pg-teradata.modern", "search-execute"),
        ("pg-compressor.modern", "compressor"),
        ("pg-lazy.legacy", "servers-commands"),
        ("azure-single.legacy", "learn"),
        ("azure-namespace.legacy", "learn-each"),
        ("fm-bm25-github.legacy", "search-call"),
        ("fm-regex-github.legacy", "fastmcp-regex"),
        ("fm-code-github.legacy", "fastmcp-code-mode"),
        ("kubectl-all.modern", None),
        ("github-ref.legacy", None),
        ("git.modern", None),
    ],
)
def test_progressive_servers_of_the_field_are_recognised_by_what_they_list(
    file: str, preset: str | None
) -> None:
    path = CORPUS / f"{file}.jsonl"
    if not path.exists():
        pytest.skip("the corpus is not here")
    found = recognise(read_server(snapshot_of_lines(path.read_bytes()), file).tools)
    assert (found.id if found else None) == preset


def test_a_preset_of_ones_own_is_checked() -> None:
    own = parse_preset({"stages": [{"role": "search", "tool": "find", "arguments": {"q": "$query"}}]})
    assert own.stages[0].filled(query="x") == {"q": "x"}
    with pytest.raises(UsageError, match="no preset"):
        parse_preset({"stages": [{"role": "guess", "tool": "x"}]})
    with pytest.raises(UsageError, match="no preset"):
        parse_preset({"stages": [{"role": "call", "tool": "("}]})
    assert len({each.id for each in presets()}) == len(presets())


def test_replies_are_read_as_json_as_structure_and_as_lists_in_text() -> None:
    def names(result: dict[str, object]) -> list[tuple[str, bool]]:
        return [(each.name, each.whole) for each in told(result)]

    def said(text: str) -> dict[str, object]:
        return {"content": [{"type": "text", "text": text}]}

    whole = {"tools": [{"name": "a", "inputSchema": {"properties": {"name": {"name": "not a tool"}}}}]}
    assert names(said(json.dumps(whole))) == [("a", True)]
    assert names({"structuredContent": whole, **said("- a: x")}) == [("a", True)]
    assert names(said('Found:\n[{"name": "b", "description": "x"}]')) == [("b", False)]
    assert names(said('For you:\n[{"name": "b"}, {"name": "g", "schema": {}}]')) == [
        ("b", False),
        ("g", True),
    ]
    assert names(said("- **c**: does c\n* `d` - does d\n### e")) == [("c", False), ("d", False), ("e", False)]
    assert names(said('{"f": {"inputSchema": {}}}')) == [("f", True)]
    assert names(said("[" * 100_000)) == []
    assert names(said("\n" * 1_000_000 + "- h: x")) == [("h", False)]
    assert names({"content": [3, {"type": "text"}]}) == []
