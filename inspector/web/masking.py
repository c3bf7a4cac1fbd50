"""Headers and URLs fit to be shown: secrets as their length only. Pure, any thread."""

from __future__ import annotations

import re
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit, urlunsplit

from inspector.trace.rows import Row as Stored

SECRET: Final = re.compile(r"token|secret|key|password|passwd|credential|signature", re.IGNORECASE)
SECRET_HEADERS: Final = frozenset(
    {"authorization", "cookie", "set-cookie", "x-api-key", "proxy-authorization"}
)
SESSION_HEADER: Final = "mcp-session-id"


def masked(name: str, value: str) -> str:
    """A header's value as it may be shown: secrets as their length, session ids by their beginning."""
    lower = name.lower()
    if lower == SESSION_HEADER:
        return value if len(value) <= 12 else f"{value[:8]}… ({len(value)} characters)"
    if lower in SECRET_HEADERS or SECRET.search(lower):
        return f"•••• ({len(value)} characters)"
    return masked_url(value) if "://" in value else value


def masked_url(url: str) -> str:
    """A URL without userinfo and the values of its query and fragment; what cannot be taken apart may hold any."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return f"no URL ({len(url)} characters)"
    netloc = ("…@" if "@" in parts.netloc else "") + parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, netloc, parts.path, _names(parts.query), _names(parts.fragment)))


def _names(query: str) -> str:
    """A query, or a fragment that is written as one, without its values."""
    return "&".join(f"{each.partition('=')[0]}=…" if "=" in each else each for each in query.split("&"))


def as_browsed(url: str) -> SplitResult:
    """The parts of a web address as a browser takes them: to one a backslash is a slash. Raises ValueError."""
    return urlsplit(url.replace("\\", "/"))


def host_of(url: str) -> str:
    """The host and port an address leads to, not what stands before an `@` and may look like one; empty when none."""
    try:
        return as_browsed(url).netloc.rpartition("@")[2]
    except ValueError:
        return ""


def shown_headers(headers: Any) -> list[tuple[str, str]]:
    """The header pairs of an `http` event, in order, fit to be shown."""
    return [(str(name), masked(str(name), str(value))) for name, value in headers or []]


def shown_body(row: Stored) -> dict[str, Any]:
    """The recorded fields of an event without bytes, fit to be shown."""
    body = dict(row.body)
    if "headers" in body:
        body["headers"] = [list(pair) for pair in shown_headers(body["headers"])]
    if "url" in body:
        body["url"] = masked_url(str(body["url"]))
    return body
