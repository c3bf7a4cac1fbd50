"""Where something stands in an answer, as addresses of the Call screen name it. Pure, any thread.

A place is written `answer/.result/.structuredContent/17`: the text (`answer`, or `item-3` for the JSON inside content
item 3), then the steps: a name behind a dot (the last member so called), or the number of a child.
"""

from __future__ import annotations

from inspector.catalog.jsontree import Path
from inspector.errors import UsageError


def place(name: str, path: Path = ()) -> str:
    """The text of a place."""
    steps = [
        str(step) if isinstance(step, int) else "." + step.replace("~", "~0").replace("/", "~1")
        for step in path
    ]
    return "/".join([name, *steps])


def read_place(text: str) -> tuple[str, Path]:
    """(name, path) of a place. Raises UsageError."""
    name, *steps = text.split("/")
    path: list[str | int] = []
    for step in steps:
        if step.startswith("."):
            path.append(step[1:].replace("~1", "/").replace("~0", "~"))
        elif step.isdecimal() and len(step) < 12:
            path.append(int(step))
        else:
            raise UsageError("This address names no part of an answer", "Open the answer and choose a part")
    return name, tuple(path)
