"""How to get a token for one server, as its entry in servers.json says it. Any thread; no I/O."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

from inspector.errors import ConfigError
from inspector.settings.entry import check_url
from inspector.settings.spec import GRANTS, OAuth

FIELDS = tuple(one.name for one in fields(OAuth))


def read_oauth(name: str, found: Any) -> OAuth | None:
    """The `oauth` object of server `name`; None when there is none. Raises ConfigError, never with a value in it."""
    if found is None:
        return None
    if not isinstance(found, dict) or not all(isinstance(found.get(key, ""), str) for key in FIELDS):
        raise _wrong(name, "oauth", "an object of texts: " + ", ".join(FIELDS))
    read = OAuth(**{key: value for key, value in found.items() if key in FIELDS})
    if read.grant not in GRANTS:
        raise _wrong(name, "oauth.grant", " or ".join(GRANTS))
    if read.grant == "client_credentials" and not (read.client_id and read.client_secret and read.issuer):
        raise _wrong(name, "oauth", "complete: client_credentials needs client_id, client_secret and issuer")
    for url in (read.issuer, read.client_metadata_url):
        if url is not None:
            check_url(name, url)
    return read


def written_oauth(oauth: OAuth) -> dict[str, str]:
    """The object that gives `oauth` again."""
    return {name: value for name, value in asdict(oauth).items() if value is not None}


def _wrong(name: str, key: str, expected: str) -> ConfigError:
    return ConfigError(f"Server “{name}”: `{key}` must be {expected}.", "Correct that entry in servers.json.")
