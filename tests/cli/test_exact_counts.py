"""Exact counts by the providers' own counters: a real HTTP server on loopback that speaks their shapes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from inspector.catalog.counters import COUNTERS, count_in, request_of
from inspector.catalog.measure import measure_items
from inspector.catalog.snapshot import read_pages
from inspector.console.counting import Counting, Exact, base_url, count_exactly, key_name
from inspector.errors import LoupeError, UsageError

KEY = "sk-loupe-test-0123456789"
TOOLS: list[Any] = [
    {
        "name": "plain",
        "description": "é 1",
        "inputSchema": {"type": "object"},
        "outputSchema": {"type": "object"},
    },
    {"name": "any", "inputSchema": {"type": "object", "anyOf": []}},
    "no object",
    {"name": "a b", "inputSchema": {"type": "object"}},
    {"name": "a_b", "inputSchema": {"type": "object"}},
]


def environment(counters: str, provider: str, key: str = KEY) -> dict[str, str]:
    counter = COUNTERS[provider]
    return {counter.keys[0]: key, counter.base: counters + ("/v1" if provider == "openai" else "")}


def count(
    counters: str, provider: str, model: str = "m-1", key: str = KEY, tools: list[Any] = TOOLS
) -> Exact:
    known = environment(counters, provider, key)
    line = json.dumps({"result": {"tools": tools}}, ensure_ascii=False, separators=(",", ":")).encode()
    measures = measure_items(read_pages("tools", [line]))
    return count_exactly(request_of(measures, provider, model, base_url(provider, known)), known)


@pytest.mark.parametrize(
    ("provider", "tools", "left_out"), [("anthropic", 2, 3), ("openai", 2, 3), ("gemini", 3, 2)]
)
def test_the_difference_of_two_counts_is_what_the_tools_cost(
    counters: str, provider: str, tools: int, left_out: int
) -> None:
    found = count(counters, provider)
    # The server counts a token a byte of `tools`, as it was sent, and 7 for the message.
    sent = json.loads(found.request.body)
    sent = sent.get("generateContentRequest", sent)["tools"]
    size = len(json.dumps(sent, ensure_ascii=False, separators=(",", ":")).encode())
    assert (found.without_tools, found.tools) == (7, size)
    assert (found.request.tools, len(found.request.left_out)) == (tools, left_out)
    assert KEY not in repr(found) and KEY.encode() not in found.request.body


@pytest.mark.parametrize(
    ("model", "layer", "sentence"),
    [
        ("m-401", "auth", "answered 401: invalid key …"),
        ("m-404", "http", "answered 404: no such model"),
        ("m-429", "http", "answered 429: slow down"),
        ("m-500", "http", "answered 500"),
        ("m-302", "http", "answered 302"),
        ("m-html", "protocol", "answered 200 without input_tokens"),
        ("m-text", "protocol", "answered 200 without input_tokens"),
        ("m-drop", "network", "broke: "),
    ],
)
def test_a_failure_is_one_sentence_without_the_key(
    counters: str, model: str, layer: str, sentence: str
) -> None:
    with pytest.raises(LoupeError) as caught:
        count(counters, "anthropic", model)
    assert caught.value.layer == layer
    assert sentence in caught.value.message
    assert caught.value.remedy
    assert KEY not in f"{caught.value.message} {caught.value.remedy} {caught.value.facts} {caught.value.args}"


@pytest.mark.parametrize(
    "answer", [{"input_tokens": True}, {"input_tokens": -1}, {"input_tokens": "7"}, {}, [], None]
)
def test_a_count_is_a_whole_number_from_nought(answer: Any) -> None:
    assert count_in(answer, "anthropic") is None
    assert count_in({"input_tokens": 0}, "anthropic") == 0


def test_nothing_is_sent_without_a_key_and_no_key_goes_out_in_the_clear() -> None:
    assert key_name("gemini", {"GOOGLE_API_KEY": "k"}) == "GOOGLE_API_KEY"
    with pytest.raises(UsageError, match="ANTHROPIC_API_KEY is not set"):
        count_exactly(request_of([], "anthropic", "m"), {})
    for url in ("http://example.org", "ftp://127.0.0.1", "example.org", "https://user:pw@example.org"):
        with pytest.raises(UsageError, match="a key is not sent to it"):
            base_url("openai", {"OPENAI_BASE_URL": url})


def test_the_newest_count_is_the_one_asked_for_last(counters: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment(counters, "anthropic").items():
        monkeypatch.setenv(name, value)
    known = Counting()
    measures = measure_items(read_pages("tools", [json.dumps({"result": {"tools": TOOLS[:1]}}).encode()]))
    for model in ("m-1", "m-2", "m-1"):
        known.count(request_of(measures, "anthropic", model, base_url("anthropic")), "a catalog")
    newest = known.newest("a catalog", "anthropic")
    assert newest is not None and newest.request.model == "m-1"
    assert known.newest("another", "anthropic") is None


def test_a_port_that_refuses_is_named(counters: str) -> None:
    with pytest.raises(LoupeError, match=r"127\.0\.0\.1:1 cannot be reached"):
        count("http://127.0.0.1:1", "anthropic")


def loupe(*words: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_BASE_URL"))}
    return subprocess.run(
        [sys.executable, "-m", "inspector", *words],
        capture_output=True,
        text=True,
        timeout=90,
        env={**kept, **env},
    )


def test_the_command_asks_only_when_told_shows_the_request_and_never_the_key(
    counters: str, tmp_path: Path
) -> None:
    data, record = ("--data-dir", str(tmp_path / "d")), tmp_path / "t.mcptrace.jsonl"
    env = environment(counters, "anthropic")
    done = loupe(
        "list",
        "demo:flat",
        "--json",
        "--no-findings",
        "--exact",
        "anthropic",
        "--record",
        str(record),
        *data,
        env=env,
    )
    assert done.returncode == 0, done.stderr
    exact = json.loads(done.stdout)["exact"]
    assert exact["with_tools"] - exact["without_tools"] == exact["tools"] > 1000
    assert exact["request"]["url"] == f"{counters}/v1/messages/count_tokens"
    assert f"POST {counters}/v1/messages/count_tokens, twice" in done.stderr
    assert KEY not in done.stdout + done.stderr + record.read_text("utf-8")
    refused = loupe("list", "demo:flat", "--json", "--exact", "openai", *data, env=env)
    assert refused.returncode == 2 and "OPENAI_API_KEY is not set" in refused.stderr
