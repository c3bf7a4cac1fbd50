"""Scenarios as files: written, read back, replayed; and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lab_parts import setting, shop, strategy

from inspector.discovery.access import read_contexts
from inspector.discovery.code.keeping import read_kept
from inspector.discovery.play import begin, turn
from inspector.discovery.scenario import (
    SCHEMA,
    Scenario,
    parse_scenario,
    read_scenario,
    setting_of,
    write_scenario,
)
from inspector.errors import FileError, UsageError


def test_a_scenario_reads_back_as_it_was_written(tmp_path: Path) -> None:
    scenario = Scenario(
        catalogs=("demo:flat",), task="refund", strategies=("search_stable",), context="clerk", window=8000,
        contexts={"clerk": {"deny": ["*void*"]}}, script=({"tool": "search_tools", "arguments": {"query": "x"}},),
    )  # fmt: skip
    path = tmp_path / "one.json"
    path.write_text(write_scenario(scenario))
    assert read_scenario(path) == scenario
    assert scenario.access.deny == ("*void*",)
    assert "provider" not in json.loads(path.read_text())  # what is as by default is left out


def test_the_script_is_replayed_to_the_same_ledger() -> None:
    script = (
        {"tool": "search_tools", "arguments": {"query": "void"}},
        {"tool": "get_tool_details", "arguments": {"name": "billing__void_invoice"}},
    )
    moves = Scenario(script=script).choices

    def ledger() -> object:
        state = begin(strategy("search_stable"), setting(), shop())
        for move in moves:
            state = turn(strategy("search_stable"), state, move)
        return state.ledger

    assert ledger() == ledger()


@pytest.mark.parametrize(
    "changes",
    [
        {"schema": "x"},
        {"windw": 1},
        {"window": "big"},
        {"window": True},
        {"catalogs": "x"},
        {"script": [{"arguments": {}}]},
        {"script": [3]},
    ],
)
def test_what_is_no_scenario_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        parse_scenario({"schema": SCHEMA, **changes})


@pytest.mark.parametrize(
    "options",
    [
        {"categories": "colour"},
        {"categories": {"a": 5}},
        {"always_servers": "billing"},
        {"skills": ["billing"]},
        {"skill": ["x"]},
    ],
)
def test_an_option_a_strategy_could_not_use_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=f"The option {next(iter(options))} of this scenario cannot be"):
        setting_of(Scenario(task="x", options=options))


def test_a_context_that_is_not_defined_is_refused() -> None:
    with pytest.raises(UsageError, match="no authorization context boss"):
        _ = Scenario(context="boss").access


def test_a_file_that_is_no_scenario_says_so(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    for text in ("{", "[]", '{"schema": "other"}', "[" * 100_000):
        path.write_text(text)
        with pytest.raises(FileError):
            read_scenario(path)
        for read in (read_contexts, read_kept):
            with pytest.raises((FileError, UsageError)):
                read(path)
