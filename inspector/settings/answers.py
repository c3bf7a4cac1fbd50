"""Saved answers to the questions servers ask, in an answers.json that people may edit. Any thread."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from inspector.errors import ConfigError
from inspector.settings.files import read_json, write_json

ABOUT_CHARS: Final = 200


@dataclass(frozen=True, slots=True)
class Kept:
    """One saved answer. about: the beginning of the question; kind: `result` or `error`; body: its object."""

    method: str
    digest: str
    about: str
    kind: str
    body: Any


class Answers:
    """The file `{"servers": {KEY: {"decline": true, "saved": [...]}}}`; nothing is kept while it does not exist."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()

    def declines(self, server_key: str) -> bool:
        """Whether every question of this server is turned down without asking."""
        return self._of(server_key).get("decline") is True

    def set_declines(self, server_key: str, on: bool) -> None:
        self._change(server_key, lambda entry: entry | {"decline": on})

    def all(self, server_key: str) -> list[Kept]:
        """What is saved for a server, oldest first."""
        return [
            Kept(
                str(each.get("method")),
                str(each.get("digest")),
                str(each.get("about")),
                each["kind"],
                each.get("body"),
            )
            for each in _saved(self._of(server_key))
            if each.get("kind") in ("result", "error")
        ]

    def find(self, server_key: str, method: str, params: Mapping[str, Any]) -> Kept | None:
        """The answer saved for the same question."""
        wanted = digest(method, params)
        return next((one for one in self.all(server_key) if one.digest == wanted), None)

    def save(self, server_key: str, method: str, params: Mapping[str, Any], kind: str, body: Any) -> None:
        """Keep an answer in place of an earlier one to the same question. Raises ConfigError, StorageError."""
        known = digest(method, params)
        about = str(params.get("message") or method)[:ABOUT_CHARS]
        kept = {"method": method, "digest": known, "about": about, "kind": kind, "body": body}
        self._change(server_key, lambda entry: entry | {"saved": [*_saved(entry, but=known), kept]})

    def forget(self, server_key: str, known: str) -> None:
        """Drop the answer of that digest."""
        self._change(server_key, lambda entry: entry | {"saved": _saved(entry, but=known)})

    def _of(self, server_key: str) -> dict[str, Any]:
        entry = self._load()["servers"].get(server_key)
        return entry if isinstance(entry, dict) else {}

    def _change(self, server_key: str, change: Any) -> None:
        with self._lock:
            document = self._load()
            entry = document["servers"].get(server_key)
            document["servers"][server_key] = change(entry if isinstance(entry, dict) else {})
            write_json(self.path, document)

    def _load(self) -> dict[str, Any]:
        remedy = f"Repair it, or delete {self.path.name}; only saved answers are lost."
        document = read_json(self.path, {"servers": {}}, remedy)
        if not isinstance(document, dict) or not isinstance(document.get("servers"), dict):
            raise ConfigError(f"{self.path} has no object called “servers”.", remedy)
        return document


def _saved(entry: Mapping[str, Any], but: str | None = None) -> list[dict[str, Any]]:
    """The saved answers of an entry that people may have edited, without the one of digest `but`."""
    found = entry.get("saved")
    listed = found if isinstance(found, list) else []
    return [one for one in listed if isinstance(one, dict) and one.get("digest") != but]


def digest(method: str, params: Mapping[str, Any]) -> str:
    """What makes two questions the same: the method, the mode, the form or the address; not the wording of a message.

    Of sampling any question is the same: a saved answer stands for the model.
    """
    same = {name: params.get(name) for name in ("mode", "requestedSchema", "url")}
    if method != "elicitation/create":
        same = {}
    text = json.dumps([method, same], sort_keys=True)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
