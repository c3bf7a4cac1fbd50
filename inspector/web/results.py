"""What a call brought, as the Call screen shows it: content by kind, JSON texts exact. Pure, any thread.

Everything is read from the raw answer, never from parsed numbers: `1.0`, `1e999` and 2^53+1 stay as they came.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from inspector.catalog import jsontext
from inspector.catalog.jsontree import Document, Path
from inspector.console.outcome import Outcome
from inspector.protocol.clipping import clipped
from inspector.web.places import place
from inspector.web.result_text import (
    DECODER,
    LONG_CHARS,
    elements_of,
    members_in,
    members_of,
    members_of_result,
)

if TYPE_CHECKING:
    from inspector.web.parts import Part

MOST_ITEMS: Final = 50
NAME_CHARS: Final = 120
TEXT_CHARS: Final = 40_000
"""How much of one text is on the page; the rest is in the download."""
IMAGE_BYTES: Final = 200_000
"""A larger image is offered as a download, so that the page stays small."""
IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
LINE_CHARS: Final = 6_000
"""Of a text that is a fact beside a content item."""
TABLE_ROWS: Final = 100
TABLE_COLUMNS: Final = 12

Value = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Table:
    """An array of flat objects. rows: cells in the order of columns, numbers as spelled, None where absent."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]
    total: int


@dataclass(frozen=True, slots=True)
class Text:
    """A text as shown. json: laid out as JSON; left_out: characters beyond the end of `text`.

    place: where it stands (web.parts), empty when it cannot be opened bit by bit; part: its root, opened.
    """

    text: str
    json: bool = False
    table: Table | None = None
    left_out: int = 0
    place: str = ""
    part: Part | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """One content item.

    kind: `text`, `image`, `audio`, `resource_link`, `resource` or `unknown`. raw: the item as received, for what
    cannot be shown otherwise. image: a `data:` URI. size: decoded bytes of a download. problem: what is wrong
    with it. repeats: the text is the JSON of structuredContent.
    """

    number: int
    kind: str
    text: Text | None = None
    raw: Text | None = None
    image: str = ""
    size: int | None = None
    facts: tuple[tuple[str, str], ...] = ()
    problem: str = ""
    repeats: bool = False


@dataclass(frozen=True, slots=True)
class Contents:
    """The result, taken apart. more: content items not shown. rest: the other members of the result, as JSON text;
    rest_more: those not shown.

    problem: why the answer, or its content, could not be taken apart.
    """

    items: tuple[Item, ...] = ()
    structured: Text | None = None
    rest: tuple[tuple[str, Text], ...] = ()
    more: int = 0
    problem: str = ""
    rest_more: int = 0


def contents_of(
    raw: bytes | None, *, of_tool: bool = True, of_task: bool = False, document: Document | None = None
) -> Contents:
    """The content items, structuredContent and the rest of a result, from the answer exactly as received.

    of_tool: the result must have content, unless it asks for input. of_task: it is what a task brought. document: the
    answer's text, when it is large and where its nodes stand is known already.
    """
    try:
        members = dict(members_of_result(raw) if document is None else members_in(document))
        if of_task:
            inner = members_of(members.pop("result", "{}"))
            members = {f"{name} of the task": text for name, text in members.items()} | dict(inner)
    except (ValueError, RecursionError) as problem:
        why = "is nested too deeply to read" if isinstance(problem, RecursionError) else "is no JSON object"
        return Contents(problem=f"The answer {why}; its raw bytes are below.")
    at: Path = ("result", "result") if of_task else ("result",)
    text = members.pop("structuredContent", None)
    structured = None if text is None else shown(text, place("answer", (*at, "structuredContent")))
    content = members.pop("content", None)
    listed = next((name for name in WRAPPED if content is None and name in members), "")
    if listed:
        return _listed(listed, members.pop(listed), members)
    members.pop("isError", None)
    rest, rest_more = _rest(members, at)
    if content is None:
        asks = members.get("resultType") == '"input_required"'
        missing = "" if asks or not of_tool else "The result has no content."
        return Contents((), structured, rest, problem=missing, rest_more=rest_more)
    if not content.startswith("["):
        rest = (("content", shown(content)), *rest)
        return Contents((), structured, rest, problem="content is not an array.", rest_more=rest_more)
    items, more = _items(content, text)
    return Contents(items, structured, rest, more, rest_more=rest_more)


def _rest(members: dict[str, str], at: Path) -> tuple[tuple[tuple[str, Text], ...], int]:
    """The first members of the result at `at`, and how many more there are."""
    named = [(name, shown(text, _placed(at, name))) for name, text in list(members.items())[:MOST_ITEMS]]
    return tuple([(name[:NAME_CHARS], text) for name, text in named]), max(0, len(members) - MOST_ITEMS)


def _placed(at: Path, name: str) -> str:
    """The place of a member of the result; none of what only a task's standing has."""
    return "" if name.endswith(" of the task") else place("answer", (*at, name))


def _listed(name: str, text: str, members: dict[str, str]) -> Contents:
    """The `contents` of a resource or the `messages` of a prompt, each as the content item it holds."""
    rest, rest_more = _rest(members, ("result",))
    if not text.startswith("["):
        rest = ((name, shown(text)), *rest)
        return Contents(rest=rest, problem=f"{name} is not an array.", rest_more=rest_more)
    found = list(elements_of(text))
    items = [WRAPPED[name](number, raw, value) for number, (raw, value) in enumerate(found[:MOST_ITEMS])]
    problem = "" if found else f"The array {name} is empty."
    more = max(0, len(found) - MOST_ITEMS)
    return Contents(tuple(items), rest=rest, more=more, problem=problem, rest_more=rest_more)


def _of_resource(number: int, raw: str, value: Any) -> Item:
    if not isinstance(value, dict):
        return _unknown(number, raw, "An item of contents must be a JSON object.")
    return _contents_item(number, raw, raw, value)


def _of_prompt(number: int, raw: str, value: Any) -> Item:
    content = value.get("content") if isinstance(value, dict) else None
    if not isinstance(content, dict):
        return _unknown(number, raw, "This message has no content object.")
    item = item_of(number, dict(members_of(raw))["content"], content)
    return replace(item, facts=(("Role", _word(raw, "role")), *item.facts))


def error_object(raw: bytes | None) -> str | None:
    """The `error` of an error answer as JSON text; None when there is none to show."""
    try:
        return dict(members_of((raw or b"").decode("utf-8", "backslashreplace"))).get("error")
    except (ValueError, RecursionError):
        return None


def shown(text: str, at: str = "") -> Text:
    """A text of any length as the page shows it. at: where it stands in the answer."""
    if len(text) <= LONG_CHARS and is_json(text):
        return Text(text, json=True, table=table_of(text), place=at)
    return Text(text[:TEXT_CHARS], left_out=max(0, len(text) - TEXT_CHARS), place=at)


def is_json(text: str) -> bool:
    """Whether the text is a JSON object or array; a bare word or number is better read as text."""
    if text.lstrip()[:1] not in ("{", "["):
        return False
    try:
        DECODER.decode(text)
    except (ValueError, RecursionError):
        return False
    return True


def table_of(text: str) -> Table | None:
    """The table in JSON that is an array of flat objects, or an object whose only member is one."""
    if text.lstrip().startswith("{"):
        members = members_of(text)
        return table_of(members[0][1]) if len(members) == 1 and members[0][1].startswith("[") else None
    rows: list[dict[str, str]] = []
    columns: dict[str, None] = {}
    for raw, value in elements_of(text):
        if not isinstance(value, dict) or any(isinstance(cell, dict | list) for cell in value.values()):
            return None
        columns.update(dict.fromkeys(value))
        rows.append(dict(members_of(raw)) if len(rows) < TABLE_ROWS else {})
    if not columns or len(columns) > TABLE_COLUMNS:
        return None
    cells = [tuple([cell_of(row.get(name)) for name in columns]) for row in rows[:TABLE_ROWS]]
    return Table(tuple(columns), tuple(cells), len(rows))


def cell_of(text: str | None) -> str | None:
    return str(json.loads(text)) if text is not None and text.startswith('"') else text


def _items(content: str, structured: str | None) -> tuple[tuple[Item, ...], int]:
    found = list(elements_of(content))
    items = [item_of(number, raw, value) for number, (raw, value) in enumerate(found[:MOST_ITEMS])]
    if structured is not None:
        items = [_marked(item, structured, value) for item, (_, value) in zip(items, found, strict=False)]
    return tuple(items), max(0, len(found) - MOST_ITEMS)


def _marked(item: Item, structured: str, value: Any) -> Item:
    """The item, told when its text only repeats structuredContent (MCP asks servers to send both)."""
    if item.kind != "text" or item.text is None:
        return item
    short = item.text.json and len(structured) <= LONG_CHARS
    if (short and _canonical(item.text.text) == _canonical(structured)) or value["text"] == structured:
        return replace(item, repeats=True)
    return item


def _canonical(text: str) -> str:
    return jsontext.canonical(text, DECODER.decode(text))


def item_of(number: int, raw: str, value: Any) -> Item:
    """One content item; what is malformed or unknown is shown raw and says why."""
    if not isinstance(value, dict):
        return _unknown(number, raw, "A content item must be a JSON object.")
    kind = value.get("type")
    maker = _MAKERS.get(kind) if isinstance(kind, str) else None
    if maker is None:
        said = (
            f"has the type {short(dict(members_of(raw))['type'])}, which MCP does not define"
            if "type" in value
            else "has no type"
        )
        return _unknown(number, raw, f"This item {said}.")
    return maker(number, raw, value)


def _unknown(number: int, raw: str, problem: str) -> Item:
    return Item(number, "unknown", raw=shown(raw), problem=problem)


def _text(number: int, raw: str, value: Value) -> Item:
    if not isinstance(value.get("text"), str):
        return _unknown(number, raw, "This text item has no text.")
    beside = shown(raw) if set(value) - {"type", "text"} else None
    return Item(
        number, "text", shown(value["text"], f"item-{number}"), beside, size=len(jsontext.utf8(value["text"]))
    )


def _image(number: int, raw: str, value: Value) -> Item:
    octets = decoded(value.get("data"))
    if octets is None:
        return _unknown(number, raw, "The data of this image is not base64.")
    facts = (("Type", _word(raw, "mimeType")),)
    uri, why = _drawn(value.get("mimeType"), octets)
    return Item(number, "image", image=uri, size=len(octets), facts=facts, problem=why)


def _drawn(media_type: Any, octets: bytes) -> tuple[str, str]:
    """The picture as a `data:` URI, or why it is not drawn."""
    if media_type not in IMAGES:
        return "", "Loupe draws PNG, JPEG, GIF and WebP only."
    if len(octets) > IMAGE_BYTES:
        return "", "The image is too large for the page."
    return f"data:{media_type};base64,{base64.b64encode(octets).decode()}", ""


def _audio(number: int, raw: str, value: Value) -> Item:
    octets = decoded(value.get("data"))
    if octets is None:
        return _unknown(number, raw, "The data of this audio is not base64.")
    return Item(number, "audio", size=len(octets), facts=(("Type", _word(raw, "mimeType")),))


def _link(number: int, raw: str, value: Value) -> Item:
    if not isinstance(value.get("uri"), str):
        return _unknown(number, raw, "This resource link has no uri.")
    shown_names = ("uri", "name", "title", "description", "mimeType", "size")
    return Item(number, "resource_link", facts=_facts(raw, shown_names))


def _resource(number: int, raw: str, value: Value) -> Item:
    found = value.get("resource")
    if not isinstance(found, dict):
        return _unknown(number, raw, "This embedded resource has no uri.")
    return _contents_item(number, raw, dict(members_of(raw))["resource"], found)


def _contents_item(number: int, raw: str, inner: str, found: Value) -> Item:
    """A resource's text or blob. raw: the item to show when it holds neither; inner: the resource as received."""
    if not isinstance(found.get("uri"), str):
        return _unknown(number, raw, "This resource has no uri.")
    facts = _facts(inner, ("uri", "mimeType"))
    beside = shown(inner) if set(found) - {"uri", "mimeType", "text", "blob"} else None
    if isinstance(found.get("text"), str):
        size = len(jsontext.utf8(found["text"]))
        return Item(
            number, "resource", shown(found["text"], f"item-{number}"), beside, size=size, facts=facts
        )
    octets = decoded(found.get("blob"))
    if octets is None:
        return _unknown(number, raw, "This resource has neither a text nor a base64 blob.")
    if found.get("mimeType") not in IMAGES:
        return Item(number, "resource", raw=beside, size=len(octets), facts=facts)
    uri, why = _drawn(found["mimeType"], octets)
    return Item(number, "resource", raw=beside, image=uri, size=len(octets), facts=facts, problem=why)


_MAKERS: Final[dict[str, Callable[[int, str, Value], Item]]] = {
    "text": _text,
    "image": _image,
    "audio": _audio,
    "resource_link": _link,
    "resource": _resource,
}


WRAPPED: Final[dict[str, Callable[[int, str, Any], Item]]] = {
    "contents": _of_resource,
    "messages": _of_prompt,
}
"""The member of a result that lists what it brought, other than a tool's `content`."""


def _facts(raw: str, names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    given = dict(members_of(raw))
    return tuple([(name, _word(raw, name)) for name in names if name in given])


def _word(raw: str, name: str) -> str:
    """A member of the object `raw`: a string as it reads, anything else as it was spelled."""
    text = dict(members_of(raw)).get(name, "null")
    return "not named" if text == "null" else short(str(cell_of(text)))


def short(text: str) -> str:
    """A text that stands in a line, its end counted when it is too long for one."""
    return clipped(text, LINE_CHARS)


def decoded(data: Any) -> bytes | None:
    """The octets of a base64 text, None when it is none."""
    if not isinstance(data, str):
        return None
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None


def octets_of(outcome: Outcome, number: int) -> bytes | None:
    """What the download of content item `number` holds; None when there is no such item or nothing in it."""
    result = outcome.result or {}
    content = next((result[name] for name in ("content", *WRAPPED) if name in result), None)
    if not isinstance(content, list) or not 0 <= number < len(content):
        return None
    item = content[number]
    if not isinstance(item, dict):
        return None
    item = item["content"] if isinstance(item.get("content"), dict) else item
    inner = item["resource"] if isinstance(item.get("resource"), dict) else item
    if isinstance(inner.get("text"), str):
        return jsontext.utf8(inner["text"])
    return decoded(inner.get("blob", inner.get("data")))
