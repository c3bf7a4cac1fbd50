"""What signing in left us with, by server URL: in the OS keyring where there is one, else a 0600 file. Any thread.

Access and refresh tokens, and the client we registered. Nothing of it is ever shown, logged, recorded or exported.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from inspector.errors import ConfigError, StorageError
from inspector.settings.files import read_text, write_private

SERVICE: Final = "mcp-loupe"
SECRETS: Final = ("access_token", "refresh_token", "id_token", "client_secret", "registration_access_token")
"""Keys of OAuth documents whose values are secret."""
RECOMMENDED: Final = 1
"""The least priority of a keyring backend that its package recommends (keyring.backend)."""
_LEAST: Final = 6


class TokenStore:
    """{server URL: {"tokens", "client", "metadata", …}}, JSON objects the SDK's models wrote.

    `place` says where they are kept, for people. A keyring is used when the `keyring` package is installed
    (extra `[keyring]`) and has a real backend; a file otherwise, and also when the keyring refuses: `say` is then told
    so, once, in a sentence. What the file holds for a server is newer than what the keyring holds.
    """

    def __init__(self, path: Path, say: Callable[[str], None] = lambda _: None) -> None:
        self.path = path
        self._say = say
        self._lock = threading.RLock()
        self.dropped: set[str] = set()
        """Secrets that were kept once in this run: renewed, or signed out of. In memory only. Never to show."""
        self._refused = ""

    @cached_property
    def _keyring(self) -> Any:
        """Looked for when it is first needed: its backends take 0.1 s to import, and most servers are no URLs."""
        return _keyring()

    def __repr__(self) -> str:
        return f"TokenStore({str(self.path)!r})"

    @property
    def place(self) -> str:
        if self._keyring is None:
            return f"{self.path} (mode 0600)"
        if self._refused:
            return f"{self.path} (mode 0600), because the keyring of this system refused ({self._refused})"
        return "the keyring of this system"

    def get(self, url: str) -> dict[str, Any]:
        """What is kept for a server; {} when nothing, or nothing that can be read."""
        found = self._file().get(url)
        if isinstance(found, dict):
            return found
        if self._keyring is not None:
            with suppress(Exception):
                return _object(self._keyring.get_password(SERVICE, url))
        return {}

    def update(self, url: str, **changes: Any) -> None:
        """Put values beside what is kept; None takes one out. Raises StorageError."""
        with self._lock:
            kept = {**self.get(url), **changes}
            self.dropped.update(self.secrets(url))
            self._put(url, {key: value for key, value in kept.items() if value is not None})

    def forget(self, url: str) -> None:
        """Sign out: nothing is kept for this server any more. Raises StorageError, also when a keyring keeps it."""
        with self._lock:
            self.dropped.update(self.secrets(url))
            self._to_file(url, {})
            if self._keyring is not None:
                self._take_out(url)

    def secrets(self, url: str) -> list[str]:
        """Every secret value kept for a server, for redaction rules and for hiding. Never to show."""
        return sorted(set(secret_values(self.get(url))))

    def _put(self, url: str, kept: dict[str, Any]) -> None:
        if not kept:
            return self.forget(url)
        if self._keyring is None or not self._to_keyring(url, kept):
            return self._to_file(url, kept)
        if url in self._file():  # from a time when the keyring refused, or was not there
            self._to_file(url, {})
        return None

    def _to_keyring(self, url: str, kept: dict[str, Any]) -> bool:
        """Whether the keyring took it; a refusal is told once."""
        try:
            self._keyring.set_password(SERVICE, url, json.dumps(kept))
        except Exception as problem:  # noqa: BLE001 - a locked keyring has an error class of its own per system
            first, self._refused = not self._refused, type(problem).__name__
            if first:
                self._say(f"Tokens are kept in {self.place}.")
            return False
        self._refused = ""
        return True

    def _take_out(self, url: str) -> None:
        try:
            if self._keyring.get_password(SERVICE, url) is not None:
                self._keyring.delete_password(SERVICE, url)
        except Exception as problem:  # noqa: BLE001 - as above
            raise StorageError(
                f"The keyring of this system refused ({type(problem).__name__}): what it keeps for {url} is still there.",
                "Unlock it, then sign out again.",
            ) from None

    def _to_file(self, url: str, kept: dict[str, Any]) -> None:
        whole = self._file()
        if not kept and url not in whole:
            return
        whole.pop(url, None)
        if kept:
            whole[url] = kept
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(self.path, json.dumps(whole, indent=1) + "\n")

    def _file(self) -> dict[str, Any]:
        try:
            return _object(read_text(self.path)) if self.path.exists() else {}
        except ConfigError:
            return {}


def secret_values(document: Any) -> list[str]:
    """The secret texts of a JSON value, by their keys, however deep."""
    if isinstance(document, dict):
        own = [value for key, value in document.items() if key in SECRETS and isinstance(value, str)]
        return [value for value in own if len(value) >= _LEAST] + [
            value for child in document.values() for value in secret_values(child)
        ]
    return (
        [value for child in document for value in secret_values(child)] if isinstance(document, list) else []
    )


def _object(text: str | None) -> dict[str, Any]:
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _keyring() -> Any:
    """The keyring module, when it is installed and would really keep something.

    A backend that the keyring package itself does not recommend (a plain file, one that asks for a password at the
    terminal) is used only where a person chose it, by PYTHON_KEYRING_BACKEND or keyringrc.cfg.
    """
    try:
        import keyring
        import keyring.core
        from keyring.backends import chainer, fail, null
    except ImportError:
        return None
    try:
        backend = keyring.get_keyring()
        chosen = (keyring.core.load_env() or keyring.core.load_config()) is not None
        priority = backend.priority
    except Exception:  # noqa: BLE001 - a backend that was chosen and cannot be loaded, or not on this system
        return None
    if isinstance(backend, fail.Keyring | null.Keyring) or (priority < RECOMMENDED and not chosen):
        return None
    if isinstance(backend, chainer.ChainerBackend) and not backend.backends:
        return None
    return keyring
