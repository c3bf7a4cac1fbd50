"""What may be kept of the documents of a sign-in: all but the values of secret keys. Pure, any thread."""

from __future__ import annotations

import json
import re
from typing import Any, Final
from urllib.parse import unquote_plus

from inspector.settings.tokens import SECRETS, secret_values
from inspector.wire.link import dumps

HIDDEN: Final = "[hidden]"
MASKED_FIELDS: Final = (*SECRETS, "code", "code_verifier", "client_assertion", "state", "code_challenge")
"""Fields of our own requests that are hidden."""
_FORM: Final = re.compile(rb"((?:\A|&)(?:%s)=)([^&\s]+)" % "|".join(SECRETS).encode())


def masked(body: bytes) -> tuple[bytes, list[str]]:
    """An answer with the values of secret keys hidden, and those values.

    JSON, or a form, as some servers answer in spite of RFC 6749 section 5.1. What is neither stays as it is; what is
    nested too deeply to be looked through is not kept.
    """
    try:
        try:
            value = json.loads(body)
        except ValueError:
            return _form(body)
        shown = _hidden(value)
        return (body if shown == value else dumps(shown).encode()), secret_values(value)
    except RecursionError:
        return HIDDEN.encode(), []


def _form(body: bytes) -> tuple[bytes, list[str]]:
    secrets = [unquote_plus(match[2].decode("utf-8", "replace")) for match in _FORM.finditer(body)]
    return _FORM.sub(rb"\1" + HIDDEN.encode(), body), secrets


def _hidden(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: HIDDEN if key in SECRETS and isinstance(child, str) else _hidden(child)
            for key, child in value.items()
        }
    return [_hidden(child) for child in value] if isinstance(value, list) else value
