"""The prompt cache against conversations worked out by hand, for each provider's rules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lab_parts import setting, shop

from inspector.discovery.context import ModelContext, Piece
from inspector.discovery.conversation import Course, cheaper_from, course
from inspector.discovery.play import State
from inspector.discovery.prompt_cache import Prefix, Rules, Use, rules_for
from inspector.errors import UsageError


def piece(kind: str, label: str, tokens: int) -> Piece:
    return Piece(kind, label, f"{kind} {label}", tokens, tokens * 4)  # type: ignore[arg-type]


def context(*tools: int, system: int = 100, said: tuple[int, ...] = (50,), hidden: int = 346) -> ModelContext:
    return ModelContext(
        piece("hidden", "h", hidden),
        tuple([piece("tool", f"t{number}", tokens) for number, tokens in enumerate(tools)]),
        (piece("system", "s", system),),
        tuple([piece("user", f"m{number}", tokens) for number, tokens in enumerate(said)]),
    )


def rules(provider: str, **changes: int) -> Rules:
    found = rules_for(provider, **changes)
    assert found is not None
    return found


def uses(found: Rules | None, *contexts: ModelContext) -> list[tuple[int, int, int]]:
    prefix, got = Prefix(), []
    for each in contexts:
        use, prefix = prefix.request(each.pieces(), found)
        got.append((use.read, use.write, use.fresh))
    return got


def test_anthropic_writes_once_and_reads_what_stands() -> None:
    """346 hidden + 600 + 400 tools + 100 system + 50 said = 1,496 written; then 70 more said: 1,496 read, 70 written."""
    first, second = context(600, 400), context(600, 400, said=(50, 70))
    assert uses(rules("anthropic"), first, second) == [(0, 1496, 0), (1496, 70, 0)]
    assert Use(1496, 70, 0).billed(rules("anthropic")) == pytest.approx(149.6 + 87.5)


def test_anthropic_below_its_minimum_silently_caches_nothing() -> None:
    """346 + 300 + 100 + 50 = 796 < 1,024: all fresh, twice. Once the messages lift it over, it is written whole."""
    small = context(300)
    grown = context(300, said=(50, 400))
    assert uses(rules("anthropic"), small, small, grown, grown) == [
        (0, 0, 796), (0, 0, 796), (0, 1196, 0), (1196, 0, 0),
    ]  # fmt: skip


def test_another_model_has_another_minimum() -> None:
    found = rules_for("anthropic", minimum=4096)
    assert uses(found, context(600, 400)) == [(0, 0, 1496)]
    assert uses(rules_for("anthropic", minimum=512), context(100)) == [(0, 596, 0)]


def test_an_hour_costs_twice_to_write_and_only_anthropic_sells_it() -> None:
    hour = rules_for("anthropic", ttl="1h")
    assert hour is not None
    assert Use(0, 1000, 0).billed(hour) == 2000
    with pytest.raises(UsageError, match="no prompt cache of 1h"):
        rules_for("openai", ttl="1h")


def test_openai_starts_at_1024_and_counts_in_steps_of_128() -> None:
    """1,000 + 200 + 50 = 1,250 (no hidden prompt). Held: pieces to 1,250, counted 1,024 + 128 = 1,152: cut down to the
    piece boundary at 1,000, which is below the minimum: nothing is read. Of 1,030 + 122 + 200 + 50 = 1,402, 1,280
    count, and the boundary below that is at 1,152."""
    first = context(1000, system=200, hidden=0)
    assert uses(rules("openai"), first, first) == [(0, 1250, 0), (0, 1250, 0)]
    second = context(1030, 122, system=200, hidden=0)
    assert uses(rules("openai"), second, second) == [(0, 1402, 0), (1152, 250, 0)]
    assert Use(1152, 250, 0).billed(rules("openai")) == pytest.approx(365.2)


def test_openai_below_1024_is_all_fresh() -> None:
    small = context(700, hidden=0)
    assert uses(rules("openai"), small, small) == [(0, 0, 850), (0, 0, 850)]


def test_gemini_starts_at_2048_and_pays_nothing_for_writing() -> None:
    """1,900 + 100 + 50 = 2,050: written at the price of fresh tokens, then read at a tenth."""
    first = context(1900, hidden=0)
    assert uses(rules("gemini"), first, first) == [(0, 2050, 0), (2050, 0, 0)]
    assert Use(0, 2050, 0).billed(rules("gemini")) == 2050
    assert uses(rules("gemini"), context(1800, hidden=0)) == [(0, 0, 1950)]


def test_no_provider_means_no_cache_at_all() -> None:
    assert rules_for("none") is None
    assert uses(None, context(5000), context(5000)) == [(0, 0, 5496), (0, 0, 5496)]


def test_appending_keeps_the_arrays_own_prefix_and_rewrites_what_stands_behind_it() -> None:
    """The old array (346 + 1,000) is read; the new tool, the system part and the messages are written again."""
    first, second = context(600, 400), context(600, 400, 90)
    assert uses(rules("anthropic"), first, second)[1] == (1346, 90 + 100 + 50, 0)
    prefix = Prefix().request(first.pieces(), rules("anthropic"))[1]
    use, _ = prefix.request(second.pieces(), rules("anthropic"))
    assert use.first_changed == 3
    assert use.first_changed_byte == (346 + 1000) * 4


def test_re_sorting_editing_and_removing_lose_the_array() -> None:
    """Anthropic's entries end at marks: without the whole old array nothing is read."""
    first = context(1100, 400, 300)
    swapped = ModelContext(
        first.hidden, (first.tools[0], first.tools[2], first.tools[1]), first.system, first.messages
    )
    removed = first.without(["t1"])
    assert uses(rules("anthropic"), first, swapped)[1] == (0, 2296, 0)
    assert uses(rules("anthropic"), first, removed)[1] == (0, 1896, 0)
    bare = context(1100, 400, 300, hidden=0)
    assert uses(rules("openai"), bare, bare.without(["t1"]))[1] == (
        0,
        1550,
        0,
    )  # 1,100 counts as 1,024: no boundary


def test_definitions_injected_at_the_end_leave_the_prefix_whole() -> None:
    first = context(600, 400)
    second = first.injected([piece("tool", "found", 90)])
    assert uses(rules("anthropic"), first, second) == [(0, 1496, 0), (1496, 90, 0)]


def test_an_old_end_more_than_20_pieces_back_is_not_looked_at() -> None:
    first = context(600, 600)
    near, far = context(600, 600, *[10] * 20), context(600, 600, *[10] * 21)
    assert uses(rules("anthropic"), first, near)[1][0] == 1546
    assert uses(rules("anthropic"), first, far)[1][0] == 0


def conversation(*requests: ModelContext, last: ModelContext) -> State:
    return State(setting(), shop(), last, requests=requests)


def test_twenty_turns_worked_by_hand_show_when_a_warm_full_list_wins() -> None:
    """Full: 10,000 of tools, 0 hidden, 100 system, 50 task. Turn 1 writes 10,150; each later turn reads what stands and
    writes 20 (the call) + 200 (result) + 50 (question) = 270."""
    anthropic = rules("anthropic")
    full = context(10_000, hidden=0)
    called = full.said(piece("call", "c", 20))
    found = course(conversation(full, last=called), anthropic)
    assert found.billed[0] == pytest.approx(10_150 * 1.25)
    assert found.billed[1] == pytest.approx(10_150 * 0.1 + 270 * 1.25)
    assert found.billed[2] == pytest.approx(10_420 * 0.1 + 270 * 1.25)
    assert found.billed[19] == pytest.approx((10_150 + 18 * 270) * 0.1 + 270 * 1.25)
    by_hand = 10_150 * 1.25 + sum([(10_150 + 270 * n) * 0.1 + 270 * 1.25 for n in range(19)])
    assert found.total == pytest.approx(by_hand)


def test_the_break_even_of_twenty_turns_moves_with_the_cache() -> None:
    """Warm, full runs up 2,687.5, 3,240, 3,819.5; a discovery each turn 2,087.5, 3,166, 4,362.5: full wins from turn 3.
    Cold, two requests of 1,250 and 1,570 already cost more than one of 2,150."""
    anthropic = rules("anthropic")
    full = context(2000, hidden=0)
    whole = conversation(full, last=full.said(piece("call", "c", 20)))
    entry = context(1100, hidden=0)
    looked = entry.said(piece("call", "d", 20), piece("result", "d", 300))
    stepwise = conversation(entry, looked, last=looked.said(piece("call", "c", 20)))
    each = course(stepwise, anthropic, rediscover=True)
    assert cheaper_from(course(whole, anthropic), each) == 3
    assert each.running[:3] == pytest.approx([2087.5, 3166, 4362.5])
    once = course(stepwise, anthropic)
    assert cheaper_from(course(whole, anthropic), once) is None
    cold = course(stepwise, None, rediscover=True)
    assert cheaper_from(course(whole, None), cold) == 1


def test_full_disclosure_that_costs_just_as_much_has_cost_no_more() -> None:
    def costing(*billed: float) -> Course:
        return Course(billed, ())

    assert cheaper_from(costing(2, 2, 2), costing(1, 3, 2)) == 2
    assert cheaper_from(costing(1, 1), costing(1, 1)) == 1
    assert cheaper_from(costing(1, 3, 1), costing(2, 1, 3)) == 3, (
        "not from the first turn: the second was dearer"
    )


def test_a_conversation_below_the_minimum_pays_for_every_token_every_turn() -> None:
    small = context(300, said=(10,), hidden=0)
    found = course(conversation(small, last=small.said(piece("call", "c", 20))), rules("anthropic"), turns=2)
    assert [use.fresh for use in found.uses] == [410, 680]
    assert found.billed == (410.0, 680.0)


@given(
    st.lists(
        st.tuples(st.lists(st.integers(0, 900), max_size=4), st.lists(st.integers(0, 900), max_size=4)),
        max_size=5,
    ),
    st.sampled_from(["anthropic", "openai", "gemini", ""]),
)
def test_what_was_laid_before_changes_no_number(
    turns: list[tuple[list[int], list[int]]], provider: str
) -> None:
    """The same requests by a prefix that remembers only what the provider holds."""
    found, remembering = rules(provider) if provider else None, Prefix()
    for tools, said in turns:
        pieces = context(*tools, said=tuple(said)).pieces()
        bare = Prefix(remembering.pieces, remembering.ends)
        expected = bare.request(pieces, found)
        assert remembering.request(pieces, found) == expected
        remembering = remembering.request(pieces, found)[1]
