"""Tokens in a real keyring (keyrings.alt's file), and in the private file when that refuses."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path

import keyring
import keyring.core
import pytest
from keyrings.alt.file import PlaintextKeyring

from inspector.errors import StorageError
from inspector.settings.tokens import SERVICE, TokenStore

URL = "https://mcp.example.com/mcp"
OTHER = "https://other.example.com/mcp"
TOKENS = {"access_token": "at-123456", "refresh_token": "rt-123456"}
REFUSED = "the keyring of this system refused (MissingSectionHeaderError)"


class Ring:
    """The keyring's file; `lock` makes every operation on it fail, `unlock` brings back what it held."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.held = b""

    def lock(self) -> None:
        self.held = self.path.read_bytes() if self.path.exists() else b""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes(b"no section\n")

    def unlock(self) -> None:
        self.path.write_bytes(self.held)

    def get(self, url: str) -> dict[str, object] | None:
        found = keyring.get_password(SERVICE, url)
        return None if found is None else json.loads(found)


@pytest.fixture
def ring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ring]:
    """keyrings.alt's plain file as the keyring that a person chose."""
    with monkeypatch.context() as patch:
        patch.setenv("PYTHON_KEYRING_BACKEND", "keyrings.alt.file.PlaintextKeyring")
        patch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
        keyring.core.init_backend()
        backend = keyring.get_keyring()
        assert isinstance(backend, PlaintextKeyring)
        assert Path(backend.file_path).is_relative_to(tmp_path)
        yield Ring(Path(backend.file_path))
    keyring.core.init_backend()


def test_a_keyring_keeps_tokens_gives_them_back_and_forgets_them(tmp_path: Path, ring: Ring) -> None:
    store = TokenStore(tmp_path / "tokens.json")
    store.update(URL, tokens=TOKENS)
    store.update(URL, client={"client_id": "c"})
    store.update(OTHER, tokens=TOKENS)
    assert ring.get(URL) == {"tokens": TOKENS, "client": {"client_id": "c"}}
    assert store.get(URL) == ring.get(URL) == TokenStore(tmp_path / "tokens.json").get(URL)
    assert store.secrets(URL) == ["at-123456", "rt-123456"]
    store.forget(URL)
    assert (store.get(URL), ring.get(URL), store.get(OTHER)) == ({}, None, {"tokens": TOKENS})
    store.update(OTHER, tokens=None)
    assert ring.get(OTHER) is None
    store.forget(URL)  # there is nothing; that is no error
    assert (store.place, (tmp_path / "tokens.json").exists()) == ("the keyring of this system", False)


def test_a_keyring_that_refuses_is_told_once_and_the_private_file_keeps_the_tokens(
    tmp_path: Path, ring: Ring
) -> None:
    said: list[str] = []
    path = tmp_path / "data" / "tokens.json"
    store = TokenStore(path, said.append)
    store.update(URL, tokens={"access_token": "at-old-one"})
    ring.lock()
    assert store.get(URL) == {}
    store.update(URL, tokens=TOKENS)
    store.update(URL, scope="mcp")
    assert said == [f"Tokens are kept in {path} (mode 0600), because {REFUSED}."]
    assert store.place == said[0][len("Tokens are kept in ") : -1]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert store.get(URL) == TokenStore(path).get(URL) == {"tokens": TOKENS, "scope": "mcp"}
    ring.unlock()
    assert store.get(URL)["tokens"] == TOKENS, "what the keyring still holds is older"
    store.update(URL, scope="mcp more")
    assert ring.get(URL) == store.get(URL) == {"tokens": TOKENS, "scope": "mcp more"}
    assert (json.loads(path.read_text()), store.place) == ({}, "the keyring of this system")


def test_signing_out_says_when_the_keyring_still_keeps_the_tokens(tmp_path: Path, ring: Ring) -> None:
    store = TokenStore(tmp_path / "tokens.json")
    store.update(URL, tokens=TOKENS)
    ring.lock()
    with pytest.raises(StorageError) as caught:
        store.forget(URL)
    assert caught.value.message == (
        f"The keyring of this system refused (MissingSectionHeaderError): what it keeps for {URL} is still there."
    )
    assert caught.value.remedy == "Unlock it, then sign out again."
    ring.unlock()
    store.forget(URL)
    assert ring.get(URL) is None


def test_a_backend_nobody_chose_and_its_package_does_not_recommend_is_not_used(
    tmp_path: Path, ring: Ring, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHON_KEYRING_BACKEND")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    path = tmp_path / "tokens.json"
    store = TokenStore(path)
    store.update(URL, tokens=TOKENS)
    assert (store.place, ring.get(URL)) == (f"{path} (mode 0600)", None)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "no.such.Backend")
    assert TokenStore(path).get(URL) == {"tokens": TOKENS}
