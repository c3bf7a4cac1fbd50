"""A file as an answer. Flask request threads."""

from __future__ import annotations

from typing import Final

from flask import Response

from inspector.catalog.jsontext import utf8

BYTES: Final = "application/octet-stream"
"""Never a type the browser would show: these bytes are a stranger's, on our origin."""


def download(content: bytes | str, name: str, kind: str = BYTES) -> Response:
    """`content`, to be kept as `name`. kind: the media type of a text that Loupe wrote."""
    octets = content if isinstance(content, bytes) else utf8(content)
    answer = Response(octets, content_type=kind if kind == BYTES else f"{kind}; charset=utf-8")
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer
