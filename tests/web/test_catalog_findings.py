"""Findings on the Catalog screen: the column, the two panes, the filter, the switches, the page of rules."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from catalog_screen import ORIGIN, PARTIAL, WAIT_S, console_of, counted, replayed, rows_of, well_formed
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from inspector.catalog.findings.rule import Finding, find, rules
from inspector.catalog.findings.subject import Subject
from inspector.catalog.snapshot import Page, Snapshot
from inspector.console.console import Console
from inspector.console.listed import find_all
from inspector.web.catalog_findings import Finds, Mark, ticked


def tool(name: str, **more: Any) -> dict[str, Any]:
    plain = {
        "name": name,
        "description": f"Shows the {name} of a <b>customer</b>.",
        "inputSchema": {"type": "object"},
    }
    return plain | {"outputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}} | more


FAULTY: list[Any] = [
    tool("invoice"),
    tool("address", description=""),
    tool("orders", inputSchema={"type": "array"}),
    tool("tax", inputSchema=None, description="Reads\u202e it."),
]


def snapshot_of(*tools: Any) -> Snapshot:
    answer = {"jsonrpc": "2.0", "id": 1, "result": {"tools": list(tools), "resultType": "complete"}}
    return Snapshot("tools", (Page(None, json.dumps(answer).encode(), 0),), era="handshake")


@pytest.fixture(scope="module")
def findings() -> list[Finding]:
    return find(Subject.of(snapshot_of(*FAULTY)))


# --- prepared


def test_an_item_is_marked_by_its_gravest_rule_and_by_how_many_there_are(findings: list[Finding]) -> None:
    finds = Finds(findings)
    assert finds.of_item(2)[0].rule == "schema-root-not-object"
    assert finds.mark(2) == Mark("error", len(finds.of_item(2)))
    assert finds.mark(1) is not None and finds.mark(1).severity == "caution"  # type: ignore[union-attr]
    assert finds.rank(2) > finds.rank(1) > finds.rank(0)


def test_a_rule_that_is_off_is_neither_marked_nor_listed_but_named(findings: list[Finding]) -> None:
    finds = Finds(findings, frozenset(("schema-root-not-object", "cursor-repeats")))
    assert finds.off == {"schema-root-not-object"}
    assert not finds.concerns(2, "schema-root-not-object")
    assert "schema-root-not-object" not in [group.rule for _, of in finds.groups() for group in of]


def test_a_group_names_every_item_of_its_rule_once(findings: list[Finding]) -> None:
    [(severity, groups)] = Finds(findings).groups("schema-root-not-object")
    assert severity == "error"
    assert [(group.count, [index for index, _, _ in group.items]) for group in groups] == [(2, [2, 3])]


def test_groups_come_with_the_gravest_first_and_are_counted_by_severity(findings: list[Finding]) -> None:
    finds = Finds(findings)
    severities = [severity for severity, _ in finds.groups()]
    assert severities == list(finds.counts) == ["error", "caution", "note"]
    assert {severity: len(of) for severity, of in finds.groups()} == finds.counts
    assert [severity for severity, _ in finds.groups("caution")] == ["caution"]


def test_text_between_backticks_is_code_and_all_of_it_is_safe() -> None:
    assert ticked("Give `<b>` to <i>") == "Give <code>&lt;b&gt;</code> to &lt;i&gt;"
    assert ticked("one ` alone") == "one ` alone"


def test_the_same_list_asked_twice_shows_whether_its_order_is_stable() -> None:
    first, second = tool("invoice"), tool("address")
    found = find_all(snapshot_of(second, first), snapshot_of(first, second))
    assert [each.rule for each in found if each.rule in ("order-changes", "list-changes")] == [
        "order-changes"
    ]
    found = find_all(snapshot_of(first), snapshot_of(first, second))
    assert [each.message for each in found if each.rule == "list-changes"] == [
        "Asked twice, the list held other items: gone: `address`."
    ]


# --- on the screen


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Console, FlaskClient]]:
    folder = tmp_path_factory.mktemp("findings")
    with console_of(folder / "data", {"faulty": replayed(folder, "faulty", FAULTY)}) as (console, client):
        console.connect("faulty")
        counted(console, "faulty")
        yield console, client


def get(site: tuple[Console, FlaskClient], path: str, *, part: bool = False) -> TestResponse:
    return site[1].get(path, base_url=ORIGIN, headers=PARTIAL if part else {})


def post(site: tuple[Console, FlaskClient], path: str, *, part: bool = False, **form: str) -> TestResponse:
    headers = {"Origin": ORIGIN, **(PARTIAL if part else {})}
    return site[1].post(path, base_url=ORIGIN, headers=headers, data=form)


def test_each_row_counts_its_findings_and_the_list_sorts_by_them(site: tuple[Console, FlaskClient]) -> None:
    text = well_formed(get(site, "/catalog/faulty/tools?sort=-finds"))
    marks = re.findall(r'<span class="catalog__m is-\w+" title="(\w+)">', text)
    assert marks == sorted(marks, key=["error", "caution", "note"].index)
    assert rows_of(text)[-1] == "invoice"


def test_the_pane_of_a_tool_shows_what_is_found_with_place_and_remedy(
    site: tuple[Console, FlaskClient],
) -> None:
    text = well_formed(get(site, "/catalog/faulty/tools?tool=orders"))
    assert "data-finding" in text and "F next" in text
    assert '<code class="finds__p">/inputSchema</code>' in text
    assert '<a href="/findings#schema-root-not-object"><code>schema-root-not-object</code></a>' in text
    assert "Give inputSchema <code>&#34;type&#34;: &#34;object&#34;</code>" in text


def test_the_overview_groups_by_rule_and_folds_the_tools(site: tuple[Console, FlaskClient]) -> None:
    text = well_formed(get(site, "/catalog/faulty/tools?pane=findings"))
    assert 'id="f-schema-root-not-object" data-finding' in text
    assert '<details id="where-schema-root-not-object">' in text
    assert ">2 tools</a>" in text


@pytest.mark.parametrize(
    ("find", "names"), [("schema-root-not-object", ["orders", "tax"]), ("error", ["orders", "tax"])]
)
def test_the_address_narrows_table_and_overview_to_a_rule_or_severity(
    site: tuple[Console, FlaskClient], find: str, names: list[str]
) -> None:
    text = well_formed(get(site, f"/catalog/faulty/tools?find={find}&sort=name"))
    assert rows_of(text) == names
    assert f"Only tools with <code>{find}</code>" in text
    assert 'id="f-tool-description-missing"' not in text
    assert "2 of 4 tools" in text


def test_a_find_that_is_no_rule_is_ignored(site: tuple[Console, FlaskClient]) -> None:
    assert len(rows_of(get(site, "/catalog/faulty/tools?find=nonsense").text)) == 4


def test_a_rule_is_switched_off_and_on_again(site: tuple[Console, FlaskClient]) -> None:
    there = "/catalog/faulty/tools/rule/schema-root-not-object"
    text = well_formed(post(site, f"{there}/off", part=True, pane="findings"))
    assert 'id="f-schema-root-not-object"' not in text
    assert "Switched off:" in text and "(would find something)" in text
    assert re.search(r'id="on-schema-root-not-object"[^>]* autofocus', text)
    assert site[0].rules_off.all() == {"schema-root-not-object"}
    answer = post(site, f"{there}/on", pane="findings", sort="name")
    assert (answer.status_code, answer.headers["Location"]) == (
        303,
        "/catalog/faulty/tools?sort=name&pane=findings",
    )
    assert 'id="f-schema-root-not-object"' in get(site, answer.headers["Location"]).text


def test_only_a_post_switches_and_only_a_rule(site: tuple[Console, FlaskClient]) -> None:
    assert get(site, "/catalog/faulty/tools/rule/schema-invalid/off").status_code == 405
    assert post(site, "/catalog/faulty/tools/rule/nonsense/off").status_code == 404
    assert post(site, "/findings/nonsense/off").status_code == 404


def test_a_settings_file_that_is_broken_is_told_and_hides_no_finding(
    site: tuple[Console, FlaskClient],
) -> None:
    file = site[0].rules_off.path
    file.write_text("{")
    try:
        text = well_formed(get(site, "/catalog/faulty/tools?pane=findings"))
        assert "is not JSON" in text
        assert 'id="f-schema-root-not-object"' in text
    finally:
        file.unlink()


def test_the_rules_have_a_page_with_a_section_each(site: tuple[Console, FlaskClient]) -> None:
    text = well_formed(get(site, "/findings"))
    assert re.findall(r'<section class="exp" id="([\w-]+)"', text) == list(rules())
    answer = post(site, "/findings/schema-invalid/off")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/findings#schema-invalid")
    assert "1 switched off" in get(site, "/findings").text
    post(site, "/findings/schema-invalid/on")


def test_findings_that_have_come_replace_their_places(site: tuple[Console, FlaskClient]) -> None:
    catalog = site[0].catalogs.known("faulty", "tools")
    assert catalog is not None
    seen = f"connected.{catalog.listed_at_us}.10.0"
    answer = get(site, f"/catalog/faulty/tools/tokens?pane=findings&seen={seen}", part=True)
    assert answer.headers["HX-Trigger"] == "tokens-ready"
    assert 'hx-target="#finds"' in well_formed(answer)
    narrowed = get(site, f"/catalog/faulty/tools/tokens?find=error&seen={seen}", part=True)
    assert narrowed.headers["HX-Retarget"] == "#catalog"


def test_a_worker_that_dies_over_the_rules_costs_only_the_findings(tmp_path: Path) -> None:
    with console_of(tmp_path / "data", {"faulty": replayed(tmp_path, "faulty", FAULTY)}) as (console, client):
        console.connect("faulty")
        catalog = console.catalogs.known("faulty", "tools")
        assert catalog is not None
        catalog.tokens.result(WAIT_S)
        catalog.findings = console.worker.submit(os._exit, 3)
        assert catalog.findings.exception(WAIT_S) is not None
        text = well_formed(client.get("/catalog/faulty/tools?pane=findings", base_url=ORIGIN))
        assert "The rules were not finished" in text
        assert len(rows_of(text)) == 4
        console.refresh("faulty", "tools")
        counted(console, "faulty")
        assert "data-finding" in client.get("/catalog/faulty/tools?pane=findings", base_url=ORIGIN).text
