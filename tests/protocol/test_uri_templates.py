"""RFC 6570: the examples of the RFC, what is malformed, and that any input gives our error or a bounded URI."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.errors import UsageError
from inspector.protocol import uri_templates as ut

VALUES: dict[str, Any] = {
    "count": ["one", "two", "three"], "dom": ["example", "com"], "dub": "me/too", "hello": "Hello World!",
    "half": "50%", "var": "value", "who": "fred", "base": "http://example.com/home/", "path": "/foo/bar",
    "list": ["red", "green", "blue"], "keys": {"semi": ";", "dot": ".", "comma": ","}, "v": "6", "x": "1024",
    "y": "768", "empty": "", "empty_keys": {},
}  # fmt: skip

# RFC 6570 sections 3.2.2 to 3.2.9; an undefined variable has no value.
EXAMPLES = [
    ("{var}", "value"), ("{hello}", "Hello%20World%21"), ("{half}", "50%25"), ("O{empty}X", "OX"),
    ("{x,hello,y}", "1024,Hello%20World%21,768"), ("?{x,empty}", "?1024,"), ("{var:3}", "val"),
    ("{var:30}", "value"), ("{list}", "red,green,blue"), ("{list*}", "red,green,blue"),
    ("{keys}", "semi,%3B,dot,.,comma,%2C"), ("{keys*}", "semi=%3B,dot=.,comma=%2C"),
    ("{+hello}", "Hello%20World!"), ("{+half}", "50%25"), ("{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"),
    ("{+base}index", "http://example.com/home/index"), ("here?ref={+path}", "here?ref=/foo/bar"),
    ("{+x,hello,y}", "1024,Hello%20World!,768"), ("{+path:6}here", "/foo/bhere"), ("{+keys*}", "semi=;,dot=.,comma=,"),
    ("{#var}", "#value"), ("{#x,hello,y}", "#1024,Hello%20World!,768"), ("{#path:6}here", "#/foo/bhere"),
    ("foo{#empty}", "foo#"), ("foo{#undef}", "foo"), ("{#keys}", "#semi,;,dot,.,comma,,"),
    ("{.who,who}", ".fred.fred"), ("{.half,who}", ".50%25.fred"), ("www{.dom*}", "www.example.com"),
    ("X{.list}", "X.red,green,blue"), ("X{.keys*}", "X.semi=%3B.dot=..comma=%2C"), ("X{.empty_keys}", "X"),
    ("{/who,dub}", "/fred/me%2Ftoo"), ("{/var,empty}", "/value/"), ("{/var,undef}", "/value"),
    ("{/var:1,var}", "/v/value"),
    ("{/list*,path:4}", "/red/green/blue/%2Ffoo"), ("{/keys*}", "/semi=%3B/dot=./comma=%2C"),
    ("{;half}", ";half=50%25"), ("{;empty}", ";empty"), ("{;v,empty,who}", ";v=6;empty;who=fred"),
    ("{;hello:5}", ";hello=Hello"), ("{;list*}", ";list=red;list=green;list=blue"),
    ("{;keys*}", ";semi=%3B;dot=.;comma=%2C"),
    ("{?x,y}", "?x=1024&y=768"), ("{?x,y,empty}", "?x=1024&y=768&empty="), ("{?x,y,undef}", "?x=1024&y=768"),
    ("{?list*}", "?list=red&list=green&list=blue"), ("{?keys}", "?keys=semi,%3B,dot,.,comma,%2C"),
    ("{?keys*}", "?semi=%3B&dot=.&comma=%2C"), ("?fixed=yes{&x}", "?fixed=yes&x=1024"), ("{&var:3}", "&var=val"),
    ("{&keys*}", "&semi=%3B&dot=.&comma=%2C"), ("é{var}%2f", "%C3%A9value%2f"),
]  # fmt: skip

MALFORMED = [
    "{", "}", "{}", "{a", "a}", "{{a}}", "{a}{a", "{a b}", "{a\n}", "{é}", "{a:}", "{a:0}", "{a:b}", "{a:-1}",
    "{a:10000}",
    "{a*:3}", "{a:3*}", "{a**}", "{*a}", "{a,}", "{,a}", "{?}", "{=a}", "{!a}", "{@a}", "{|a}", "{,,}", "{a..b}", "{a.}",
    "{..a}", "{%4}", "{a%}", "a b", "a<b", "%zz", "50%", "a\x00", "\ud800{a}", "{-a}", "{++a}",
]  # fmt: skip

URI_CHARS = re.compile(r"(?:%[0-9A-Fa-f]{2}|[A-Za-z0-9\-._~:/?#\[\]@!$&()*+,;='])*\Z")
NAME = st.from_regex(r"\A(?:[a-z0-9_]|%[0-9A-F]{2})(?:\.?[a-z0-9_]){0,4}\Z")
SPEC = st.builds("{}{}".format, NAME, st.sampled_from(["", "*", ":1", ":30", ":9999"]))
EXPRESSION = st.builds(
    lambda operator, specs: "{" + operator + ",".join(specs) + "}",
    st.sampled_from(["", *"+#./;?&"]),
    st.lists(SPEC, min_size=1, max_size=4),
)
LITERAL = st.text(st.sampled_from("ab/:.-~é€"), max_size=5)
WELL_FORMED = st.lists(EXPRESSION | LITERAL, max_size=6).map("".join)
ANY_TEXT = st.text(st.sampled_from("{}{}ab%4*:3,?&+#./; \n\0é\ud800"), max_size=30) | st.text(max_size=30)
TEXT = st.text(max_size=8) | st.integers(0, 70_000).map(lambda n: "€" * n)
VALUE = TEXT | st.lists(TEXT, max_size=3) | st.dictionaries(TEXT, TEXT, max_size=3)


def read(text: str) -> tuple[ut.Template | None, str]:
    """The template, or the sentence that says why it is none."""
    try:
        return ut.parse(text), ""
    except UsageError as problem:
        return None, problem.message


@pytest.mark.parametrize(("template", "uri"), EXAMPLES)
def test_the_examples_of_the_rfc_expand_as_it_says(template: str, uri: str) -> None:
    needed = {variable.name for variable in ut.parse(template).variables if variable.required}
    assert needed <= VALUES.keys()
    assert ut.parse(template).expand(VALUES) == uri


@pytest.mark.parametrize("template", MALFORMED)
def test_a_malformed_template_is_refused_with_the_place(template: str) -> None:
    with pytest.raises(UsageError, match="malformed") as caught:
        ut.parse(template)
    assert "by hand" in caught.value.remedy


def test_a_variable_is_required_where_its_absence_would_leave_a_hole() -> None:
    found = {
        one.name: one for one in ut.parse("r://{id}/{+path}{.ext}{/sub*}{;m}{?q,lang*}{&n}{#at}").variables
    }
    assert {name for name, one in found.items() if one.required} == {"id", "path"}
    assert {name for name, one in found.items() if one.many} == {"sub", "lang"}


def test_a_variable_used_twice_is_one_and_as_strict_as_its_strictest_place() -> None:
    (one,) = ut.parse("{?a}{a:3}{/a*}").variables
    assert (one.required, one.many, one.prefix, one.operators) == (True, False, 3, "?/")


def test_optional_variables_may_be_absent_and_required_ones_may_not() -> None:
    assert ut.parse("r://x{/path*}{?q*,n}").expand({}) == "r://x"
    with pytest.raises(UsageError, match="needs a value for “id”"):
        ut.parse("r://{id}{?q}").expand({"q": "1"})
    assert ut.parse("r://{id}").expand({"id": ""}) == "r://"


@pytest.mark.parametrize(
    "piece", ["{", "}", "{a", "{a}", "a", "{a,", "%41", "{%41", "{a.", "{a:9", "é", "{{a}}"]
)
def test_the_longest_template_of_any_pattern_is_settled(piece: str) -> None:
    text = (piece * ut.MOST_CHARS)[: ut.MOST_CHARS]
    template, problem = read(text)
    assert template is not None or problem.startswith("The URI template")
    with pytest.raises(UsageError, match="8,193 characters"):
        ut.parse(f"{text}a")


@given(ANY_TEXT)
@settings(max_examples=60)
def test_any_text_is_a_template_or_our_error(text: str) -> None:
    template, problem = read(text)
    if template is None:
        assert problem.startswith("The URI template")
        return
    assert template.text == text
    assert URI_CHARS.match(template.expand({one.name: "v" for one in template.variables}))


@given(WELL_FORMED, st.data())
@settings(max_examples=60)
def test_any_values_give_a_uri_within_the_cap_or_our_error(text: str, data: st.DataObject) -> None:
    template = ut.parse(text)
    values = {one.name: data.draw(VALUE) for one in template.variables}
    try:
        uri = template.expand(values)
    except UsageError:
        return
    assert len(uri) <= ut.MOST_URI
    assert URI_CHARS.match(uri)


@pytest.mark.parametrize("value", ["a" * 65_537, "€" * 10_000, ["a"] * 30_000 + ["b"] * 40_000])
def test_a_uri_beyond_the_cap_is_our_error(value: Any) -> None:
    with pytest.raises(UsageError, match="65,536 characters"):
        ut.parse("{v}").expand({"v": value})
