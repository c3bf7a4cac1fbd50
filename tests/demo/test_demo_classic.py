"""The demo pair of code mode's classic task: what it holds, and which issue fails."""

from __future__ import annotations

from collections import Counter

import anyio
import mcp_types as types
from mcp import Client

from inspector.demo import classic


def test_there_are_ten_thousand_entries_with_seven_messages_and_always_the_same() -> None:
    every = classic.entries()
    assert len(every) == 10_000
    assert Counter(each["message"] for each in every).keys() == {
        message for _, _, message in classic.MESSAGES
    }
    assert every == classic.entries()
    assert every[0]["time"] == "2026-11-02T00:00:00Z" and every[-1]["time"] == "2026-11-02T23:59:51Z"


def test_the_fourth_attempt_to_create_an_issue_fails_and_the_next_works() -> None:
    async def play() -> list[bool]:
        async with Client(classic.build("tracker")) as client:
            calls = [await client.call_tool("create_issue", {"title": f"t{number}"}) for number in range(5)]
            listed = await client.call_tool("list_issues", {})
            assert isinstance(listed, types.CallToolResult) and listed.structured_content is not None
            assert [each["title"] for each in listed.structured_content["issues"]] == ["t0", "t1", "t2", "t4"]
            return [bool(each.is_error) for each in calls]

    assert anyio.run(play) == [False, False, False, True, False]
