"""Measured truth: catalogs of real servers, line by line against their index."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from inspector.catalog.measure import measure_items
from inspector.catalog.report import measure_listing
from inspector.catalog.snapshot import ABSENT, read_pages
from inspector.catalog.tokens import count

CORPUS = Path(__file__).parents[2].parent / "shared" / "corpus"
INDEX = CORPUS / "INDEX.tsv"
ROWS = list(csv.DictReader(INDEX.read_text("utf-8").splitlines(), delimiter="\t")) if INDEX.is_file() else []

pytestmark = [pytest.mark.corpus, pytest.mark.skipif(not ROWS, reason="no ../shared/corpus here")]
each_file = pytest.mark.parametrize("row", ROWS, ids=[row["file"] for row in ROWS])


def pages(name: str) -> list[bytes]:
    return (CORPUS / name).read_bytes().removesuffix(b"\n").split(b"\n")


def as_sent(text: str) -> Any:
    if text == "absent":
        return ABSENT
    return int(text) if text.isdigit() else text


@each_file
def test_tools_bytes_and_hints_are_the_index_s(row: dict[str, str]) -> None:
    listing = read_pages("tools", pages(row["file"]))
    assert len(listing.pages) == int(row["pages"])
    assert len(listing.items) == int(row["tools"])
    assert sum(page.wire_bytes for page in listing.pages) == int(row["wire_bytes"])
    assert {page.ttl_ms for page in listing.pages} == {as_sent(row["ttlMs"])}
    assert {page.cache_scope for page in listing.pages} == {as_sent(row["cacheScope"])}
    assert not any(page.fault for page in listing.pages)


@each_file
def test_tokens_of_the_raw_lines_are_the_index_s(row: dict[str, str]) -> None:
    if not row["o200k_tokens_of_raw_lines"].isdigit():
        pytest.skip("the index has no count for this file")
    assert sum(count(raw.decode()).value for raw in pages(row["file"])) == int(
        row["o200k_tokens_of_raw_lines"]
    )


@each_file
def test_definitions_read_back_equal_and_their_parts_sum(row: dict[str, str]) -> None:
    listing = read_pages("tools", pages(row["file"]))
    for item, weighed in zip(listing.items, measure_items(listing), strict=True):
        assert json.loads(weighed.text) == item.value
        assert sum(weighed.parts.values()) == weighed.definition_bytes == len(weighed.text.encode())


def test_kubectl_rendered_for_anthropic_is_19543_tokens() -> None:
    measured = measure_listing("tools", pages("kubectl-all.modern.jsonl"), tokens=True, rendered=True)
    assert measured.tokens is not None
    assert measured.tokens.rendered["anthropic"].value == 19_543
    assert len(measured.measures) == 209
