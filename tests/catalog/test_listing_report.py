"""The catalog's part of `list --json`."""

from __future__ import annotations

import json
import random
from typing import Any

import anyio
import anyio.to_process
import pytest

from inspector.catalog.providers import models
from inspector.catalog.report import list_document, measure_listing, window_share
from inspector.catalog.snapshot import Page, Snapshot
from inspector.catalog.tokens import count

FIRST = (
    b'{"jsonrpc":"2.0","id":10,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}},7],'
    b'"ttlMs":"300000","nextCursor":"p2"}}'
)
SECOND = b'{"jsonrpc":"2.0","id":11,"result":{"tools":[{"name":"b","description":"B","inputSchema":{"type":"object"}}]}}'
SNAPSHOT = Snapshot(
    "tools",
    (Page(None, FIRST, 1_796_000_000_000_001, 4), Page("p2", SECOND, 1_796_000_000_500_000, 6)),
    instructions="Use é.",
)


def document(**asked: Any) -> dict[str, Any]:
    asked = {"tokens": True, "rendered": True} | asked
    found = list_document(SNAPSHOT, measure_listing("tools", SNAPSHOT.raws, **asked))
    return json.loads(json.dumps(found))  # type: ignore[no-any-return]


def test_pages_keep_hints_as_sent_and_leave_out_what_was_not_sent() -> None:
    assert document()["pages"] == [
        {
            "cursor": None,
            "wire_bytes": len(FIRST),
            "ttl_ms": "300000",
            "received_at": "2026-11-30T00:53:20.000001Z",
        },
        {"cursor": "p2", "wire_bytes": len(SECOND), "received_at": "2026-11-30T00:53:20.500000Z"},
    ]


def test_totals_are_sums_over_pages_and_tools() -> None:
    found = document()
    totals, tools = found["totals"], found["tools"]
    assert totals["tools"] == 3
    assert totals["wire_bytes"] == len(FIRST) + len(SECOND)
    assert totals["definition_bytes"] == sum(tool["definition_bytes"] for tool in tools)
    assert totals["instructions_bytes"] == 7
    tokens = totals["tokens"]["o200k_base"]
    assert tokens["wire"] == count(FIRST.decode()).value + count(SECOND.decode()).value
    assert tokens["definitions"] == sum(tool["tokens"]["o200k_base"]["definition"] for tool in tools)
    rendered = [tool["tokens"]["o200k_base"].get("rendered", {}) for tool in tools]
    assert tokens["rendered"] == {
        name: sum(each.get(name, 0) for each in rendered) for name in ("anthropic", "openai", "gemini")
    }


def test_a_broken_tool_is_weighed_flagged_and_never_rendered() -> None:
    broken = document()["tools"][1]
    assert broken["broken"] == "not a JSON object"
    assert broken["name"] is None
    assert broken["definition_bytes"] == 1
    assert broken["tokens"] == {"o200k_base": {"definition": 1}}


def test_without_tokens_no_token_number_is_shown() -> None:
    found = document(tokens=False)
    assert "tokens" not in found["totals"]
    assert "tokens" not in found["tools"][0]
    assert found["totals"]["window_share"] is None


def test_the_window_share_counts_what_the_model_s_provider_would_be_sent() -> None:
    measured = measure_listing("tools", SNAPSHOT.raws, tokens=True, rendered=True)
    assert measured.tokens is not None
    model = models()["gpt-5"]
    assert window_share(measured, model) == measured.tokens.rendered["openai"].value / 400_000
    plain = measure_listing("tools", SNAPSHOT.raws, tokens=True, rendered=False)
    assert window_share(plain, model) == measured.tokens.definitions.value / 400_000


def test_prompts_have_the_same_shape_and_no_renderings() -> None:
    raw = b'{"jsonrpc":"2.0","id":10,"result":{"prompts":[{"name":"p"}]}}'
    measured = measure_listing("prompts", [raw], tokens=True, rendered=True)
    found = list_document(Snapshot("prompts", (Page(None, raw, 0),)), measured)
    assert found["prompts"][0]["name"] == "p"
    assert found["totals"]["prompts"] == 1
    assert "rendered" not in found["totals"]["tokens"]["o200k_base"]


def test_an_estimated_count_says_so() -> None:
    raw = b'{"result":{"tools":[{"name":"a","description":"' + b"ab" * 20_000 + b'"}]}}'
    found = list_document(
        Snapshot("tools", (Page(None, raw, 0),)), measure_listing("tools", [raw], tokens=True, rendered=True)
    )
    assert found["totals"]["tokens"]["o200k_base"]["estimate"] is True
    assert found["tools"][0]["tokens"]["o200k_base"]["estimate"] is True


def test_a_listing_is_measured_the_same_in_a_worker_process() -> None:
    async def there() -> Any:
        with anyio.fail_after(60):
            return await anyio.to_process.run_sync(measure_in_worker, SNAPSHOT.raws)

    assert anyio.run(there) == measure_in_worker(SNAPSHOT.raws)


def measure_in_worker(raws: list[bytes]) -> Any:
    return measure_listing("tools", raws, tokens=False, rendered=False)


@pytest.mark.timeout(60)
def test_a_catalog_of_long_words_is_not_counted_for_an_hour() -> None:
    letters = random.Random(7)
    tools = [
        {"name": f"t{n}", "description": "".join(letters.choices("abcdefgh", k=3_000))} for n in range(40)
    ]
    raw = json.dumps({"result": {"tools": tools}}).encode()
    counted = measure_listing("tools", [raw], tokens=True, rendered=False).tokens
    assert counted is not None
    assert not counted.wire.exact
    assert not counted.definitions.exact
