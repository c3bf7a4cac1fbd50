"""Who may call what: an authorization context over `server__tool` names. Pure, any thread."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from inspector.errors import FileError, UsageError


@dataclass(frozen=True, slots=True)
class Access:
    """An authorization context. allow, deny: shell globs over public names; deny wins. allow None: everything."""

    name: str = ""
    user: str = ""
    tenant: str = ""
    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()

    def permits(self, public: str) -> bool:
        """Whether a tool of that public name may be seen and called."""
        if any(fnmatchcase(public, glob) for glob in self.deny):
            return False
        return self.allow is None or any(fnmatchcase(public, glob) for glob in self.allow)


EVERYONE: Final = Access()
"""No context: everything is allowed (docs/definitions.md, Lab arithmetic)."""


def read_contexts(path: Path) -> dict[str, Access]:
    """`{"NAME": {"user", "tenant", "allow": [globs], "deny": [globs]}}` from a file. Raises FileError."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as problem:
        raise FileError(f"{path} holds no authorization contexts: {problem}", "Give a JSON object") from None
    return parse_contexts(found)


def parse_contexts(found: Any) -> dict[str, Access]:
    """The same from parsed JSON. Raises UsageError."""
    if not isinstance(found, dict):
        raise UsageError(
            "Authorization contexts are an object of objects", 'Write {"NAME": {"allow": ["*"]}}'
        )
    return {str(name): _context(str(name), entry) for name, entry in found.items()}


def _context(name: str, entry: Any) -> Access:
    if not isinstance(entry, dict) or set(entry) - {"user", "tenant", "allow", "deny"}:
        raise UsageError(
            f"The authorization context {name} has keys it cannot have",
            "It takes user, tenant, allow and deny",
        )
    allow = None if entry.get("allow") is None else _globs(name, entry["allow"])
    deny = _globs(name, entry.get("deny") or [])
    return Access(name, str(entry.get("user", "")), str(entry.get("tenant", "")), allow, deny)


def _globs(name: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(glob, str) for glob in value):
        raise UsageError(
            f"allow and deny of the context {name} are lists of globs", 'Write "allow": ["server__*"]'
        )
    return tuple(value)
