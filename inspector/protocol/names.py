"""Names of tools, and the characters that hide in server text: checks and marks. Pure, any thread.

Source: MCP 2026-07-28 server/tools (names SHOULD be 1-128 of A-Z a-z 0-9 _ - .); Unicode UAX #9 (BiDi
controls), ECMA-48 (escape sequences).
"""

from __future__ import annotations

import re
from typing import Any, Final, Literal

MAX_NAME: Final = 128

Kind = Literal["", "control", "bidi", "zero-width", "ansi"]

_NAME: Final = re.compile(r"[A-Za-z0-9_.-]+")
_REFUSED: Final = re.compile(r"[^A-Za-z0-9_.-]")
_FAMILY: Final = re.compile(
    # Up to a separator, the end, fooBar -> foo, or PDFRead -> PDF, whichever comes first.
    r"[^_.\-/]+?(?=[_.\-/]|\Z|(?<=[a-z0-9])[A-Z]|(?<=[A-Z])[A-Z][a-z])"
)
_MARKED: Final = re.compile(
    # CSI; OSC, DCS, SOS, PM and APC strings up to their terminator; other two- and three-character escapes.
    r"(?P<ansi>(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-OQ-WYZ\\`-~])"
    r"|(?P<bidi>[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+)"
    r"|(?P<zero>[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065\u206a-\u206f\u3164"
    r"\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]+)"
    r"|(?P<control>[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+)"
)
_KINDS: Final[dict[str, Kind]] = {"ansi": "ansi", "bidi": "bidi", "zero": "zero-width", "control": "control"}


def name_faults(name: Any) -> list[str]:
    """What the specification advises against in a tool's name, one phrase each; [] when it is fine."""
    if not isinstance(name, str):
        return ["the name is not a string"]
    if not name:
        return ["the name is empty"]
    faults = []
    if len(name) > MAX_NAME:
        faults.append(f"the name has {len(name)} characters, more than {MAX_NAME}")
    if not _NAME.fullmatch(name):
        odd = dict.fromkeys(_REFUSED.findall(name))
        faults.append(f"the name has characters outside A-Z a-z 0-9 _ . -: {' '.join(map(ascii, odd))}")
    return faults


def family(name: str) -> str:
    """The first word of an identifier: up to `_`, `.`, `-`, `/` or a camelCase boundary, else all of it.

    `repo_list` -> `repo`, `gateway.invoke` -> `gateway`, `readFile` -> `read`, `PDFRead` -> `PDF`, `_x_y`
    -> `x`.
    """
    bare = name.lstrip("_.-/")
    if not bare:
        return name
    first = _FAMILY.match(bare)
    return first[0] if first else bare


def marks(text: str) -> list[tuple[str, Kind]]:
    """Cut `text` into segments with what is to be shown of them; joined they are `text` again.

    "" is plain (tab and line feed among it), `ansi` one whole escape sequence, `bidi` characters that reorder
    what a reader sees, `zero-width` ones that take no room, `control` the rest that has no glyph.
    """
    segments: list[tuple[str, Kind]] = []
    end = 0
    for found in _MARKED.finditer(text):
        if found.start() > end:
            segments.append((text[end : found.start()], ""))
        segments.append((found[0], _KINDS[found.lastgroup or ""]))
        end = found.end()
    if end < len(text):
        segments.append((text[end:], ""))
    return segments
