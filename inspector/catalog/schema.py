"""Reading JSON Schema nodes as a form needs them: references, unions with null, choices. Pure, any thread."""

from __future__ import annotations

import re
from typing import Any, Final
from urllib.parse import unquote

SCALARS = ("string", "integer", "number", "boolean")
_INDEX: Final = re.compile("0|[1-9][0-9]{0,15}")
"""An array index as RFC 6901 writes it, as long as any array can need."""
_COMBINATORS = ("anyOf", "oneOf", "allOf", "not", "if", "$dynamicRef", "patternProperties", "prefixItems")


def escape(key: str) -> str:
    """One step of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def at_pointer(root: Any, pointer: str) -> Any:
    """What stands at a JSON pointer inside `root`; None when nothing does."""
    node = root
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict) and key in node:
            node = node[key]
        elif isinstance(node, list) and _INDEX.fullmatch(key) and int(key) < len(node):
            node = node[int(key)]
        else:
            return None
    return node


def referred(reference: str, root: Any) -> Any:
    """What a `$ref` points at within `root`, by JSON pointer; None when it leads outside, to an anchor or nowhere."""
    if not reference.startswith("#") or reference[1:2] not in ("", "/"):
        return None
    return at_pointer(root, unquote(reference[1:]))


def resolved(node: Any, root: Any) -> dict[str, Any] | None:
    """The node with its local `$ref`s and lone `allOf` followed; its own keywords win over the target's.

    None when it is no object, points outside the document (nothing is ever fetched) or into a circle.
    """
    seen: set[str] = set()
    while isinstance(node, dict):
        own = dict(node)
        if "$ref" in own:
            ref = own.pop("$ref")
            if not isinstance(ref, str) or ref in seen:
                return None
            seen.add(ref)
            target = referred(ref, root)
        elif isinstance(own.get("allOf"), list) and len(own["allOf"]) == 1:
            target = own.pop("allOf")[0]
        else:
            return own
        if not isinstance(target, dict):
            return None
        node = {**target, **own}
    return None


def plain(node: Any, root: Any) -> tuple[dict[str, Any], bool] | None:
    """(the node without its null branch, whether null is allowed); None when it is more than one plain kind."""
    found = resolved(node, root)
    if found is None:
        return None
    for key in ("anyOf", "oneOf"):
        if isinstance(found.get(key), list) and not choices(found):
            return _without_null_branch(found, key, root)
    kind = found.get("type")
    if not isinstance(kind, list):
        return found, False
    others = [each for each in kind if each != "null"]
    if len(others) != 1:
        return None
    return {**found, "type": others[0]}, len(others) < len(kind)


def _without_null_branch(node: dict[str, Any], key: str, root: Any) -> tuple[dict[str, Any], bool] | None:
    own = {name: value for name, value in node.items() if name != key}
    branches = [resolved(branch, root) for branch in node[key]]
    others = [branch for branch in branches if branch is None or branch.get("type") != "null"]
    if len(others) != 1 or others[0] is None:
        return None
    inner = plain({**others[0], **own}, root) if not _unions(others[0]) else None
    return None if inner is None else (inner[0], inner[1] or len(others) < len(branches))


def _unions(node: dict[str, Any]) -> bool:
    return any(isinstance(node.get(key), list) and not choices(node) for key in ("anyOf", "oneOf"))


def choices(node: dict[str, Any]) -> list[tuple[Any, str | None]]:
    """(value, title) of each allowed value: `enum` (with `enumNames`), `const`, or a union of `const`s."""
    if isinstance(node.get("enum"), list):
        names = node.get("enumNames")
        titles = (
            names
            if isinstance(names, list) and len(names) == len(node["enum"])
            else [None] * len(node["enum"])
        )
        return list(zip(node["enum"], titles, strict=True))
    if "const" in node:
        return [(node["const"], _title(node))]
    for key in ("oneOf", "anyOf"):
        branches = node.get(key)
        if isinstance(branches, list) and branches and all(_is_const(branch) for branch in branches):
            return [(_const(branch), _title(branch)) for branch in branches]
    return []


def _is_const(branch: Any) -> bool:
    return isinstance(branch, dict) and ("const" in branch or branch.get("type") == "null")


def _const(branch: dict[str, Any]) -> Any:
    return branch.get("const")


def _title(branch: dict[str, Any]) -> str | None:
    title = branch.get("title")
    return title if isinstance(title, str) else None


def is_combined(node: dict[str, Any]) -> bool:
    """Whether keywords a form cannot show take part in this node."""
    return any(key in node for key in _COMBINATORS)
