"""Values on their way between script and servers: what JSON can carry, what a result means, parts of it. Pure."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import jsonschema_rs

from inspector.catalog.jsontext import compact_value, utf8
from inspector.catalog.validation import judge

DEEPEST: Final = 100
_BIGGEST: Final = 2**1024


class NotJson(Exception):
    """A value that no JSON can carry; the sentence says where."""


def jsonable(value: Any, path: str = "", depth: int = 0) -> Any:
    """A script's value as JSON has it: tuples become arrays. Raises NotJson."""
    where = path or "the value"
    if depth > DEEPEST:
        raise NotJson(f"{where} is nested too deeply")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        if abs(value) >= _BIGGEST:
            raise NotJson(f"{where} is an integer of {value.bit_length():,} bits")
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NotJson(f"{where} is {value}, which JSON has no word for")
        return value
    if isinstance(value, list | tuple):
        return [jsonable(each, f"{path}/{at}", depth + 1) for at, each in enumerate(value)]
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise NotJson(f"{where} has a key that is no string")
        return {key: jsonable(each, f"{path}/{key}", depth + 1) for key, each in value.items()}
    raise NotJson(f"{where} is of type {type(value).__name__}, which JSON cannot carry")


def meaning(result: Mapping[str, Any]) -> Any:
    """What a script gets of a result: its structured content; else its text; else its content blocks."""
    if "structuredContent" in result:
        return result["structuredContent"]
    content = result.get("content")
    if not isinstance(content, list):
        return None
    blocks = [each for each in content if isinstance(each, dict)]
    if blocks and all(each.get("type") == "text" and isinstance(each.get("text"), str) for each in blocks):
        return "\n".join([each["text"] for each in blocks])
    return content


def size(value: Any) -> int:
    """Bytes of compact JSON."""
    return len(utf8(compact_value(value)))


def part(value: Any, start: int, count: int) -> Any:
    """A slice of a list or a text; of an object with one long list, of that list."""
    if isinstance(value, dict):
        lists = [each for each in value.values() if isinstance(each, list)]
        value = max(lists, key=len) if lists else compact_value(value)
    return (
        value[start : start + count]
        if isinstance(value, list | str)
        else compact_value(value)[start : start + count]
    )


def paging_parameters(schema: Any) -> list[str]:
    """Parameters of the tool by whose names it looks as if results could be had in pages."""
    words = (
        "cursor",
        "offset",
        "page",
        "pagesize",
        "perpage",
        "limit",
        "first",
        "after",
        "start",
        "skip",
        "top",
        "maxresults",
    )
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    names = properties if isinstance(properties, Mapping) else {}
    return [str(name) for name in names if str(name).lower().replace("_", "").lstrip("$") in words]


Check = Callable[[Any], str]
"""A value to what is wrong with it, a sentence; empty when nothing is."""


_UNUSABLE: Final = (ValueError, RecursionError, jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError)


@functools.lru_cache(maxsize=512)
def _compiled(text: str) -> Any:
    return jsonschema_rs.validator_for(
        json.loads(text), pattern_options=jsonschema_rs.RegexOptions(), validate_formats=False, offline=True
    )


def check(schema: Any, value: Any) -> str:
    """What is wrong with a value by a schema; or with the schema. Linear: no pattern can hang it."""
    try:
        checker = _compiled(compact_value(schema))
        if checker.is_valid(value):
            return ""
    except _UNUSABLE as problem:
        return f"the schema cannot be used: {str(problem).splitlines()[0][:200]}"
    try:
        errors = [next(iter(checker.iter_errors(value)))]
        return "; ".join([f"{_at(each)}{each.message}" for each in errors])[:500]
    except (StopIteration, ValueError):
        return "; ".join([f"{each.path}: {each.message}" for each in judge(schema, value).errors[:3]])[:500]


def _at(error: Any) -> str:
    path = "/".join([str(each) for each in error.instance_path])
    return f"{path}: " if path else ""
