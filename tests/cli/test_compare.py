"""`mcp-loupe compare`: live servers, lines, locks and traces beside each other, in three forms."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from cli_run import FLAT, here, loupe


def lines(path: Path, *tools: Any) -> str:
    answer = {"jsonrpc": "2.0", "id": 10, "result": {"tools": list(tools)}}
    path.write_text(json.dumps(answer, separators=(",", ":")) + "\n")
    return str(path)


def tool(name: str, *required: str) -> dict[str, Any]:
    properties = {key: {"type": "string"} for key in required}
    return {
        "name": name,
        "inputSchema": {"type": "object", "properties": properties, "required": list(required)},
    }


def test_two_live_servers_are_compared_in_one_command(tmp_path: Path) -> None:
    ran = loupe(tmp_path, "compare", "demo:flat", "demo:progressive", "--json")
    assert ran.code == 0, ran.err
    found = ran.json
    assert found["schema"] == "mcp-loupe/compare/1"
    assert [each["label"] for each in found["sides"]] == ["demo:flat", "demo:progressive"]
    assert found["sides"][0]["totals"]["tools"] == 50
    assert found["totals_delta"]["tools"] == found["sides"][1]["totals"]["tools"] - 50
    totals = found["sides"][0]["totals"]
    assert (totals["wire_bytes"], totals["definition_bytes"]) == (FLAT.wire_bytes, FLAT.definition_bytes)
    assert totals["tokens"]["o200k_base"]["definitions"] == FLAT.tokens


def test_a_server_is_the_same_as_its_lock_its_trace_and_itself(tmp_path: Path) -> None:
    trace, pinned = str(tmp_path / "x.mcptrace.jsonl"), str(tmp_path / "flat.lock")
    assert loupe(tmp_path, "list", "demo:flat", "--record", trace, "--no-redact").code == 0
    assert here(tmp_path, "lock", trace, "-o", pinned).code == 0
    ran = loupe(
        tmp_path, "compare", trace, pinned, "--fail-on", "caution", "--json", "--",
        sys.executable, "-m", "inspector.demo", "flat",
    )  # fmt: skip
    assert ran.code == 0, ran.out
    assert {row["status"] for row in ran.json["tools"]} == {"same"}
    assert [each["source"] for each in ran.json["sides"]] == ["trace", "lock", "server"]
    assert [each["delta"]["wire_bytes"] for each in ran.json["sides"][1:]] == [0, 0]


def test_the_first_side_is_the_baseline_and_severity_decides_the_exit(tmp_path: Path) -> None:
    old, new = (
        lines(tmp_path / "old.jsonl", tool("a")),
        lines(tmp_path / "new.jsonl", tool("a", "x"), tool("b")),
    )
    found = loupe(tmp_path, "compare", old, new, "--fail-on", "breaking", "--format", "json")
    assert found.code == 1
    assert found.json["summary"] == {"breaking": 1, "caution": 0, "fine": 1}
    assert [each["kind"] for each in found.json["tools"][0]["changes"]] == ["required-added"]
    back = here(tmp_path, "compare", new, old, "--json").json
    assert [each["kind"] for row in back["tools"] for each in row["changes"]] == [
        "property-removed",
        "tool-removed",
    ]
    assert here(tmp_path, "compare", old, old, "--fail-on", "caution").code == 0


def test_the_report_is_markdown_or_a_page_and_goes_where_it_is_told(tmp_path: Path) -> None:
    old, new = lines(tmp_path / "old.jsonl", tool("a")), lines(tmp_path / "new.jsonl", tool("é"))
    shown = here(tmp_path, "compare", old, new)
    assert shown.out.startswith("# Catalogs compared\n")
    assert "## Not measured" in shown.out
    page = tmp_path / "report.html"
    ran = loupe(tmp_path, "compare", old, new, "--format", "html", "-o", str(page), PYTHONIOENCODING="ascii")
    assert (ran.code, ran.out) == (0, "")
    assert page.read_bytes().startswith(b"<!doctype html>") and "é" in page.read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ([], 2, "needs two catalogs"),
        (["demo:flat"], 2, "needs two catalogs"),
        (["ok.jsonl", "ok.jsonl", "--json", "--format", "md"], 2, "contradict"),
        (["ok.jsonl", "empty.jsonl"], 7, "holds no tools/list answers"),
        (["ok.jsonl", "prose.txt"], 7, "holds no tools/list answers"),
        (["ok.jsonl", "bad.lock"], 7, "bad.lock"),
        (["ok.jsonl", "bad.mcptrace.jsonl"], 7, "records no tools/list"),
        (["ok.jsonl", "bad.mcptrace.jsonl.gz"], 7, "cannot be read"),
        (["ok.jsonl", "nowhere.jsonl"], 2, "is no file"),
        (["ok.jsonl", "cmd:/nowhere/server"], 3, "does not exist"),
        (["ok.jsonl", "ok.jsonl", "--record", "x", "--no-redact"], 2, "exactly one server"),
        (["ok.jsonl", "ok.jsonl", "-o", "no/such/folder"], 7, "cannot be written"),
    ],
)
def test_what_cannot_be_compared_is_said_in_one_sentence(
    words: list[str], code: int, says: str, tmp_path: Path
) -> None:
    lines(tmp_path / "ok.jsonl", tool("a"))
    (tmp_path / "empty.jsonl").write_text("\n")
    (tmp_path / "prose.txt").write_text("not a catalog\n")
    (tmp_path / "bad.lock").write_text('{"schema":"mcp-loupe/lock/1","tools":[]}')
    (tmp_path / "bad.mcptrace.jsonl").write_text('{"t":"header","format":"mcp-trace","v":1}\n')
    (tmp_path / "bad.mcptrace.jsonl.gz").write_text("no gzip")
    ran = here(tmp_path, "compare", *words)
    assert (ran.code, ran.err.count("\n")) == (code, 1), ran.err
    assert says in ran.err
