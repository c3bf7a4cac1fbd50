"""What may be kept of the documents of a sign-in: all but the values of secret keys. Pure, any thread."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import quote, unquote_plus

from inspector.settings.tokens import SECRETS

HIDDEN: Final = "[hidden]"
MASKED_FIELDS: Final = (*SECRETS, "code", "code_verifier", "client_assertion", "state", "code_challenge")
"""Fields of our own requests that are hidden."""
LEAST: Final = 6
"""Characters. A shorter value is hidden where it stands, and not looked for anywhere else."""
MOST_SECRETS: Final = 20
"""Values of one answer that are looked for everywhere: each makes every later look slower, and we use five at most."""

_KEYS: Final = "|".join(SECRETS)
_FORM: Final = re.compile(rf"""((?:\A|[&?"'])(?:{_KEYS})=)([^&\s"'\\<>]+)""")
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\Z)', re.DOTALL)
_COLON: Final = re.compile(r"\s*+:\s*+")
_PLAIN: Final = re.compile(r"[^\s,}\]]*+")
_BRACKET: Final = re.compile(r'[\[{\]}]|"(?:[^"\\]|\\.)*+(?:"|\Z)', re.DOTALL)


def masked(body: bytes) -> tuple[bytes, list[str]]:
    """An answer with the values of secret keys hidden, and those values; every other byte as it came.

    It is read as text, not parsed: what is no JSON, or JSON that Python and the SDK's parser read differently (a key
    that stands twice, a number of 5,000 digits, bytes that are no UTF-8), holds the same secrets. So may a form, as
    some servers answer in spite of RFC 6749 section 5.1.
    """
    encoding = json.detect_encoding(body).removesuffix("-sig")
    try:
        text = body.decode(encoding, "surrogateescape")
        shown, secrets = _masked(text)
        return shown.encode(encoding, "surrogateescape"), secrets
    except UnicodeError:
        return HIDDEN.encode(), []


def masked_text(text: str) -> str:
    """A sentence that may quote an answer, with what stands after secret keys hidden."""
    return _masked(text)[0]


def without(body: bytes, secrets: Iterable[str]) -> bytes:
    """An answer that may say again what it was sent, without these values."""
    for secret in secrets:
        if len(secret) >= LEAST:
            raw = secret.encode("utf-8", "surrogatepass")
            for spelled in {raw, quote(raw, safe="").encode()}:
                body = body.replace(spelled, HIDDEN.encode())
    return body


def _masked(text: str) -> tuple[str, list[str]]:
    secrets: dict[str, None] = {}
    parts: list[str] = []
    at = 0
    for key in _STRING.finditer(text):
        colon = _COLON.match(text, key.end())
        if colon is None or key.start() < at or _said(key[0]) not in SECRETS:
            continue
        end = _end_of_value(text, colon.end())
        value = text[colon.end() : end]
        if value in ("null", "true", "false", ""):
            continue
        secrets.update((_said(each[0]), None) for each in _STRING.finditer(value))
        parts += [text[at : colon.end()], f'"{HIDDEN}"']
        at = end
    rest = "".join(parts) + text[at:]
    secrets.update((unquote_plus(match[2], errors="replace"), None) for match in _FORM.finditer(rest))
    found = [secret for secret in secrets if len(secret) >= LEAST and secret != HIDDEN]
    return _FORM.sub(rf"\1{HIDDEN}", rest), found[:MOST_SECRETS]


def _end_of_value(text: str, start: int) -> int:
    """Where a JSON value ends that begins here; one that is never closed ends with the text."""
    if text[start : start + 1] == '"':
        found = _STRING.match(text, start)
    elif text[start : start + 1] not in ("[", "{"):
        found = _PLAIN.match(text, start)
    else:
        depth = 0
        for found in _BRACKET.finditer(text, start):
            depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
            if depth == 0:
                break
        else:
            return len(text)
    return found.end() if found is not None else start


def _said(string: str) -> str:
    """What a JSON string says; of one that is none, its inside."""
    try:
        return str(json.loads(string, strict=False))
    except ValueError:
        return string.strip('"')
