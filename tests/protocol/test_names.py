"""Names, families and hidden characters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.protocol.names import family, marks, name_faults


@pytest.mark.parametrize("name", ["a", "A.b-c_9", "x" * 128])
def test_a_name_within_the_advice_has_no_fault(name: str) -> None:
    assert name_faults(name) == []


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("", "the name is empty"),
        (None, "the name is not a string"),
        (7, "the name is not a string"),
        ("x" * 129, "the name has 129 characters, more than 128"),
        ("a b/b", "the name has characters outside A-Z a-z 0-9 _ . -: ' ' '/'"),
        ("é\n", r"the name has characters outside A-Z a-z 0-9 _ . -: '\xe9' '\n'"),
    ],
)
def test_what_is_wrong_with_a_name_is_said(name: object, fault: str) -> None:
    assert name_faults(name) == [fault]


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("repo_list", "repo"),
        ("gateway.catalog_search", "gateway"),
        ("get-modular-tools", "get"),
        ("a/b", "a"),
        ("readFile", "read"),
        ("fooBar_baz", "foo"),
        ("PDFRead", "PDF"),
        ("k8sList", "k8s"),
        ("_x_y", "x"),
        ("azure", "azure"),
        ("HTTP", "HTTP"),
        ("天気_取得", "天気"),
        ("-", "-"),
        ("", ""),
    ],
)
def test_the_family_is_the_first_word(name: str, first: str) -> None:
    assert family(name) == first


@pytest.mark.parametrize(
    ("text", "segments"),
    [
        ("", []),
        ("plain\ttext\n", [("plain\ttext\n", "")]),
        ("a\x00\x1fb", [("a", ""), ("\x00\x1f", "control"), ("b", "")]),
        ("\r\n", [("\r", "control"), ("\n", "")]),
        ("a\u202eb\u2066", [("a", ""), ("\u202e", "bidi"), ("b", ""), ("\u2066", "bidi")]),
        ("a\u200bb\ufeff", [("a", ""), ("\u200b", "zero-width"), ("b", ""), ("\ufeff", "zero-width")]),
        ("\U000e0041", [("\U000e0041", "zero-width")]),
        ("\x1b[1;31mred\x1b[0m", [("\x1b[1;31m", "ansi"), ("red", ""), ("\x1b[0m", "ansi")]),
        ("\x1b]8;;http://x\x1b\\l", [("\x1b]8;;http://x\x1b\\", "ansi"), ("l", "")]),
        ("\x1b]0;title\x07", [("\x1b]0;title\x07", "ansi")]),
        ("\x9b2J", [("\x9b2J", "ansi")]),
        ("\x1bc\x1b(B", [("\x1bc", "ansi"), ("\x1b(B", "ansi")]),
        ("\x1b]open", [("\x1b", "control"), ("]open", "")]),
        ("\x1b", [("\x1b", "control")]),
        ("\ud800", [("\ud800", "control")]),
    ],
)
def test_hidden_characters_are_cut_out_by_kind(text: str, segments: list[tuple[str, str]]) -> None:
    assert marks(text) == segments


@given(st.text() | st.text(alphabet="\x1b[]0;m\x07\\\x9b\x9d\u202e\u200b\x00a"))
def test_the_segments_are_the_text_again_and_plain_ones_hide_nothing(text: str) -> None:
    segments = marks(text)
    assert "".join(part for part, _ in segments) == text
    assert all(part for part, _ in segments)
    plain = "".join(part for part, kind in segments if not kind)
    assert not set(plain) & set("\x1b\x00\x9b\u202e\u200b")


@given(st.text(alphabet=st.characters(max_codepoint=0x250)))
def test_a_family_is_part_of_the_name(name: str) -> None:
    assert family(name) in name
    assert bool(family(name)) == bool(name)
