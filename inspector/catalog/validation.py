"""Values checked against JSON Schema, by the dialect it declares, with no network. Pure; run it in the worker."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from inspector.catalog.schema import escape
from inspector.catalog.snapshot import ABSENT
from inspector.later import Later

if TYPE_CHECKING:
    import jsonschema
    import referencing
    import referencing.exceptions
else:
    jsonschema, referencing = Later("jsonschema"), Later("referencing")

VALID: Final = "valid"
INVALID: Final = "invalid"
NO_SCHEMA: Final = "no schema"
UNUSABLE: Final = "schema unusable"

_MOST_ERRORS = 100
_LONGEST_SENTENCE = 300


@dataclass(frozen=True, slots=True)
class FieldError:
    """What is wrong at a place. path: JSON pointer into the value, the empty string for the whole of it."""

    path: str
    message: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """verdict: `valid`, `invalid` (with errors), `no schema` or `schema unusable` (with why)."""

    verdict: str
    errors: tuple[FieldError, ...] = ()
    why: str = ""


_LINEAR: Final = frozenset(
    {
        "$schema", "$id", "$comment", "type", "title", "description", "default", "examples", "deprecated", "readOnly",
        "writeOnly", "format", "enum", "const", "properties", "required", "additionalProperties", "items",
        "prefixItems", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength",
        "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "anyOf", "oneOf", "allOf",
    }
)  # fmt: skip
"""Keywords whose cost is at most the schema's size times the value's; a keyword outside needs a deadline."""
_NESTED: Final = ("additionalProperties", "items")
_LISTS: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_LINEAR_NODES: Final = 500


def is_linear(schema: Any) -> bool:
    """Whether checking against `schema` cannot take long: no pattern, no reference, no pairwise comparison."""
    waiting, seen = [schema], 0
    while waiting:
        node = waiting.pop()
        seen += 1
        if isinstance(node, bool):
            continue
        if not isinstance(node, dict) or seen > _LINEAR_NODES or not node.keys() <= _LINEAR:
            return False
        properties = node.get("properties", {})
        if not isinstance(properties, dict):
            return False
        waiting += [*properties.values(), *(node[key] for key in _NESTED if key in node)]
        waiting += [each for key in _LISTS if isinstance(node.get(key), list) for each in node[key]]
    return True


def validate(schema: Any, arguments: Any) -> list[FieldError]:
    """What is wrong with parsed arguments; one error at the root when the schema itself cannot be used."""
    found = judge(schema, arguments)
    if found.verdict == UNUSABLE:
        return [FieldError("", f"The tool's input schema cannot be used: {found.why}.")]
    return list(found.errors)


def check_output(schema: Any, structured: Any) -> Verdict:
    """The verdict on `structuredContent` against `outputSchema`; pass ABSENT for what was not sent.

    A tool error is exempt (MCP server/tools): do not ask for a result with `isError`.
    """
    if schema is ABSENT:
        return Verdict(NO_SCHEMA)
    if structured is ABSENT:
        missing = FieldError(
            "", "The tool declares an outputSchema, but the result has no structuredContent."
        )
        return Verdict(INVALID, (missing,))
    return judge(schema, structured)


def judge(schema: Any, value: Any) -> Verdict:
    """`value` against `schema`: the dialect `$schema` names, 2020-12 without one. Remote `$ref`s are not fetched."""
    try:
        dialect = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
        dialect.check_schema(schema)
        checker = dialect(schema, registry=referencing.Registry())
        errors = tuple(islice(_field_errors(checker.iter_errors(value)), _MOST_ERRORS))
    except _schema_faults() as problem:
        return Verdict(UNUSABLE, why=_why(problem))
    return Verdict(INVALID if errors else VALID, errors)


def _schema_faults() -> tuple[type[Exception], ...]:
    """What jsonschema was seen to raise on hostile schemas; each means the schema, not the value, is at fault."""
    return (
        *(jsonschema.SchemaError, jsonschema.exceptions.UnknownType, referencing.exceptions.Unresolvable),
        *(re.error, RecursionError, TypeError, AttributeError, ValueError, LookupError, ArithmeticError),
    )


def _field_errors(errors: Iterator[jsonschema.ValidationError]) -> Iterator[FieldError]:
    for error in errors:
        steps = [str(step) for step in error.absolute_path]
        if error.validator == "required" and isinstance(error.validator_value, list):
            steps += [name for name in error.validator_value if error.message.startswith(f"{name!r} ")][:1]
        yield FieldError("".join([f"/{escape(step)}" for step in steps]), _cut(error.message))


def _why(problem: BaseException) -> str:
    if isinstance(problem, RecursionError):
        return "it is nested too deeply or refers to itself without end"
    if isinstance(problem, referencing.exceptions.Unresolvable):
        return f"it refers to {problem.ref}, which is not in it"
    if isinstance(problem, jsonschema.SchemaError):
        place = "".join([f"/{escape(str(step))}" for step in problem.absolute_path])
        return _cut(f"at {place or 'its root'}, {problem.message}")
    if isinstance(problem, jsonschema.exceptions.UnknownType):
        return _cut(f"unknown type {problem.type!r}")
    return _cut(f"{type(problem).__name__}: {problem}")


def _cut(sentence: str) -> str:
    return sentence if len(sentence) <= _LONGEST_SENTENCE else sentence[: _LONGEST_SENTENCE - 1] + "…"
