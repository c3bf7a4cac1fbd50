"""Stubs of tools: both languages, every corpus catalog, and what they accept beside what the schema accepts."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import jsonschema_rs
import pydantic_monty
import pytest
import tree_sitter
import tree_sitter_typescript
from stub_agreement import Maker, call_text, excused, spoilt

from inspector.catalog.listed_files import snapshot_of_lines
from inspector.discovery.access import Access
from inspector.discovery.code.names import class_name, identifiers
from inspector.discovery.code.schema_types import read_schema
from inspector.discovery.code.stubs import Stubs, stubs_of
from inspector.discovery.registry import Registry, read_server, registry_of

CORPUS = Path(__file__).parents[2].parent / "shared" / "corpus"
NONE = {"type": "object", "properties": {}}
IN_A_STUB_ONLY = ("[empty-body]", "[invalid-parameter-default]", "[invalid-overload]", "extra_items")
"""What the checker minds in a script and allows in a stub file, which has no bodies and no versions."""


@pytest.fixture(scope="module")
def pool() -> Iterator[pydantic_monty.Monty]:
    with pydantic_monty.Monty(min_processes=1, max_processes=1) as opened:
        yield opened


def registry_with(*tools: dict, label: str = "shop") -> Registry:
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": list(tools)}})
    return registry_of([read_server(snapshot_of_lines(line.encode()), label, received_at_us=1)])


def tool(name: str = "find", schema: object = None, **more: object) -> dict:
    return {"name": name, "inputSchema": schema or {"type": "object"}, **more}


def stub_of_schema(schema: dict, **more: object) -> str:
    return stubs_of(registry_with(tool("find", schema, **more))).functions["shop__find"].python(docs=False)


def complaints(pool: pydantic_monty.Monty, script: str, stubs: str = "") -> dict[int, str]:
    """Lines the sandbox's own checker minds, with what it says."""
    try:
        with pool.checkout(
            type_check=True, type_check_stubs=stubs, type_check_format="concise", script_name="q.py"
        ) as session:
            session.feed_run(script)
    except pydantic_monty.MontyTypingError as problem:
        found = re.findall(r"^q\.py:(\d+):\d+: (.*)", str(problem), re.MULTILINE)
        return {int(line): said for line, said in found if not any(each in said for each in IN_A_STUB_ONLY)}
    except pydantic_monty.MontyRuntimeError:
        pass
    return {}


def accepts(pool: pydantic_monty.Monty, schema: dict, *calls: str) -> list[bool]:
    text = stubs_of(registry_with(tool("find", schema))).text("python", "typed")
    lines = ["def q():", *[f"    shop__find({call})" for call in calls]]
    minded = complaints(pool, "\n".join(lines), text)
    return [number + 2 not in minded for number in range(len(calls))]


# --- what a schema becomes


def test_each_kind_of_schema_becomes_the_type_that_says_the_same() -> None:
    whole = {
        "type": "object",
        "properties": {
            "a": {"type": "string", "enum": ["x", "y"]},
            "b": {"type": ["integer", "null"]},
            "c": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "number"}}]},
            "d": {"const": 3},
            "e": {"type": "object", "additionalProperties": {"type": "boolean"}},
            "f": {"$ref": "#/$defs/Place"},
        },
        "required": ["a", "f"],
        "$defs": {"Place": {"type": "object", "properties": {"at": {"type": "integer"}}, "required": ["at"]}},
    }
    assert stub_of_schema(whole) == (
        "class ShopFindPlace(TypedDict):\n    at: int\n"
        "def shop__find(*, a: Literal['x', 'y'], f: ShopFindPlace, b: int | None = ..., c: str | list[float] = ..., "
        "d: Literal[3] = ..., e: dict[str, bool] = ...) -> Any: ...\n"
    )


def test_the_typescript_says_the_same_under_the_json_keys() -> None:
    schema = {
        "type": "object",
        "properties": {"$top": {"type": "integer"}, "q": {"type": ["string", "null"]}},
    }
    made = stubs_of(registry_with(tool("find", schema, description="Find */ things"))).functions["shop__find"]
    assert made.typescript(docs=True) == (
        "/** Find * / things */\n"
        "declare function shop__find(args?: { $top?: number; q?: string | null }): Promise<any>;\n"
    )


def test_an_output_schema_is_the_return_type_and_without_one_it_is_any_and_a_finding() -> None:
    output = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    with_one = stubs_of(registry_with(tool("find", NONE, outputSchema=output)))
    assert "-> ShopFindResult" in with_one.text() and with_one.findings == []
    without = stubs_of(registry_with(tool("find", NONE)))
    assert "-> Any" in without.text()
    assert [(each.tool, each.what) for each in without.findings] == [("shop__find", "no outputSchema")]


def test_what_no_type_can_say_is_listed_with_its_place() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^x"}, "b": {}}}
    found = stubs_of(registry_with(tool("find", schema, outputSchema={"type": "object"}))).findings
    assert ("lost", "/inputSchema/properties/a") in [(each.what, each.path) for each in found]
    assert ("any", "/inputSchema/properties/b") in [(each.what, each.path) for each in found]


def test_names_become_valid_stay_distinct_and_lead_back() -> None:
    found = identifiers(["from", "a-b", "a_b", "1st", "print", "é"])
    assert found == {
        "from_": "from",
        "a_b_2": "a-b",
        "a_b": "a_b",
        "_1st": "1st",
        "print_": "print",
        "__": "é",
    }
    assert class_name("git-hub__create_issue", "$top") == "GitHubCreateIssueTop"
    schema = {"type": "object", "properties": {"from": {"type": "string"}, "$top": {"type": "integer"}}}
    stub = stubs_of(registry_with(tool("find", schema))).functions["shop__find"]
    assert stub.arguments({"from_": "x", "_top": 3}) == {"from": "x", "$top": 3}


def test_a_tool_the_context_may_not_call_is_in_no_stub() -> None:
    registry = registry_with(tool("find"), tool("void"))
    assert list(stubs_of(registry, Access(deny=("*__void",))).functions) == ["shop__find"]


def test_a_description_can_neither_leave_its_docstring_nor_its_comment() -> None:
    hostile = 'x"""\nimport os\n"""\\ \x00 \u202e end"'
    schema = {
        "type": "object",
        "properties": {"a": {"type": "object", "properties": {"b": {"description": "x\nimport os\r"}}}},
    }
    text = stubs_of(registry_with(tool("find", schema, description=hostile))).text()
    compiled = compile(text, "stub", "exec")
    assert "os" not in compiled.co_names
    assert "\x00" not in text and "\u202e" not in text


def test_schemas_without_end_become_stubs_within_bounds() -> None:
    itself = {
        "type": "object",
        "properties": {"next": {"$ref": "#"}, "all": {"type": "array", "items": {"$ref": "#"}}},
    }
    assert "next" in stub_of_schema(itself)
    loop = {"$defs": {"a": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#/$defs/a"}}]}},
            "type": "object", "properties": {"x": {"$ref": "#/$defs/a"}}}  # fmt: skip
    assert "ShopFindA: TypeAlias = 'int | list[ShopFindA]'" in stub_of_schema(loop)
    doubled = {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}
    assert read_schema(doubled, "X").type.kind == "any"
    deep: dict = {"type": "string"}
    for _ in range(500):
        deep = {"type": "array", "items": deep}
    assert "Any" in stub_of_schema({"type": "object", "properties": {"d": deep}})
    for nowhere in ("https://example.org/s.json", "#anchor", "#/x/²", "#/x/" + "9" * 5_000, "#/x/-1"):
        assert "x: Any" in stub_of_schema(
            {"type": "object", "properties": {"x": {"$ref": nowhere}}, "x": [{"type": "string"}]}
        )


def test_a_reference_with_an_escaped_name_is_followed() -> None:
    schema = {
        "type": "object",
        "properties": {"x": {"$ref": "#/$defs/a%20b"}},
        "$defs": {"a b": {"type": "string"}},
    }
    assert "x: str" in stub_of_schema(schema)


def test_the_checker_accepts_and_refuses_what_the_schema_does(pool: pydantic_monty.Monty) -> None:
    inner = {
        "type": "object",
        "properties": {"@v": {"type": "integer"}},
        "required": ["@v"],
        "additionalProperties": {"type": "string"},
    }
    schema = {
        "type": "object", "properties": {"o": inner, "n": {"type": ["integer", "null"]}}, "required": ["o"],
        "additionalProperties": {"type": "boolean"},
    }  # fmt: skip
    assert accepts(
        pool, schema, "o={'@v': 1}", "o={'@v': 1, 'more': 'x'}", "o={'@v': 1, 'more': 2}", "o={}", "",
        "o={'@v': 1}, n=None",
        "o={'@v': 1}, n='x'", "o={'@v': 1}, else_=True", "o={'@v': 1}, else_=3",
    ) == [True, True, False, False, False, True, False, True, False]  # fmt: skip


# --- the corpus


def corpus_catalogs() -> list[Path]:
    return sorted(CORPUS.glob("*.legacy.jsonl")) if CORPUS.exists() else []


def stubs_in(path: Path) -> Stubs:
    snapshot = snapshot_of_lines(path.read_bytes())
    return stubs_of(registry_of([read_server(snapshot, path.name, received_at_us=1)]))


@pytest.mark.corpus
@pytest.mark.skipif(not CORPUS.exists(), reason="the corpus is not on this machine")
def test_stubs_of_every_corpus_catalog_compile_type_check_and_agree_with_their_schemas(
    pool: pydantic_monty.Monty,
) -> None:
    """Python compiled and type-checked, TypeScript parsed, and eight calls each of up to 12 tools a catalog."""
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_typescript.language_typescript()))
    counted: Counter[str] = Counter()
    differing: list[str] = []
    for path in corpus_catalogs():
        stubs, chance = stubs_in(path), random.Random(path.name)
        python = stubs.text()
        compile(python, path.name, "exec")
        minded = complaints(pool, python).values()
        assert [each for each in minded if not defined_later(each, python)] == [], path.name
        names = sorted(chance.sample(list(stubs.functions), min(12, len(stubs.functions))))
        tree = parser.parse(stubs.text("typescript", "full", names).encode())
        assert not tree.root_node.has_error, path.name
        calls = [
            (stubs.functions[name], given)
            for name in names
            for given in made_for(stubs.functions[name].tool.value, chance)
        ]
        lines = ["def q():", *[f"    {call_text(stub, given)}" for stub, given in calls], "    pass"]
        minded = complaints(pool, "\n".join(lines), stubs.text("python", "typed", names))
        for number, (stub, given) in enumerate(calls):
            schema = stub.tool.value["inputSchema"]
            accepted = jsonschema_rs.validator_for(schema, validate_formats=False).is_valid(given)
            if accepted == (number + 2 not in minded):
                counted["accepted by both" if accepted else "refused by both"] += 1
                continue
            why = excused(stub, schema, given, accepted)
            counted[why] += 1
            if not why:
                differing.append(f"{path.name}: {lines[number + 1]}")
    assert differing == []
    assert counted["accepted by both"] > 500 and counted["refused by both"] > 300


def defined_later(complaint: str, stubs: str) -> bool:
    """A name used before its line: the checker minds that in a script, and not in a stub file."""
    name = re.search(r"Name `(\w+)` used when not defined", complaint)
    return bool(name and re.search(rf"^(class {name[1]}\(|{name[1]}(: TypeAlias)? = )", stubs, re.MULTILINE))


def made_for(definition: dict, chance: random.Random) -> Iterator[dict]:
    schema = definition["inputSchema"]
    maker = Maker(schema, chance)
    for _ in range(4):
        given = maker.object(schema)
        yield given
        yield spoilt(given, schema, chance)
