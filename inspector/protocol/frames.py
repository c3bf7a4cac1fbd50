"""What a piece of JSON-RPC text is: bytes in, kind, id and method out. Pure, any thread.

Source: MCP 2026-07-28 basic/index (ids are strings or integers, never null; no batches), JSON-RPC 2.0.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from inspector.protocol.numbers import integer

REQUEST: Final = "request"
RESULT: Final = "result"
ERROR: Final = "error"
NOTIFICATION: Final = "notification"
UNPARSED: Final = "unparsed"
NOISE: Final = "noise"


@dataclass(slots=True, frozen=True)
class Frame:
    """One line, body or SSE payload, classified.

    kind: request, result, error, notification, `unparsed` (meant as JSON-RPC, but not valid: `why` says what
    is wrong), or `noise` (no JSON-RPC at all). value: the parsed JSON, None when it is not JSON. id: as sent
    (any JSON type), None when absent; `has_id` tells absent from null.
    """

    kind: str
    value: Any = None
    id: Any = None
    has_id: bool = False
    method: str | None = None
    why: str = ""


TOO_DEEP: Final = "JSON nested too deeply to read"


def parse(raw: bytes) -> tuple[Any, str]:
    """The JSON value of `raw`, or None with the reason it has none."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as problem:
        return None, f"invalid UTF-8 at byte {problem.start}"
    try:
        return _whole(text), ""
    except RecursionError:
        return None, TOO_DEEP
    except json.JSONDecodeError as problem:
        bom = " (it begins with a byte order mark)" if text.startswith("\ufeff") else ""
        return None, f"not JSON at character {problem.pos}{bom}"
    except ValueError as problem:
        return _parse_leniently(text), str(problem)


class _NotJson(ValueError):
    """NaN and its kin, which Python reads and JSON does not have."""


def _refuse(constant: str) -> Any:
    raise _NotJson(f"{constant} is no JSON number")


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse)
"""Made once: `json.loads` with an option makes one for each text."""


def _whole(text: str) -> Any:
    """What `_DECODER.decode` gives; without its two searches for blanks where there are none around the text."""
    try:
        value, end = _DECODER.raw_decode(text)
    except json.JSONDecodeError:  # blanks before it, or no JSON at all
        return _DECODER.decode(text)
    return value if end == len(text) else _DECODER.decode(text)


def _parse_leniently(text: str) -> Any:
    """The value all the same, so that the request such a frame answers is settled and not left hanging.

    Integers past Python's digit limit are valid JSON: as values they become `LongInteger`, the raw text stays exact.
    """
    try:
        return json.loads(text, parse_int=integer)
    except (ValueError, RecursionError):
        return None


_ID: Final = rb'"id"\s*:\s*(-?\d{1,18}|"[^"\\]{0,200}")\s*'
_VERSION: Final = rb'(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?'
_ID_FIRST: Final = re.compile(rb"\s*(?:\xef\xbb\xbf)?\{\s*" + _VERSION + _ID + rb",")
_ID_LAST: Final = re.compile(rb",\s*" + _ID + rb"\}\s*$")


def likely_id(raw: bytes) -> Any:
    """The id of an answer that cannot be parsed (bad UTF-8, a BOM, too deep), read off its ends; None when unsure.

    Only where the envelope's own id can stand: first or last member of the outer object, a log prefix before it.
    """
    start = max(raw.find(b'{"jsonrpc"', 0, 512), 0)
    found = _ID_FIRST.match(raw[start : start + 512]) or _ID_LAST.search(raw[-512:])
    if found is None or b'"method"' in raw[:512]:
        return None
    value, why = parse(found[1])
    return None if why else value


def classify(raw: bytes) -> Frame:
    """Tell what `raw` (no terminator) is; never raises."""
    value, why = parse(raw)
    if not why:
        return classify_value(value)
    if value is None:
        return Frame(NOISE, why=why)
    frame = classify_value(value)
    if frame.kind == NOISE or "is no JSON number" not in why:
        return frame
    return Frame(UNPARSED, value, frame.id, frame.has_id, frame.method, why)


def classify_value(value: Any) -> Frame:
    """Tell what an already parsed JSON value is."""
    if isinstance(value, list):
        return Frame(UNPARSED, value, why="a batch: JSON-RPC arrays exist only in revision 2025-03-26")
    if not isinstance(value, dict) or not ("jsonrpc" in value or "method" in value or "id" in value):
        return Frame(NOISE, value, why="JSON but not JSON-RPC")
    has_id = "id" in value
    id_ = value.get("id")
    method = value.get("method")
    why = _fault(value, has_id, id_, method)
    name = method if isinstance(method, str) else None
    if why:
        return Frame(UNPARSED, value, id_, has_id, name, why)
    if name is not None:
        return Frame(REQUEST if has_id else NOTIFICATION, value, id_, has_id, name)
    return Frame(ERROR if "error" in value else RESULT, value, id_, has_id, None)


def _fault(value: dict[str, Any], has_id: bool, id_: Any, method: Any) -> str:
    """What makes this object no valid JSON-RPC message, or an empty string."""
    if value.get("jsonrpc") != "2.0":
        return 'jsonrpc is missing or not "2.0"'
    if "method" in value:
        if not isinstance(method, str):
            return "method is not a string"
        if "result" in value or "error" in value:
            return "both a method and an answer"
        if "params" in value and not isinstance(value["params"], dict | list):
            return "params is neither object nor array"
        return "the request's id is not a string or integer" if has_id and not _is_id(id_) else ""
    if ("result" in value) == ("error" in value):
        return "both result and error" if "result" in value else "neither method, result nor error"
    if "error" in value:
        return _error_fault(value["error"], has_id, id_)
    if not has_id or not _is_id(id_):
        return "the answer's id is not a string or integer"
    return "" if isinstance(value["result"], dict) else "result is not an object"


def _error_fault(error: Any, has_id: bool, id_: Any) -> str:
    if not isinstance(error, dict):
        return "error is not an object"
    code = error.get("code")
    if not isinstance(code, int) or isinstance(code, bool):
        return "error.code is not an integer"
    if not isinstance(error.get("message"), str):
        return "error.message is not a string"
    # An id-less or null-id error answers something the peer could not read.
    return "" if not has_id or id_ is None or _is_id(id_) else "the answer's id is not a string or integer"


def _is_id(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)
