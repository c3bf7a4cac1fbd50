"""What a difference in one JSON Schema keyword means: one small rule each. Pure.

A rule is called with the walk, the two nodes (references followed), their path and the keyword that differs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from inspector.catalog import schema as schemas
from inspector.catalog.jsontext import compact_value
from inspector.catalog.snapshot import ABSENT

if TYPE_CHECKING:
    from inspector.catalog.difference.schema_changes import Walk

Node = dict[str, Any]
Rule = Callable[["Walk", Node, Node, str, str], None]

_TYPES: Final = (
    (bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (dict, "object"), (list, "array"),
    (type(None), "null"),
)  # fmt: skip
_LOWER: Final = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains")
_UPPER: Final = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains")
_FROM_NOTHING: Final = ("minLength", "minItems", "minProperties")
_UNIONS: Final = ("anyOf", "oneOf")
_ROOTS: Final = ("/inputSchema", "/outputSchema")
"""Where a missing type means an object: arguments and structuredContent are nothing else (MCP server/tools)."""


def properties(walk: Walk, before: Node, after: Node, path: str, _key: str) -> None:
    """`properties` and `required`: what went, what came, what became required or optional, what changed inside."""
    old, new = _object(before, "properties"), _object(after, "properties")
    needed_before, needed_after = _names(before), _names(after)
    at = f"{path}/properties"
    for name, node in old.items():
        if name not in new:
            walk.add("property-removed", _under(at, name), node)
        elif not walk.alike(node, new[name]):
            walk.node(node, new[name], _under(at, name))
    for name, node in new.items():
        if name not in old and name not in needed_after:
            walk.add("property-added", _under(at, name), ABSENT, node)
    for name in needed_after:
        if name not in needed_before:
            walk.add("required-added", _under(at, name), old.get(name, ABSENT), new.get(name, ABSENT))
    for name in needed_before:
        if name not in needed_after and (name in new or name not in old):
            walk.add("required-dropped", _under(at, name), old.get(name, ABSENT), new.get(name, ABSENT))


def types(walk: Walk, before: Node, after: Node, path: str, _key: str) -> None:
    """`type`; `integer` is a `number`, and a missing type is what the enum's values or the root's nature tell."""
    old, new = _types(before, path), _types(after, path)
    shown = before.get("type", ABSENT), after.get("type", ABSENT)
    fewer, more = _within(new, old), _within(old, new)
    if fewer and more:
        return
    kind = "type-narrowed" if fewer else "type-widened" if more else "type-changed"
    walk.add(kind, f"{path}/type", *shown)


def choices(walk: Walk, before: Node, after: Node, path: str, key: str) -> None:
    """`enum` and `const`, and unions of `const`s, as sets of JSON values."""
    old, new = _values(before), _values(after)
    at = f"{path}/{key}"
    if old is None or new is None:
        if old is not new:
            kind = "enum-narrowed" if old is None else "enum-widened"
            walk.add(kind, at, before.get(key, ABSENT), after.get(key, ABSENT))
        return
    gone, come = old - new, new - old
    if gone or come:
        kind = "enum-changed" if gone and come else "enum-narrowed" if gone else "enum-widened"
        walk.add(kind, at, before.get(key, ABSENT), after.get(key, ABSENT))


def bounds(walk: Walk, before: Node, after: Node, path: str, key: str) -> None:
    """A lower or an upper limit."""
    old, new = before.get(key, ABSENT), after.get(key, ABSENT)
    if not all(limit is ABSENT or _is_number(limit) for limit in (old, new)):
        constraint(walk, before, after, path, key)
        return
    if old is ABSENT or new is ABSENT:
        if key in _FROM_NOTHING and 0 in (old, new):
            return  # it says what leaving it out says
        narrowed = old is ABSENT
    else:
        narrowed = new > old if key in _LOWER else new < old
    walk.add("bound-narrowed" if narrowed else "bound-widened", f"{path}/{key}", old, new)


def multiple_of(walk: Walk, before: Node, after: Node, path: str, key: str) -> None:
    """`multipleOf`: a multiple of the old step allows less."""
    old, new = before.get(key, ABSENT), after.get(key, ABSENT)
    if old is ABSENT or (_is_number(old) and _is_number(new) and old > 0 and new % old == 0):
        walk.add("bound-narrowed", f"{path}/{key}", old, new)
    elif new is ABSENT or (_is_number(old) and _is_number(new) and new > 0 and old % new == 0):
        walk.add("bound-widened", f"{path}/{key}", old, new)
    else:
        walk.add("constraint-changed", f"{path}/{key}", old, new)


def unique_items(walk: Walk, before: Node, after: Node, path: str, key: str) -> None:
    old, new = before.get(key, ABSENT), after.get(key, ABSENT)
    if (old is True) != (new is True):
        walk.add("bound-narrowed" if new is True else "bound-widened", f"{path}/{key}", old, new)


def openness(walk: Walk, before: Node, after: Node, path: str, key: str) -> None:
    """`additionalProperties`, `unevaluatedProperties`: anything, what fits a schema, or nothing."""
    old, new = before.get(key, ABSENT), after.get(key, ABSENT)
    if isinstance(old, dict) and isinstance(new, dict):
        walk.node(old, new, f"{path}/{key}")
    elif (closed := _closed(new) - _closed(old)) != 0:
        walk.add("properties-closed" if closed > 0 else "properties-opened", f"{path}/{key}", old, new)


def subschema(walk: Walk, before: Node, after: Node, path: str, key: str) -> None:
    """A keyword that holds one schema, where less allowed inside is less allowed outside."""
    if key in before and key in after and _is_schema(before[key]) and _is_schema(after[key]):
        walk.node(before[key], after[key], f"{path}/{key}")
    else:
        constraint(walk, before, after, path, key)


def union(walk: Walk, before: Node, after: Node, path: str, _key: str) -> None:
    """`anyOf`, `oneOf`: alternatives are paired when equal, then by what they describe; the rest went or came.

    A node without a union is a union of one.
    """
    old, new, at = _branches(before), _branches(after), f"{path}/{_union_key(after) or _union_key(before)}"
    pairs, gone, come = _paired(walk, old, new)
    if len(gone) == len(come) == 1:
        pairs.append((gone.pop(), come.pop()))
    positions = {id(branch): number for number, branch in enumerate(new)}
    for one, other in pairs:
        if not walk.alike(one, other):
            walk.node(one, other, f"{at}/{positions[id(other)]}")
    for branch in gone:
        walk.add("union-narrowed", at, branch)
    for branch in come:
        walk.add("union-widened", at, ABSENT, branch)


def all_of(walk: Walk, before: Node, after: Node, path: str, key: str) -> None:
    """`allOf`, by position; one more is one more constraint."""
    old, new = _list(before, key), _list(after, key)
    for number, (one, other) in enumerate(zip(old, new, strict=False)):
        if not walk.alike(one, other):
            walk.node(one, other, f"{path}/{key}/{number}")
    for number, one in enumerate(old[len(new) :], len(new)):
        walk.add("constraint-removed", f"{path}/{key}/{number}", one)
    for number, other in enumerate(new[len(old) :], len(old)):
        walk.add("constraint-added", f"{path}/{key}/{number}", ABSENT, other)


def constraint(walk: Walk, before: Node, after: Node, path: str, key: str) -> None:
    """A keyword that restricts: more of it allows less, another one may do either."""
    old, new = before.get(key, ABSENT), after.get(key, ABSENT)
    if walk.equal(old, new):
        return
    kind = (
        "constraint-added"
        if old is ABSENT
        else "constraint-removed"
        if new is ABSENT
        else "constraint-changed"
    )
    walk.add(kind, f"{path}/{key}", old, new)


def _saying(kind: str) -> Rule:
    """A rule that only says that the keyword changed."""

    def rule(walk: Walk, before: Node, after: Node, path: str, key: str) -> None:
        old, new = before.get(key, ABSENT), after.get(key, ABSENT)
        if not walk.equal(old, new):
            walk.add(kind, f"{path}/{key}", old, new)

    return rule


def definitions(_walk: Walk, _before: Node, _after: Node, _path: str, _key: str) -> None:
    """`$defs`: what is in them matters where a `$ref` leads there."""


_RULES: Final[dict[str, Rule]] = {
    "properties": properties,
    "type": types,
    "enum": choices,
    "anyOf": union,
    "allOf": all_of,
    **dict.fromkeys((*_LOWER, *_UPPER), bounds),
    "multipleOf": multiple_of,
    "uniqueItems": unique_items,
    **dict.fromkeys(("additionalProperties", "unevaluatedProperties"), openness),
    **dict.fromkeys(("items", "contains", "propertyNames", "additionalItems", "unevaluatedItems"), subschema),
    **dict.fromkeys(
        ("pattern", "not", "if", "then", "else", "prefixItems", "patternProperties", "dependentRequired",
         "dependentSchemas", "dependencies", "$dynamicRef"),
        constraint,
    ),
    **dict.fromkeys(("$defs", "definitions"), definitions),
}  # fmt: skip
_SAYINGS: Final[dict[str, Rule]] = {
    "description": _saying("description-changed"),
    "default": _saying("default-changed"),
    "$schema": _saying("dialect-changed"),
    "x-mcp-header": _saying("header-changed"),
    **dict.fromkeys(("format", "contentEncoding", "contentMediaType"), _saying("format-changed")),
}
_OTHER: Final = _saying("keyword-changed")
_GROUPS: Final = {"required": "properties", "const": "enum", "oneOf": "anyOf"}
WORDS: Final = frozenset({"description", "title", "default", "examples", "$comment", "deprecated", "$schema"})
"""Keywords that are not about what is valid: they stand beside a union as they stand beside a plain node."""


def group_of(key: str, *, unions: bool) -> str:
    """The keyword that stands for all that are judged together; a union of `const`s is an enum."""
    if not unions and key in _UNIONS:
        return "enum"
    return _GROUPS.get(key, key)


def rule_for(key: str) -> Rule:
    return _RULES.get(key) or _SAYINGS.get(key, _OTHER)


def is_union(node: Node) -> bool:
    """Whether the node has alternatives that are more than a list of values."""
    return bool(_union_key(node)) and not schemas.choices(node)


def _union_key(node: Node) -> str:
    return next((key for key in _UNIONS if key in node and isinstance(node[key], list)), "")


def _under(path: str, name: str) -> str:
    return f"{path}/{schemas.escape(name)}"


def _branches(node: Node) -> list[Any]:
    if is_union(node):
        return list(node[_union_key(node)])
    return [{key: value for key, value in node.items() if key not in WORDS}]


def _paired(walk: Walk, old: list[Any], new: list[Any]) -> tuple[list[tuple[Any, Any]], list[Any], list[Any]]:
    """(pairs, left in old, left in new): equal ones, then of the same name, then of the same type, in order."""
    pairs: list[tuple[Any, Any]] = []
    for signature in (_whole, _named, _typed):
        waiting: dict[str, list[Any]] = {}
        for branch in new:
            waiting.setdefault(signature(walk, branch, 1), []).append(branch)
        rest = []
        for branch in old:
            mark = signature(walk, branch, 0)
            if mark and waiting.get(mark):
                pairs.append((branch, waiting[mark].pop(0)))
            else:
                rest.append(branch)
        taken = {id(branch) for _, branch in pairs}
        old, new = rest, [branch for branch in new if id(branch) not in taken]
    return pairs, old, new


def _whole(_walk: Walk, branch: Any, _which: int) -> str:
    return compact_value(branch)


def _named(_walk: Walk, branch: Any, _which: int) -> str:
    name = (branch.get("$ref") or branch.get("title")) if isinstance(branch, dict) else None
    return name if isinstance(name, str) else ""


def _typed(walk: Walk, branch: Any, which: int) -> str:
    node = walk.resolved(branch, which)
    return compact_value(node["type"]) if node and "type" in node else ""


def _types(node: Node, path: str) -> set[str] | None:
    """The types a node allows; None means any."""
    kind = node.get("type")
    if isinstance(kind, str):
        return {kind}
    if isinstance(kind, list):
        return {each for each in kind if isinstance(each, str)}
    listed = schemas.choices(node)
    if listed:
        return {next(name for known, name in _TYPES if isinstance(value, known)) for value, _ in listed}
    return {"object"} if path in _ROOTS else None


def _within(inner: set[str] | None, outer: set[str] | None) -> bool:
    if outer is None or inner is None:
        return outer is None
    return all(each in outer or (each == "integer" and "number" in outer) for each in inner)


def _values(node: Node) -> set[str] | None:
    """The allowed values as JSON text; None when the node lists none."""
    listed = schemas.choices(node)
    return {compact_value(value) for value, _ in listed} if listed or "enum" in node else None


def _object(node: Node, key: str) -> dict[str, Any]:
    found = node.get(key)
    return found if isinstance(found, dict) else {}


def _list(node: Node, key: str) -> list[Any]:
    found = node.get(key)
    return found if isinstance(found, list) else []


def _names(node: Node) -> dict[str, None]:
    """The required names, in order and quickly found."""
    return dict.fromkeys(map(str, _list(node, "required")))


def _closed(value: Any) -> int:
    """0 anything goes, 1 what fits a schema, 2 nothing."""
    return 2 if value is False else 1 if isinstance(value, dict) and value else 0


def _is_schema(value: Any) -> bool:
    return isinstance(value, dict | bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
