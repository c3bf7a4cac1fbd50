"""The configured servers, in a servers.json that people may edit. Any thread; blocks on the disk."""

from __future__ import annotations

import re
import threading
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final

from inspector.errors import ConfigError, UsageError
from inspector.settings.entry import check_url, kind, read_entry, written_entry
from inspector.settings.files import read_text, storage_error, write_json
from inspector.settings.jsonc import loads
from inspector.settings.oauth import read_oauth, written_oauth
from inspector.settings.seal import Seal
from inspector.settings.spec import DECLARABLE, ERAS, ServerSpec, Timeouts

VERSION: Final = 1
_IDS: Final = ("int", "str")
# fmt: off
_OURS: Final = frozenset((
    "name", "type", "transport", "command", "args", "env", "cwd", "url", "httpUrl", "serverUrl",
    "headers", "era", "timeouts", "declare", "ids", "source", "seal", "oauth",
))
# fmt: on


class ServerList:
    """Servers by key, the slug of the name. Every call reads the file, so edits by hand count at once.

    The file is `{"version": 1, "mcpServers": {KEY: entry}}`, mode 0600, each entry as other clients write
    it plus ours: name, era, timeouts (seconds), declare, ids, oauth, source, seal. Keys we do not know are kept. Values
    of env and headers are in the file and the specs only, never in a repr or an error.

    A file that cannot be parsed raises ConfigError everywhere but in `add`, which keeps it as
    servers.json.broken.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seal = Seal(path.with_name("servers.key"))
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        return f"ServerList({str(self.path)!r})"

    def all(self) -> dict[str, ServerSpec]:
        """The usable servers in the file's order. Raises ConfigError."""
        return self._read()[0]

    def problems(self) -> list[str]:
        """A sentence for each unusable entry, which stays in the file as it is. Raises ConfigError."""
        return self._read()[1]

    def get(self, key: str) -> ServerSpec:
        """Raises UsageError when there is none, ConfigError when its entry cannot be used."""
        return self._spec(key, self._entry(self._load(), key))

    def add(self, spec: ServerSpec, *, before: str | None = None) -> str:
        """Appends, or puts before another key; returns the key. Also undoes a `remove`. A broken file is set aside."""
        with self._lock:
            try:
                document = self._load()
            except _Broken:
                self._set_aside()
                document = _empty()
            servers = document["mcpServers"]
            key = _free_key(spec.name, servers)
            places = list(servers.items())
            places.insert(
                list(servers).index(before) if before in servers else len(places), (key, self._sealed(spec))
            )
            document["mcpServers"] = dict(places)
            write_json(self.path, document)
            return key

    def replace(self, key: str, spec: ServerSpec) -> str:
        """Puts `spec` in the place of `key`, unknown keys kept; returns the key, which follows the name."""
        with self._lock:
            document = self._load()
            before = self._entry(document, key)
            unknown = {name: value for name, value in before.items() if name not in _OURS}
            others = {name: value for name, value in document["mcpServers"].items() if name != key}
            new_key = key if _same_slug(key, spec.name) else _free_key(spec.name, others)
            document["mcpServers"] = {
                new_key if name == key else name: self._sealed(spec) | unknown if name == key else value
                for name, value in document["mcpServers"].items()
            }
            write_json(self.path, document)
            return new_key

    def rename(self, key: str, name: str) -> str:
        """Returns the key, which follows the name."""
        with self._lock:
            return self.replace(key, replace(self.get(key), name=name))

    def duplicate(self, key: str) -> str:
        """Adds a copy named “NAME copy” and returns its key."""
        with self._lock:
            spec = self.get(key)
            taken = {one.name for one in self.all().values()}
            names = (
                f"{spec.name} copy" + (f" {number}" if number > 1 else "")
                for number in range(1, len(taken) + 2)
            )
            return self.add(replace(spec, name=next(name for name in names if name not in taken)))

    def remove(self, key: str) -> ServerSpec:
        """Takes the server out and returns it: `add` of that is the undo."""
        with self._lock:
            document = self._load()
            spec = self._spec(key, self._entry(document, key))
            del document["mcpServers"][key]
            write_json(self.path, document)
            return spec

    def discard(self, key: str) -> None:
        """Takes an entry out even when it cannot be used."""
        with self._lock:
            document = self._load()
            document["mcpServers"].pop(key, None)
            write_json(self.path, document)

    def _read(self) -> tuple[dict[str, ServerSpec], list[str]]:
        specs, problems = {}, []
        for key, entry in self._load()["mcpServers"].items():
            try:
                specs[key] = self._spec(key, entry)
            except ConfigError as error:
                problems.append(error.message)
        return specs, problems

    def _spec(self, key: str, entry: Any) -> ServerSpec:
        """The spec of an entry, its source only as far as the entry is as we wrote it."""
        spec = _spec(key, entry)
        return replace(spec, source=self._seal.source(entry, spec.source))

    def _sealed(self, spec: ServerSpec) -> dict[str, Any]:
        entry = _entry(spec)
        return entry | {"seal": self._seal.of(entry)}

    def _entry(self, document: dict[str, Any], key: str) -> dict[str, Any]:
        if key not in document["mcpServers"]:
            known = ", ".join(document["mcpServers"]) or "none yet"
            raise UsageError(f"There is no server “{key}” (any more).", f"Known servers: {known}.")
        entry = document["mcpServers"][key]
        return entry if isinstance(entry, dict) else {}

    def _load(self) -> dict[str, Any]:
        with self._lock:
            try:
                if not self.path.exists():
                    return _empty()
            except OSError as error:
                raise storage_error(self.path, error) from None
            text = read_text(self.path)
        return _document(text, str(self.path)) if text.strip() else _empty()

    def _set_aside(self) -> None:
        """Renames the file to servers.json.broken, or .broken-2 and so on: an earlier one is not lost either."""
        number, aside = 1, self.path.with_name(self.path.name + ".broken")
        while aside.exists():
            number += 1
            aside = self.path.with_name(f"{self.path.name}.broken-{number}")
        try:
            self.path.rename(aside)
        except OSError as error:
            raise storage_error(aside, error) from None


class _Broken(ConfigError):
    """The file is no JSON, or not of our shape."""


def _empty() -> dict[str, Any]:
    return {"version": VERSION, "mcpServers": {}}


def _document(text: str, source: str) -> dict[str, Any]:
    remedy = "Correct it by hand; if you add a server instead, this file is kept as servers.json.broken."
    try:
        # No comments here: we write this file again, and would lose them.
        document, _ = loads(text, source, comments=False)
    except ConfigError as error:
        raise _Broken(error.message, remedy, facts=error.facts) from None
    if not isinstance(document, dict):
        raise _Broken(f"{source} holds {kind(document)}, not an object.", remedy)
    version = document.setdefault("version", VERSION)
    if isinstance(version, int) and version > VERSION:
        raise ConfigError(
            f"{source} was written by a newer mcp-loupe (version {version} of the file).",
            "Upgrade mcp-loupe, or give another folder with --data-dir.",
        )
    if not isinstance(document.setdefault("mcpServers", {}), dict):
        raise _Broken(
            f"`mcpServers` in {source} holds {kind(document['mcpServers'])}, not an object.", remedy
        )
    return document


def slug(name: str) -> str:
    """Lower-case letters, digits and single dashes: fit for a URL; `server` when nothing is left."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60].rstrip("-") or "server"


def _free_key(name: str, taken: dict[str, Any]) -> str:
    wanted, number = slug(name), 1
    key = wanted
    while key in taken:
        number += 1
        key = f"{wanted}-{number}"
    return key


def _same_slug(key: str, name: str) -> bool:
    return re.fullmatch(re.escape(slug(name)) + r"(?:-\d+)?", key) is not None


def _entry(spec: ServerSpec) -> dict[str, Any]:
    """The entry of `spec`, defaults left out. Raises ConfigError for a spec that could not be read back."""
    found: dict[str, Any] = {"name": spec.name}
    if spec.url is None and not spec.argv:
        raise ConfigError(f"Server “{spec.name}” has neither a command nor a URL.", "Give it one of them.")
    found |= written_entry(spec)
    usual = ServerSpec("")
    if spec.era != usual.era:
        found["era"] = spec.era
    if spec.timeouts != usual.timeouts:
        found["timeouts"] = {one.name: getattr(spec.timeouts, one.name) for one in fields(Timeouts)}
    if spec.declare:
        found["declare"] = list(spec.declare)
    if spec.ids != usual.ids:
        found["ids"] = spec.ids
    if spec.oauth is not None:
        found["oauth"] = written_oauth(spec.oauth)
    found["source"] = spec.source
    _spec(slug(spec.name), found)
    return found


def _spec(key: str, entry: Any) -> ServerSpec:
    if not isinstance(entry, dict):
        return read_entry(key, entry, "")  # which says what is wrong
    name = entry.get("name", key)
    if not isinstance(name, str):
        raise _wrong(key, "name", "a text")
    source = entry.get("source", "servers.json")
    if not isinstance(source, str):
        raise _wrong(key, "source", "a text")
    spec = read_entry(name, entry, source)
    if spec.url is not None and "${" not in spec.url:
        check_url(name, spec.url)
    declare = entry.get("declare", [])
    if not isinstance(declare, list) or any(one not in DECLARABLE for one in declare):
        raise _wrong(name, "declare", "a list of " + ", ".join(DECLARABLE))
    return replace(
        spec,
        era=_one_of(name, "era", entry.get("era", spec.era), ERAS),
        ids=_one_of(name, "ids", entry.get("ids", spec.ids), _IDS),
        declare=tuple(declare),
        timeouts=_timeouts(name, entry.get("timeouts", {})),
        oauth=read_oauth(name, entry.get("oauth")),
    )


def _one_of(name: str, key: str, value: Any, allowed: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise _wrong(name, key, " or ".join(allowed))
    return value


def _timeouts(name: str, found: Any) -> Timeouts:
    known = {one.name for one in fields(Timeouts)}
    if not isinstance(found, dict):
        raise _wrong(name, "timeouts", "an object of seconds")
    wanted = {key: value for key, value in found.items() if key in known}
    for value in wanted.values():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 86_400:
            raise _wrong(name, "timeouts", "seconds above 0, a day at most")
    return Timeouts(**{key: float(value) for key, value in wanted.items()})


def _wrong(name: str, key: str, expected: str) -> ConfigError:
    return ConfigError(f"Server “{name}”: `{key}` must be {expected}.", "Correct that entry in servers.json.")
