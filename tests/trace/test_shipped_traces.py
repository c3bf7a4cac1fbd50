"""Every recording that ships opens whole, and holds what traces/README.md says of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from inspector.trace.file_reader import read_trace
from inspector.web.traces_view import SHIPPED

TRACES = Path(__file__).resolve().parents[2] / "traces"
FILES = sorted(TRACES.glob("*.mcptrace.jsonl*"))
HOLDS = {
    "sqlite-crash": ("stderr", "has no attribute 'list_resources'"),
    "azure-noise": ("noise", "No X display available"),
    "everything-handshake": ("rpc", "notifications/tools/list_changed"),
    "everything-subscription": ("rpc", "notifications/resources/updated"),
    "sdk-rounds": ("rpc", '"resultType":"input_required"'),
    "git-refusals": ("rpc", '"code":-32602', '"code":-32022'),
    "progressive-session": ("rpc", '"name":"expand_category"', '"name":"call_tool"', '"isError":true'),
    "cache-invalidation": ("cache", "hit", "invalidated"),
    "git-modern": ("stderr", "git.cmd"),
    "teradata-hints": ("rpc", '"ttlMs":300000'),
}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_shipped_recording_is_whole_redacted_and_what_it_is_said_to_be(path: Path) -> None:
    with read_trace(path) as reader:
        assert reader.header["redaction"] is not None
        events = list(reader)
        assert (reader.incomplete, reader.problem) == (False, None)
    t, *texts = HOLDS[path.name.split(".")[0]]
    held = [
        event.get("raw") or event.get("data") or event.get("verdict", "")
        for event in events
        if event["t"] == t
    ]
    assert all(any(text in each for each in held) for text in texts)
    shown = "".join(str(event) for event in events)
    assert re.search(r"/(root|home|Users|tmp|work)/\w", shown) is None


def test_the_traces_screen_offers_each() -> None:
    assert SHIPPED.keys() == {path.name for path in FILES}


def test_the_readme_of_the_recordings_names_each() -> None:
    listed = (TRACES / "README.md").read_text()
    assert {path.name for path in FILES} == set(re.findall(r"[\w-]+\.mcptrace\.jsonl(?:\.gz)?", listed))
