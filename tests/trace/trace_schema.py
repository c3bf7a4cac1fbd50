"""The JSON Schema of the trace format, as a validator for every line a test wrote."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from pathlib import Path

from jsonschema import Draft202012Validator


@cache
def validator() -> Draft202012Validator:
    schema = json.loads(files("inspector.trace").joinpath("data", "trace-1.schema.json").read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def wrong_lines(content: bytes) -> list[str]:
    """What is wrong with the lines of an unpacked trace file; empty when nothing is."""
    return [
        f"line {number}: {error.message[:200]} at {error.json_path}"
        for number, line in enumerate(content.splitlines(), 1)
        for error in validator().iter_errors(json.loads(line))
    ]


def wrong_in(path: Path) -> list[str]:
    return wrong_lines(path.read_bytes())
