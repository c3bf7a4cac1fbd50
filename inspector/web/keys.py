"""Which keys do what, for the list behind `?`: those of the frame, and those of each screen. Pure, any thread."""

from __future__ import annotations

from typing import Final

Keys = tuple[tuple[str, str], ...]

FRAME: Final[Keys] = (
    ("Ctrl K", "search or run a command"),
    ("g then 1–9", "screens"),
    ("Ctrl Enter", "send the form"),
    ("Esc", "close what is open"),
    ("?", "this list"),
)
COLUMN: Final[Keys] = (("T", "timeline column"), ("L", "follow it, hold it"))
"""Where the timeline stands beside the screen."""
ROWS: Final[Keys] = (("j k ↑ ↓", "move in the list"), ("Enter", "open"))
FILTER: Final[Keys] = (("/", "filter"),)
OF: Final[dict[str, Keys]] = {
    "catalog": (*FILTER, *ROWS, ("C", "call this tool"), ("F", "next finding"), ("R", "refresh")),
    "call": (*FILTER, ("↑ ↓ Home End", "move in the lists"), ("C", "run")),
    "timeline": (
        *FILTER, *ROWS, ("E", "next error"), ("P", "other half of the pair"), ("L", "follow, hold"),
    ),
    "replay": (*FILTER, *ROWS, ("Space", "tick the row"), ("X", "swap the sides of a diff")),
    "compare": (*FILTER, *ROWS, ("X", "swap the sides")),
    "lab": (("1–9", "take that choice"), ("← →", "step back, forward")),
    "traces": ROWS,
    "code": (("C", "run"),),
}  # fmt: skip
"""By screen id; a screen that is not here has none of its own."""


def keys_of(screen: str, *, column: bool) -> list[tuple[str, Keys]]:
    """(heading, keys) as the dialog shows them."""
    groups = [("Everywhere", (*FRAME, *(COLUMN if column else ())))]
    return [("On this screen", OF[screen]), *groups] if screen in OF else groups
