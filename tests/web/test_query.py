"""Timeline URLs: what they ask for, the links that keep it, and the same answer live as from the database."""

from __future__ import annotations

import pytest
from werkzeug.datastructures import MultiDict

from inspector.trace.filters import Filter
from inspector.trace.store import Connection
from inspector.web.query import KINDS, lets_through, read, sides
from inspector.wire.events import C2S, LOCAL, S2C, Event


def connection(c: int, key: str, label: str = "") -> Connection:
    return Connection(1, c, label or key, key, "stdio", None, None, None, None, None)


def test_an_empty_url_asks_for_everything_now() -> None:
    query = read(MultiDict(), 7)
    assert (query.session, query.wanted, query.state) == (7, Filter(), ())
    assert query.link("/timeline") == "/timeline"


def test_all_chips_on_is_no_filter() -> None:
    query = read(MultiDict([("kind", kind.name) for kind in KINDS]), 1)
    assert (query.wanted.t, query.state) == (frozenset(), ())


def test_the_filter_is_read_and_kept_in_links() -> None:
    args = MultiDict(
        [
            ("server", "a"),
            ("kind", "process"),
            ("dir", "s2c"),
            ("method", " tools "),
            ("q", "x y"),
            ("errors", "1"),
        ]
    )
    query = read(args, 1)
    assert query.wanted == Filter(
        t=frozenset({"proc", "connection"}), dir="s2c", method="tools", text="x y", errors_only=True
    )
    assert query.link("/t", ("e", 5), ("tab", None)) == (
        "/t?server=a&kind=process&dir=s2c&method=+tools+&q=x+y&errors=1&e=5"
    )


@pytest.mark.parametrize("text", ["", "-1", "x", "9" * 30, "٣"])
def test_a_number_that_is_none_counts_as_not_said(text: str) -> None:
    assert read(MultiDict({"session": text}), 3).session == 3


def test_an_earlier_recording_stays_in_every_link() -> None:
    assert read(MultiDict({"session": "2"}), 3).link("/t") == "/t?session=2"
    assert read(MultiDict({"session": "3"}), 3).link("/t") == "/t"


def test_a_server_is_all_of_its_connections() -> None:
    known = [connection(1, "a"), connection(2, "b"), connection(3, "a")]
    assert read(MultiDict({"server": "a"}), 1).of(known).c == (1, 3)
    assert read(MultiDict({"server": "z"}), 1).of(known).c == (-1,)
    assert read(MultiDict(), 1).of(known).c is None


def test_every_server_has_a_letter_of_its_own() -> None:
    known = [connection(1, "a", "demo:flat"), connection(2, "b", "fast"), connection(3, "a", "demo:flat")]
    assert sides(known) == {1: ("F", False), 2: ("A", True), 3: ("F", False)}


@pytest.mark.parametrize(
    ("wanted", "passes"),
    [
        (Filter(), True),
        (Filter(t=frozenset({"rpc"})), True),
        (Filter(t=frozenset({"http"})), False),
        (Filter(dir=C2S), False),
        (Filter(method="TOOLS"), True),
        (Filter(method="prompts"), False),
        (Filter(text="GRÜN"), False),
        (Filter(text="grün"), True),
        (Filter(text="Oops"), True),
        (Filter(text="TRUE"), True),
        (Filter(text="absent"), False),
        (Filter(errors_only=True), True),
        (Filter(cause="user"), False),
    ],
)
def test_an_announced_event_passes_when_the_database_would_give_it(wanted: Filter, passes: bool) -> None:
    raw = '{"result":{"text":"oops \\u0067rün"}}'.replace("\\u0067", "g").encode()
    event = Event("rpc", 1, S2C, {"tool_error": True}, raw, "result", "tools/call")
    assert lets_through(wanted)(event) is passes


def test_an_event_without_bytes_is_searched_in_its_fields() -> None:
    event = Event("proc", 1, LOCAL, {"what": "exited", "signal": "SIGSEGV"})
    assert lets_through(Filter(text="sigsegv"))(event)
