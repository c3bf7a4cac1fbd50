"""What any text may cost on a page: hostile digits, surrogates, controls and escapes neither break nor swell it."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

from catalog_screen import ORIGIN, PARTIAL, console_of, replayed
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.web import charts, marks
from inspector.web.highlight import ANSI_CHARS, ANSI_HTML, CODE_HTML, ansi, code_lines, together, visible
from inspector.wire.events import LOCAL, Event

ANY = st.text(st.characters(exclude_categories=()))
PIECES = st.sampled_from(
    [
        *("\x1b[", "m", ";", "1", "9" * 5000, "\x1b[1mX", "\x1b[0mX", "\x1b[31mX", "\x1b]0;t\x07", "<&\"'>"),
        *("\u200b", "a\u200b", "\u202e\u2066\x00\ufeff\xad", "\ud800", "\U000e0041", "\n", "\t", "\r"),
        *("\\u200b", "\\n  ", "\\t", "\\ud800", "\\", '"', '"a":', "[", "]", "{", "}", ",", "-1e9", "true"),
    ]
)
TEXTS = st.lists(st.builds(str.__mul__, PIECES | ANY, st.sampled_from([1, 2, 300, 9000])), max_size=6).map(
    lambda pieces: "".join(pieces)[:40_000]
)
MARK = re.compile(r"<span class=\"mk\"[^>]*>[^<]*</span>")
SLACK = 3_000
"""The last mark, and the sentence of what was cut."""


@settings(max_examples=60, deadline=None)
@given(TEXTS)
def test_no_text_breaks_a_page_or_costs_more_than_its_share(text: str) -> None:
    assert len(visible(text).encode()) <= 4 * (marks.HTML + SLACK)
    assert len(visible(text)) <= marks.HTML + SLACK
    assert len(ansi(text)) <= ANSI_HTML + SLACK
    for shown in (text, json.dumps([text, {text: text}]), json.dumps({"a": text}, ensure_ascii=False)):
        lines = code_lines(shown).lines
        assert len("".join([line.html for line in lines]).encode()) <= 4 * CODE_HTML + SLACK * len(lines)


@settings(max_examples=100, deadline=None)
@given(st.text(st.characters(exclude_categories=()), max_size=200))
def test_a_text_with_few_marks_is_shown_whole(text: str) -> None:
    shown = unescape(MARK.sub("", str(visible(text))))
    assert shown == "".join([char for char in text if char in "\n\t" or not marks.begins_hidden(char)])


def test_the_texts_of_one_table_share_what_they_may_cost() -> None:
    show = together(10_000)
    texts = ["a\u200b" * 200, *["<b>" * 100] * 50]
    shown = [show(text) for text in texts]
    assert sum(map(len, shown)) <= 10_000 + 51 * 70
    assert shown[-1] == '<span class="ln__s"> … cut, 300 more characters</span>'
    assert together()("plain") == "plain"


def test_hidden_characters_beyond_the_first_two_hundred_are_counted_in_one_mark() -> None:
    html = str(visible("a\u200b" * 20_000))
    assert html.count('class="mk"') == 201
    assert "… and 19,800 more hidden characters" in html
    assert 'title="19,800 × U+200B ZERO WIDTH SPACE"' in html
    assert MARK.sub("", html) == "a" * 20_000


def test_each_kind_of_folded_character_is_counted() -> None:
    html = str(visible("x\u202e" * 200 + "x\u202ey\u200by\u200b"))
    assert 'title="2 × U+200B ZERO WIDTH SPACE, 1 × U+202E RIGHT-TO-LEFT OVERRIDE"' in html
    assert "… and 3 more hidden characters" in html


def test_a_text_too_long_for_the_page_says_how_much_was_cut() -> None:
    html = str(visible("x" * 1_000_000))
    assert html.startswith("x" * marks.HTML + "<span")
    assert f"cut, {1_000_000 - marks.HTML:,} more characters" in html
    escaped = str(visible('"' * 1_000_000))
    assert escaped.count("&#34;") == marks.HTML // 5
    assert f"cut, {1_000_000 - marks.HTML // 5:,} more characters" in escaped


def test_what_is_cut_and_what_is_shown_make_up_the_whole() -> None:
    html = str(visible("<\u200b\n" * 100_000))
    cut = int(re.findall(r"cut, ([\d,]+) more", html)[0].replace(",", ""))
    folded = int(re.findall(r"and ([\d,]+) more hidden", html)[0].replace(",", ""))
    assert html.count("&lt;") + html.count("\n") + 200 + folded + cut == 300_000


def test_an_escape_sequence_of_thousands_of_digits_is_ignored() -> None:
    assert ansi("\x1b[" + "9" * 5000 + "m boom") == " boom"
    assert ansi("\x1b[1;" + "9" * 5000 + ";31mx") == '<span class="an-b an-1">x</span>'


def test_a_colour_set_again_and_again_makes_one_span() -> None:
    assert ansi("\x1b[1mX" * 3000) == f'<span class="an-b">{"X" * 3000}</span>'
    assert ansi("\x1b[1ma\x1b[31mb\x1b[22mc\x1b[39md") == (
        '<span class="an-b">a</span><span class="an-b an-1">b</span><span class="an-1">c</span>d'
    )


def test_a_long_line_of_output_is_cut_and_says_by_how_much() -> None:
    assert ansi("x" * 50_000) == (
        "x" * ANSI_CHARS + '<span class="ln__s"> … cut, 30,000 more characters</span>'
    )


def test_an_escape_beyond_the_marks_stays_as_written() -> None:
    lines = code_lines(json.dumps({"a": "b\u200b" * 300})).lines
    html = "".join([line.html for line in lines])
    assert html.count('class="mk"') == 200
    assert html.count("b\\u200b") == 100
    assert "more" not in html


def test_a_number_of_many_digits_is_laid_out_as_it_was_spelled() -> None:
    (line,) = code_lines("9" * 5000).lines
    assert line.html == f'<span class="jn">{"9" * 5000}</span>'


SIZES = st.integers(1, 10**9) | st.integers(1, 50)
FAMILIES = st.lists(st.lists(SIZES, max_size=70), max_size=20)
ATTRIBUTE = re.compile(r' (x|y|width|height|x1|x2)="(-?[\d.e+-]+)(%?)"')


def inside(svg: str, height: float) -> None:
    """Every element of `svg` lies inside its box: no negative size, nothing beyond 100 %."""
    for element in re.findall(r"<(?:svg|rect|line|text)\b[^>]*>", svg):
        found = {name: (float(value), unit) for name, value, unit in ATTRIBUTE.findall(element)}
        assert all(value >= 0 for value, _ in found.values()), element
        x, width = found.get("x", (0.0, "%")), found.get("width", (0.0, "%"))
        if x[1] == "%":
            assert x[0] + (width[0] if width[1] == "%" else 0) <= 100.011, element
        if found.get("height", (0, ""))[1] == "" and "tm__c" in element:
            assert found["y"][0] + found["height"][0] <= height + 0.01, element


@settings(max_examples=80, deadline=None)
@given(FAMILIES)
def test_every_box_of_any_treemap_lies_inside_it(sizes: list[list[int]]) -> None:
    families = [
        charts.Family(
            f"family {n}", [charts.Cell(f"t{m}", size, {"description": size}) for m, size in enumerate(each)]
        )
        for n, each in enumerate(sizes)
    ]
    svg = str(charts.treemap(families))
    assert bool(svg) == any(sizes)
    inside(svg, charts.HEIGHT)


FLOATS = st.floats(-1e6, 1e6)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.builds(charts.Mark, FLOATS, st.floats(0, 1e6), st.sampled_from(["req", "err", "note"]))),
    FLOATS,
)
def test_every_mark_lies_on_its_axis(found: list[charts.Mark], at: float) -> None:
    inside(str(charts.overview(found, 1000, (at, at + 500))), 47)
    for mark in found:
        inside(str(charts.waterfall(mark.at_ms / 10, mark.ms / 10, mark.cls)), 24)
    inside(str(charts.share_bar(at)) + str(charts.meter(at)), 24)
    inside(str(charts.part_bar({"description": 900, "other": 500}, 1000, 400)), 24)


def test_a_tool_whose_name_has_no_utf8_is_found_in_the_palette_and_leads_to_the_catalog(
    tmp_path: Path,
) -> None:
    tools = [{"name": "\ud800bad", "inputSchema": {"type": "object"}}]
    with console_of(tmp_path, {"odd": replayed(tmp_path, "odd", tools)}) as (console, client):
        (key,) = console.servers_file.all()
        console.connect(key)
        answer = client.get("/palette?q=bad", base_url=ORIGIN, headers=PARTIAL)
        assert answer.status_code == 200
        assert f'href="/catalog/{key}/tools"' in answer.text
        assert ">U+D800</span>bad" in answer.text


def test_names_of_any_length_cost_the_palette_no_more_than_their_share(tmp_path: Path) -> None:
    tools = [{"name": f"{at}{'<' * 200_000}", "inputSchema": {"type": "object"}} for at in range(20)]
    with console_of(tmp_path, {"odd": replayed(tmp_path, "odd", tools)}) as (console, client):
        (key,) = console.servers_file.all()
        console.connect(key)
        answer = client.get("/palette", query_string={"q": "<" * 5_000}, base_url=ORIGIN)
    assert answer.text.count(f'href="/catalog/{key}/tools"') == 20
    assert len(answer.text) < 400_000


def test_names_of_hidden_characters_cost_the_catalog_no_more_than_their_share(tmp_path: Path) -> None:
    tools = [{"name": f"{at}" + "a\u200b<" * 100, "inputSchema": {"type": "object"}} for at in range(200)]
    with console_of(tmp_path, {"odd": replayed(tmp_path, "odd", tools)}) as (console, client):
        (key,) = console.servers_file.all()
        console.connect(key)
        answer = client.get(f"/catalog/{key}/tools", base_url=ORIGIN)
    assert answer.text.count('<tr id="i') == 200
    assert len(answer.text) < 400_000


def test_recorded_fields_with_half_of_a_surrogate_pair_are_shown_under_every_tab(tmp_path: Path) -> None:
    with console_of(tmp_path, {}) as (console, client):
        seq = console.journal.emit(
            Event("error", 1, LOCAL, body={"message": "odd \ud800", "layer": "protocol"})
        )
        assert console.recorder.flush(20)
        for tab in ("explain", "raw", "pretty"):
            answer = client.get(f"/timeline?e={seq}&tab={tab}", base_url=ORIGIN)
            assert answer.status_code == 200, tab
            assert ">U+D800</span>" in answer.text, tab
