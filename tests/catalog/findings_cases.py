"""Subjects for the tests of the rules, built from findings_examples.json or from tools given in place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from inspector.catalog.findings.subject import Subject
from inspector.catalog.snapshot import Page, Snapshot

LIST_KEYS = {
    "tools": "tools",
    "prompts": "prompts",
    "resources": "resources",
    "templates": "resourceTemplates",
}


def examples() -> dict[str, dict[str, dict[str, Any]]]:
    """By rule id, `true` and `false`: `from` (where it was taken), then what `subject_of_example` reads."""
    found: dict[str, dict[str, dict[str, Any]]] = json.loads(
        Path(__file__).with_name("findings_examples.json").read_text("utf-8")
    )
    return found


def subject_of_example(example: dict[str, Any]) -> Subject:
    """`items` (one page of them) or `raw_items` (as JSON text) or `pages` (results); the rest has defaults."""
    what = example.get("what", "tools")
    return Subject.of(
        snapshot(what, _results(what, example), example),
        again=snapshot(what, [_one_page(what, example["again"])], example) if "again" in example else None,
    )


def snapshot(what: str, results: list[str], example: dict[str, Any]) -> Snapshot:
    cursors = example.get("cursors", [None] * len(results))
    raws = [f'{{"jsonrpc":"2.0","id":10,"result":{result}}}'.encode() for result in results]
    pages = tuple([Page(cursor, raw, 0) for cursor, raw in zip(cursors, raws, strict=False)])
    return Snapshot(what, pages, era=example.get("era", "modern"), instructions=example.get("instructions"))


def of_tools(*tools: Any, era: str = "modern", instructions: str | None = None) -> Subject:
    return subject_of_example({"items": list(tools), "era": era, "instructions": instructions})


def _results(what: str, example: dict[str, Any]) -> list[str]:
    if "pages" in example:
        return [_text(page) for page in example["pages"]]
    if "raw_items" in example:
        return [f'{{"ttlMs":0,"cacheScope":"private","tools":[{",".join(example["raw_items"])}]}}']
    items = [dict(item) if isinstance(item, dict) else item for item in example["items"]]
    for key, times in example.get("repeat", {}).items():
        items[0][key] = (items[0][key] + ". ") * times
    if "copies" in example:
        items = [{**items[0], "name": f"tool_{number}"} for number in range(example["copies"])]
    return [_one_page(what, items)]


def _one_page(what: str, items: list[Any]) -> str:
    return _text({"ttlMs": 0, "cacheScope": "private", LIST_KEYS[what]: items})


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
