"""Who may talk to the console: one-time login links, a cookie, Host and Origin checks. Flask request threads.

The console starts programs with its user's rights, so any page in the same browser, any name rebound to
127.0.0.1 and any other user of the machine must get nowhere. Source: MCP security best practices,
docs/security.md.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar
from urllib.parse import urlencode, urlsplit

from flask import (
    Blueprint,
    Flask,
    Response,
    abort,
    current_app,
    make_response,
    redirect,
    render_template,
    request,
)
from werkzeug.wrappers import Response as AnyResponse

from inspector.errors import UsageError
from inspector.web.render import is_partial

CSP: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
CALLBACK: Final = "signing.callback"
"""Where authorization servers send the browser back: another site's redirect, so without our cookie."""
PUBLIC: Final = frozenset({"static", "favicon", "guard.login", CALLBACK})
"""Endpoints that need no cookie: our own assets, the way in, and the callback, which its one-time state opens. Host
and Origin are checked all the same."""
SECRET: Final = frozenset({"guard.link", "taps.take"})
"""Endpoints for other programs of the same user: they ask for the admin secret instead of a cookie. POST only."""
TOKEN_S: Final = 600.0

View = TypeVar("View", bound=Callable[..., Any])


def spawns(view: View) -> View:
    """Mark a view that starts a program, connects, or sends something to a server: POST only, whatever its rule."""
    view.spawns = True  # type: ignore[attr-defined]
    return view


class Guard:
    """Login tokens and sessions of one console, and the checks every request passes. Thread-safe.

    port: the one listened on. host: the address given by `--host`. allow_origins: further origins
    (`https://name[:port]`) people open the console at. clock: seconds, monotonic.
    Raises UsageError when other machines could reach us and no origin was named for them.
    """

    def __init__(
        self,
        port: int,
        host: str = "127.0.0.1",
        allow_origins: Iterable[str] = (),
        *,
        clock: Callable[[], float] = time.monotonic,
        token_s: float = TOKEN_S,
    ) -> None:
        self.port = port
        self.cookie = f"loupe_{port}"  # browsers send cookies to every port of a host
        self.admin_secret = secrets.token_urlsafe(32)
        named = [checked_origin(origin) for origin in allow_origins]
        if not named and not is_loopback(host):
            raise UsageError(
                f"Listening on {host} would let other machines reach a console that starts programs.",
                "Leave --host out, or name the address people will open with --allow-origin http://NAME:PORT.",
            )
        local = [f"http://{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")]
        if is_loopback(host) and ":" not in host:
            local.append(f"http://{host}:{port}")
        self.origins = frozenset(local + named)
        self.hosts = frozenset(urlsplit(origin).netloc for origin in self.origins)
        self._base = (
            named[0] if not is_loopback(host) else f"http://{f'[{host}]' if ':' in host else host}:{port}"
        )
        self._clock = clock
        self._token_s = token_s
        self._lock = threading.Lock()
        self._tokens: dict[str, float] = {}
        self._sessions: set[bytes] = set()

    def mint(self) -> str:
        """A token that signs one browser in, once, within `token_s` seconds."""
        token = secrets.token_urlsafe(32)
        with self._lock:
            now = self._clock()
            self._tokens = {known: until for known, until in self._tokens.items() if until > now}
            self._tokens[token] = now + self._token_s
        return token

    def login_url(self, path: str = "/") -> str:
        """A fresh one-time link that leads to `path`."""
        query = {"token": self.mint()} | ({"next": path} if path != "/" else {})
        return f"{self._base}/login?{urlencode(query)}"

    def redeem(self, token: str) -> str | None:
        """The session value for the cookie, or None when the token is unknown, used or expired."""
        with self._lock:
            until = self._tokens.pop(token, None)
            if until is None or until <= self._clock():
                return None
            session = secrets.token_urlsafe(32)
            self._sessions.add(digest(session))
        return session

    def signed_in(self) -> bool:
        """Whether the current request carries a session of this console."""
        shown = digest(request.cookies.get(self.cookie, ""))
        with self._lock:
            return any(hmac.compare_digest(shown, known) for known in self._sessions)

    def protect(self, app: Flask) -> None:
        """Put the checks in front of every route of `app`, and `/login` and `/_link` into it. Call it first."""
        app.before_request(self.check)
        app.after_request(harden)
        routes = Blueprint("guard", __name__)
        routes.add_url_rule("/login", "login", self._login, methods=["GET"])
        routes.add_url_rule("/_link", "link", self._link, methods=["POST"])
        app.register_blueprint(routes)

    def check(self) -> AnyResponse | None:
        """None when the request may go on, else the refusal (403 or 401)."""
        if request.headers.get("Host", "").lower() not in self.hosts:
            return refusal(
                403, "This console does not answer to that host name.", "Open it at its own address."
            )
        if not self._from_ourselves():
            return refusal(403, "This request came from another site.", "Open the console in its own tab.")
        if request.endpoint in PUBLIC:
            return None
        if request.endpoint in SECRET and request.method == "POST":
            return (
                None
                if self._knows_the_secret()
                else refusal(
                    403, "The admin secret is missing or wrong.", "Run mcp-loupe url as the same user."
                )
            )
        if not self.signed_in():
            return refusal(401, "This browser is not signed in to this console.", "")
        view = current_app.view_functions.get(request.endpoint or "")
        if getattr(view, "spawns", False) and request.method not in ("POST", "OPTIONS"):
            abort(405, valid_methods=["POST"])
        return None

    def _from_ourselves(self) -> bool:
        """Whether the browser says one of our own pages, or the person, made this request."""
        origin = request.headers.get("Origin")
        site = request.headers.get("Sec-Fetch-Site")
        if origin is not None:
            own = origin in self.origins and urlsplit(origin).netloc == request.headers["Host"].lower()
            return own and site in (None, "same-origin")
        if site in ("same-origin", "none"):
            return True
        changes = request.method not in ("GET", "HEAD", "OPTIONS") or is_websocket()
        if site is None:
            # No browser of this decade: reading is guarded by the cookie, the others by the secret.
            return not changes or request.endpoint in SECRET
        # Another site may lead to the login page and the callback; one on another local port, to any page.
        asked = (request.method, request.headers.get("Sec-Fetch-Mode"), request.headers.get("Sec-Fetch-Dest"))
        opened = asked == ("GET", "navigate", "document") and not is_websocket()
        return opened and (site == "same-site" or request.endpoint in ("guard.login", CALLBACK))

    def _login(self) -> AnyResponse:
        path = local_path(request.args.get("next", "/"))
        # HEAD comes from link checkers: it must not use the token up.
        session = self.redeem(request.args.get("token", "")) if request.method == "GET" else None
        if session is None and not self.signed_in():
            return refusal(
                401, "This login link was used already, has expired, or belongs to another run.", ""
            )
        if request.headers.get("Sec-Fetch-Site") in ("cross-site", "same-site"):
            # A SameSite=Strict cookie stays away from redirects another site began; our own page may go on.
            answer = make_response(render_template("auth/entered.html", path=path))
        else:
            answer = make_response(redirect(path, 303))
        if session is not None:
            secure = f"https://{request.host}" in self.origins
            answer.set_cookie(self.cookie, session, path="/", httponly=True, samesite="Strict", secure=secure)
        return answer

    def _knows_the_secret(self) -> bool:
        shown, known = request.headers.get("Authorization", ""), f"Bearer {self.admin_secret}"
        return is_loopback(request.remote_addr or "") and hmac.compare_digest(shown.encode(), known.encode())

    def _link(self) -> AnyResponse:
        return make_response({"url": self.login_url(local_path(request.args.get("next", "/")))})


def harden(response: Response) -> Response:
    """Headers of every answer; a view may send its own Content-Security-Policy or Cache-Control."""
    headers = response.headers
    headers.setdefault("Content-Security-Policy", CSP)
    headers["X-Content-Type-Options"] = "nosniff"
    headers["Referrer-Policy"] = "same-origin"  # no-referrer makes Chromium post with `Origin: null`
    headers["Cross-Origin-Opener-Policy"] = "same-origin"
    headers["Cross-Origin-Resource-Policy"] = "same-origin"
    headers.setdefault("Cache-Control", "no-store")
    response.vary.add("HX-Request-Type")  # one URL is a page or a part of it
    return response


def refusal(status: int, message: str, remedy: str) -> AnyResponse:
    """A page for a browser tab, one plain sentence for everything else."""
    if "text/html" in request.headers.get("Accept", "") and not is_partial():
        page = render_template("auth/refused.html", message=message, remedy=remedy, signin=status == 401)
        return make_response(page, status)
    tail = remedy or "Run mcp-loupe url for a fresh login link."
    return Response(f"{message} {tail}\n", status, mimetype="text/plain")


def is_websocket() -> bool:
    return request.headers.get("Upgrade", "").lower() == "websocket"


def digest(value: str) -> bytes:
    return hashlib.sha256(value.encode("utf-8", "surrogatepass")).digest()


def is_loopback(host: str) -> bool:
    """Whether `host`, a name or an address, can only be reached from this machine."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def checked_origin(origin: str) -> str:
    """`origin` in lower case. Raises UsageError unless it is `http(s)://name[:port]` and nothing else."""
    name = r"[a-z0-9.\-]+|\[[0-9a-f:]+\]"
    if re.fullmatch(rf"https?://(?:{name})(?::\d{{1,5}})?", origin.lower()) is None:
        raise UsageError(
            f"{origin!r} is no origin.", "Write --allow-origin http://NAME:PORT, without a path."
        )
    return origin.lower()


def local_path(path: str) -> str:
    """`path` when a browser will surely take it as a place in this console, else `/`."""
    # Browsers drop tabs and line feeds and read a backslash as a slash: "/\t/evil" leaves the site.
    return path if re.fullmatch(r"/(?![/\\])[^\\\x00-\x20\x7f]*", path) else "/"
