"""`mcp-loupe lock` and `check`: what CI sees."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from cli_run import ROOT, here, loupe
from test_compare import lines, tool

from inspector.catalog.budgets import BUDGETS
from inspector.catalog.difference.change import KINDS
from inspector.cli.lock import _share


@pytest.fixture
def pinned(tmp_path: Path) -> Path:
    """The lock of a catalog of two tools, which lies beside it."""
    catalog = lines(tmp_path / "now.jsonl", tool("a", "x"), tool("b"))
    assert here(tmp_path, "lock", catalog, "-o", "s.lock").code == 0
    return tmp_path / "s.lock"


def test_a_live_server_is_locked_and_holds(tmp_path: Path) -> None:
    written = loupe(tmp_path, "lock", "demo:flat", "-o", "flat.lock", "--json")
    assert written.json["tools"] == 50 and written.json["unchanged"] is False
    document = json.loads((tmp_path / "flat.lock").read_text("utf-8"))
    assert (
        document["schema"] == "mcp-loupe/lock/1"
        and document["era"] == "modern"
        and document["declared"] == []
    )
    assert document["server"]["name"] == "marlow-flat"
    ran = loupe(
        tmp_path, "check", "demo:flat", "--lock", "flat.lock", "--max-increase", "0%", "--fail-on", "fine"
    )
    assert ran.code == 0 and "holds (drift: 0 breaking, 0 caution, 0 fine; 50 tools" in ran.out
    drifted = here(tmp_path, "check", "demo:progressive", "--lock", "flat.lock", "--json")
    assert drifted.code == 1 and drifted.json["ok"] is False
    assert {each["rule"] for each in drifted.json["violations"]} >= {"tool-removed"}


def test_a_lock_of_an_unchanged_catalog_is_left_as_it_is(pinned: Path) -> None:
    before = pinned.read_bytes()
    ran = here(pinned.parent, "lock", "now.jsonl", "-o", "s.lock", "--json")
    assert ran.json["unchanged"] is True and pinned.read_bytes() == before
    lines(pinned.parent / "now.jsonl", tool("a"))
    assert here(pinned.parent, "lock", "now.jsonl", "-o", "s.lock", "--json").json["unchanged"] is False
    assert pinned.read_bytes() != before


def test_drift_and_budgets_are_violations_with_a_rule(pinned: Path) -> None:
    lines(pinned.parent / "now.jsonl", tool("a", "x", "y"))
    ran = loupe(
        pinned.parent,
        "check",
        "now.jsonl",
        "--lock",
        "s.lock",
        "--max-tokens",
        "1",
        "--max-wire-bytes",
        "1",
        "--json",
    )
    assert ran.code == 1 and ran.json["schema"] == "mcp-loupe/check/1"
    assert [(each["rule"], each["tool"]) for each in ran.json["violations"]] == [
        ("required-added", "a"),
        ("tool-removed", "b"),
        ("budget-tokens", None),
        ("budget-wire-bytes", None),
    ]
    assert here(pinned.parent, "check", "now.jsonl", "--lock", "s.lock", "--fail-on", "none").code == 0


def test_junit_and_sarif_are_written_for_ci_and_the_exit_still_tells(pinned: Path) -> None:
    lines(pinned.parent / "now.jsonl", tool("a", "x"))
    words = ["check", "now.jsonl", "--lock", "s.lock"]
    assert here(pinned.parent, *words, "--format", "junit", "-o", "j.xml").code == 1
    assert ET.parse(pinned.parent / "j.xml").getroot().get("failures") == "1"
    ran = here(pinned.parent, *words, "--format", "sarif")
    (result,) = ran.json["runs"][0]["results"]
    assert ran.code == 1 and result["ruleId"] == "tool-removed"
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "s.lock"


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["now.jsonl"], 2, "--lock"),
        (["--lock", "s.lock"], 2, "Which catalog?"),
        (["now.jsonl", "now.jsonl", "--lock", "s.lock"], 2, "Two targets"),
        (["now.jsonl", "--lock", "nowhere.lock"], 7, "cannot be read"),
        (["now.jsonl", "--lock", "now.jsonl"], 7, "no lock of a catalog"),
        (["now.jsonl", "--lock", "s.lock", "--max-increase", "five"], 2, "--max-increase 5%"),
        (["now.jsonl", "--lock", "s.lock", "--fail-on", "tool-remove"], 2, "Did you mean tool-removed?"),
        (["now.jsonl", "--lock", "s.lock", "--json", "--format", "junit"], 2, "contradict"),
    ],
)
def test_what_cannot_be_checked_is_said_in_one_sentence(
    words: list[str], code: int, says: str, pinned: Path
) -> None:
    ran = here(pinned.parent, "check", *words)
    assert (ran.code, ran.err.count("\n")) == (code, 1), ran.err
    assert says in ran.err


def test_a_percentage_is_the_nearest_fraction() -> None:
    assert [_share(text) for text in ("0.7%", "15 %", "29%", None)] == [0.007, 0.15, 0.29, None]


def test_a_lock_edited_by_hand_is_refused(pinned: Path) -> None:
    pinned.write_text(pinned.read_text().replace('\\"x\\"', '\\"z\\"'))
    ran = here(pinned.parent, "check", "now.jsonl", "--lock", "s.lock", "--json")
    assert ran.code == 7 and "does not fit its sha256" in ran.json["error"]["message"]


def test_the_documentation_names_every_rule_with_its_severities() -> None:
    text = (ROOT / "docs" / "in-ci.md").read_text("utf-8")
    for name, kind in KINDS.items():
        output = "same" if kind.output == kind.input else kind.output
        assert f"| `{name}` | {kind.means} | {kind.input} | {output} |" in text
    for name, means in BUDGETS.items():
        assert f"| `{name}` | {means} |" in text
