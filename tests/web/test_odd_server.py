"""A server that prints on stdout, raises in a tool and breaks an outputSchema: the same story on every screen."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from catalog_screen import ORIGIN, PARTIAL, WAIT_S, console_of, words
from flask.testing import FlaskClient

from inspector.console.calls import Call
from inspector.console.console import Console
from inspector.settings.spec import ServerSpec
from inspector.trace.filters import Filter
from inspector.web.frame import round_trip
from inspector.web.render import Fact

ODD = Path(__file__).resolve().parents[1] / "servers" / "odd.py"


@dataclass
class Odd:
    """The server `odd`, connected, and a signed-in browser."""

    console: Console
    client: FlaskClient

    def text(self, path: str, *, part: bool = False) -> str:
        answer = self.client.get(path, base_url=ORIGIN, headers=PARTIAL if part else {})
        assert answer.status_code == 200, answer.text
        return answer.text

    def call(self, tool: str, runs: int = 1) -> Call:
        call = self.console.call("odd", tool, "{}", runs=runs)
        call.future.result(WAIT_S)
        assert self.console.recorder.flush(WAIT_S)
        return call

    def last(self, t: str, kind: str | None = None) -> int:
        wanted = Filter(t=frozenset({t}), kind=frozenset({kind}) if kind else frozenset())
        with self.console.store() as store:
            return store.page(self.console.recorder.session, wanted, limit=1)[-1].seq


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Odd]:
    folder = tmp_path_factory.mktemp("odd")
    folder.chmod(0o700)
    spec = ServerSpec("odd", argv=(sys.executable, str(ODD)))
    with console_of(folder, {"odd": spec}) as (console, client):
        console.connect("odd")
        yield Odd(console, client)


def test_a_result_that_breaks_its_schema_is_ok_with_a_caution_everywhere(odd: Odd) -> None:
    errors = odd.text("/timeline?server=odd").count("frame--err")
    call = odd.call("breaks")
    shown = odd.text(f"/call/odd/result/{call.id}", part=True)
    assert '<span class="tag tag--warn">' in shown and "ok, output invalid" in words(shown)
    assert "unit is required" in words(shown) and "required property" not in shown
    recent = re.search(rf'id="past-{call.id}".*?</a>', shown, re.DOTALL)
    assert recent is not None and "is-warn" in recent[0] and "ok, output invalid" in recent[0]
    seq = odd.last("rpc", "result")
    page = odd.text("/timeline?server=odd")
    row = re.search(rf'<tr class="([^"]*)" id="e{seq}".*?</tr>', page, re.DOTALL)
    assert row is not None and "frame--warn" in row[1] and "output invalid" in row[0]
    assert page.count("frame--err") == errors  # a caution is not counted as an error
    explained = words(odd.text(f"/timeline/event/{seq}", part=True))
    assert "Output invalid" in explained and "/unit: unit is required" in explained


def test_a_series_counts_invalid_outputs_apart_from_what_failed(odd: Odd) -> None:
    call = odd.call("breaks", runs=3)
    shown = words(odd.text(f"/call/odd/result/{call.id}", part=True))
    assert "3 of 3 ok, output invalid" in shown and "Not ok 0" in shown


def test_a_tool_that_raised_points_at_the_stderr_of_this_call(odd: Odd) -> None:
    odd.call("wants")
    call = odd.call("raises")
    shown = words(odd.text(f"/call/odd/result/{call.id}", part=True))
    assert "Likely cause the tool raised an exception: see its stderr" in shown
    assert shown.index("Traceback (most recent call last)") > shown.index("Printed during the call")
    explained = odd.text(f"/timeline/event/{odd.last('rpc', 'result')}", part=True)
    causes = re.findall(r"<li><span>(.*?)</span></li>", explained)
    assert causes[0] == "the tool raised an exception: see its stderr"
    assert causes[-1] == "the arguments do not fit what the tool wants"
    assert "Stderr between request and answer" in explained
    assert explained.count("Traceback") == 1
    assert "    ┌──── after the traceback ────┐" in explained


def test_a_line_on_stdout_leads_from_the_health_to_its_remedy(odd: Odd) -> None:
    page = odd.text("/servers/odd")
    assert 'href="/timeline?server=odd&amp;kind=noise"' in page
    assert "the last: <code>booting</code>" in page
    seq = odd.last("noise")
    rows = odd.text("/timeline?server=odd&kind=noise")
    assert re.search(rf'id="e{seq}".*?<span class="frame__l">booting</span>.*?not a frame', rows, re.DOTALL)
    explained = words(odd.text(f"/timeline/event/{seq}", part=True))
    assert "What to do Print to stderr instead" in explained


def test_the_list_after_the_start_is_named_and_a_refresh_is_not(odd: Odd) -> None:
    odd.console.connect("odd")
    assert re.search(r"first list after the start, [\d.,]+ ms", odd.text("/catalog/odd/tools"))
    odd.console.refresh("odd", "tools")
    assert re.search(r">wire, [\d.,]+ ms", odd.text("/catalog/odd/tools"))


def test_the_round_trip_leaves_the_first_list_out_and_says_of_how_many_it_is() -> None:
    assert round_trip([2132.0], listed_first=True) is None
    assert round_trip([2132.0, 5.0, 7.0, 9.0], listed_first=True) == Fact(
        "RTT 7 ms", dim="p95 9 · 3 requests"
    )
    assert round_trip([5.0], listed_first=False) == Fact("RTT 5 ms", dim="1 request")
