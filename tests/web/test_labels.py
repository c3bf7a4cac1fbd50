"""What servers are called: names, what tells those of one name apart, and two letters where there is no room."""

from __future__ import annotations

from dataclasses import dataclass

from inspector.settings.spec import STREAMABLE_HTTP, ServerSpec
from inspector.web.labels import labels, marks, mid


@dataclass(frozen=True)
class Entry:
    key: str
    spec: ServerSpec


def url(key: str, address: str) -> Entry:
    return Entry(key, ServerSpec("127.0.0.1:8778", transport=STREAMABLE_HTTP, url=address))


def command(key: str, name: str) -> Entry:
    return Entry(key, ServerSpec(name, argv=("python", f"{name}.py")))


def test_a_name_of_its_own_stays_as_it_is() -> None:
    assert labels([command("billing", "billing"), url("local", "http://127.0.0.1:8778/mcp")]) == {
        "billing": "billing",
        "local": "127.0.0.1:8778",
    }


def test_urls_of_one_name_are_told_apart_by_their_paths() -> None:
    found = labels([url("a", "http://127.0.0.1:8778/mcp"), url("b", "http://127.0.0.1:8778/sse")])
    assert found == {"a": "127.0.0.1:8778/mcp", "b": "127.0.0.1:8778/sse"}


def test_what_nothing_else_tells_apart_has_the_number_of_its_key() -> None:
    found = labels([command("crash", "crash"), command("crash-2", "crash"), command("crash-3", "crash")])
    assert found == {"crash": "crash #1", "crash-2": "crash #2", "crash-3": "crash #3"}
    same = labels([url("local", "http://127.0.0.1:8778/mcp"), url("local-2", "http://127.0.0.1:8778/mcp")])
    assert same == {"local": "127.0.0.1:8778/mcp #1", "local-2": "127.0.0.1:8778/mcp #2"}


def test_no_two_marks_are_alike() -> None:
    named = {f"crash-{n}": f"crash #{n}" for n in range(1, 5)} | {"chaos": "demo:chaos", "flat": "demo:flat"}
    found = marks(named)
    assert len(set(found.values())) == len(named)
    assert (found["crash-1"], found["crash-2"], found["flat"]) == ("C", "C2", "F")


def test_a_long_name_keeps_its_end_and_a_short_one_stays_whole() -> None:
    assert mid("demo:flat") == "demo:flat"
    assert mid("127.0.0.1:8779/other/mcp") == (
        '<span class="mid"><span>127.0.0.1:8779/</span><span>other/mcp</span></span>'
    )


def test_a_name_is_text() -> None:
    assert "<b>" not in mid("<b>a server of a long name</b>")
