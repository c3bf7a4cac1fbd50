"""The redaction of a recording: the default rules and what we ourselves passed to the server. Any thread."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from inspector.catalog.snapshot import read_pages
from inspector.errors import ConfigError
from inspector.settings.spec import ServerSpec
from inspector.settings.tokens import TokenStore
from inspector.settings.variables import expand_environment
from inspector.trace.redact import Redactor, Rules
from inspector.trace.redact.names import secret_name
from inspector.trace.redact.rules import KNOWN, OPTIONAL, WHAT, known_forms


def redactor_for(
    *specs: ServerSpec, rules: Rules | None = None, tokens: TokenStore | None = None, **options: Any
) -> Redactor:
    """A redactor for one file. tokens: what signing in left, which counts as passed. options: those of `Redactor`."""
    these = Rules.default(passed_to(specs, tokens)) if rules is None else rules
    return Redactor(these, digests=digests, **options)


def given_to(*specs: ServerSpec, first: int = 1) -> Redactor | None:
    """A redactor of what we gave these servers and of nothing else; None when there is nothing to hide."""
    others = set(WHAT) - OPTIONAL - {KNOWN}
    these = Rules.default(passed_to(specs), off=others)
    return Redactor(these, digests=digests, first=first) if these.known else None


def passed_to(specs: Iterable[ServerSpec], tokens: TokenStore | None = None) -> Iterator[str]:
    """Values we gave these servers that may be secrets: environment, headers, parts of the URL, flags, tokens."""
    return _passed(map(_as_started, specs), tokens)


def to_remember(spec: ServerSpec) -> list[str]:
    """The same of one definition as it is written, with its placeholders, as far as a redactor would look for it."""
    return [value for value in _passed([spec], None) if known_forms(value)]


def _passed(specs: Iterable[ServerSpec], tokens: TokenStore | None) -> Iterator[str]:
    for spec in specs:
        if tokens is not None and spec.url is not None:
            yield from tokens.secrets(spec.url)
        if spec.oauth is not None and spec.oauth.client_secret:
            yield spec.oauth.client_secret
        yield from spec.env.values()
        yield from spec.headers.values()
        for name, value in zip(spec.argv, spec.argv[1:], strict=False):
            if name.startswith("-") and secret_name(name):
                yield value
        for word in spec.argv:
            name, equals, value = word.partition("=")
            if equals and secret_name(name):
                yield value
        if spec.url is not None:
            yield from _in_url(spec.url)


def _as_started(spec: ServerSpec) -> ServerSpec:
    try:
        return expand_environment(spec)
    except ConfigError:  # it cannot be started, so nothing was passed to it
        return spec


def _in_url(url: str) -> Iterator[str]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    for _, value in parse_qsl(parts.query):
        yield value
    for part in (parts.username, parts.password):
        if part:
            yield unquote(part)


def digests(what: str, raws: list[bytes]) -> tuple[str, str]:
    """(sha256, order_sha256) of a list as these pages hold it."""
    listing = read_pages(what, raws)
    return listing.sha256, listing.order_sha256
