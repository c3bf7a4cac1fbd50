"""Who gets in: login links, cookies by port, Host and Origin, and what every route answers to a stranger."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import pytest
from flask import Flask

from inspector.errors import UsageError
from inspector.web.guard import CSP, PUBLIC, Guard, local_path

if TYPE_CHECKING:
    from tests.web.conftest import Site

    Start = Callable[..., AbstractContextManager[Site]]


def paths(app: Flask) -> list[tuple[str, str, str]]:
    """(endpoint, method, path) of every rule, with its variables filled in."""
    return [
        (rule.endpoint, method, re.sub(r"<[^>]+>", "x", rule.rule))
        for rule in app.url_map.iter_rules()
        for method in sorted(rule.methods or ())
    ]


def test_a_login_link_signs_in_once(site: Site) -> None:
    path = site.guard.login_url().removeprefix(site.origin)
    first = site.ask("GET", path)
    assert (first.status, first.headers["Location"]) == (303, "/")
    name, _, attributes = first.headers["Set-Cookie"].partition("=")
    assert name == f"loupe_{site.port}"
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(attributes.split("; "))
    second = site.ask("GET", path, Accept="text/html")
    assert second.status == 401
    assert "used already" in second.text
    assert "mcp-loupe url" in second.text
    assert "Set-Cookie" not in second.headers


def test_the_cookie_of_a_login_link_opens_the_console(signed_in: Site) -> None:
    assert signed_in.ask("GET", "/").text == "home"


def test_a_login_link_expires(site: Site) -> None:
    path = site.guard.login_url().removeprefix(site.origin)
    site.clock.now += 600
    assert site.ask("GET", path).status == 401


def test_a_login_link_works_until_just_before_it_expires(site: Site) -> None:
    path = site.guard.login_url().removeprefix(site.origin)
    site.clock.now += 599
    assert site.ask("GET", path).status == 303


def test_a_link_checker_does_not_use_a_login_link_up(site: Site) -> None:
    path = site.guard.login_url().removeprefix(site.origin)
    assert site.ask("HEAD", path).status == 401
    assert site.ask("GET", path).status == 303


def test_a_used_login_link_still_leads_on_whoever_is_signed_in(signed_in: Site) -> None:
    answer = signed_in.ask("GET", "/login?token=used&next=/catalog%3Fserver%3D1")
    assert (answer.status, answer.headers["Location"]) == (303, "/catalog?server=1")


def test_a_made_up_token_is_refused(site: Site) -> None:
    assert site.ask("GET", "/login?token=guess").status == 401
    assert site.ask("GET", "/login").status == 401


def test_a_login_link_opened_from_another_site_goes_on_from_our_own_page(site: Site) -> None:
    """The redirect would count as cross-site, and the strict cookie would stay behind."""
    navigation = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
    answer = site.ask("GET", f"/login?token={site.guard.mint()}&next=/calls%3Fa%3D%22b", **navigation)
    assert answer.status == 200
    assert '<meta http-equiv="refresh" content="0;url=/calls?a=&#34;b">' in answer.text
    assert answer.headers["Set-Cookie"].startswith(f"loupe_{site.port}=")


@pytest.mark.parametrize(
    ("wanted", "path"),
    [
        ("/catalog?server=a b", "/"),
        ("/catalog?server=a%20b", "/catalog?server=a%20b"),
        ("/", "/"),
        ("", "/"),
        ("https://evil.example/", "/"),
        ("//evil.example/", "/"),
        ("/\\evil.example/", "/"),
        ("/\t/evil.example/", "/"),
        ("/x\r\nSet-Cookie: a=b", "/"),
    ],
)
def test_a_login_leads_only_to_our_own_pages(wanted: str, path: str) -> None:
    assert local_path(wanted) == path


def test_the_cookie_of_one_console_does_not_open_another(signed_in: Site, start: Start) -> None:
    with start() as other:
        other.cookie = signed_in.cookie
        assert other.ask("GET", "/").status == 401
        other.cookie = signed_in.cookie.replace(str(signed_in.port), str(other.port))
        assert other.ask("GET", "/").status == 401
        other.sign_in()
        other.cookie += f"; {signed_in.cookie}"
        assert other.ask("GET", "/").status == 200
        assert signed_in.ask("GET", "/", Cookie=other.cookie).status == 200


def test_no_route_answers_without_a_cookie(site: Site) -> None:
    for endpoint, method, path in paths(site.app):
        if endpoint not in PUBLIC:
            assert (path, site.ask(method, path).status) in ((path, 401), (path, 403))
    assert site.ask("GET", "/no/such/page").status == 401


def test_no_route_answers_to_another_host_name(signed_in: Site) -> None:
    """A name rebound to 127.0.0.1 would make an evil page same-origin with us."""
    for _, method, path in paths(signed_in.app):
        assert (path, signed_in.ask(method, path, Host=f"evil.example:{signed_in.port}").status) == (
            path,
            403,
        )


def test_no_route_answers_to_another_origin(signed_in: Site) -> None:
    secret = f"Bearer {signed_in.guard.admin_secret}"
    for origin in (
        "http://evil.example",
        "null",
        "http://127.0.0.1:1",
        f"https://127.0.0.1:{signed_in.port}",
    ):
        for _, method, path in paths(signed_in.app):
            answer = signed_in.ask(method, path, Origin=origin, Authorization=secret)
            assert (origin, path, answer.status) == (origin, path, 403)


def test_what_spawns_takes_only_post(signed_in: Site) -> None:
    """A GET can come from a link, an image or a preview; nothing may start because of one."""
    for rule in signed_in.app.url_map.iter_rules():
        if getattr(signed_in.app.view_functions[rule.endpoint], "spawns", False):
            assert (rule.endpoint, set(rule.methods or ())) == (rule.endpoint, {"POST", "OPTIONS"})


def test_a_spawning_view_on_a_get_route_is_not_run(signed_in: Site) -> None:
    signed_in.app.view_functions["demo.home"].spawns = True  # type: ignore[attr-defined]
    assert signed_in.ask("GET", "/").status == 405


def test_public_routes_are_the_listed_ones(site: Site) -> None:
    answering = {
        endpoint for endpoint, method, path in paths(site.app) if method == "GET" and endpoint in PUBLIC
    }
    assert answering == {"static", "favicon", "guard.login"}
    assert site.ask("GET", "/static/css/tokens.css").status == 200
    assert site.ask("GET", "/favicon.ico").headers["Content-Type"].startswith("image/svg+xml")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "LOCALHOST"])
def test_every_loopback_name_is_answered(signed_in: Site, host: str) -> None:
    assert signed_in.ask("GET", "/", Host=f"{host}:{signed_in.port}").status == 200


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil.example:{port}", "", "evil@localhost"]
)
def test_other_host_names_are_refused(signed_in: Site, host: str) -> None:
    answer = signed_in.ask("GET", "/", Host=host.format(port=signed_in.port))
    assert (answer.status, answer.text.partition(".")[0]) == (
        403,
        "This console does not answer to that host name",
    )


NAVIGATE = {"Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("POST", "/run", {"Sec_Fetch_Site": "same-origin"}, 200),
        ("POST", "/run", {"Sec_Fetch_Site": "none"}, 200),
        ("POST", "/run", {"Sec_Fetch_Site": "same-site"}, 403),
        ("POST", "/run", {"Sec_Fetch_Site": "cross-site"}, 403),
        ("POST", "/run", {"Sec_Fetch_Site": "cross-site", **NAVIGATE}, 403),
        ("POST", "/run", {"Sec_Fetch_Site": "cross-site", "Origin": "own"}, 403),
        ("POST", "/run", {"Sec_Fetch_Site": "same-origin", "Origin": "own"}, 200),
        ("POST", "/run", {"Sec_Fetch_Site": "same-origin", "Origin": "null"}, 403),
        ("GET", "/", {"Sec_Fetch_Site": "none", **NAVIGATE}, 200),
        ("GET", "/", {"Sec_Fetch_Site": "same-origin"}, 200),
        ("GET", "/", {"Sec_Fetch_Site": "same-site", **NAVIGATE}, 200),
        ("GET", "/", {"Sec_Fetch_Site": "same-site"}, 403),
        ("GET", "/", {"Sec_Fetch_Site": "cross-site", **NAVIGATE}, 403),
        ("GET", "/static/css/tokens.css", {"Sec_Fetch_Site": "cross-site"}, 403),
        ("GET", "/login", {"Sec_Fetch_Site": "cross-site"}, 403),
        ("GET", "/login", {"Sec_Fetch_Site": "cross-site", **NAVIGATE, "Sec_Fetch_Dest": "iframe"}, 403),
    ],
)
def test_requests_are_judged_by_where_they_come_from(
    signed_in: Site, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    if headers.get("Origin") == "own":
        headers = headers | {"Origin": signed_in.origin}
    assert signed_in.ask(method, path, **headers).status == status
    assert signed_in.ran == (["run"] if method == "POST" and status == 200 else [])


def test_a_post_that_does_not_say_where_it_comes_from_is_refused(signed_in: Site) -> None:
    assert signed_in.ask("POST", "/run", Origin=None).status == 403
    assert signed_in.ran == []


HANDSHAKE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec_WebSocket_Version": "13",
    "Sec_WebSocket_Key": "AAAAAAAAAAAAAAAAAAAAAA==",
}


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:{port}"])
def test_a_websocket_from_another_origin_is_refused(signed_in: Site, origin: str) -> None:
    answer = signed_in.ask("GET", "/live", Origin=origin.format(port=signed_in.port), **HANDSHAKE)
    assert (answer.status, answer.text.partition(".")[0]) == (403, "This request came from another site")


def test_a_websocket_that_does_not_say_where_it_comes_from_is_refused(signed_in: Site) -> None:
    assert signed_in.ask("GET", "/live", **HANDSHAKE).status == 403


def test_a_websocket_to_another_host_name_is_refused(signed_in: Site) -> None:
    host = f"evil.example:{signed_in.port}"
    assert signed_in.ask("GET", "/live", Host=host, Origin=f"http://{host}", **HANDSHAKE).status == 403


def test_a_websocket_without_a_cookie_is_refused(site: Site) -> None:
    assert site.ask("GET", "/live", Origin=site.origin, **HANDSHAKE).status == 401


def test_the_admin_secret_gets_a_fresh_login_link(site: Site) -> None:
    """What `mcp-loupe url` does: no browser, so neither Origin nor cookie."""
    answer = site.ask("POST", "/_link", Origin=None, Authorization=f"Bearer {site.guard.admin_secret}")
    assert answer.status == 200
    url = json.loads(answer.text)["url"]
    assert url.startswith(f"{site.origin}/login?token=")
    assert site.ask("GET", url.removeprefix(site.origin)).status == 303


@pytest.mark.parametrize("secret", ["", "Bearer ", "Bearer guess", "Basic x"])
def test_a_wrong_admin_secret_gets_no_link(signed_in: Site, secret: str) -> None:
    answer = signed_in.ask("POST", "/_link", Authorization=secret)
    assert (answer.status, answer.text) == (
        403,
        "The admin secret is missing or wrong. Run mcp-loupe url as the same user.\n",
    )


def test_every_answer_carries_the_security_headers(signed_in: Site) -> None:
    for path, host in (("/", None), ("/missing", None), ("/login", None), ("/", "evil.example")):
        headers = signed_in.ask("GET", path, **({"Host": host} if host else {})).headers
        assert headers["Content-Security-Policy"] == CSP
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "same-origin"
        assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert headers["Cache-Control"] == "no-store"
        assert headers["Vary"] == "HX-Request-Type"


def test_assets_are_revalidated_rather_than_fetched_again(signed_in: Site) -> None:
    first = signed_in.ask("GET", "/static/css/tokens.css")
    assert first.headers["Cache-Control"] == "no-cache"
    again = signed_in.ask("GET", "/static/css/tokens.css", If_None_Match=first.headers["ETag"])
    assert again.status == 304


def test_a_console_for_other_machines_needs_a_named_origin() -> None:
    with pytest.raises(UsageError) as caught:
        Guard(8000, "0.0.0.0")
    assert "--allow-origin" in caught.value.remedy
    guard = Guard(8000, "0.0.0.0", ["https://Loupe.example"])
    assert guard.login_url().startswith("https://loupe.example/login?token=")
    assert "loupe.example" in guard.hosts


@pytest.mark.parametrize(
    "origin",
    ["loupe.example", "http://a/b", "*", "null", "http://a@b", "ftp://a", "http://[::", "http://a:b"],
)
def test_an_origin_that_is_none_is_refused(origin: str) -> None:
    with pytest.raises(UsageError):
        Guard(8000, "0.0.0.0", [origin])
