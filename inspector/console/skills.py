"""Skills a server serves (extension io.modelcontextprotocol/skills): listed, judged by their entries. Any thread.

Source: the extension's specification (ext-skills, stable): skills/list with pages; an entry has the URI of its SKILL.md,
its frontmatter and all its files with size and digest, or "dynamic". Reading a file is an ordinary resources/read.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from inspector.wire.connection import Connection

EXTENSION: Final = "io.modelcontextprotocol/skills"
MOST_PAGES: Final = 50
MOST_SKILLS: Final = 5_000
MOST_FILES: Final = 512
MOST_BYTES: Final = 16 << 20
"""What every host must take of one skill: more may be refused."""
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}\Z")


@dataclass(frozen=True, slots=True)
class SkillFile:
    """One file of a skill, as its manifest has it. size: None where it is no number."""

    uri: str
    size: int | None
    digest: str


@dataclass(frozen=True, slots=True)
class Skill:
    """One entry. files: None when the server calls them dynamic. problems: what breaks the specification."""

    uri: str
    name: str
    description: str
    files: tuple[SkillFile, ...] | None
    problems: tuple[str, ...]

    @property
    def size(self) -> int:
        return sum(each.size or 0 for each in self.files or ())


@dataclass(frozen=True, slots=True)
class Listing:
    """What skills/list brought. left_out: entries beyond MOST_SKILLS; problem: why the walk ended early."""

    skills: tuple[Skill, ...]
    pages: int
    left_out: int = 0
    problem: str = ""


class Skills:
    """The last listing of each server."""

    def __init__(self) -> None:
        self._listed: dict[str, Listing] = {}
        self._lock = threading.Lock()

    def known(self, key: str) -> Listing | None:
        with self._lock:
            return self._listed.get(key)

    def refresh(self, connection: Connection, key: str) -> Listing:
        """Walk skills/list now. Raises LoupeError when the server does not answer well."""
        entries: list[Any] = []
        cursors: set[str] = set()
        problem, pages, cursor = "", 0, None
        while pages < MOST_PAGES:
            result = connection.ask("skills/list", {} if cursor is None else {"cursor": cursor}).result
            pages += 1
            listed = result.get("skills")
            if not isinstance(listed, list):
                problem = "A page of skills/list has no array of skills"
                break
            entries += listed
            cursor = result.get("nextCursor")
            if not isinstance(cursor, str):
                break
            if cursor in cursors:
                problem = "The server gave a cursor twice; Loupe stopped there"
                break
            cursors.add(cursor)
        else:
            problem = f"There are more than {MOST_PAGES} pages; Loupe stopped there"
        kept = tuple([skill_of(each) for each in entries[:MOST_SKILLS]])
        found = Listing(kept, pages, max(0, len(entries) - MOST_SKILLS), problem)
        with self._lock:
            self._listed[key] = found
        return found

    def file(self, key: str, uri: str) -> SkillFile | None:
        """The manifest's entry of a file, when a listed skill has one."""
        listing = self.known(key)
        files = (each for skill in (listing.skills if listing else ()) for each in skill.files or ())
        return next((each for each in files if each.uri == uri), None)


def offers_skills(connection: Connection | None) -> bool:
    """Whether the server declares the extension."""
    capabilities = connection.peer.capabilities if connection is not None and connection.peer else None
    extensions = (capabilities or {}).get("extensions")
    return isinstance(extensions, Mapping) and EXTENSION in extensions


def skill_of(entry: Any) -> Skill:
    """An entry, with what is wrong with it."""
    if not isinstance(entry, Mapping):
        return Skill("", "", "", None, ("The entry is no object",))
    front = entry.get("frontmatter")
    front = front if isinstance(front, Mapping) else {}
    uri = _text(entry.get("uri"))
    name, description = _text(front.get("name")), _text(front.get("description"))
    files, problems = _files(entry.get("resources"))
    if not uri.endswith("/SKILL.md"):
        problems.append("Its uri does not end in /SKILL.md")
    elif uri.split("/")[-2] != name:
        problems.append("The last folder of its uri is not its name")
    if not name or not description:
        problems.append("Its frontmatter lacks a name or a description")
    if files is not None and uri not in [each.uri for each in files]:
        problems.append("Its manifest does not list its SKILL.md")
    return Skill(uri, name, description, files, tuple(problems))


def _files(listed: Any) -> tuple[tuple[SkillFile, ...] | None, list[str]]:
    if listed == "dynamic":
        return None, []
    if not isinstance(listed, list):
        return None, ["Its resources are neither an array nor “dynamic”: a host must not load it"]
    problems = []
    found = [_file(each) for each in listed]
    if any(each.size is None or not _DIGEST.match(each.digest) or not each.uri for each in found):
        problems.append("A file of its manifest lacks a uri, a size or a sha256 digest")
    if len(found) > MOST_FILES or sum(each.size or 0 for each in found) > MOST_BYTES:
        problems.append(f"It is beyond what every host takes: {MOST_FILES} files, {MOST_BYTES >> 20} MiB")
    return tuple(found[: 2 * MOST_FILES]), problems


def _file(each: Any) -> SkillFile:
    given = each if isinstance(each, Mapping) else {}
    size = given.get("size")
    known = size if isinstance(size, int) and not isinstance(size, bool) and size >= 0 else None
    return SkillFile(_text(given.get("uri")), known, _text(given.get("digest")))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def verdict_on(file: SkillFile, octets: bytes) -> str:
    """Whether what was read is what the manifest says, in a sentence; a host must not use it otherwise."""
    if file.size != len(octets):
        size = "no size" if file.size is None else f"{file.size:,} bytes"
        return f"The skill's manifest has {size} for it; {len(octets):,} came."
    if file.digest != f"sha256:{hashlib.sha256(octets).hexdigest()}":
        return "Its sha256 is not the one of the skill's manifest."
    return ""
