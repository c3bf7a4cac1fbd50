"""The seven rules of the lab, each with attempts to break it (docs/lab.md, "What the simulator enforces")."""

from __future__ import annotations

from dataclasses import replace

import pytest
from lab_parts import BILLING, LOGS, played, server, setting, strategy, text_of, tool

from inspector.discovery import whatif
from inspector.discovery.access import Access
from inspector.discovery.play import Move, begin, turn
from inspector.discovery.registry import registry_of
from inspector.discovery.search.search import Search, method_of
from inspector.discovery.strategies import strategies

CLERK = Access("clerk", deny=("*__refund_payment", "logs__*"))
SECRET = ("refund_payment", "Pay money back", "search_logs", "list_services")


# --- 1: permission before search


@pytest.mark.parametrize("id_", [id_ for id_ in strategies() if id_ != "server_driven"])
def test_rule_1_no_strategy_shows_a_forbidden_tool_at_any_step(id_: str) -> None:
    at = setting("pay money back to the customer, then search logs", access=CLERK)
    registry = registry_of(
        [server("billing", *BILLING, kept_for="clerk"), server("logs", *LOGS, kept_for="clerk")]
    )
    state = begin(strategy(id_), replace(at, always=("billing__refund_payment",)), registry)
    for _ in range(12):
        offers = strategy(id_).offers(state)
        if not offers:
            break
        assert not any(secret in str(move.arguments) for move in offers for secret in SECRET[2:])
        state = turn(strategy(id_), state, offers[-1])
    shown = text_of(state).replace(at.task, "").replace("pay money back to the customer", "")
    for secret in SECRET:
        assert secret not in shown


def test_rule_1_a_servers_own_words_are_withheld_when_they_name_a_forbidden_tool() -> None:
    told = replace(
        server("billing", *BILLING),
        instructions="Use refund_payment with care.",
        description="refund_payment!",
    )
    registry = registry_of([told])
    everyone = played("search_stable", registry=registry)
    assert "Use refund_payment with care." in text_of(everyone)
    at = setting("an invoice", access=Access(deny=("*__refund_payment",)))
    for id_ in ("search_stable", "full"):
        assert "refund_payment" not in text_of(played(id_, registry=registry, at=at))
    listed = played(
        "servers_on_demand", Move("search_available_servers", {"query": "x"}), registry=registry, at=at
    )
    assert "2 tools: list_invoices, void_invoice" in text_of(listed)


@pytest.mark.parametrize("name", ["keyword", "regex"])
@pytest.mark.parametrize("query", ["refund_payment", "pay money back", "billing__refund_payment", "."])
def test_rule_1_no_search_finds_it(name: str, query: str) -> None:
    registry = registry_of([server("billing", *BILLING, kept_for="clerk")])
    found = Search(method_of(name)).find(registry, CLERK, query, 50)
    assert "billing__refund_payment" not in [each.tool.public for each in found]


@pytest.mark.parametrize("move", [
    Move("call_tool", {"name": "billing__refund_payment", "arguments": {"paymentId": "1"}}),
    Move("get_tool_details", {"name": "billing__refund_payment"}),
    Move("billing__refund_payment", {"paymentId": "1"}),
])  # fmt: skip
def test_rule_1_by_name_it_is_like_a_tool_that_never_was(move: Move) -> None:
    """The same sentence, but for the name asked: nobody can tell forbidden from absent."""
    registry = registry_of([server("billing", *BILLING, kept_for="clerk")])
    at = setting(access=CLERK)
    refused = played("search_stable", move, registry=registry, at=at)
    wrong = "billing__refund_qqqqqqq"
    arguments = None if move.arguments is None else {**move.arguments}
    if arguments and "name" in arguments:
        arguments["name"] = wrong
    other = Move(wrong if move.tool.startswith("billing") else move.tool, arguments)
    absent = played("search_stable", other, registry=registry, at=at)
    assert refused.called is None
    assert refused.ledger.rows[-1].column == "error"
    said, expected = (
        refused.ledger.rows[-1].got,
        absent.ledger.rows[-1].got.replace(wrong, "billing__refund_payment"),
    )
    assert said == expected


def test_rule_1_a_near_miss_does_not_suggest_it() -> None:
    registry = registry_of([server("billing", *BILLING, kept_for="clerk")])
    wrong = Move("call_tool", {"name": "billing__refund_paymen", "arguments": {}})
    said = played("search_stable", wrong, registry=registry, at=setting(access=CLERK)).ledger.rows[-1].got
    assert "refund_payment" not in said
    assert "refund_payment" in played("search_stable", wrong).ledger.rows[-1].got


def test_rule_1_a_category_or_a_server_of_forbidden_tools_does_not_exist() -> None:
    registry = registry_of(
        [server("billing", *BILLING, kept_for="clerk"), server("logs", *LOGS, kept_for="clerk")]
    )
    at = setting(access=CLERK)
    listed = played("categories", Move("list_categories", {}), registry=registry, at=at)
    assert "logs" not in text_of(listed)
    assert '"count":2' in text_of(listed)
    for move in (
        Move("search_available_servers", {"query": "logs"}),
        Move("enable_server", {"server": "logs"}),
    ):
        state = played("servers_on_demand", move, registry=registry, at=at)
        assert "2 tools: search_logs" not in text_of(state)


# --- 2: freshness, and private entries


def test_rule_2_list_changed_beats_ttl_in_search_details_and_calls() -> None:
    registry = registry_of([server("billing", *BILLING, ttlMs=3_600_000, cacheScope="public")])
    state = whatif.list_changed(played("search_stable", registry=registry), "billing")
    found = turn(strategy("search_stable"), state, Move("search_tools", {"query": "invoice"}))
    assert found.ledger.rows[-1].got == "0 candidates"
    called = turn(
        strategy("search_stable"),
        state,
        Move("call_tool", {"name": "billing__void_invoice", "arguments": {}}),
    )
    assert called.ledger.rows[-1].got.startswith("stale: billing__void_invoice")


def test_rule_2_another_user_gets_nothing_that_was_listed_privately() -> None:
    registry = registry_of([server("billing", *BILLING, kept_for="ann", ttlMs=60000, cacheScope="private")])
    state = played("full", registry=registry, at=setting(access=Access("ann")))
    assert len(state.model.tools) == 3
    other = whatif.switch_access(state, Access("bob"))
    assert other.model.tools == ()
    called = turn(strategy("full"), other, Move("billing__list_invoices", {"customerId": "1"}))
    assert called.called is None
    assert registry.visible(Access("bob")) == ()


def test_rule_2_the_clock_ends_a_list_and_a_new_one_brings_it_back() -> None:
    registry = registry_of([server("billing", *BILLING, ttlMs=1000, cacheScope="public")])
    late = whatif.advance(played("search_stable", registry=registry), 1_000_000)
    assert late.registry.visible() == ()
    assert len(late.registry.with_server(server("billing", *BILLING)).visible()) == 3


# --- 3: refused at once, tidied later


@pytest.mark.parametrize("how", ["revoked", "disconnected", "stale"])
def test_rule_3_what_is_still_in_the_context_is_refused_at_once(how: str) -> None:
    state = played("full")
    events = {
        "revoked": whatif.revoke(state, "billing__list_invoices"),
        "disconnected": whatif.drop_server(state, "billing"),
        "stale": whatif.list_changed(state, "billing"),
    }
    after = events[how]
    assert "billing__list_invoices" in after.model.native
    called = turn(strategy("full"), after, Move("billing__list_invoices", {"customerId": "1"}))
    assert called.called is None
    state_word = "stale" if how == "stale" else "unavailable"
    assert called.ledger.rows[-1].got.startswith(f"{state_word}: billing__list_invoices cannot be called now")
    found = after.setting.search.find(after.registry, after.setting.access, "list invoices")
    assert "billing__list_invoices" not in [each.tool.public for each in found]


def test_rule_3_it_leaves_the_array_at_the_boundary_or_at_once_for_security() -> None:
    state = played("full")
    public = "billing__list_invoices"
    assert public not in whatif.boundary(whatif.revoke(state, public)).model.native
    assert public not in whatif.revoke(state, public, security=True).model.native
    assert public in whatif.revoke(state, public).model.native


def test_rule_3_host_tools_stay_at_a_boundary() -> None:
    state = whatif.boundary(whatif.drop_server(played("search_stable"), "billing"))
    assert state.model.native == {"search_tools", "get_tool_details", "call_tool"}


def test_rule_3_the_cache_miss_of_a_removal_is_priced() -> None:
    """Eight tools of some 400 tokens: the prefix is written; removing one of them now pays for the rest again."""
    long = "word " * 350
    registry = registry_of([server("s", *[tool(f"t{n}", long + str(n)) for n in range(8)])])
    state = turn(strategy("full"), played("full", registry=registry), Move("s__t7", {}))
    found = whatif.priced(state, lambda each: whatif.revoke(each, "s__t1", security=True))
    assert found.without.read > 2800
    assert found.with_it.read == 0
    assert found.extra == pytest.approx(
        found.with_it.billed(state.setting.rules) - found.without.billed(state.setting.rules)
    )
    assert found.extra > 2000
    kept = whatif.priced(state, lambda each: whatif.revoke(each, "s__t1"))
    assert kept.extra == 0


# --- 4: appending


def long_catalog(count: int = 6) -> list[dict[str, object]]:
    return [tool(f"t{n}", f"tool number {n} " + "word " * 300) for n in range(count)]


def test_rule_4_an_append_keeps_the_arrays_prefix_and_a_re_sort_does_not() -> None:
    registry = registry_of([server("s", *long_catalog())])
    at = setting("number", always=tuple([f"s__t{n}" for n in (5, 4, 3, 2)]))
    state = played("search_inject", Move("search_tools", {"query": "number"}), registry=registry, at=at)
    appended = turn(strategy("search_inject"), state, Move("get_tool_details", {"name": "s__t0"}))
    assert [piece.label for piece in appended.model.tools][-1] == "s__t0"
    assert appended.model.tools[:-1] == state.model.tools
    use = whatif.next_request(appended)
    before = sum([piece.tokens for piece in (state.model.hidden, *state.model.tools)])
    assert use.read == before
    assert use.first_changed == 1 + len(state.model.tools)
    sorted_ = whatif.priced(appended, whatif.reorder)
    assert sorted_.with_it.read == 0
    assert sorted_.extra > 0


def test_rule_4_an_append_that_reorders_is_told_by_the_first_changed_byte() -> None:
    registry = registry_of([server("s", *long_catalog())])
    at = setting("number", always=("s__t5", "s__t4", "s__t3", "s__t2"))
    state = played("search_inject", Move("search_tools", {"query": "number"}), registry=registry, at=at)
    grown = turn(strategy("search_inject"), state, Move("get_tool_details", {"name": "s__t0"}))
    sneaky = replace(grown, model=grown.model.reordered())
    kept = sum([piece.bytes for piece in state.model.tools])
    assert whatif.next_request(grown).first_changed_byte == kept
    assert whatif.next_request(sneaky).first_changed_byte == 0


def test_rule_4_definitions_at_the_end_leave_the_prefix_whole() -> None:
    registry = registry_of([server("s", *long_catalog())])
    always = ("s__t5", "s__t4", "s__t3", "s__t2")
    at = setting("number", always=always, options={"inject": "end"})
    state = played("search_inject", Move("search_tools", {"query": "number"}), registry=registry, at=at)
    found = turn(strategy("search_inject"), state, Move("get_tool_details", {"name": "s__t0"}))
    use = whatif.next_request(found)
    assert use.first_changed is None
    assert use.read == found.requests[-1].tokens
    assert "s__t0" in found.model.native


def test_rule_4_a_stable_call_tool_never_changes_the_array() -> None:
    state = played("search_stable", Move("search_tools", {"query": "invoice"}))
    for move in (
        Move("get_tool_details", {"name": "billing__void_invoice"}),
        Move("call_tool", {"name": "billing__void_invoice", "arguments": {"invoiceId": "1"}}),
    ):
        after = turn(strategy("search_stable"), state, move)
        assert after.model.tools == state.model.tools
        state = after
    assert state.called == "billing__void_invoice"


# --- 5: call_tool executes, it never searches


@pytest.mark.parametrize(
    "name", ["void_invoice", "billing__void", "Billing__void_invoice", "void an invoice", ""]
)
def test_rule_5_only_the_exact_name_is_called(name: str) -> None:
    state = played("search_stable", Move("call_tool", {"name": name, "arguments": {"invoiceId": "1"}}))
    assert state.called is None
    assert state.ledger.rows[-1].column == "error"


def test_rule_5_wrong_arguments_are_answered_from_the_real_schema() -> None:
    state = played(
        "search_stable", Move("call_tool", {"name": "billing__void_invoice", "arguments": {"id": 3}})
    )
    said = state.ledger.rows[-1].got
    assert "It takes (invoiceId)." in said
    assert "'id' was unexpected" in said
    assert state.called is None


def test_rule_5_a_schema_that_is_none_is_refused_like_any_wrong_argument() -> None:
    odd = {"name": "x", "inputSchema": {"type": "object", "properties": {"a": {}}, "required": 7}}
    state = played("full", Move("s__x", {}), registry=registry_of([server("s", odd)]))
    assert (state.called, state.ledger.rows[-1].column) == (None, "error")
    assert state.ledger.rows[-1].got.endswith("It takes (a?).")


def test_rule_5_the_extra_turn_of_a_wrong_name_is_priced() -> None:
    right = Move("call_tool", {"name": "billing__void_invoice", "arguments": {"invoiceId": "1"}})
    state = played("search_stable", Move("search_tools", {"query": "invoice"}))
    wrong = Move("call_tool", {"name": "billing__void_invoices", "arguments": {"invoiceId": "1"}})
    erred = turn(strategy("search_stable"), state, wrong)
    assert erred.totals.model_turns == state.totals.model_turns + 1
    assert erred.totals.error_bytes > 0
    assert erred.totals.total_bytes == state.totals.total_bytes
    assert "Did you mean billing__void_invoice" in erred.ledger.rows[-1].got
    after = turn(strategy("search_stable"), erred, right)
    assert after.totals.billed > turn(strategy("search_stable"), state, right).totals.billed


# --- 6: a server that goes


def test_rule_6_a_dropped_server_is_out_of_search_blocked_and_told() -> None:
    state = whatif.drop_server(played("search_stable"), "billing")
    assert "The server billing is unavailable" in text_of(state)
    found = turn(strategy("search_stable"), state, Move("search_tools", {"query": "invoice refund log"}))
    assert "billing__" not in str(found.memory["searched"])
    called = turn(
        strategy("search_stable"),
        state,
        Move("call_tool", {"name": "billing__void_invoice", "arguments": {}}),
    )
    assert "its server billing is not connected" in called.ledger.rows[-1].got


def test_rule_6_disable_server_blocks_the_next_call() -> None:
    state = played("servers_on_demand", Move("enable_server", {"server": "logs"}))
    assert "logs__search_logs" in state.model.native
    off = turn(strategy("servers_on_demand"), state, Move("disable_server", {"server": "logs"}))
    called = turn(strategy("servers_on_demand"), off, Move("logs__list_services", {}))
    assert called.ledger.rows[-1].got.startswith("unavailable")
    assert "logs__search_logs" not in whatif.boundary(off).model.native


@pytest.mark.parametrize("options", [{}, {"always_servers": ["logs"]}])
def test_rule_6_what_was_disabled_is_found_again_enabled_again_and_listed_anew(
    options: dict[str, object],
) -> None:
    driven = strategy("servers_on_demand")
    state = played(
        "servers_on_demand", Move("enable_server", {"server": "logs"}), at=setting(options=options)
    )
    off = turn(driven, state, Move("disable_server", {"server": "logs"}))
    again = turn(driven, off, Move("disable_server", {"server": "logs"}))
    assert again.ledger.rows[-1].got == "The server 'logs' is not enabled."
    found = turn(driven, off, Move("search_available_servers", {"query": "search the logs"}))
    assert found.ledger.rows[-1].got.split(", ")[0] == "logs"
    back = turn(driven, off, Move("enable_server", {"server": "logs"}))
    assert back.ledger.rows[-1].reply_bytes == state.ledger.rows[-1].reply_bytes
    assert back.tool("logs__search_logs") is not None
    gone = turn(
        driven,
        whatif.drop_server(played("servers_on_demand"), "logs"),
        Move("enable_server", {"server": "logs"}),
    )
    assert gone.ledger.rows[-1].column == "error"


# --- 7: three things


def test_rule_7_host_cache_model_context_and_prompt_cache_are_three_values() -> None:
    """A thousand cached are not a thousand seen; a hit at the provider does not mean fresh."""
    registry = registry_of([server("s", *long_catalog(40))])
    state = played("search_stable", registry=registry)
    assert len(state.registry.visible()) == 40
    assert len(state.model.tools) == 3
    assert state.prefix.pieces == ()
    warm = turn(strategy("full"), played("full", registry=registry), Move("s__t1", {}))
    stale = whatif.list_changed(warm, "s")
    assert whatif.next_request(stale).read > 10_000
    assert stale.registry.visible() == ()
    cold = whatif.cache_expired(warm)
    assert whatif.next_request(cold).read == 0
    assert (len(cold.registry.visible()), len(cold.model.tools)) == (40, 40)


def test_going_back_is_taking_an_earlier_state_and_a_branch_leaves_it_untouched() -> None:
    start = played("search_stable", Move("search_tools", {"query": "invoice"}))
    left = turn(strategy("search_stable"), start, Move("get_tool_details", {"name": "billing__void_invoice"}))
    right = turn(
        strategy("search_stable"), start, Move("get_tool_details", {"name": "billing__list_invoices"})
    )
    assert len(start.ledger.rows) == 2
    assert left.revealed == ("billing__void_invoice",)
    assert right.revealed == ("billing__list_invoices",)
