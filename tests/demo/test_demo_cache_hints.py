"""The demo server `cache-hints`: what was asked for is what crosses the wire, in both eras."""

from __future__ import annotations

import json
from typing import Any

import pytest
from rawdemo import ERAS, HANDSHAKE, MODERN, HttpSession, Stdio, http_server, modern, stdio

from inspector.demo.__main__ import main
from inspector.demo.hints import ABSENT, parse_hints

CHANGED = "notifications/tools/list_changed"


def test_hints_are_json_else_a_bare_word_and_absent_means_absent() -> None:
    hints = parse_hints(
        ttl=['tools/list="60000",-5,absent,1500.5,null,true,soon,NaN'], scope=["tools/list=public"]
    )
    assert hints.ttl["tools/list"] == ("60000", -5, ABSENT, 1500.5, None, True, "soon", "NaN")
    assert hints.scope["tools/list"] == ("public",)


def test_the_last_value_holds_for_all_further_pages_and_other_methods_are_left_alone() -> None:
    hints = parse_hints(ttl=["tools/list=1,2"])
    assert [hints.stamp({"ttlMs": 0}, "tools/list", page) for page in (0, 1, 5)] == [
        {"ttlMs": 1},
        {"ttlMs": 2},
        {"ttlMs": 2},
    ]
    assert hints.stamp({"ttlMs": 0}, "prompts/list", 0) == {"ttlMs": 0}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["cache-hints", "--ttl", "60000"], "--ttl 60000 is not METHOD=VALUE"),
        (["cache-hints", "--page-size", "0"], "A page cannot hold 0 entries"),
        (["flat", "--page-size", "5"], "flat takes no cache hints"),
    ],
)
def test_options_that_make_no_sense_are_a_sentence_and_exit_code_2(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(options) == 2
    assert said in capsys.readouterr().err


ASKED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "tools/list": ("60000", "public", {"ttlMs": 60000, "cacheScope": "public"}),
    "prompts/list": ('"60000"', "PUBLIC", {"ttlMs": "60000", "cacheScope": "PUBLIC"}),
    "resources/list": ("-5", "absent", {"ttlMs": -5}),
    "resources/templates/list": ("absent", "null", {"cacheScope": None}),
    "resources/read": ("1500.5", '""', {"ttlMs": 1500.5, "cacheScope": ""}),
    "tools/call": ("true", "private", {"ttlMs": True, "cacheScope": "private"}),
}
"""What is asked of each method on the command line, and what must then be on the wire."""


@pytest.mark.parametrize("era", ERAS)
def test_hints_cross_the_wire_exactly_as_asked(era: str) -> None:
    params = {"resources/read": {"uri": "kb://KB-1"}, "tools/call": {"name": "list_topics"}}
    options = [
        part
        for method, (ttl, scope, _) in ASKED.items()
        for part in ("--ttl", f"{method}={ttl}", "--scope", f"{method}={scope}")
    ]
    with stdio("cache-hints", *options, era=era) as server:
        results = {method: server.result(method, params.get(method)) for method in ASKED}
        assert server.close() == 0
    found = {
        method: {field: result[field] for field in ("ttlMs", "cacheScope") if field in result}
        for method, result in results.items()
    }
    assert json.dumps(found) == json.dumps({method: sent for method, (_, _, sent) in ASKED.items()})


def test_both_hints_can_be_left_out_of_one_modern_result_and_stay_in_another() -> None:
    options = ("--ttl", "server/discover=absent", "--scope", "server/discover=absent")
    with stdio("cache-hints", *options, era=MODERN) as server:
        assert {"ttlMs", "cacheScope"} & server.opened["result"].keys() == set()
        assert server.result("tools/list")["ttlMs"] == 0


def test_hints_cross_the_wire_exactly_as_asked_over_http_too() -> None:
    with http_server("cache-hints", "--ttl", "tools/list=null", "--scope", 'tools/list="shared"') as (
        _,
        port,
    ):
        posted = modern(port, "/", "tools/list")
        fresh = posted.frame()["result"]
        posted.close()
        old = HttpSession(port, "/").result("tools/list", {})
    for result in (fresh, old):
        assert result["ttlMs"] is None
        assert result["cacheScope"] == "shared"


def test_without_options_the_handshake_era_has_no_hints() -> None:
    with stdio("cache-hints", era=HANDSHAKE) as server:
        assert server.result("tools/list").keys() == {"tools"}


def pages(server: Stdio) -> list[dict[str, Any]]:
    found = [server.result("tools/list")]
    while cursor := found[-1].get("nextCursor"):
        found.append(server.result("tools/list", {"cursor": cursor}))
    return found


@pytest.mark.parametrize("era", ERAS)
def test_pages_hold_what_was_asked_and_may_differ_in_their_hints(era: str) -> None:
    options = (
        "--page-size",
        "20",
        "--ttl",
        "tools/list=60000,5000",
        "--scope",
        "tools/list=private,private,public",
    )
    with stdio("cache-hints", *options, era=era) as server:
        found = pages(server)
        again = pages(server)
    assert [len(page["tools"]) for page in found] == [20, 20, 12]
    assert [page["ttlMs"] for page in found] == [60000, 5000, 5000]
    assert [page["cacheScope"] for page in found] == ["private", "private", "public"]
    assert json.dumps(again) == json.dumps(found)
    names = [tool["name"] for page in found for tool in page["tools"]]
    assert len(set(names)) == 52


@pytest.mark.parametrize("era", ERAS)
def test_a_cursor_is_refused_once_the_list_has_changed(era: str) -> None:
    with stdio("cache-hints", "--page-size", "20", era=era) as server:
        cursor = server.result("tools/list")["nextCursor"]
        server.call("touch_catalog", {})
        outdated = server.ask("tools/list", {"cursor": cursor})["error"]
        foreign = server.ask("tools/list", {"cursor": "nonsense"})["error"]
    assert (outdated["code"], foreign["code"]) == (-32602, -32602)
    assert "has changed" in outdated["message"]


def test_a_handshake_client_hears_of_a_change_and_finds_it_in_the_list() -> None:
    with stdio("cache-hints", era=HANDSHAKE) as server:
        assert server.opened["result"]["capabilities"]["tools"] == {"listChanged": True}
        before = server.result("tools/list")["tools"]
        called = server.request("tools/call", {"name": "add_tool", "arguments": {"name": "brew_tea"}})
        frames = [server.next_frame(), server.next_frame()]
        after = server.result("tools/list")["tools"]
        brewed = server.call("brew_tea", {})
    assert [frame["method"] for frame in frames if "method" in frame] == [CHANGED]
    assert called in [frame.get("id") for frame in frames]
    assert [tool["name"] for tool in after] == [*(tool["name"] for tool in before), "brew_tea"]
    assert brewed["isError"] is False


def test_a_modern_client_hears_of_a_change_only_where_it_listens() -> None:
    with stdio("cache-hints", era=MODERN) as server:
        assert server.opened["result"]["capabilities"]["tools"] == {"listChanged": True}
        server.request("tools/call", {"name": "touch_catalog", "arguments": {}})
        assert "result" in server.next_frame()
        listen = server.request("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        assert server.next_frame()["method"] == "notifications/subscriptions/acknowledged"
        called = server.request("tools/call", {"name": "touch_catalog", "arguments": {}})
        frames = [server.next_frame(), server.next_frame()]
        touched = server.result("tools/list")["tools"][0]
        assert server.close() == 0
    (note,) = [frame for frame in frames if "method" in frame]
    assert note["method"] == CHANGED
    assert note["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == listen
    assert called in [frame.get("id") for frame in frames]
    assert "2 changes so far" in touched["description"]


def test_over_http_both_eras_hear_of_one_change() -> None:
    with http_server("cache-hints") as (_, port):
        standing = HttpSession(port, "/").listen()
        listening = modern(port, "/", "subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        heard = listening.events()
        assert next(heard)["method"] == "notifications/subscriptions/acknowledged"
        called = modern(port, "/", "tools/call", {"name": "touch_catalog", "arguments": {}})
        assert called.frame()["result"]["isError"] is False
        assert next(heard)["method"] == CHANGED
        assert next(standing.events())["method"] == CHANGED
        for posted in (called, listening, standing):
            posted.close()


def test_a_tool_with_an_impossible_name_is_not_added() -> None:
    with stdio("cache-hints", era=MODERN) as server:
        refused = [server.call("add_tool", {"name": name}) for name in ("touch_catalog", "Two Words", 5)]
        listed = server.result("tools/list")["tools"]
    assert [result["isError"] for result in refused] == [True, True, True]
    assert "already is a tool" in refused[0]["content"][0]["text"]
    assert len(listed) == 52
