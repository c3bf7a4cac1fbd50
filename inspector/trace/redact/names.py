"""Which keys and headers hold secrets by their names, and which part of their values is one. Pure, any thread."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_LONGEST: Final = 80

_ENDINGS: Final = (
    "password", "passwd", "passphrase", "passcode", "secret", "apikey", "apitoken", "privatekey", "secretkey",
    "accesskey", "accesskeyid", "signingkey", "encryptionkey", "masterkey", "accountkey", "subscriptionkey", "storagekey",
    "authkey", "sharedkey", "functionkey", "sessionkey", "connectionstring", "credential", "credentials", "cookie",
    "cookies", "authorization", "sessionid", "pincode",
)  # fmt: skip
_LAST_WORDS: Final = frozenset(("pwd", "otp", "totp", "cvv", "cvc", "jwt"))
_PAGING: Final = (
    "next", "page", "skip", "continuation", "continue", "starting", "start", "sync", "delta", "resume",
    "resumption", "scroll", "last", "first", "previous", "prev", "paging", "pagination",
)  # fmt: skip
_COUNTED: Final = (
    "max", "min", "num", "per", "total", "input", "output", "prompt", "completion", "cached", "used", "stop", "eos",
    "bos", "pad", "unk", "progress", "cancel", "cancellation",
)  # fmt: skip
"""What comes before `token` when it is MCP's progress token, or a unit of text."""

_CURSORS: Final = frozenset(("cursor", "nextcursor", "prevcursor", "previouscursor", "marker", "nextmarker"))
_HEADERS: Final = re.compile(
    r"token|secret|key|password|^(?:proxy-)?authorization$|^(?:set-)?cookie$|^mcp-session-id$", re.IGNORECASE
)
_SCHEME: Final = re.compile(
    r"\s*(?:Bearer|Basic|Token|ApiKey|Api-Key|Digest|Negotiate|Bot|AWS4-[A-Z0-9-]+)\s+(?=\S)", re.IGNORECASE
)
_COOKIE: Final = re.compile(r"([^=;\s]+)\s*=\s*\"?([^;\"]*)")
MARKER: Final = re.compile(r"\[redacted:[A-Z]\d+:(\d{1,9})\]")
"""What stands in a secret's place; its number is the same wherever that secret stood. Of more digits it is none."""


def secret_header(name: str) -> bool:
    """Whether an HTTP header of this name holds a secret."""
    return _HEADERS.search(name) is not None


def secret_name(name: str) -> bool:
    """Whether a JSON key, a variable or a parameter of this name holds a secret."""
    return _secret(name[-_LONGEST:])


def cursor_name(name: str) -> bool:
    """Whether it names a pagination cursor, which a replay needs as it is."""
    return _cursor(name[-_LONGEST:])


@lru_cache(4096)
def _secret(name: str) -> bool:
    words = _words(name)
    joined = "".join(words)
    if not joined or _cursor(name):
        return False
    if joined.endswith("token"):
        return not joined.removesuffix("token").endswith(_COUNTED)
    if words[-1] in _LAST_WORDS or joined.endswith(_ENDINGS):
        return True
    return words[-1] == "pass" and len(words) > 1


@lru_cache(4096)
def _cursor(name: str) -> bool:
    joined = "".join(_words(name))
    if joined.endswith("token"):
        return joined.removesuffix("token").endswith(_PAGING)
    return joined in _CURSORS


def _words(name: str) -> list[str]:
    """`X-API-Key`, `apiKey` and `api_key` as lower-case words."""
    return [word.lower() for word in _WORDS.findall(name)]


def secret_parts(name: str, value: str) -> list[tuple[int, int]]:
    """Where in a named value the secret stands: without the scheme, and of cookies the values only."""
    lower = name.lower()
    if not value.strip() or MARKER.fullmatch(value.strip()):
        return []
    if lower.endswith("cookie") and (pairs := list(_COOKIE.finditer(value))):
        pairs = pairs[:1] if lower.endswith("set-cookie") else pairs
        return [match.span(2) for match in pairs if match[2] and not MARKER.fullmatch(match[2])]
    scheme = _SCHEME.match(value)
    start = scheme.end() if scheme else len(value) - len(value.lstrip())
    end = len(value.rstrip())
    return [] if MARKER.fullmatch(value, start, end) else [(start, end)]
