"""What signing in left us with, by server URL: in the OS keyring where there is one, else a 0600 file. Any thread.

Access and refresh tokens, and the client we registered. Nothing of it is ever shown, logged, recorded or exported.
"""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from inspector.errors import ConfigError, StorageError
from inspector.settings.files import read_text, write_private

SERVICE: Final = "mcp-loupe"
SECRETS: Final = ("access_token", "refresh_token", "id_token", "client_secret", "registration_access_token")
"""Keys of OAuth documents whose values are secret."""
_LEAST: Final = 6


class TokenStore:
    """{server URL: {"tokens", "client", "metadata", …}}, JSON objects the SDK's models wrote.

    `place` says where they are kept, for people. A keyring is used when the `keyring` package is installed
    (extra `[keyring]`) and has a real backend; a file otherwise.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._keyring = _keyring()

    def __repr__(self) -> str:
        return f"TokenStore({str(self.path)!r})"

    @property
    def place(self) -> str:
        return "the keyring of this system" if self._keyring is not None else f"{self.path} (mode 0600)"

    def get(self, url: str) -> dict[str, Any]:
        """What is kept for a server; {} when nothing, or nothing that can be read."""
        if self._keyring is not None:
            with suppress(Exception):
                return _object(self._keyring.get_password(SERVICE, url))
        found = self._file().get(url)
        return found if isinstance(found, dict) else {}

    def update(self, url: str, **changes: Any) -> None:
        """Put values beside what is kept; None takes one out. Raises StorageError."""
        with self._lock:
            kept = {**self.get(url), **changes}
            self._put(url, {key: value for key, value in kept.items() if value is not None})

    def forget(self, url: str) -> None:
        """Sign out: nothing is kept for this server any more. Raises StorageError."""
        with self._lock:
            self._put(url, {})

    def secrets(self, url: str) -> list[str]:
        """Every secret value kept for a server, for redaction rules and for hiding. Never to show."""
        return sorted(set(secret_values(self.get(url))))

    def _put(self, url: str, kept: dict[str, Any]) -> None:
        if self._keyring is not None:
            try:
                if kept:
                    self._keyring.set_password(SERVICE, url, json.dumps(kept))
                else:
                    with suppress(Exception):  # there was nothing
                        self._keyring.delete_password(SERVICE, url)
                return
            except Exception as problem:  # noqa: BLE001 - a locked keyring has an error class of its own per system
                raise StorageError(
                    f"The keyring of this system refused: {type(problem).__name__}.",
                    "Unlock it, or uninstall the keyring package to keep tokens in a private file.",
                ) from None
        whole = self._file()
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
    """The keyring module, when it is installed and would really keep something."""
    try:
        import keyring
        from keyring.backends import chainer, fail, null
    except ImportError:
        return None
    backend = keyring.get_keyring()
    if isinstance(backend, fail.Keyring | null.Keyring) or getattr(backend, "priority", 0) <= 0:
        return None
    if isinstance(backend, chainer.ChainerBackend) and not backend.backends:
        return None
    return keyring
