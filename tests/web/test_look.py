"""The look, checked without a browser: contrast, no stray colours or styles, templates, icons, size, safe text."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest
from flask import Flask
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import nodes

from inspector.web import charts, render
from inspector.web.highlight import ansi, code_lines, visible

TEMPLATES = render.resource_dir("templates")
STATIC = render.resource_dir("static")
SHEETS = sorted((STATIC / "css").glob("*.css"))
PAGES = sorted(path.relative_to(TEMPLATES).as_posix() for path in TEMPLATES.rglob("*.html"))
HEX = re.compile(r"#[0-9a-fA-F]{3,8}\b")

SURFACES = ("bg", "surface", "sunken", "raised", "hover", "sel")
CODE = ("sunken", "surface", "errbg", "okbg")
TINTS = ("desct", "schemat", "outt", "annt", "namet", "metat")
INKS = ("text", "text2", "text3", "accent", "err", "warn", "ok")
FILLS = ("desc", "schema", "out", "ann", "name", "meta")
PAIRS = [
    *((ink, on, 4.5) for ink in INKS for on in SURFACES),
    *((ink, f"{ink}bg", 4.5) for ink in ("err", "warn", "ok")),
    ("onaccent", "accent", 4.5),
    *((ink, on, 4.5) for ink in ("jkey", "jstr", "jnum", "jkw") for on in CODE),
    *((fill, on, 3.0) for fill in FILLS for on in ("surface", "sunken", "hover", "sel")),
    *((ink, on, 4.5) for ink in ("text", "text2") for on in TINTS),
    *(("ctl", on, 3.0) for on in ("bg", "surface", "sunken", "raised")),
    *(("text", on, 4.5) for on in ("accentbg", "errbg", "warnbg", "okbg")),
    *((ink, "accentbg", 4.5) for ink in ("accent", "text2", "text3")),
    *((ink, "errbg", 4.5) for ink in ("warn", "text2")),
]


def blocks() -> list[dict[str, str]]:
    """The palette blocks of tokens.css in order: light, dark by system, dark by choice."""
    css = (STATIC / "css" / "tokens.css").read_text()
    found = [
        dict(re.findall(r"--(\w+):\s*(#[0-9a-f]{6});", block)) for block in re.findall(r"\{([^{}]*)\}", css)
    ]
    return [block for block in found if block]


def luminance(colour: str) -> float:
    """WCAG 2 relative luminance of `#rrggbb`."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_the_two_dark_blocks_are_the_same_and_name_what_the_light_one_names() -> None:
    light, by_system, by_choice = blocks()
    assert by_system == by_choice
    assert light.keys() == by_choice.keys()
    assert len(light) == 38


@pytest.mark.parametrize("theme", [0, 2], ids=["light", "dark"])
def test_every_pair_of_ink_and_paper_reaches_its_contrast(theme: int) -> None:
    palette = blocks()[theme]
    assert len(PAIRS) >= 111
    too_low = [(ink, on) for ink, on, bar in PAIRS if contrast(palette[ink], palette[on]) < bar]
    assert too_low == []


def test_the_worst_contrasts_are_those_of_the_design() -> None:
    light, _, dark = blocks()
    assert round(min(contrast(light["text3"], light[on]) for on in SURFACES), 2) == 4.84
    assert round(min(contrast(dark["text3"], dark[on]) for on in SURFACES), 2) == 4.72


def test_colours_are_written_only_in_the_three_palette_blocks() -> None:
    for sheet in SHEETS:
        css = re.sub(r"/\*.*?\*/", "", sheet.read_text(), flags=re.DOTALL)
        if sheet.name == "tokens.css":
            css = re.sub(r"--\w+:\s*#[0-9a-f]{6};", "", css)
        assert HEX.findall(css) == [], sheet.name
        assert not re.search(r"\b(rgb|hsl|oklch)a?\(", css), sheet.name


def test_every_custom_property_used_is_defined() -> None:
    css = "".join(sheet.read_text() for sheet in SHEETS)
    assert set(re.findall(r"var\((--[\w-]+)\)", css)) <= set(re.findall(r"(--[\w-]+):", css))


def test_nothing_is_smaller_than_eleven_pixels() -> None:
    css = "".join(sheet.read_text() for sheet in SHEETS)
    sizes = re.findall(r"font(?:-size)?:[^;]*?(\d+)px", css)
    assert min(map(int, sizes)) == 11


def test_scripts_and_styles_of_any_page_stay_under_150_kb() -> None:
    """The frame's files and what the page adds; a screen that is not open costs nothing."""
    base = (TEMPLATES / "base.html").read_text()
    frame = {STATIC / "css" / f"{name}.css" for name in ast.literal_eval(re.search(r"in (\[.*?\])", base)[1])}  # type: ignore[index]
    frame |= {STATIC / name for name in re.findall(r"filename='([\w/-]+\.js)'", base)}
    pages = [*TEMPLATES.rglob("*.html")]
    own = {
        page: {STATIC / name for name in re.findall(r"filename='([\w/-]+\.(?:js|css))'", page.read_text())}
        for page in pages
    }
    everything = {*SHEETS, *(STATIC / "js").glob("*.js"), *(STATIC / "vendor").glob("*.js")}
    assert frame.union(*own.values()) == everything, "a file no page loads"
    for page, more in own.items():
        assert sum(file.stat().st_size for file in frame | more) <= 150_000, page


@pytest.mark.parametrize("name", PAGES)
def test_a_template_declares_its_context_and_compiles(name: str, app: Flask) -> None:
    assert re.match(r"\{#-? Context: \S", (TEMPLATES / name).read_text()), "no context on the first line"
    app.jinja_env.get_template(name)


@pytest.mark.parametrize("name", PAGES)
def test_a_template_has_no_inline_style_script_or_unescaped_text(name: str) -> None:
    text = (TEMPLATES / name).read_text()
    assert not re.search(r"\sstyle\s*=|<style|\son[a-z]+\s*=\s*[\"']|hx-on|javascript:", text)
    assert not re.search(r"<script(?![^>]*\bsrc=)", text)
    assert not re.search(r"\|\s*safe\b|autoescape", text)
    assert not re.search(r"hx-vals=['\"]js:|hx-trigger=\"[^\"]*\[", text)


def test_every_icon_used_is_in_the_sprite(app: Flask) -> None:
    sprite = set(re.findall(r'id="i-([\w-]+)"', (TEMPLATES / "_icons.html").read_text()))
    used = set(re.findall(r'"(?:icon)": "([\w-]+)"', (TEMPLATES / "_macros.html").read_text()))
    for name in PAGES:
        tree = app.jinja_env.parse((TEMPLATES / name).read_text())
        for call in tree.find_all(nodes.Call):
            named = call.args[0] if call.args else None
            if (
                isinstance(call.node, nodes.Name)
                and call.node.name == "icon"
                and isinstance(named, nodes.Const)
            ):
                used.add(named.value)
            used |= {
                word.value.value
                for word in call.kwargs
                if word.key == "name" and isinstance(word.value, nodes.Const) and word.value.value
            }
    assert used - sprite == set()


@pytest.fixture(name="app")
def app_fixture() -> Flask:
    app = Flask(__name__, template_folder=str(TEMPLATES), static_folder=str(STATIC))
    render.install(app)
    return app


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (render.num(101572), "101,572"),
        (render.num(-5), "−5"),
        (render.num(None), ""),
        (render.size(999_999), "999,999\u00a0B"),
        (render.size(3_234_000), "3.2\u00a0MB"),
        (render.short_size(101_572), "102\u00a0kB"),
        (render.short_size(240), "0.2\u00a0kB"),
        (render.pct(0.10257), "10.3\u00a0%"),
        (render.pct(-0.87), "−87.0\u00a0%"),
        (render.ms(0.84), "0.8"),
        (render.ms(6.0), "6"),
        (render.ms(1480.4), "1,480"),
        (render.delta(1363), "+1,363"),
        (render.delta(-51554), "−51,554"),
        (render.delta(0), "0"),
        (render.duration(252.9), "4:12"),
        (render.duration(3723), "1:02:03"),
        (render.duration(-1), "0:00"),
    ],
)  # fmt: skip
def test_figures_are_written_as_the_look_says(shown: str, expected: str) -> None:
    assert shown == expected


def test_clocks_read_the_microseconds_of_the_event() -> None:
    from datetime import UTC

    at = 1_764_495_662_002_999
    assert (render.clock(at, UTC), render.time_of_day(at, UTC)) == ("41:02.002", "09:41:02")


def test_a_history_restore_gets_the_page_and_a_swap_a_part(app: Flask) -> None:
    for headers, part in (
        ({}, False),
        ({"HX-Request": "true", "HX-Request-Type": "full"}, False),
        ({"HX-Request-Type": "partial"}, True),
    ):
        with app.test_request_context(headers=headers):
            assert render.is_partial() == part


HOSTILE = "<script>alert(1)</script>\u202e\u200b\x1b[31m&\"'<hx-partial hx-target=body>\ud800"


def test_hostile_text_stays_text() -> None:
    html = str(visible(HOSTILE))
    assert "<script" not in html
    assert "<hx-" not in html
    assert "\u202e" not in html
    assert ">U+202E U+200B ␛<" in html
    html.encode()


def test_hostile_strings_in_json_stay_escaped_and_show_their_marks() -> None:
    text = json.dumps({HOSTILE: HOSTILE}, ensure_ascii=False)
    html = "".join(str(line.html) for line in code_lines(text).lines)
    assert re.findall(r"<(?!/?(?:span|details|summary|i)\b)", html) == []
    assert "U+202E</span>" not in html
    html.encode()


def test_escapes_of_invisible_characters_are_marked_as_written() -> None:
    (line,) = code_lines(r'"a\u202eb\nc\u00e9"').lines
    assert '<span class="mk" title="U+202E RIGHT-TO-LEFT OVERRIDE">\\u202e</span>' in line.html
    assert ">↵</span>" in line.html
    assert "c\\u00e9" in line.html


def test_tag_characters_are_read_out() -> None:
    assert "tags:hi" in visible("\U000e0068\U000e0069")


def test_number_lexemes_survive_layout() -> None:
    text = '{"a":12345678901234567890,"b":1.0,"c":1E+2,"d":-0,"a":1}'
    shown = "".join(line.html.striptags() for line in code_lines(text).lines)
    assert re.sub(r"\s", "", shown) == text


def test_small_containers_stay_on_one_line_and_large_ones_do_not() -> None:
    code = code_lines(
        '{"small":{"type":"string"},"large":{"a":"' + "x" * 40 + '","b":"' + "y" * 40 + '"},"empty":[]}'
    )
    assert [line.html.striptags() for line in code.lines] == [
        "{",
        '"small": {"type": "string"},',
        '"large": {',
        f'"a": "{"x" * 40}",',
        f'"b": "{"y" * 40}"',
        "},",
        '"empty": []',
        "}",
    ]


def test_lines_know_the_part_they_cost() -> None:
    code = code_lines(
        '{"description":"'
        + "d" * 100
        + '","inputSchema":{"type":"object","properties":{"a":{"type":"string"}}}}'
    )
    assert [(line.fill, line.cost) for line in code.lines[:2]] == [("oth", 0.9), ("desc", 100.0)]
    assert {line.fill for line in code.lines[2:-1]} == {"schema"}


def test_long_strings_fold_and_say_how_long_they_are() -> None:
    (line,) = code_lines('"' + "ab " * 1000 + '"').lines
    assert "<details" in line.html
    assert "all 3,002 B" in line.html


def test_lines_beyond_the_cap_are_counted() -> None:
    code = code_lines(json.dumps(list(range(1000))), cap=10)
    assert (len(code.lines), code.total, code.left_out) == (10, 1002, 992)


@pytest.mark.parametrize("text", ["", "not json", '{"a":', "[1,2}", "{]", "\x00", '{"a" 1} trailing \\'])
def test_what_is_no_json_is_shown_line_by_line(text: str) -> None:
    code = code_lines(text)
    assert not code.json
    assert code.total == 1


def test_nesting_deeper_than_the_recursion_limit_is_laid_out() -> None:
    assert code_lines("[" * 5000 + "]" * 5000, cap=10).json


HARD = ("<script", "</script>", "&lt;", '"', "'", "\x1b[31m", "\x1b]8;;", "\ud800", "\u202e", "{", '"a":')


@given(st.lists(st.text(max_size=8) | st.sampled_from(HARD), max_size=8).map("".join))
def test_any_text_can_be_shown(text: str) -> None:
    for html in (visible(text), ansi(text), *(line.html for line in code_lines(text).lines)):
        html.encode()
        assert "<script" not in html


LEAVES = st.none() | st.booleans() | st.integers() | st.text()


@given(st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_any_json_is_recognised(value: object) -> None:
    assert code_lines(json.dumps(value, ensure_ascii=False)).json


def test_ansi_colours_become_spans_and_other_sequences_go() -> None:
    assert str(ansi("\x1b[1;31mno\x1b[0m <b>\x1b[2K")) == '<span class="an-b an-1">no</span> &lt;b&gt;'


def test_boxes_of_a_treemap_fill_it_in_proportion() -> None:
    boxes = charts.squarify([60, 30, 10], charts.Box(0, 0, 100, 50))
    assert [round(box.width * box.height) for box in boxes] == [3000, 1500, 500]
    assert all(box.x + box.width <= 100.001 and box.y + box.height <= 50.001 for box in boxes)


def test_a_treemap_says_its_finding_and_escapes_names() -> None:
    cell = charts.Cell("<script>", 900, {"description": 800, "other": 100})
    html = str(
        charts.treemap([charts.Family("big", [cell]), charts.Family("small", [charts.Cell("b", 100, {})])])
    )
    assert 'aria-label="Treemap of 1,000 definition bytes: big takes 90%' in html
    assert "<script>" not in html
    assert 'class="t-desc"' in html


def test_a_treemap_gathers_what_does_not_fit() -> None:
    families = [
        charts.Family(f"f{n}", [charts.Cell(f"t{n}.{m}", 100 - m) for m in range(90)]) for n in range(30)
    ]
    html = str(charts.treemap(families))
    assert "17 more" in html
    assert "31 more" in html
    assert len(html) < 400_000


def test_an_empty_catalog_has_no_treemap() -> None:
    assert charts.treemap([]) == ""


def test_bars_and_marks_stay_inside_their_box() -> None:
    marks = [charts.Mark(990, 500, "req"), charts.Mark(1000, 0, "err")]
    html = str(charts.overview(marks, 1000, (0, 500)))
    for x, width in re.findall(r'x="([\d.]+)%"[^>]*? width="([\d.]+)%"', html):
        assert float(x) + float(width) <= 100.3
    assert "1 of them errors" in html


def test_an_axis_has_four_round_steps() -> None:
    assert [charts.span_of(ms) for ms in (1, 5, 31_000, 9_000)] == [4, 8, 40_000, 20_000]


def test_a_page_renders_with_nothing_known_yet(app: Flask) -> None:
    screens = [render.Screen("servers", "Servers", "/", "servers", 1)]
    with app.test_request_context("/"):
        html = app.jinja_env.get_template("page.html").render(shell=render.Shell("servers", screens))
    assert "not connected" in html
    assert 'id="say" role="status"' in html


def test_resources_are_found_beside_the_package_in_a_checkout() -> None:
    assert render.resource_dir("templates") == Path(render.__file__).parents[2] / "templates"
