"""Likely causes, ranked by what else is known of a failure: its stderr, its HTTP answer. Pure, any thread."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from inspector.protocol import codes
from inspector.protocol.codes import ErrorEntry

_RAISED: Final = re.compile(
    r"Traceback \(most recent call|^\s*\S*(?:Error|Exception)\b|^\s+at .+[:(]\d+|panic(?:ked|:)| exception\b",
    re.IGNORECASE,
)
"""How Python, JavaScript, Java, Go and Rust say that something was raised."""
_SAY_MORE: Final = ("auth-needed", "session-ended", "timed-out", "cancelled")
"""Rows whose own causes say more than that a web page came."""
NO_ENDPOINT: Final = "this URL is no MCP endpoint"


def tool_error_causes(stderr: Sequence[str]) -> tuple[str, ...]:
    """Of a tool error. stderr: what the server wrote while it worked on the call."""
    arguments, *others = codes.entry("tool-error").causes
    if not stderr:
        return (arguments, *others)
    sure = any(_RAISED.search(line) for line in stderr)
    raised = "the tool raised an exception" if sure else "the tool may have raised an exception"
    return (f"{raised}: see its stderr", *others, arguments)


def http_causes(entry: ErrorEntry, status: Any, content_type: str = "", body: str = "") -> tuple[str, ...]:
    """Of an HTTP answer: before those of `entry`, that this is no MCP endpoint when it looks like a web server's."""
    page = "html" in content_type.lower() or body.lstrip()[:1] == "<"
    if entry.id in _SAY_MORE or not (page or status in (404, 405, 501)):
        return entry.causes
    return (f"{NO_ENDPOINT}: a web or file server answers there" if page else NO_ENDPOINT, *entry.causes)


def plain_sentence(message: str) -> str:
    """A validator's sentence in our words: `'a' is a required property` is `a is required`."""
    found = re.fullmatch(r"'(.+)' is a required property", message)
    return f"{found[1]} is required" if found else message
