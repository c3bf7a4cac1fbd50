"""What servers are called on the screens: their names, and what tells those of one name apart. Pure, any thread."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, Protocol
from urllib.parse import urlsplit

from markupsafe import Markup

from inspector.settings.spec import ServerSpec
from inspector.web.highlight import visible

TAIL: Final = 9
"""Characters at the end of a long name that stay when it gives way in the middle."""
FITS: Final = 16
"""A name this short is never cut."""


class Named(Protocol):
    """A configured server, as `console.servers()` gives it."""

    @property
    def key(self) -> str: ...

    @property
    def spec(self) -> ServerSpec: ...


def labels(servers: Iterable[Named]) -> dict[str, str]:
    """By key: the name; `127.0.0.1:8778/sse` or `crash #2` for one of several with the same name."""
    known = list(servers)
    names = Counter(each.spec.name for each in known)
    paths = Counter((each.spec.name, _path(each.spec)) for each in known)
    found = {}
    for each in known:
        name, path = each.spec.name, _path(each.spec)
        if names[name] == 1:
            found[each.key] = name
        elif path and paths[name, path] == 1 and not name.endswith(path):
            found[each.key] = name + path
        else:
            found[each.key] = name + (path if not name.endswith(path) else "") + _number(each.key)
    return found


def _path(spec: ServerSpec) -> str:
    try:
        return urlsplit(spec.url).path.rstrip("/") if spec.url is not None else ""
    except ValueError:
        return ""


def _number(key: str) -> str:
    """The number a key ends with, which the list of servers gave to a name it had already: ` #2`."""
    found = re.search(r"-(\d+)\Z", key)
    return f" #{found[1]}" if found else " #1"


def marks(named: Mapping[str, str]) -> dict[str, str]:
    """By key: one or two characters of each label, no two alike, for where a label has no room."""
    found: dict[str, str] = {}
    for key, label in named.items():
        signs = [char for char in re.split(r"[:/]", label.upper(), maxsplit=1)[-1] if char.isalnum()] or ["?"]
        pairs = [signs[0] + other for other in [signs[-1], *signs[1:], *"23456789"]]
        free = (mark for mark in (signs[0], *pairs) if mark not in found.values())
        found[key] = next(free, signs[0])
    return found


def mid(text: str) -> Markup:
    """A name that loses its middle, not its end, when there is no room; short ones stay whole."""
    if len(text) <= FITS:
        return visible(text)
    return Markup('<span class="mid"><span>{}</span><span>{}</span></span>').format(
        visible(text[:-TAIL]), visible(text[-TAIL:])
    )
