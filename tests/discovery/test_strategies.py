"""Each strategy on a dry catalog: what the model sees first, what each step costs, what the policies pick."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from lab_parts import BILLING, LOGS, answer, played, server, setting, shop, strategy, text_of, tool

from inspector.catalog.providers import render
from inspector.catalog.tokens import count
from inspector.discovery import meta_tools
from inspector.discovery.play import Asked, Move, begin, turn
from inspector.discovery.policies import play_out
from inspector.discovery.registry import registry_of
from inspector.discovery.running import flat_of, run, run_all
from inspector.discovery.strategies import strategies
from inspector.errors import UsageError

META = {
    "categories": ("list_categories", "expand_category", "call_tool"),
    "search_inject": ("search_tools", "get_tool_details"),
    "search_stable": ("search_tools", "get_tool_details", "call_tool"),
    "gateway_search": ("get_tool", "invoke_tool"),
    "gateway_code_search": ("get_tool", "invoke_tool", "run_code"),
    "servers_on_demand": ("search_available_servers", "enable_server", "disable_server"),
}


@pytest.mark.parametrize("id_", META)
def test_the_entry_of_a_host_made_list_is_the_whole_synthesised_message(id_: str) -> None:
    tools = ",".join([meta_tools.definition(name) for name in META[id_]])
    row = played(id_).ledger.rows[0]
    assert row.reply_bytes == len(f'{{"jsonrpc":"2.0","id":10,"result":{{"tools":[{tools}]}}}}'.encode())
    assert (row.column, row.provenance, row.actor) == ("entry", "derived", "host")


def test_full_starts_with_the_lists_as_received_and_their_rendered_tokens() -> None:
    state = played("full")
    row = state.ledger.rows[0]
    assert row.reply_bytes == len(answer(*BILLING)) + len(answer(*LOGS))
    assert row.provenance == "measured"
    sent = [render(each.text, "anthropic").text for each in shop().visible()]
    assert (
        row.context_tokens
        == 346 + sum([count(text).value for text in sent]) + count(state.setting.task).value
    )


def test_the_task_of_a_search_costs_its_replies_and_injected_definitions_are_not_counted_twice_in_bytes() -> (
    None
):
    state = played(
        "search_inject",
        Move("search_tools", {"query": "pay money back"}),
        Move("get_tool_details", {"name": "billing__refund_payment"}),
        Move("billing__refund_payment", {"paymentId": "P-1"}),
    )
    entry, search, details, call = state.ledger.rows
    row = {"name": "billing__refund_payment", "description": "Pay money back to the customer.", "server": "billing",
           "permission": "allowed"}  # fmt: skip
    text = json.dumps({"tools": [row]}, separators=(",", ":"))
    result = {"content": [{"type": "text", "text": text}], "isError": False}
    whole = json.dumps({"jsonrpc": "2.0", "id": 11, "result": result}, separators=(",", ":"))
    assert search.reply_bytes == len(whole)
    assert state.totals.total_bytes == entry.reply_bytes + search.reply_bytes + details.reply_bytes
    assert details.context_tokens > details.reply_bytes // 8
    assert (call.column, call.reply_bytes, state.called) == ("business", 0, "billing__refund_payment")
    assert state.totals.context_tokens == state.model.tokens
    assert (state.totals.model_turns, state.totals.revealed_tools, state.totals.entry_tools) == (3, 1, 2)


def test_the_request_of_a_move_is_a_column_of_its_own() -> None:
    state = played("search_stable", Move("search_tools", {"query": "x"}))
    params = '{"name":"search_tools","arguments":{"query":"x"}}'
    expected = f'{{"jsonrpc":"2.0","id":11,"method":"tools/call","params":{params}}}'
    assert state.ledger.rows[1].request_bytes == len(expected)


def test_categories_come_from_meta_servers_prefixes_or_a_mapping() -> None:
    def listed(*tools: dict[str, object], **options: object) -> list[str]:
        registry = registry_of([server("s", *tools)])
        state = played(
            "categories", Move("list_categories", {}), registry=registry, at=setting(options=options)
        )
        reply = json.loads(state.model.messages[-1].text)
        return [each["name"] for each in reply["categories"]]

    assert listed(tool("pod_get"), tool("pod_list"), tool("who")) == ["pod", "other"]
    tagged = [tool("a", _meta={"category": "x"}), tool("b", _meta={"category": "y"})]
    assert listed(*tagged) == ["x", "y"]
    assert listed(tool("a"), tool("b"), categories={"mine": ["s__a"]}) == ["mine", "other"]
    state = played("categories", Move("list_categories", {}))
    assert [each["name"] for each in json.loads(state.model.messages[-1].text)["categories"]] == [
        "billing",
        "logs",
    ]


def test_expanding_a_category_shows_its_definitions_byte_for_byte() -> None:
    state = played("categories", Move("expand_category", {"category": "billing"}))
    shown = state.model.messages[-1].text
    assert all(each.text in shown for each in shop().visible() if each.server == "billing")
    assert state.revealed == ("billing__list_invoices", "billing__refund_payment", "billing__void_invoice")
    wrong = played("categories", Move("expand_category", {"category": "nope"}))
    assert "There are: billing, logs." in wrong.ledger.rows[-1].got


def test_details_say_where_a_tool_is_from_what_it_risks_and_whether_it_is_there() -> None:
    state = played("search_stable", Move("get_tool_details", {"name": "billing__list_invoices"}))
    shown = json.loads(state.model.messages[-1].text)
    assert list(shown) == [
        "name",
        "description",
        "inputSchema",
        "server",
        "permission",
        "risk",
        "availability",
    ]
    assert (shown["server"], shown["risk"]) == ("billing", "read-only (the server's hint)")
    assert shown["availability"] == "fresh"


def test_the_providers_own_search_costs_no_turn_and_leaves_the_prefix() -> None:
    state = played("provider_search", Move("tool_search_tool_bm25", {"query": "invoice"}))
    assert state.totals.model_turns == 0
    assert state.ledger.rows[0].reply_bytes == len(
        '[{"type":"tool_search_tool_bm25_20251119","name":"tool_search_tool_bm25"}]'
    )
    assert state.ledger.rows[1].provenance == "assumed"
    assert [piece.kind for piece in state.model.messages][-1] == "injected"
    assert (
        turn(strategy("provider_search"), state, Move("billing__void_invoice")).called
        == "billing__void_invoice"
    )


def test_openai_keeps_stubs_by_function_or_by_namespace_and_gemini_has_no_search() -> None:
    functions = played("provider_search", at=setting(provider="openai"))
    assert len(functions.model.tools) == 1 + 5
    spaces = played("provider_search", at=setting(provider="openai", options={"variant": "namespaces"}))
    assert len(spaces.model.tools) == 1 + 2
    assert "stub of billing" in spaces.model.native
    with pytest.raises(UsageError, match="No search of its own is known for the provider gemini"):
        played("provider_search", at=setting(provider="gemini"))


def test_a_server_enabled_on_demand_costs_its_list_on_the_wire() -> None:
    state = played("servers_on_demand", Move("enable_server", {"server": "logs"}))
    row = state.ledger.rows[1]
    assert row.reply_bytes > len(answer(*LOGS))
    assert "logs__search_logs" in state.model.native
    assert "billing__void_invoice" not in state.model.native
    skilled = setting(options={"skills": {"refunds": ["billing"]}, "skill": "refunds"})
    assert "billing__refund_payment" in played("servers_on_demand", at=skilled).model.native


def test_code_mode_carries_the_functions_in_run_code_and_reaches_the_tool_a_script_names() -> None:
    state = begin(strategy("gateway_code"), setting("void invoice"), shop())
    (piece,) = state.model.tools
    assert "def billing__void_invoice(*, invoiceId: str)" in piece.text
    assert strategy("gateway_code").left_out(state) == "no script was written"
    found = run(
        strategy("gateway_code"), setting("void invoice"), shop(), flat_of(setting("void invoice"), shop())
    )
    assert (found.outcome, found.state.called) == ("called", "billing__void_invoice")
    named = begin(strategy("gateway_code"), setting(options={"stubs": "names"}), shop())
    assert "def " not in named.model.tools[0].text and named.model.tokens < state.model.tokens
    with pytest.raises(UsageError, match="no stubs at the level"):
        begin(strategy("gateway_code"), setting(options={"stubs": "all"}), shop())


def test_code_and_search_discover_first_and_then_write_one_script() -> None:
    at = setting("void invoice")
    found = run(strategy("gateway_code_search"), at, shop(), flat_of(at, shop()))
    asked = [row.asked.split('"')[3] for row in found.state.ledger.rows[1:]]
    assert (asked, found.state.called) == (["get_tool", "run_code"], "billing__void_invoice")


def test_a_script_is_checked_in_a_dry_run_and_really_run_on_a_wire() -> None:
    code = "found = logs__search_logs(service='x')\nprint(len(found))"
    dry = played("gateway_code", Move("run_code", {"code": code}))
    assert dry.ledger.rows[-1].got == "logs__search_logs: nothing is sent in a dry run"
    wrong = played("gateway_code", Move("run_code", {"code": "logs__search_logs(service=3)"}))
    assert wrong.ledger.rows[-1].column == "error" and "Expected `str`" in text_of(wrong)

    def call(server: str, tool: str, arguments: Mapping[str, Any]) -> Asked:
        text = "one line of the log\n" * 1000
        return Asked(60, 20_100, {"content": [{"type": "text", "text": text}]}, 1.0, (12, 13))

    live = played("gateway_code", Move("run_code", {"code": code}), at=setting(call=call, confirmed=True))
    row = live.ledger.rows[-1]
    assert (row.column, row.actor, row.frames) == ("business", "sandbox", (12, 13))
    assert row.got == "1 calls; 20,100 B of answers stayed in the sandbox"
    assert "one line of the log" not in text_of(live) and "20000" in text_of(live)
    held = played("gateway_code", Move("run_code", {"code": code}), at=setting(call=call))
    assert "the call was not allowed" in text_of(held)


def test_the_policies_pick_the_best_the_expected_and_the_worst() -> None:
    def called(id_: str, policy: str, expect: str = "") -> tuple[str | None, int]:
        state = play_out(strategy(id_), begin(strategy(id_), setting("void invoice"), shop()), policy, expect)  # type: ignore[arg-type]
        return state.called, state.totals.model_turns

    assert called("search_stable", "top1") == ("billing__void_invoice", 3)
    assert called("search_stable", "expected", "list_invoices") == ("billing__list_invoices", 3)
    assert called("search_stable", "expected", "search_logs")[0] is None
    assert called("categories", "top1") == ("billing__void_invoice", 3)
    assert called("categories", "expected", "search_logs") == ("logs__search_logs", 3)
    assert called("categories", "worst", "void_invoice") == ("billing__void_invoice", 4)
    assert called("search_stable", "worst", "void_invoice") == ("billing__void_invoice", 4)


def test_expecting_a_tool_tells_a_wrong_pick_from_a_right_one() -> None:
    at, flat = setting("void invoice"), flat_of(setting("void invoice"), shop())
    assert run(strategy("full"), at, shop(), flat, expect="void_invoice").outcome == "called"
    assert run(strategy("full"), at, shop(), flat, expect="search_logs").outcome == "wrong"


def test_all_strategies_side_by_side_and_those_that_cannot_be_had_are_told() -> None:
    at = setting("void invoice", provider="gemini")
    runs, not_run = run_all(list(strategies().values()), at, shop(), flat_of(at, shop()), "top1")
    assert [each for each, _ in not_run] == ["provider_search"]
    assert len(runs) == 9
    full = next(each for each in runs if each.strategy.id == "full")
    assert (full.versus.net_saved, full.versus.entry_reduction, full.versus.billed_saved) == (0.0, 0.0, 0.0)


def test_a_call_with_arguments_is_checked_and_not_sent_in_a_dry_run() -> None:
    state = played("full", Move("billing__void_invoice", {"invoiceId": "1"}))
    assert state.ledger.rows[-1].got == "billing__void_invoice: nothing is sent in a dry run"
    assert "INV" not in text_of(state)
