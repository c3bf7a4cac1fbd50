"""Over the lists of real servers, every hit of the default rules stands in a reviewed list with its reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inspector.trace.redact import Rules
from inspector.trace.redact.searcher import Searcher

HERE = Path(__file__).parent
CORPUS = HERE.parents[2] / "shared" / "corpus"
LISTS = sorted(CORPUS.glob("*.jsonl"))
REVIEWED = HERE / "redact_reviewed.json"

pytestmark = [pytest.mark.corpus, pytest.mark.skipif(not LISTS, reason="no ../shared/corpus here")]


def test_every_hit_in_the_corpus_was_reviewed() -> None:
    """{rule, text (what was replaced, with some context), reason} each; none is there for nothing."""
    reviewed = json.loads(REVIEWED.read_text())
    wanted = {(one["rule"], one["text"]) for one in reviewed}
    assert all(len(one["reason"]) > 20 for one in reviewed)
    skipped: list[str] = []
    searcher = Searcher(
        Rules.default(user="annabel", home="/home/annabel"), optional=False, skipped=skipped.append
    )
    found = set()
    for path in LISTS:
        for line in path.read_text("utf-8").splitlines():
            for hit in searcher.search(line):
                context = f"{line[hit.start - 24 : hit.start]}⟦{line[hit.start : hit.end]}⟧"
                found |= {(leaf.rule, context) for leaf in hit.leaves()}
    assert found == wanted
    assert skipped == []
    assert not any(
        word in text for _, text in found for word in ("disk-encryption-set", "task-messages", "nextCursor")
    )
