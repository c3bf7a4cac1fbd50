"""`catalog-page`, `compare`, `catalog-tokens`: ten thousand tools on the screen and side by side, and the counting."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from flask.testing import FlaskClient

from benchmarks.opening import PORT, signed_in
from benchmarks.report import Row, compared
from benchmarks.setting import CORPUS, ROOT, catalog_file, console_gc, scratch
from benchmarks.timing import Side, Times, interleaved
from inspector.catalog import tokens
from inspector.catalog.difference.comparing import compare as compare_sides
from inspector.catalog.difference.side import LINES, side_of
from inspector.catalog.listed_files import snapshot_of_lines
from inspector.catalog.report import measure_listing
from inspector.console.console import Console
from inspector.settings.paths import Paths
from inspector.settings.spec import ServerSpec

Count = Callable[[str], int]

FEW, MANY = 100, 10_000
WAIT_S = 300.0
_REPLAY = ROOT / "tests" / "servers" / "replay_lines.py"


def lines(count: int, *, changed: bool = False) -> bytes:
    """One answer that lists `count` tools of 500 bytes. changed: the same a day later, one tool in ten another."""
    tools = [_tool(number, changed and number % 10 == 0) for number in range(count)]
    if changed:
        tools = tools[:-50] + [_tool(count + number, False) for number in range(50)]
    answer = {"jsonrpc": "2.0", "id": 10, "result": {"tools": tools}}
    return json.dumps(answer, separators=(",", ":")).encode() + b"\n"


def _tool(number: int, changed: bool) -> dict[str, object]:
    family = ("invoice", "warehouse", "shipment", "customer", "ledger")[number % 5]
    properties = {
        "record_id": {"type": "string", "description": f"Identifier of the {family}, as record {number} has it."},
        "limit": {"type": "integer" if not changed else "number", "minimum": 1, "maximum": 500, "default": 20},
        "format": {"enum": ["json", "csv", "text"], "description": "What the answer looks like."},
    }  # fmt: skip
    says = f"Reads {family} number {number} from the store and gives back its fields"
    return {
        "name": f"{family}_read_{number}",
        "description": f"{says}, newest first." if changed else f"{says}.",
        "inputSchema": {"type": "object", "properties": properties, "required": ["record_id"]},
        "annotations": {"readOnlyHint": True},
    }


@contextmanager
def console_with(folder: Path, files: dict[str, bytes]) -> Iterator[tuple[Console, FlaskClient]]:
    """A console with a server for each answer, none of them connected, and a browser that is signed in."""
    with Console(Paths.locate(folder / "data").ensure()) as console:
        for name, raw in files.items():
            path = folder / f"{name}.jsonl"
            path.write_bytes(raw)
            argv = (sys.executable, str(_REPLAY), str(path))
            console.servers_file.add(ServerSpec(name, argv=argv, cwd=str(ROOT), era="handshake"))
        yield console, signed_in(console)


def list_now(console: Console, name: str) -> None:
    """Connect a server, which lists it, and wait until it is counted and judged by the rules."""
    console.connect(name)
    catalog = console.catalogs.known(name, "tools")
    assert catalog is not None
    catalog.tokens.result(WAIT_S)
    catalog.findings.result(WAIT_S)


def page(client: FlaskClient, name: str, query: str = "") -> None:
    """The Catalog screen as a browser gets it."""
    answer = client.get(f"/catalog/{name}/tools{query}", base_url=f"http://127.0.0.1:{PORT}")
    assert answer.status_code == 200 and '<tr id="i' in answer.text


def catalog_page() -> list[Row]:
    """Server time of the Catalog screen, as a browser asks for it; once every figure has come."""
    console_gc()
    files = {"many": lines(MANY), "few": lines(FEW)}
    with scratch() as folder, console_with(folder, files) as (console, client):
        for name in files:
            list_now(console, name)
        plain = _pages(client, 21, "")
        by_name = _pages(client, 21, "?sort=name")
        searched = _pages(client, 7, "?q=reads+{0}")
        return [
            compared("catalog-page", plain["many"], plain["few"], f"{FEW} tools", bar=2),
            compared("catalog-page, by name", by_name["many"], by_name["few"], f"{FEW} tools", bar=2),
            compared(
                "catalog-page, searched", searched["many"], searched["few"], f"{FEW} tools",
                note="another word each time: every name and description is looked at",
            ),
        ]  # fmt: skip


def _pages(client: FlaskClient, rounds: int, query: str) -> dict[str, Times]:
    """query: `{0}` in it is another number each time."""
    asked = itertools.count(10)

    def side(name: str) -> Side:
        return Side(lambda: page(client, name, query.format(next(asked))))

    return interleaved(rounds, {name: side(name) for name in ("many", "few")})


def compare() -> list[Row]:
    """Ten thousand tools against ten thousand, a thousand of them changed, fifty gone and fifty new."""
    console_gc()
    raws = [lines(MANY), lines(MANY, changed=True)]
    snapshots = [snapshot_of_lines(raw) for raw in raws]

    def read(*, counted: bool) -> None:
        sides = [side_of(each, str(n), LINES, tokens=counted) for n, each in enumerate(snapshots)]
        assert compare_sides(sides)[0].summary["breaking"] >= 50

    sides = [side_of(each, str(n), LINES, tokens=False) for n, each in enumerate(snapshots)]
    times = interleaved(
        5,
        {
            "ours": Side(lambda: compare_sides(sides)),
            "whole": Side(lambda: read(counted=False)),
            "loads": Side(lambda: [json.loads(raw) for raw in raws]),
        },
    )
    both = f"json.loads of both, {sum(map(len, raws)):,} bytes"
    return [
        compared("compare", times["ours"], times["loads"], both, bar=3),
        compared("compare, read and weighed", times["whole"], times["loads"], both),
    ]


def catalog_tokens() -> list[Row]:
    """Bytes, wire and definition tokens of 3.2 MB with either tokenizer, and whether the two agree to the token."""
    console_gc()
    with scratch() as folder:
        raw = catalog_file(folder).read_bytes().split(b"\n")[0]
    rows = [_counted("catalog-tokens, pure", raw, lambda: tokens._pure_counter(tokens.O200K), 30)]
    if fast := _fast():
        rows.append(_counted("catalog-tokens, fast", raw, lambda: fast, 8, _agreed(fast)))
    return rows


def _fast() -> Count | None:
    """What the extra `[fast]` counts with, when it is installed."""
    try:
        import quicktok
    except ImportError:
        return None
    count: Count = quicktok.get_encoding(tokens.O200K).count
    return count


@contextmanager
def _counting(count: Count) -> Iterator[None]:
    """With `count` in place of the tokenizer that is installed, and nothing remembered."""
    installed = tokens._counter
    setattr(tokens, "_counter", lambda _: count)  # noqa: B010
    tokens._remembered.cache_clear()
    try:
        yield
    finally:
        setattr(tokens, "_counter", installed)  # noqa: B010


def _counted(name: str, raw: bytes, counter: Callable[[], Count], bar: float, note: str = "") -> Row:
    """counter: made anew for each round, so that it remembers nothing of the one before."""

    def ours() -> None:
        with _counting(counter()):
            measure_listing("tools", [raw], tokens=True, rendered=False)

    times = interleaved(5, {"ours": Side(ours), "loads": Side(lambda: json.loads(raw))})
    how = f"json.loads of the same {len(raw):,} bytes"
    return compared(name, times["ours"], times["loads"], how, bar=bar, note=note)


def _agreed(fast: Count) -> str:
    """Counts every catalog of the corpus with both; a difference raises."""
    files = sorted(CORPUS.parent.glob("*.jsonl"))
    for path in files:
        raws = path.read_bytes().removesuffix(b"\n").split(b"\n")
        counts = []
        for count in (fast, tokens._pure_counter(tokens.O200K)):
            with _counting(count):
                counts.append(measure_listing("tools", raws, tokens=True, rendered=True).tokens)
        assert counts[0] == counts[1], path.name
    return f"equal to the pure one's in {len(files)} catalogs: wire, definitions, renderings" if files else ""
