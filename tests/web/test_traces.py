"""The Traces screen over a real console: opening, notes, export, deleting, and an opened file on every other screen."""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from test_timeline import PORT, Page, connected, line
from werkzeug.test import TestResponse

from inspector.console.console import Console
from inspector.settings.paths import Paths
from inspector.trace.imported import Lines, Misfit
from inspector.trace.store import Session

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "trace"))

import opened

SHIPPED = Path(__file__).resolve().parents[2] / "traces"
SECRET = "ghp_" + "k3Vh81xQzR7uWm2TfYb9LpNe4sDc6JaG5oKi"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with Console(Paths.locate(tmp_path_factory.mktemp("console"))) as console:
        yield Page(console)


def post(page: Page, path: str, *, part: bool = False, **form: Any) -> TestResponse:
    headers = {"Origin": f"http://127.0.0.1:{PORT}"} | ({"HX-Request-Type": "partial"} if part else {})
    return page.client.post(path, base_url=f"http://127.0.0.1:{PORT}", headers=headers, data=form)


def until(found: Callable[[], Any]) -> Any:
    """What `found` gives once it is not None; a minute at most."""
    for _ in range(600):
        if (value := found()) is not None:
            return value
        time.sleep(0.1)
    raise AssertionError("it never came")


def upload(page: Page, name: str, content: bytes) -> int:
    """Open a file as the form does; its session."""
    answer = post(page, "/traces/open", file=(io.BytesIO(content), name))
    assert answer.status_code == 303, answer.text
    token = answer.headers["Location"].rpartition("/")[2]

    def session() -> int | None:
        if "/timeline" in answer.headers["Location"]:
            return int(answer.headers["Location"].rpartition("=")[2])
        job = page.console.recordings.job(token)
        assert job is not None
        return job.session() if job.done else None

    return int(until(session))


def made(
    page: Page, tmp_path: Path, events: list[Any], name: str = "made.mcptrace.jsonl", **options: Any
) -> int:
    return upload(page, name, opened.write(tmp_path / name, events, **options).read_bytes())


@pytest.fixture(scope="module")
def git(page: Page) -> int:
    return upload(page, "git-modern.mcptrace.jsonl", (SHIPPED / "git-modern.mcptrace.jsonl").read_bytes())


def sessions(page: Page) -> dict[int, Session]:
    with page.console.store() as store:
        return {each.id: each for each in store.sessions()}


def test_an_opened_file_is_on_the_same_screens_as_a_live_server_and_nothing_can_be_asked_of_it(
    page: Page, git: int
) -> None:
    timeline = page.get(f"/timeline?session={git}")
    assert ">recording</a>" in timeline and "hx-ws:connect" not in timeline
    assert 'id="e17"' in timeline
    catalog = page.get(f"/catalog/~{git}.1/tools")
    assert ">recording</a>" in catalog and "6,242" in catalog and "read from the file git-modern" in catalog
    assert "It was redacted" in catalog
    assert "Refresh" not in catalog and 'data-act="call"' not in catalog
    detail = page.get(f"/catalog/~{git}.1/tools?tool=git_log")
    assert 'data-act="call"' not in detail
    compare = page.get("/compare")
    assert f'value="~{git}.1"' in compare
    for path in (f"/call/~{git}.1", f"/servers/~{git}.1"):
        assert page.ask(path).status_code in (404, 422)
    refused = post(page, f"/catalog/~{git}.1/tools/refresh")
    assert refused.status_code in (422, 502)
    assert all(server.key[0] != "~" for server in page.console.servers())


def test_what_sent_a_frame_of_a_file_is_called_the_client_and_not_loupe(page: Page, git: int) -> None:
    pane = page.get(f"/timeline?session={git}&e=10", part=True)
    assert "<dt>Sent by</dt><dd>the client</dd>" in pane


def test_the_page_of_a_file_says_what_its_checksum_proves_and_what_was_hidden(page: Page, git: int) -> None:
    html = page.get(f"/traces/{git}")
    assert "It is whole: its checksum matches what it holds." in html
    assert "It does not prove who made the file" in html
    assert "6 places" in html and "mcp-loupe 0.1.0, as it says" in html


def test_an_incomplete_file_opens_and_is_marked_everywhere(page: Page, tmp_path: Path) -> None:
    session = made(page, tmp_path, opened.exchange(), "cut.mcptrace.jsonl", whole=False)
    assert "breaks off without its last line" in page.get(f"/timeline?session={session}")
    assert ">incomplete</span>" in page.get("/traces")
    assert "It has no last line" in page.get(f"/traces/{session}")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"hello\n", "is not JSON"),
        (b"", "is not an MCP trace"),
        (json.dumps(opened.HEADER | {"v": 2}).encode() + b"\n", "made by a newer version"),
        (
            gzip.compress(json.dumps(opened.HEADER).encode() + b"\n" + b" " * (30 << 20)),
            "packed more than 100 to 1",
        ),
    ],
    ids=["text", "empty", "newer", "bomb"],
)
def test_a_file_that_is_refused_is_refused_in_one_sentence_and_leaves_nothing(
    page: Page, content: bytes, sentence: str
) -> None:
    before = sessions(page).keys()
    answer = post(page, "/traces/open", file=(io.BytesIO(content), "bad <b>.jsonl"))
    if answer.status_code == 303:
        shown = until(
            lambda: html if "Reading the file" not in (html := page.ask(answer.location).text) else None
        )
    else:
        assert answer.status_code == 422
        shown = answer.text
    assert sentence in shown and "bad &lt;b&gt;.jsonl" in shown
    assert str(page.console.paths.data) not in shown
    assert sessions(page).keys() == before
    until(lambda: True if not list((page.console.paths.data / "incoming").iterdir()) else None)


def test_a_note_is_pinned_changed_listed_and_taken_away(page: Page, git: int) -> None:
    pane = post(page, f"/traces/{git}/notes", part=True, seq="10", text="why <i>twice</i>?", back="/")
    assert "why &lt;i&gt;twice&lt;/i&gt;?" in pane.text and 'hx-target="#e10 .frame__l"' in pane.text
    assert pinned(page, git) == [10]
    with page.console.store() as store:
        (note,) = store.notes(git)
    post(page, f"/traces/notes/{note.id}", part=True, text="because", back="/")
    assert "because" in page.get(f"/traces/{git}") and "because" in page.get(f"/timeline?session={git}&e=10")
    back = post(page, f"/traces/notes/{note.id}", delete="1", back="//evil.example/")
    assert back.status_code == 303 and back.location.startswith("/timeline")
    with page.console.store() as store:
        assert store.notes(git) == []
    assert pinned(page, git) == []
    assert post(page, f"/traces/{git}/notes", part=True, seq="99", text="x").status_code == 422


def pinned(page: Page, session: int) -> list[int]:
    """The rows of the timeline that say they carry a note."""
    rows = page.get(f"/timeline?session={session}").split('<tr class="frame')[1:]
    return [int(row.partition('id="e')[2].partition('"')[0]) for row in rows if "note pinned" in row]


def test_an_export_begins_and_ends_at_events_that_are_looked_at(page: Page, git: int) -> None:
    def ends(seq: object, edge: str) -> str:
        answer = post(page, f"/traces/{git}/export/edge", seq=seq, edge=edge)
        assert answer.status_code == 303
        span = page.console.exports.plan(git, page.console.secrets).span
        return f"{span.first}-{min(span.last, 999)}"

    assert f'action="/traces/{git}/export/edge"' in page.get(f"/timeline?session={git}&e=4")
    assert ends(4, "first") == "4-999"
    assert ends(8, "last") == "4-8"
    assert ends(6, "first") == "6-8"
    assert ends(9, "first") == "9-999", "an end before the beginning cannot stay"
    assert ends(3, "last") == "3-3"
    assert post(page, f"/traces/{git}/export/edge", seq="99999", edge="first").status_code == 422
    assert post(page, f"/traces/{git}/export/edge", seq="x", edge="last").status_code == 422
    post(page, f"/traces/{git}/export/range", first="", last="")


def test_two_recordings_lead_to_their_difference(page: Page, git: int) -> None:
    assert f'href="/replay/diff?b={git}"' in page.get(f"/traces/{git}")
    newest = max(sessions(page))
    assert re.search(rf'href="/replay/diff\?a=\d+&amp;b={newest}"', page.get("/traces"))


def export(page: Page, session: int, form: str) -> bytes:
    """The file as a person downloads it."""
    until(lambda: True if f'id="format-{form}">' in page.ask(f"/traces/{session}/export").text else None)
    post(page, f"/traces/{session}/export/file", format=form)
    found = until(
        lambda: re.search(r'id="download" href="([^"]+)"', page.ask(f"/traces/{session}/export").text)
    )
    with page.ask(found[1]) as answer:
        assert answer.status_code == 200 and "attachment" in answer.headers["Content-Disposition"]
        return bytes(answer.data)


def planted(page: Page, tmp_path: Path) -> int:
    params = {"name": "status", "arguments": {"token": SECRET, "q": "orchid"}}
    events = [
        *opened.exchange(),
        opened.request(6, params=params),
        opened.event(7, "stderr", data="orchid", enc="utf8"),
    ]
    return made(page, tmp_path, events, "planted.mcptrace.jsonl")


def test_an_export_shows_what_it_hides_and_then_hides_it(page: Page, tmp_path: Path) -> None:
    session = planted(page, tmp_path)
    kept = post(page, f"/traces/{session}/describe", title=f"my {SECRET}", note="orchid")
    assert "Saved." in page.get(kept.headers["Location"]) and "Saved." not in page.get(f"/traces/{session}")
    post(page, f"/traces/{session}/notes", seq="6", text=f"here is {SECRET}")
    html = until(
        lambda: text if "will be replaced" in (text := page.get(f"/traces/{session}/export")) else None
    )
    assert "/params/arguments/token" in html and SECRET not in html.partition("What is hidden")[2]
    post(page, f"/traces/{session}/export/rule", kind="text", text="orchid")
    for form in ("trace", "gz", "html", "har", "otlp", "otlp-contents"):
        content = export(page, session, form)
        plain = gzip.decompress(content) if form == "gz" else content
        assert SECRET.encode() not in plain and b"orchid" not in plain, form
        assert (b"gen_ai.tool.call.arguments" in plain) == (form == "otlp-contents"), form
    lines = [json.loads(line) for line in export(page, session, "trace").splitlines()]
    assert lines[0]["redaction"]["reviewed"] is True and lines[0]["title"].startswith("my [redacted:")
    assert (
        lines[-2]["t"] == "note"
        and lines[-2]["pair"] == 6
        and lines[-2]["text"].startswith("here is [redacted:")
    )
    again = upload(page, "again.jsonl", export(page, session, "trace"))
    assert "It is whole" in page.get(f"/traces/{again}")
    assert "here is [redacted:" in page.get(f"/timeline?session={again}&e=6")
    assert pinned(page, again) == [6]
    rows = page.get(f"/timeline?session={again}")
    assert re.search(r"tools/call status</b> \[redacted:R\d:\d\], \[redacted:T1:\d\]", rows), (
        "a frame that redaction made shorter is whole"
    )


def test_a_rule_is_switched_off_and_nothing_is_left_unhidden_without_a_yes(
    page: Page, tmp_path: Path
) -> None:
    session = planted(page, tmp_path)
    for rule in ("R2", "R6"):
        post(page, f"/traces/{session}/export/switch", rule=rule, to="off")
    assert SECRET.encode() in export(page, session, "trace")
    for rule in ("R2", "R6"):
        post(page, f"/traces/{session}/export/switch", rule=rule, to="on")
    assert SECRET.encode() not in export(page, session, "trace")
    assert post(page, f"/traces/{session}/export/redact", to="off").status_code == 422
    assert SECRET.encode() not in export(page, session, "trace")
    post(page, f"/traces/{session}/export/redact", to="off", sure="yes")
    assert "the file will hold every secret" in page.get(f"/traces/{session}/export")
    assert SECRET.encode() in export(page, session, "trace")


def test_what_is_recorded_after_the_preview_is_not_in_the_export(page: Page) -> None:
    current = page.console.recorder.session
    page.emit(connected(1), line("before"))
    until(lambda: True if 'id="format-trace">' in page.ask(f"/traces/{current}/export").text else None)
    page.emit(line("after"))
    content = export(page, current, "trace")
    assert b"before" in content and b"after" not in content


def test_wrong_rules_and_ranges_are_told_in_the_page(page: Page, git: int) -> None:
    for path, form, sentence in [
        ("rule", {"kind": "pattern", "text": "(" }, "no regular expression"),
        ("rule", {"kind": "text", "text": ""}, "The rule is empty"),
        ("range", {"first": "9", "last": "3"}, "no part of"),
        ("range", {"first": "x", "last": ""}, "not made of event numbers"),
    ]:  # fmt: skip
        assert sentence in post(page, f"/traces/{git}/export/{path}", part=True, **form).text
    post(page, f"/traces/{git}/export/range", first="10", last="11")
    assert (
        len(export(page, git, "trace").splitlines()) == 2 + 2 + 2
    )  # header, who it is twice, the pair, trailer
    post(page, f"/traces/{git}/export/range", first="", last="")
    assert export(page, git, "trace") != b""


def test_deleting_asks_first_takes_all_of_it_and_never_the_recording_being_made(
    page: Page, tmp_path: Path
) -> None:
    session = made(page, tmp_path, opened.exchange(), "gone.mcptrace.jsonl")
    page.get(f"/catalog/~{session}.1/tools")
    assert post(page, f"/traces/{session}/delete").status_code == 422
    assert session in sessions(page)
    assert post(page, f"/traces/{session}/delete", sure="yes").status_code == 303
    assert session not in sessions(page)
    assert page.ask(f"/traces/{session}").status_code == 404
    assert page.ask(f"/catalog/~{session}.1/tools").status_code == 422

    def left() -> bool | None:
        with page.console.store() as store:
            return True if store.last_seq(session) == 0 and store.unfinished() == [] else None

    until(left)
    current = page.console.recorder.session
    assert post(page, f"/traces/{current}/delete", sure="yes").status_code == 422
    assert current in sessions(page)


def test_retention_shows_what_it_deletes_and_deletes_no_more_than_was_shown(
    page: Page, tmp_path: Path
) -> None:
    events = [opened.introduced(), opened.event(2, "stderr", data="x" * 1_100_000, enc="utf8")]
    job = page.console.recordings.open(opened.write(tmp_path / "large.mcptrace.jsonl", events), "large")
    session = job.future.result(60)
    html = page.get("/traces/retention?days=&megabytes=1")
    seen = re.findall(r'name="seen" value="(\d+)"', html)
    assert str(session) in seen
    assert page.console.recordings.retention().off
    assert post(page, "/traces/retention", days="", megabytes="1").status_code == 422
    assert sessions(page).keys() >= set(map(int, seen))
    assert post(page, "/traces/retention", days="", megabytes="1", seen=seen).status_code == 303
    assert not sessions(page).keys() & set(map(int, seen))
    assert "at most 1 MB" in page.get("/traces")
    assert post(page, "/traces/retention", days="0", megabytes="").status_code == 422
    post(page, "/traces/retention", days="", megabytes="")


ODD: list[Any] = [
    None,
    True,
    -1,
    2**70,
    1e300,
    "",
    "\u202e<script>x</script>",
    "A" * 5000,
    [],
    [1],
    {},
    {"a": {}},
    [[]],
]
FIELDS = {
    "rpc": ("kind", "method", "id", "ms", "tool_error", "eol", "http", "sse", "cut", "full_bytes"),
    "http": ("phase", "method", "url", "status", "reason", "headers", "sse", "bytes", "body", "version", "aborted"),
    "proc": ("what", "pid", "code", "signal", "expected", "argv"),
    "error": ("origin", "code", "class", "message", "remedy", "explain", "pair"),
    "connection": ("label", "transport", "target", "era", "protocol_version", "server_info", "client_capabilities"),
    "catalog": ("what", "pages", "count"), "cache": ("key", "verdict", "why"), "lab": ("run",),
    "note": ("text", "pair"), "hologram": ("what", "data"),
}  # fmt: skip
PLAIN: dict[str, dict[str, Any]] = {
    "rpc": {"kind": "result", "raw": "{}", "bytes": 2, "pair": 1},
    "http": {"phase": "response", "pair": 1, "status": 500},
    "proc": {"what": "exited"}, "error": {"message": "m"}, "catalog": {"what": "tools", "pages": [], "count": 0},
}  # fmt: skip


def test_whatever_the_fields_of_a_file_hold_every_screen_renders(page: Page, tmp_path: Path) -> None:
    lines, events = Lines(), [opened.introduced()]
    for t, names in FIELDS.items():
        for name in names:
            for value in ODD:
                one = opened.event(len(events) + 1, t) | PLAIN.get(t, {}) | {name: value}
                try:
                    lines.event(one)
                except Misfit:
                    continue
                events.append(one)
    assert len(events) > 200
    session = made(page, tmp_path, events, "odd.mcptrace.jsonl")
    for before in range(200, len(events) + 200, 200):
        page.get(f"/timeline?session={session}&before={before + 1}")
    for tab, step in (("explain", 4), ("pretty", 11), ("headers", 7)):
        for seq in range(1, len(events) + 1, step):
            assert "<script>x" not in page.get(f"/timeline?session={session}&e={seq}&tab={tab}", part=True)
    for path in (f"/traces/{session}", f"/catalog/~{session}.1/tools", "/traces", "/compare"):
        page.get(path)


def test_the_list_is_ordered_by_the_column_that_says_so_and_by_any_other_on_request(
    page: Page, tmp_path: Path
) -> None:
    """A file is added when it is opened, however long ago it was recorded."""
    made(page, tmp_path, opened.exchange(), name="old.mcptrace.jsonl")

    def listed(query: str = "") -> list[int]:
        return [int(id) for id in re.findall(r'id="trace-(\d+)"', page.get(f"/traces{query}"))]

    known = sessions(page)
    assert listed() == sorted(known, reverse=True)
    assert listed("?rising=1") == sorted(known)
    by_time = sorted(known, key=lambda id: (known[id].wall0_us, id), reverse=True)
    assert listed("?by=recorded") == by_time
    assert listed("?by=events&rising=1") == sorted(known, key=lambda id: (known[id].events, id))
    assert listed("?by=<script>&at=x") == sorted(known, reverse=True)
    assert listed("?at=1") == sorted(known, reverse=True)[1:]
    html = page.get("/traces?by=recorded")
    assert html.count("aria-sort=") == 1 and ">Recorded ↓</a>" in html
    assert 'href="/traces?by=recorded&amp;rising=1"' in html and 'href="/traces"' in html
