"""Which secrets are looked for: the default rules and a person's own, as a frozen value. Pure, any thread."""

from __future__ import annotations

import getpass
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from inspector.errors import UsageError

HEADER, KEY, URL, SCHEME, JWT, SHAPE, PEM, PATH, KNOWN, EMAIL, ENTROPY = (f"R{n}" for n in range(1, 12))

WHAT: Final = {
    HEADER: ("header", "values of headers whose names say they hold a secret"),
    KEY: ("key", "values of JSON keys and of names in text that say they hold a secret"),
    URL: ("url", "user, password and query values in URLs"),
    SCHEME: ("credentials", "what follows Bearer and Basic"),
    JWT: ("jwt", "JSON Web Tokens"),
    SHAPE: ("shape", "keys with a provider's prefix"),
    PEM: ("pem", "PEM blocks"),
    PATH: ("path", "home folders and user names in paths"),
    KNOWN: ("known", "values of environment variables and headers we passed to the server"),
    EMAIL: ("email", "e-mail addresses"),
    ENTROPY: ("entropy", "long strings that look random"),
}
"""(kind, what) by rule id; both stand in the file's header."""

OPTIONAL: Final = frozenset({EMAIL, ENTROPY})
SHORTEST_KNOWN: Final = 8
_PLAIN_VALUE: Final = re.compile(r"[+-]?[\d.,_:]+|true|false", re.IGNORECASE)
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]*\s+(?=\S+$)")


@dataclass(frozen=True, slots=True)
class Rules:
    """What to hide.

    known: values we passed to the server (never shown, never in the header). user, home: of the person whose
    paths these are. keys, patterns, texts: a person's own rules (ids K1…, X1…, T1… in this order). on: which
    of the optional rules are applied; off: which of the others are not.
    """

    known: tuple[str, ...] = field(default=(), repr=False)
    user: str = ""
    home: str = ""
    keys: tuple[str, ...] = ()
    patterns: tuple[str, ...] = field(default=(), repr=False)
    texts: tuple[str, ...] = field(default=(), repr=False)
    on: frozenset[str] = frozenset()
    off: frozenset[str] = frozenset()

    @classmethod
    def default(
        cls,
        known: Iterable[str] = (),
        *,
        user: str | None = None,
        home: str | None = None,
        keys: Iterable[str] = (),
        patterns: Iterable[str] = (),
        texts: Iterable[str] = (),
        on: Iterable[str] = (),
        off: Iterable[str] = (),
    ) -> Rules:
        """All rules but the optional ones; user and home of this process unless told. UsageError names a bad rule."""
        found: dict[str, None] = {}
        for value in known:
            found.update(dict.fromkeys(known_forms(value)))
        for pattern in patterns:
            try:
                re.compile(pattern)
            except re.error as problem:
                raise UsageError(f"A rule is no regular expression: {problem}", "Correct it") from None
        return cls(
            known=tuple(found),
            user=_user() if user is None else user,
            home=os.path.expanduser("~") if home is None else home,
            keys=tuple(key for key in keys if key),
            patterns=tuple(patterns),
            texts=tuple(text for text in texts if text),
            on=_rule_ids(on),
            off=_rule_ids(off),
        )

    def applies(self, rule: str) -> bool:
        """Whether the hits of this default rule are replaced."""
        return rule in self.on if rule in OPTIONAL else rule not in self.off

    def described(self) -> list[dict[str, str]]:
        """The rules for the file's header: {id, kind, what}. Says nothing of what they hide."""
        found = [
            {"id": rule, "kind": kind, "what": what}
            for rule, (kind, what) in WHAT.items()
            if self.applies(rule)
        ]
        for n, key in enumerate(self.keys, 1):
            found.append({"id": f"K{n}", "kind": "own key", "what": f"values of {key}"})
        for n in range(1, len(self.patterns) + 1):
            found.append({"id": f"X{n}", "kind": "own pattern", "what": "a regular expression, not shown"})
        for n in range(1, len(self.texts) + 1):
            found.append({"id": f"T{n}", "kind": "own text", "what": "a text, not shown"})
        return found

    def header(self) -> dict[str, Any]:
        """The header's `redaction`."""
        own = self.keys or self.patterns or self.texts or self.on or self.off
        return {"profile": "own" if own else "default", "rules": self.described(), "reviewed": False}


def known_forms(value: str) -> list[str]:
    """The value, and what follows a scheme (`Bearer …`) in it, as far as each is worth hiding everywhere."""
    value = value.strip()
    forms = [value]
    if scheme := _SCHEME.match(value):
        forms.append(value[scheme.end() :])
    return [form for form in forms if len(form) >= SHORTEST_KNOWN and not _PLAIN_VALUE.fullmatch(form)]


def _rule_ids(ids: Iterable[str]) -> frozenset[str]:
    """Rule ids, or their kinds, as ids."""
    by_kind = {kind: rule for rule, (kind, _) in WHAT.items()}
    found = frozenset(by_kind.get(one, one) for one in ids)
    if unknown := sorted(found - set(WHAT)):
        raise UsageError(f"There is no redaction rule {unknown[0]}", f"Choose among {', '.join(by_kind)}")
    return found


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        return ""
