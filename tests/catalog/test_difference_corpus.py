"""Measured truth: real catalogs that were listed in several ways, compared."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from inspector.catalog.difference.comparing import Difference, difference
from inspector.catalog.difference.likeness import propose
from inspector.catalog.difference.markdown import markdown
from inspector.catalog.difference.report import totals_delta
from inspector.catalog.difference.side import LINES, Side, Tool, side_of
from inspector.catalog.listed_files import snapshot_of_lines
from inspector.catalog.lock import lock_bytes, lock_of, parse_lock, side_of_lock

CORPUS = Path(__file__).parents[2].parent / "shared" / "corpus"
FILES = sorted(CORPUS.glob("*.jsonl"))

pytestmark = [pytest.mark.corpus, pytest.mark.skipif(not FILES, reason="no ../shared/corpus here")]


def side(name: str) -> Side:
    path = CORPUS / f"{name}.jsonl"
    return side_of(snapshot_of_lines(path.read_bytes()), path.name, LINES, tokens=False)


def statuses(found: Difference) -> dict[str, int]:
    counts: dict[str, int] = {}
    for row in found.rows:
        counts[row.status] = counts.get(row.status, 0) + 1
    return counts


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("azure.legacy", "azure-namespace.legacy", {"removed": 229, "same": 6, "added": 55}),
        ("azure.legacy", "azure-single.legacy", {"removed": 235, "added": 1}),
        ("tooluniverse-flat.legacy", "pg-tooluniverse-compact.legacy", {"removed": 2715, "same": 5}),
        ("kubectl-all.modern", "kubectl-search.modern", {"removed": 183, "same": 26, "added": 2}),
        ("teradata.modern", "pg-teradata.modern", {"removed": 46, "same": 1, "added": 2}),
        ("kubectl-default.modern", "kubectl-search.modern", {"same": 26, "added": 2}),
        ("fm-page10-github.legacy", "github-ref.legacy", {"changed": 26}),
        ("workspace.legacy", "workspace.modern", {"same": 119}),
    ],
)
def test_the_same_server_listed_in_two_ways(before: str, after: str, expected: dict[str, int]) -> None:
    found = difference(side(before), side(after))
    assert statuses(found) == expected
    assert found.summary["breaking"] == expected.get("removed", 0)
    assert "## Not measured" in markdown([found])


@pytest.mark.parametrize(("server", "escapes"), [("workspace", 93), ("teradata", 263)])
def test_escapes_alone_explain_the_bytes_between_stdio_and_http(server: str, escapes: int) -> None:
    found = difference(side(f"{server}.modern"), side(f"http-{server}.modern"))
    delta = totals_delta(found)
    assert delta["definition_bytes"] == delta["envelope_bytes"] == 0
    assert delta["wire_bytes"] == delta["spelling_bytes"] == escapes
    assert set(statuses(found)) == {"same"}
    assert f"{escapes:+,} B of spaces and needless escapes" in markdown([found])


def test_page_by_page_and_whole_differ_in_pages_and_meta_alone() -> None:
    found = difference(side("fm-page10-github.legacy"), side("github-ref.legacy"))
    assert [(each.kind, each.before, each.after) for each in found.listing] == [("paging-changed", 3, 1)]
    kinds = {(each.kind, each.path) for row in found.rows for each in row.changes}
    assert kinds <= {("member-changed", "/_meta"), ("member-changed", "/execution"), ("member-changed", "/annotations"),
                     ("member-changed", "/title")}  # fmt: skip
    assert found.summary["breaking"] == found.summary["caution"] == 0


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_catalog_is_the_same_as_itself_and_as_its_lock(path: Path) -> None:
    one = side(path.stem)
    content = lock_bytes(lock_of(one, ""))
    back = side_of_lock(parse_lock(content, "lock"), "lock")
    assert {row.status for row in difference(one, back).rows} <= {"same"}
    assert difference(back, one).listing == ()
    assert lock_bytes(lock_of(back, "")) == content


@pytest.mark.parametrize(
    "name", ["kubectl-all.modern", "azure.legacy", "aws-eks.modern", "playwright.legacy"]
)
def test_renamed_and_reworded_tools_are_proposed_for_what_they_were(name: str) -> None:
    """Every tool gets another prefix and a word more; most are found again, and nearly all for themselves."""
    tools = [tool for tool in side(name).tools if tool.name][:200]
    renamed = [reworded(tool) for tool in tools]
    found, unproposed = propose(tools, renamed)
    right = sum(renamed[tools.index(before)] is after for before, after, _ in found)
    assert unproposed == 0
    assert right >= 0.8 * len(tools)
    assert right >= 0.95 * len(found)


def reworded(tool: Tool) -> Tool:
    name = "v2_" + re.sub(r"^[a-z]+_(?=\w+_)", "", tool.name or "")
    words = f"Now better. {tool.value.get('description', '')}"
    value = {**tool.value, "name": name, "description": words}
    return Tool(name, f"{tool.text} ", value)
