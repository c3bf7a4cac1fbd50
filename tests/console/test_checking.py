"""Schemas that never end are judged with a deadline, in a process of their own; the loop goes on meanwhile."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from inspector.catalog.validation import is_linear
from inspector.console.checking import Checker
from inspector.console.worker import Worker

LIMIT_S = 1.5
FAN = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)} | {
    "d40": {"type": "string"}
}
BOMBS = {
    "regex": ({"properties": {"s": {"pattern": "^(a+)+$"}}}, {"s": "a" * 40 + "!"}),
    "references": ({"$defs": FAN, "$ref": "#/$defs/d0"}, {"s": 1}),
    "unique items": ({"properties": {"s": {"uniqueItems": True}}}, {"s": [{"n": n} for n in range(20_000)]}),
}


@pytest.fixture(scope="module")
def portal() -> Iterator[BlockingPortal]:
    with start_blocking_portal() as running:
        yield running


@pytest.fixture
def checker(portal: BlockingPortal) -> Iterator[Checker]:
    worker = Worker(portal)
    yield Checker(worker, LIMIT_S)
    worker.close()


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_in_an_output_schema_ends_at_the_deadline(
    name: str, portal: BlockingPortal, checker: Checker
) -> None:
    schema, value = BOMBS[name]
    verdict = portal.call(checker.output, {"outputSchema": schema}, {"structuredContent": value}, 100)
    assert verdict.verdict == "schema unusable"
    assert verdict.why == "checking against it took more than 1.5 s"


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_in_an_input_schema_ends_at_the_deadline(name: str, checker: Checker) -> None:
    schema, value = BOMBS[name]
    (error,) = checker.arguments(schema, value, 100)
    assert error.message == "The check against the schema took more than 1.5 s."


def test_a_plain_schema_is_judged_at_once_and_right(portal: BlockingPortal, checker: Checker) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    assert (
        portal.call(checker.output, {"outputSchema": schema}, {"structuredContent": {"n": 1}}, 9).verdict
        == "valid"
    )
    wrong = portal.call(checker.output, {"outputSchema": schema}, {"structuredContent": {"n": "x"}}, 9)
    assert [error.path for error in wrong.errors] == ["/n"]
    assert portal.call(checker.output, {}, {"structuredContent": 1}, 9).verdict == "no schema"


@pytest.mark.parametrize(
    ("schema", "linear"),
    [
        (True, True),
        ({"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}, True),
        ({"pattern": "x"}, False),
        ({"properties": {"a": {"items": {"pattern": "x"}}}}, False),
        ({"$ref": "#"}, False),
        ({"properties": {"a": {"uniqueItems": True}}}, False),
        ({"patternProperties": {"x": True}}, False),
        ({"properties": []}, False),
        ([], False),
        ({"allOf": [{"type": "object"}] * 600}, False),
    ],
)
def test_only_what_is_plainly_linear_is_checked_without_a_deadline(schema: object, linear: bool) -> None:
    assert is_linear(schema) is linear
