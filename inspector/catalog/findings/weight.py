"""Rules about bytes that could be saved. Pure; run them in the worker process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from statistics import median
from typing import Any, Final

from inspector.catalog.findings.rule import Hit, rule
from inspector.catalog.findings.subject import Subject, Tool, list_of, object_of, size_of, some
from inspector.catalog.jsontext import compact_value, raw_decode, utf8
from inspector.catalog.measure import PARTS
from inspector.catalog.snapshot import TOOLS
from inspector.catalog.tokens import estimate_bytes4

_SENT: Final = ("name", "description", "inputSchema")
_HEAVY_BYTES = 2_000
_HEAVY_TIMES = 4
_MOST_PARTS = 5
_OFTEN = 5
_WORTH_BYTES = 1_000
_MEASURED: Final = "ours, measured as in docs/definitions.md"


@rule(
    "definitions-repeated",
    "note",
    "The same `$defs` are sent with many tools",
    why="MCP has no place for definitions shared between tools, so each one carries its copy.",
    remedy="Inline what is used once, trim what the tool does not need, or let several tools become one.",
    spec=_MEASURED,
    across=True,
)
def definitions_repeated(subject: Subject) -> Iterator[Hit]:
    shared: Counter[str] = Counter()
    for tool in subject.tools:
        for key in ("inputSchema", "outputSchema"):
            schema = object_of(tool.value.get(key))
            for name, part in [
                *object_of(schema.get("$defs")).items(),
                *object_of(schema.get("definitions")).items(),
            ]:
                shared[f"{compact_value(name)}:{compact_value(part)}"] += 1
    yield from _sharing(shared, 2)


@rule(
    "parameters-repeated",
    "note",
    "The same parameter is described in many tools",
    why="Every conversation pays for each copy.",
    remedy="Take what is the same everywhere from the server's configuration, shorten it, or group the tools.",
    spec=f"{_MEASURED}; word for word the same in {_OFTEN} tools or more",
    across=True,
)
def parameters_repeated(subject: Subject) -> Iterator[Hit]:
    shared: Counter[str] = Counter()
    for tool in subject.tools:
        for name, part in object_of(object_of(tool.value.get("inputSchema")).get("properties")).items():
            shared[f"{compact_value(name)}:{compact_value(part)}"] += 1
    yield from _sharing(shared, _OFTEN)


def _sharing(shared: Counter[str], fewest: int) -> Iterator[Hit]:
    """One hit for all texts that stand `fewest` times or more, with the bytes of every copy but one."""
    costs = {text: len(utf8(text)) * (times - 1) for text, times in shared.items() if times >= fewest}
    saved = sum(costs.values())
    if saved >= _WORTH_BYTES:
        dearest = sorted(costs, key=lambda text: -costs[text])
        names = [f"{text[: raw_decode(text)[1]]} × {shared[text]:,}" for text in dearest]
        copies = sum(shared[text] - 1 for text in costs)
        message = f"{copies:,} copies of {len(costs):,} texts cost {saved:,} bytes: {some(names)}"
        yield Hit(None, "", message, saved)


@rule(
    "heaviest-parts",
    "note",
    "A few parts weigh far more than their like",
    why="Cutting the heaviest few saves more than trimming everything.",
    remedy="Start with the first one: shorten it, or load it only when it is asked for.",
    spec=f"{_MEASURED}; over {_HEAVY_BYTES:,} bytes and {_HEAVY_TIMES} times the median of its kind",
    across=True,
)
def heaviest_parts(subject: Subject) -> Iterator[Hit]:
    usual = _medians(subject)
    heavy = [
        (size - usual[part], part, tool)
        for tool in subject.tools
        for part, size in tool.measure.parts.items()
        if part in usual and size > max(_HEAVY_BYTES, _HEAVY_TIMES * usual[part])
    ]
    for saved, part, tool in sorted(heavy, key=lambda each: (-each[0], each[2].index))[:_MOST_PARTS]:
        size = tool.measure.parts[part]
        message = f"{part} has {size:,} bytes; cut to the median here ({usual[part]:,}), "
        message += _saving(subject, tool, part, saved)
        yield Hit(tool.index, f"/{part}", message, saved)


def _medians(subject: Subject) -> dict[str, int]:
    sizes: dict[str, list[int]] = {part: [] for part in PARTS}
    for tool in subject.tools:
        for part, size in tool.measure.parts.items():
            sizes[part].append(size)
    return {part: int(median(each)) for part, each in sizes.items() if each and part != "other"}


def _saving(subject: Subject, tool: Tool, part: str, saved: int) -> str:
    if part not in _SENT:
        return f"it saves {saved:,} bytes on the wire; no provider is sent this part"
    if subject.tokens is None:
        return f"it saves {saved:,} bytes (bytes/4 estimate: {estimate_bytes4(saved):,} tokens)"
    whole = subject.tokens.items[tool.index].definition.value
    share = round(whole * saved / tool.measure.definition_bytes)
    return f"it saves {saved:,} bytes, about {share:,} {subject.tokens.tokenizer} tokens"


@rule(
    "titles-generated",
    "note",
    "Property titles only repeat the property names",
    why="Schema generators add them; they tell a model nothing and go into every prompt.",
    remedy="Leave `title` out when generating schemas (pydantic: a GenerateJsonSchema without field titles).",
    spec=_MEASURED,
)
def titles_generated(subject: Subject) -> Iterator[Hit]:
    for tool in subject.tools:
        titled = [
            node for node in tool.parameters if _is_generated(node.name or "", node.schema.get("title"))
        ]
        if titled:
            saved = sum(size_of({"title": node.schema["title"]}) - 1 for node in titled)
            yield Hit(tool.index, f"{titled[0].path}/title", f"{len(titled)} titles, {saved:,} bytes", saved)


def _is_generated(name: str, title: Any) -> bool:
    return isinstance(title, str) and title.replace(" ", "").lower() == name.replace("_", "").lower()


@rule(
    "null-unions",
    "note",
    "Optional parameters are spelled as a union with null",
    why='`"anyOf":[{"type":…},{"type":"null"}],"default":null` says what leaving it out of `required` already says.',
    remedy="Describe the type alone and leave the parameter out of `required`; accept null all the same.",
    spec=f"{_MEASURED}; JSON Schema 2020-12 required",
)
def null_unions(subject: Subject) -> Iterator[Hit]:
    for tool in subject.tools:
        spelled = [(node, _saved(node.schema)) for node in tool.parameters]
        spelled = [(node, saved) for node, saved in spelled if saved > 0]
        if spelled:
            total = sum(saved for _, saved in spelled)
            message = f"{len(spelled)} parameters, {total:,} bytes"
            yield Hit(tool.index, spelled[0][0].path, message, total)


def _saved(schema: dict[str, Any]) -> int:
    """Bytes between the union with null (and its null default) and its other branch alone; 0 when it is none."""
    branches = list_of(schema.get("anyOf"))
    others = [branch for branch in branches if branch != {"type": "null"}]
    if (
        len(branches) != 2
        or len(others) != 1
        or not isinstance(others[0], dict)
        or schema.get("default", 0) is not None
    ):
        return 0
    plain = {key: value for key, value in schema.items() if key not in ("anyOf", "default")}
    return size_of(schema) - size_of({**others[0], **plain})


@rule(
    "instructions-heavy",
    "caution",
    "The server's instructions are larger than all its definitions",
    why="Hosts put them into every prompt, beside the tools and often unseen.",
    remedy="Keep to what a model needs before its first call; move the rest into prompts, resources or skills.",
    spec="MCP 2026-07-28 server/discover (instructions); field reports, token shock",
    across=True,
)
def instructions_heavy(subject: Subject) -> Iterator[Hit]:
    size = len(utf8(subject.instructions or ""))
    if subject.measures and subject.what == TOOLS and size > max(_WORTH_BYTES, subject.definition_bytes):
        yield Hit(None, "", f"{size:,} bytes of instructions, {subject.definition_bytes:,} of definitions")
