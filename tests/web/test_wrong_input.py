"""What a form or an address cannot mean is refused in a sentence, never answered as a fault of ours."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from html import unescape
from urllib.parse import urlencode

import pytest
from catalog_screen import ORIGIN, console_of
from flask.testing import FlaskClient

from inspector.console.console import Console
from inspector.doctor.step import Step
from inspector.settings.spec import ServerSpec
from inspector.web.doctor import Examination, Examinations

DIGITS = "9" * 5000
"""More than Python turns into a number."""
LARGE = "9" * 30
"""More than SQLite holds."""
HALF = "odd \ud800"
"""Half of a surrogate pair: JSON can spell it, UTF-8 cannot."""


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Console, FlaskClient]]:
    folder = tmp_path_factory.mktemp("wrong")
    folder.chmod(0o700)
    with console_of(folder, {"import": ServerSpec("import", argv=("nowhere",))}) as found:
        yield found


@pytest.fixture(scope="module")
def uploaded(desk: tuple[Console, FlaskClient]) -> dict[str, str]:
    """Side -> token of two catalogs whose texts hold HALF."""
    found = {}
    for side, words in (("a", "before"), ("b", "after")):
        tool = {"name": "odd", "description": f"{words} {HALF}", "inputSchema": {"type": "object"}}
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": [tool]}}).encode()
        answer = post(desk[1], "/compare/files", file=(io.BytesIO(line), "odd.jsonl"), side=side)
        assert answer.status_code == 303
        found[side] = answer.location.partition("=")[2]
    return found


def post(client: FlaskClient, path: str, **form: object):  # type: ignore[no-untyped-def]
    return client.post(path, base_url=ORIGIN, headers={"Origin": ORIGIN}, data=form)


def said(text: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", text)).split())


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"/lab/evaluate?bar={DIGITS}", 200),
        (f"/timeline/event/{LARGE}", 404), (f"/timeline/event/{LARGE}/raw", 404),
        (f"/catalog/import/tools/page/{DIGITS}", 404), (f"/lab/recorded/1/{LARGE}", 404),
        ("/timeline/event/999999999999999999/raw", 422), (f"/timeline?e={LARGE}&session={LARGE}", 200),
    ],
)  # fmt: skip
def test_a_number_in_an_address_is_bounded(desk: tuple[Console, FlaskClient], path: str, status: int) -> None:
    assert desk[1].get(path, base_url=ORIGIN).status_code == status


@pytest.mark.parametrize(
    ("path", "form", "status"),
    [
        (f"/traces/notes/{LARGE}", {"text": "x"}, 404),
        ("/traces/{session}/notes", {"text": "x", "seq": LARGE}, 422),
        ("/traces/retention", {"days": "1", "seen": DIGITS}, 303),
        ("/compare/files", {"file": (io.BytesIO(b"no list"), "x"), "side": "ab"}, 422),
        ("/traces/{session}/export/rule", {"kind": "pattern", "text": "("}, 422),
        ("/traces/{session}/export/range", {"first": "9", "last": "2"}, 422),
    ],
)
def test_a_form_that_means_nothing_is_refused(
    desk: tuple[Console, FlaskClient], path: str, form: dict[str, object], status: int
) -> None:
    console, client = desk
    answer = post(client, path.format(session=console.recorder.session), **form)
    assert answer.status_code == status, said(answer.text)


def test_a_side_is_one_letter(desk: tuple[Console, FlaskClient], uploaded: dict[str, str]) -> None:
    tool = b'{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}'
    answer = post(desk[1], "/compare/files", file=(io.BytesIO(tool), "x.jsonl"), side="ab", a=uploaded["a"])
    assert answer.status_code == 303
    assert re.fullmatch(r"/compare\?a=file:\w+\.0&b=file:\w+\.0", answer.location)


def test_a_choice_of_the_lab_that_is_no_json_is_refused_where_it_was_made(
    desk: tuple[Console, FlaskClient], uploaded: dict[str, str]
) -> None:
    query = urlencode({"catalog": uploaded["a"], "task": "x"})
    for wrong in ("garbage", "[" * 100_000):
        answer = post(desk[1], f"/lab/step?{query}", choice=wrong)
        assert answer.status_code == 422
        assert "A choice of this run is no JSON" in said(answer.text)


def test_a_report_spells_what_has_no_utf8_as_json_does(
    desk: tuple[Console, FlaskClient], uploaded: dict[str, str]
) -> None:
    client = desk[1]
    for form in ("md", "json", "html"):
        found = client.get(f"/compare/report.{form}?{urlencode(uploaded)}", base_url=ORIGIN)
        assert found.status_code == 200
        assert found.headers["Content-Disposition"] == f'attachment; filename="compare.{form}"'
    report = client.get(f"/compare/report.json?{urlencode(uploaded)}", base_url=ORIGIN).data
    assert HALF in json.dumps(json.loads(report), ensure_ascii=False)
    query = urlencode({"catalog": uploaded["a"], "task": "x"})
    for form in ("md", "json"):
        assert client.get(f"/lab/report.{form}?{query}", base_url=ORIGIN).status_code == 200


def test_a_server_may_be_called_like_a_page(desk: tuple[Console, FlaskClient]) -> None:
    page = desk[1].get("/servers/import", base_url=ORIGIN)
    assert page.status_code == 200 and "nowhere" in said(page.text)


def test_an_address_says_which_methods_it_takes(desk: tuple[Console, FlaskClient]) -> None:
    client = desk[1]
    asked = client.get("/lab/step", base_url=ORIGIN)
    assert set(asked.headers["Allow"].split(", ")) == {"POST", "OPTIONS"}
    refused = client.delete("/servers", base_url=ORIGIN, headers={"Origin": ORIGIN})
    assert (refused.status_code, set(refused.headers["Allow"].split(", "))) == (
        405,
        {"GET", "HEAD", "OPTIONS"},
    )


def test_an_examination_that_breaks_off_is_not_called_well(desk: tuple[Console, FlaskClient]) -> None:
    client = desk[1]

    def breaks() -> Iterator[Step]:
        yield Step("first", True, "fine")
        raise RuntimeError("a fault of ours")

    kept = client.application.extensions.setdefault("doctor", Examinations())
    found = kept.begin("import", probe=False)
    assert isinstance(found, Examination)
    assert kept.begin("import", probe=False) is None, "sent twice, begun once"
    found.run(breaks())
    page = said(client.get("/servers/import/doctor", base_url=ORIGIN).text)
    assert "broke off" in page and "this is our own fault" in page and "nothing wrong" not in page
    stopped = kept.begin("import", probe=False)
    assert stopped is not None
    stopped.cancelled = stopped.done = True
    page = said(client.get("/servers/import/doctor", base_url=ORIGIN).text)
    assert "stopped before its end" in page and "nothing wrong" not in page
