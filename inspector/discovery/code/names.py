"""Names of servers, tools, parameters and fields as valid Python names, and back. Pure, any thread."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Set

BUILT_IN = frozenset({"extract", "result_part"})
"""Functions of the host that stand beside the tools."""
_NOT_A_NAME = re.compile(r"[^A-Za-z0-9_]")
_WORDS = re.compile(r"[A-Za-z0-9]+")
_RESERVED = frozenset(
    {*keyword.kwlist, *keyword.softkwlist, "None", "True", "False", "print", "self", *BUILT_IN}
)


def identifier(name: str, taken: Set[str] = frozenset()) -> str:
    """A valid name made of `name`, different from those taken: `from` -> `from_`, `a-b` -> `a_b`, `1st` -> `_1st`."""
    made = _NOT_A_NAME.sub("_", name) or "_"
    if made[0].isdigit():
        made = f"_{made}"
    if made.startswith("__") and made.endswith("__"):
        made = f"x{made}"
    if made in _RESERVED:
        made += "_"
    found, number = made, 2
    while found in taken:
        found, number = f"{made}_{number}", number + 1
    return found


def identifiers(names: Iterable[str]) -> dict[str, str]:
    """Valid name -> the real one, in order. A name that is valid already keeps itself, whatever came before it."""
    wanted = list(dict.fromkeys(names))
    valid = {name for name in wanted if identifier(name) == name}
    found: dict[str, str] = {}
    for name in wanted:
        made = name if name in valid else identifier(name, valid | found.keys())
        found[made] = name
    return found


def class_name(*parts: str) -> str:
    """`GithubCreateIssueLabels` of (`github__create_issue`, `labels`)."""
    words = [word for part in parts for word in _WORDS.findall(part.replace("_", " "))]
    made = "".join([word[:1].upper() + word[1:] for word in words]) or "Item"
    return f"T{made}" if made[0].isdigit() else made
