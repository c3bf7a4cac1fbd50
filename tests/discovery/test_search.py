"""Search: words split, Chinese found, results explained, rebuilt on change, methods fused."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lab_parts import BILLING, LOGS, server, shop, tool

from inspector.discovery.access import EVERYONE
from inspector.discovery.registry import Tool, registry_of
from inspector.discovery.search.hybrid import Hybrid
from inspector.discovery.search.keyword import Keyword, KeywordIndex
from inspector.discovery.search.method import Found
from inspector.discovery.search.regex import Regex
from inspector.discovery.search.search import FEW, Search, method_of
from inspector.discovery.search.semantic import available
from inspector.discovery.search.words import asked, words
from inspector.errors import UsageError


def names(found: list[Found]) -> list[str]:
    return [each.tool.name for each in found]


def test_identifiers_are_split_and_chinese_comes_in_pairs() -> None:
    assert words("getInvoice_byID.v2-old PDFRead") == [
        "get",
        "invoice",
        "by",
        "id",
        "v2",
        "old",
        "pdf",
        "read",
    ]
    assert words("退款期限 policy") == ["退款", "款期", "期限", "policy"]
    assert words("查") == ["查"]
    assert asked("what is the refund period of the refund") == ["refund", "period"]
    assert asked("what is the") == ["what", "is", "the"]


def test_keyword_search_explains_what_matched_and_ranks_names_first() -> None:
    found = Search(Keyword()).find(shop(), EVERYONE, "void the unpaid invoices")
    assert found[0].tool.name == "void_invoice"
    assert found[0].matched == ("void", "invoice", "unpaid")
    assert found[0].ranks == {"keyword": 1}
    assert found[0].score > found[1].score


def test_a_chinese_query_finds_a_chinese_description() -> None:
    registry = registry_of([server("s", tool("refund", "向客户退款"), tool("ship", "查询物流状态"))])
    search = Search(Keyword())
    assert names(search.find(registry, EVERYONE, "给客户退款")) == ["refund"]
    assert names(search.find(registry, EVERYONE, "订单的物流")) == ["ship"]


@pytest.mark.parametrize("query", ['" OR 1', "a* NEAR(b)", "name:refund", "''", "()", "-", "☃", ""])
def test_no_query_is_syntax_for_the_index(query: str) -> None:
    Search(Keyword()).find(shop(), EVERYONE, query)


def test_parameters_are_searched_too() -> None:
    found = Search(Keyword()).find(shop(), EVERYONE, "paymentId")
    assert "refund_payment" in names(found)


def test_the_index_follows_the_registry() -> None:
    search, registry = Search(Keyword()), shop()
    assert names(search.find(registry, EVERYONE, "logs"))[0] == "search_logs"
    assert names(search.find(registry.list_changed("logs"), EVERYONE, "logs")) == []
    again = registry.list_changed("logs").with_server(server("logs", tool("tail_logs", "Follow the logs.")))
    assert names(search.find(again, EVERYONE, "logs")) == ["tail_logs"]


def test_a_pattern_matches_names_first_and_a_sentence_is_its_words() -> None:
    search = Search(Regex())
    assert names(search.find(shop(), EVERYONE, "^search_"))[0] == "search_logs"
    found = search.find(shop(), EVERYONE, "refund a payment")
    assert names(found) == ["refund_payment"]
    assert found[0].matched == ("payment", "refund")


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(a|aa)+$", "((a|aa))*$", "(", "x" * 300 + ".", "(a)\\1", "(?=x)"]
)
def test_a_pattern_that_could_take_for_ever_or_is_none_is_refused(pattern: str) -> None:
    with pytest.raises(UsageError):
        Search(Regex()).find(shop(), EVERYONE, pattern)


def test_fused_ranks_add_up_reciprocally_and_keep_each_methods_rank() -> None:
    found = Search(Hybrid([Keyword(), Regex()])).find(shop(), EVERYONE, "void invoice")
    assert found[0].tool.name == "void_invoice"
    assert found[0].ranks == {"keyword": 1, "regex": 1}
    assert found[0].score == pytest.approx(2 / 61)


def test_meaning_needs_its_extra_and_says_so() -> None:
    if available():
        found = Search(method_of("semantic")).find(shop(), EVERYONE, "give money back")
        assert names(found)[0] == "refund_payment"
        return
    with pytest.raises(UsageError, match="semantic") as problem:
        Search(method_of("semantic")).find(shop(), EVERYONE, "give money back")
    assert "pip install" in problem.value.remedy


def test_a_ranker_of_ones_own_has_the_last_word() -> None:
    class Backwards:
        def rank(self, query: str, found: list[Found]) -> list[Found]:
            return found[::-1]

    plain = Search(Keyword()).find(shop(), EVERYONE, "invoice")
    turned = Search(Keyword(), Backwards()).find(shop(), EVERYONE, "invoice")  # type: ignore[arg-type]
    assert names(turned) == names(plain)[::-1]


def test_an_empty_registry_finds_nothing() -> None:
    for method in (Keyword(), Regex()):
        assert Search(method).find(registry_of([]), EVERYONE, "invoice") == []


def test_what_is_not_found_keeps_its_order_at_the_end() -> None:
    tools = registry_of([server("billing", *BILLING), server("logs", *LOGS)]).visible()
    ordered = Search(Keyword()).order(tools, "services")
    assert [each.name for each in ordered][:1] == ["list_services"]
    assert len(ordered) == len(tools)


def test_many_tools_are_ordered_within_the_index_that_is_there() -> None:
    """Enabling a server of thousands of tools must not index them a second time."""

    class Counted(Keyword):
        builds = 0

        def build(self, tools: Sequence[Tool]) -> KeywordIndex:
            Counted.builds += 1
            return super().build(tools)

    listed = [tool(f"read_{number:03}", f"Read number {number} of the ledger") for number in range(FEW + 1)]
    registry = registry_of(
        [server("big", *listed), server("small", tool("read_7", "Read number 7, the other"))]
    )
    search, every = Search(Counted()), registry.visible(EVERYONE)
    search.index(every)
    some = [each for each in reversed(every) if each.server == "big"]
    ordered = search.order(some, "number 7 of 007", every)
    assert Counted.builds == 1
    assert ordered[0].public == "big__read_007"
    assert sorted(each.public for each in ordered) == sorted(each.public for each in some)
    assert search.order(some[:3], "number 200", every)[0].public == "big__read_200"
    assert Counted.builds == 2, "a few get an index of their own"


@given(st.text(st.sampled_from("abAZ09_ -.ü"), max_size=12))
def test_words_are_cut_alike_whatever_script_stands_beside_them(text: str) -> None:
    assert words(text) == words(f"查 {text}")[1:]
