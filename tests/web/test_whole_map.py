"""Promises of docs/security.md that every address keeps, of every screen there is: the map itself is walked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from catalog_screen import ORIGIN
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from inspector.console.console import Console
from inspector.settings.paths import Paths
from inspector.web.app import create_app
from inspector.web.apps import FRAME_CSP
from inspector.web.guard import CALLBACK, CSP, PUBLIC, SECRET, Guard

FILLED = {"path": "css/tokens.css", "int": "1"}
UP = "..%2f..%2f..%2f..%2fetc%2fpasswd"
NAVIGATION = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


class Map:
    """The whole application over an empty console, and how a request with any headers is answered."""

    def __init__(self, console: Console) -> None:
        self.guard = Guard(6280)
        self.app = create_app(console, self.guard)
        self.app.load()
        self.stranger = self.app.test_client()
        self.known = self.app.test_client()
        self.known.get("/login", query_string={"token": self.guard.mint()}, base_url=ORIGIN)

    def addresses(self, value: str = "x") -> list[tuple[str, str, str]]:
        """(endpoint, method, path) of every rule, each variable filled with `value` where it can hold it."""

        def fill(found: re.Match[str]) -> str:
            kind, _, _ = found[1].rpartition(":")
            options = re.match(r"any\((\w+)", kind)
            if kind == "int" and value.isdecimal():
                return value
            return options[1] if options else FILLED.get(kind, value)

        return [
            (rule.endpoint, method, re.sub(r"<([^>]+)>", fill, rule.rule))
            for rule in self.app.url_map.iter_rules()
            for method in sorted(rule.methods or ())
        ]

    def ask(self, client: FlaskClient, method: str, path: str, **headers: Any) -> TestResponse:
        base = headers.pop("base", ORIGIN)
        return client.open(path, method=method, base_url=base, headers=headers, buffered=True)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Map]:
    with Console(Paths.locate(tmp_path_factory.mktemp("map")).ensure()) as console:
        yield Map(console)


def test_no_address_answers_without_a_cookie(whole: Map) -> None:
    found = whole.addresses()
    assert len(found) > 150
    for endpoint, method, path in found:
        if endpoint not in PUBLIC:
            status = whole.ask(whole.stranger, method, path, Origin=ORIGIN).status_code
            assert (method, path, status) == (
                method,
                path,
                403 if endpoint in SECRET and method == "POST" else 401,
            )


def test_no_address_answers_to_a_name_that_was_rebound_to_this_machine(whole: Map) -> None:
    for _, method, path in whole.addresses():
        answer = whole.ask(whole.known, method, path, base="http://evil.example:6280", Cookie=cookie(whole))
        assert (method, path, answer.status_code) == (method, path, 403)


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "http://127.0.0.1:1"},
     {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, NAVIGATION],
)  # fmt: skip
def test_no_address_answers_to_a_page_of_another_site(whole: Map, headers: dict[str, str]) -> None:
    secret = {"Authorization": f"Bearer {whole.guard.admin_secret}"}
    for endpoint, method, path in whole.addresses():
        if headers is NAVIGATION and endpoint in ("guard.login", CALLBACK):
            continue  # other sites may lead there: they need a token, a state, that works once
        answer = whole.ask(whole.known, method, path, **headers, **secret)
        assert (method, path, answer.status_code) == (method, path, 403)


def test_what_starts_connects_or_sends_is_reached_by_post_alone(whole: Map) -> None:
    spawning = [
        rule
        for rule in whole.app.url_map.iter_rules()
        if getattr(whole.app.view_functions[rule.endpoint], "spawns", False)
    ]
    assert len(spawning) > 20
    assert {method for rule in spawning for method in rule.methods or ()} == {"POST", "OPTIONS"}


def test_every_answer_forbids_scripts_frames_sniffing_and_keeping(whole: Map) -> None:
    own = {"apps.show": f"{CSP}; frame-src 'self'", "apps.frame": FRAME_CSP}
    for endpoint, method, path in whole.addresses():
        if method != "GET" or endpoint == "live":
            continue
        headers = whole.ask(whole.known, "GET", path).headers
        assert headers["Content-Security-Policy"] in (CSP, own.get(endpoint)), path
        assert "frame-ancestors" in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "same-origin"
        assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert headers["Cache-Control"] == (
            "no-cache" if endpoint in ("static", "favicon") else "no-store"
        ), path


@pytest.mark.parametrize("value", [UP, "%00", "a%0d%0aX-Evil:%201", "9" * 40, "%ff"])
def test_no_address_is_led_out_of_its_folder_or_into_a_fault_of_ours(whole: Map, value: str) -> None:
    for _, method, path in whole.addresses(value):
        if method == "GET" and path != "/live":
            answer = whole.ask(whole.known, "GET", path)
            assert answer.status_code < 500, (path, answer.text)
            assert "root:x:0" not in answer.text
            assert "X-Evil" not in answer.headers


def test_static_files_end_at_their_folder(whole: Map) -> None:
    for path in (
        "/static/../templates/base.html",
        f"/static/{UP}",
        "/static/css/..%2f..%2f..%2fpyproject.toml",
    ):
        assert whole.ask(whole.known, "GET", path).status_code == 404


def cookie(whole: Map) -> str:
    """The cookie of the browser that is signed in, for a host it would not be sent to."""
    held = whole.known.get_cookie(whole.guard.cookie, "127.0.0.1")
    assert held is not None
    return f"{whole.guard.cookie}={held.value}"
