"""docs/findings.md says what the rules say, and its table is what the corpus gives."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from inspector.catalog.findings.rule import find, rules
from inspector.catalog.findings.subject import Subject
from inspector.catalog.snapshot import Page, Snapshot

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "findings.md").read_text("utf-8")
CORPUS = ROOT.parent / "shared" / "corpus"
INDEX = CORPUS / "INDEX.tsv"


def sections() -> dict[str, str]:
    found = re.split(r"^### (.+)\n", TEXT, flags=re.MULTILINE)
    return dict(zip(found[1::2], found[2::2], strict=True))


def test_every_rule_has_its_heading_and_nothing_else_has_one() -> None:
    assert list(sections()) == list(rules())


def test_each_section_says_what_the_rule_says_and_what_reading_found() -> None:
    for id, text in sections().items():
        rule = rules()[id]
        assert f"*{rule.severity}* · {rule.title}." in text
        assert f"**Why.** {rule.why}\n" in text
        assert f"**Remedy.** {rule.remedy}\n" in text
        assert f"**Source.** {rule.spec}.\n" in text
        assert re.search(r"\*\*Reading\.\*\* \S+ \S+", text), id


def table() -> dict[str, tuple[str, str, str]]:
    rows = re.findall(r"^\| \[(.+?)\]\(#\1\) \| (\w+) \| (\S+) \| (\S+) \|$", TEXT, flags=re.MULTILINE)
    return {id: (severity, listings, tools) for id, severity, listings, tools in rows}


def test_the_table_has_every_rule_with_its_severity() -> None:
    assert {id: row[0] for id, row in table().items()} == {id: rule.severity for id, rule in rules().items()}


@pytest.mark.corpus
@pytest.mark.skipif(not INDEX.is_file(), reason="no ../shared/corpus here")
def test_the_table_counts_what_the_corpus_gives() -> None:
    listings: Counter[str] = Counter()
    tools: Counter[str] = Counter()
    for row in csv.DictReader(INDEX.read_text("utf-8").splitlines(), delimiter="\t"):
        places = {(each.rule, place.index) for each in find(taken(row)) for place in each.places}
        listings.update({rule for rule, _ in places})
        tools.update([rule for rule, index in places if index is not None])
    told = {id: (row[1], row[2].replace("—", "0")) for id, row in table().items()}
    assert told == {id: (str(listings[id]), str(tools[id])) for id in rules()}


def taken(row: dict[str, str]) -> Subject:
    raws = (CORPUS / row["file"]).read_bytes().removesuffix(b"\n").split(b"\n")
    cursors = [None, *[json.loads(raw)["result"].get("nextCursor") for raw in raws]]
    pages = tuple([Page(cursor, raw, 0) for cursor, raw in zip(cursors, raws, strict=False)])
    return Subject.of(Snapshot("tools", pages, era=row["era"]))
