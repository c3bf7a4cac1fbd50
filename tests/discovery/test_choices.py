"""Choices of a run as JSON, and what following them does."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lab_parts import played, strategy

from inspector.discovery import whatif
from inspector.discovery.access import Access
from inspector.discovery.choices import EVENTS, Happening, choice_entry, choice_text, follow, parse_choice
from inspector.discovery.play import Move
from inspector.errors import UsageError

FACTS: dict[str, Any] = {
    "seconds": 60,
    "server": "billing",
    "tool": "billing__void_invoice",
    "context": "clerk",
}


@pytest.mark.parametrize(
    "choice",
    [
        Move("search_tools", {"query": "“x” & ü"}),
        Move("billing__void_invoice"),
        Move("run", None, "target"),
        *[Happening(name, {key: FACTS[key] for key in wanted}) for name, wanted in EVENTS.items()],
    ],
    ids=str,
)
def test_a_choice_survives_its_json(choice: Any) -> None:
    again = parse_choice(json.loads(choice_text(choice)))
    assert choice_entry(again) == choice_entry(choice)
    assert type(again) is type(choice)


@pytest.mark.parametrize(
    ("found", "says"),
    [
        ([], "A choice is an object"),
        ({}, "The script is a list of moves"),
        ({"tool": "x", "arguments": []}, "The script is a list of moves"),
        ({"event": "explode"}, "There is no event 'explode'"),
        ({"event": []}, "There is no event []"),
        ({"event": "advance"}, "The event advance needs seconds"),
        ({"event": "advance", "seconds": True}, "The event advance needs seconds"),
        ({"event": "advance", "seconds": -1}, "The clock moves on, by ten years at most"),
        ({"event": "advance", "seconds": 10**12}, "The clock moves on, by ten years at most"),
        ({"event": "revoke", "tool": 3}, "The event revoke needs tool"),
    ],
)
def test_what_is_no_choice_is_refused_in_one_sentence(found: Any, says: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_choice(found)
    assert refused.value.message == says


def test_following_an_event_is_what_the_what_if_does() -> None:
    state = played("search_stable", Move("search_tools", {"query": "invoice"}))
    dropped = follow(strategy("search_stable"), state, Happening("drop_server", {"server": "billing"}))
    assert dropped.ledger == whatif.drop_server(state, "billing").ledger
    other = follow(
        strategy("search_stable"), state, Happening("switch_user", {"context": "clerk"}),
        {"clerk": Access("clerk", deny=("*void*",))},
    )  # fmt: skip
    assert other.tool("billing__void_invoice") is None
    assert other.setting.access.name == "clerk"


@pytest.mark.parametrize(
    ("choice", "says"),
    [
        (Happening("drop_server", {"server": "nowhere"}), "There is no server nowhere"),
        (Happening("list_changed", {"server": ""}), "There is no server"),
        (Happening("revoke", {"tool": "no__tool"}), "No server lists no__tool"),
        (Happening("switch_user", {"context": "ghost"}), "There is no authorization context ghost"),
    ],
)
def test_an_event_about_what_is_not_there_is_refused(choice: Happening, says: str) -> None:
    with pytest.raises(UsageError) as refused:
        follow(strategy("search_stable"), played("search_stable"), choice)
    assert refused.value.message.startswith(says)
