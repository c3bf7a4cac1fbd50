"""Finds secrets in plain text by fixed needles first and patterns where one stands. Pure, any thread.

Nearly all text holds no secret, so the way to "nothing" is the one that has to be fast: a look for some
twenty needles and for runs of long words; a pattern is tried only where one of them stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, cast

from inspector.trace.redact import names, rules, shapes
from inspector.trace.redact.hits import Hit
from inspector.trace.redact.known import Known
from inspector.trace.redact.long_words import LongWords
from inspector.trace.redact.needles import ONE_PASS, Needles
from inspector.trace.redact.rules import Rules
from inspector.trace.redact.views import base64_text

Look = Callable[[str, int, bool], Iterator[Hit]]

_NAME_NEEDLES: Final = (
    "pass", "pwd", "secret", "token", "key", "credential", "cookie", "authorization", "jwt", "otp", "cvv", "cvc",
    "session", "connection", "pincode",
)  # fmt: skip
_NAME_ENDS: Final = re.compile(rb"[a-z0-9_.$-]{0,60}\\*[\"']?[ \t]*[=:]")
_NAME: Final = re.compile(r"[A-Za-z0-9_.$-]{1,80}")
_ANSI: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_NO_STRING: Final = re.compile(r"\s*[^\s{\[]")
_NESTED_URL: Final = 256


class Finder:
    """Finds hits by the rules; `inside` looks into text that base64 stood for.

    loose: the text is the source of a JSON text, not a string of it, so the answer only has to say where one
    should look: never miss a place, spans do not matter.
    one_pass: whether all needles are looked for at once; the answer is the same.
    """

    def __init__(
        self, these: Rules, *, optional: bool, inside: Callable[[str], list[Hit]], one_pass: bool = ONE_PASS
    ) -> None:
        self.known = Known(these)
        self._own_keys = {key.lower(): f"K{n}" for n, key in enumerate(these.keys, 1)}
        self._patterns = [(re.compile(pattern), f"X{n}") for n, pattern in enumerate(these.patterns, 1)]
        self._applies = {
            rule: these.applies(rule) or (optional and rule in rules.OPTIONAL) for rule in rules.WHAT
        }
        self._long_words = LongWords(self.known, self._applies, inside)
        self._user = these.user if these.user.lower() not in shapes.NOBODY and len(these.user) > 2 else ""
        self._home = these.home.rstrip("/\\") if self._applies[rules.PATH] else ""
        self._names = self._name_needles()
        self._looks = self._look_table()
        self._one_pass, self._needles = one_pass, cast("Needles | None", None)
        self._url_end = self._cookies_end = 0
        self.always = bool(self._patterns)
        """A pattern may see what escapes hide from it: every string has to be looked at."""

    def find(self, text: str, *, loose: bool = False) -> list[Hit]:
        """Every hit in `text`, unordered, possibly overlapping."""
        if "\x1b" in text:
            text = _ANSI.sub(lambda match: " " * len(match[0]), text)
        content = text.encode("latin-1", "replace")  # a byte a character, so places stay the same
        low = content.lower()
        hits: list[Hit] = []
        self._url_end = self._cookies_end = 0
        known, names_end = not self._one_pass, len(self._names)
        looks_end = names_end + len(self._looks)
        for at, number in (self._needles or self._all_needles()).find(low):
            if number >= looks_end:
                known = True
            elif number >= names_end:
                hits.extend(self._looks[number - names_end][1](text, at, loose))
            elif _NAME_ENDS.match(low, at):
                hits.extend(self._named(text, at, loose))
        if known:
            hits.extend(self.known.find(text, loose))
        hits.extend(self._long_words.find(text, content, loose, known))
        for pattern, rule in self._patterns:
            hits += [Hit(*match.span(), rule, match[0]) for match in pattern.finditer(text) if match[0]]
        return _outside_markers(hits, text) if hits and "[redacted:" in text else hits

    def learn(self, secret: str, rule: str) -> bool:
        """Hide `secret` wherever it comes again; False when it is known, or could be an ordinary word."""
        return self.again(self.known.learn(secret, rule))

    def again(self, more: bool) -> bool:
        """Look anew at what was ordinary when more is known now; returns `more`."""
        if more:
            self._needles = None
            self._long_words.forget()
        return more

    def _all_needles(self) -> Needles:
        """Those of names, of looks, and of known values if one pass finds them too, in this order."""
        known = self.known.needles() if self._one_pass else []
        needles = [*self._names, *(needle for needle, _ in self._looks), *known]
        self._needles = Needles(needles, one_pass=self._one_pass)
        return self._needles

    def key_rule(self, name: str) -> str | None:
        """The rule that hides the value of this key."""
        if self._own_keys and (own := self._own_keys.get(name.lower())):
            return own
        return rules.KEY if names.secret_name(name) and self._applies[rules.KEY] else None

    def header_rule(self, name: str) -> str | None:
        """The rule that hides the value of this header."""
        if own := self._own_keys.get(name.lower()):
            return own
        return rules.HEADER if self._applies[rules.HEADER] and names.secret_header(name) else None

    def _name_needles(self) -> tuple[bytes, ...]:
        found = [*(_NAME_NEEDLES if self._applies[rules.KEY] else ()), *self._own_keys]
        return tuple(needle.encode("latin-1", "replace") for needle in found)

    def _look_table(self) -> tuple[tuple[bytes, Look], ...]:
        table: list[tuple[str, str, Look]] = [
            (rules.KEY, "--", self._flag),
            (rules.URL, "://", self._url),
            (rules.SCHEME, "bearer", self._scheme),
            (rules.SCHEME, "basic", self._scheme),
            (rules.PEM, "-----begin", self._pem),
            (rules.PATH, "/home/", self._home_path),
            (rules.PATH, "users", self._home_path),
            (rules.EMAIL, "@", self._email),
        ]
        if self._user:
            table.append((rules.PATH, self._user.lower(), self._user_name))
        if self._home and self._home.rpartition("/")[2].lower() not in shapes.NOBODY:
            table.append((rules.PATH, self._home.lower(), self._own_home))
        return tuple(
            (needle.encode("latin-1", "replace"), look) for rule, needle, look in table if self._applies[rule]
        )

    # -- names in text: password=…, "token": "…", X-Api-Key: …

    def _named(self, text: str, at: int, loose: bool) -> Iterator[Hit]:
        start, end = _name_around(text, at)
        separator = shapes.SEPARATOR.match(text, end)
        if separator is not None:
            yield from self._assigned(text, start, end, separator, loose)

    def _flag(self, text: str, at: int, loose: bool) -> Iterator[Hit]:
        """`--token VALUE` of a command line."""
        if flag := shapes.FLAG.match(text, at):
            yield from self._assigned(
                text, at, flag.end(1), cast("re.Match[str]", shapes.FLAG_GAP.match(text, flag.end(1))), loose
            )

    def _assigned(
        self, text: str, start: int, end: int, separator: re.Match[str], loose: bool
    ) -> Iterator[Hit]:
        name = text[start:end]
        rule = self.key_rule(name)
        if rule is None and loose and start and text[start - 1] == "\\":
            rule = self.key_rule(name[1:])  # the n of an escaped line feed is no part of the name
        if rule is None:
            return
        if start < self._cookies_end:
            return  # its line is hidden already
        value = _value_span(text, separator, name)
        if value is None and loose and separator[1] and (other := _NO_STRING.match(text, separator.end())):
            yield _hit(text, other.end() - 1, other.end(), rule)  # a number, say, under the key `cookie`
            return
        if value is not None and name.lower().endswith("cookie"):
            self._cookies_end = value[1]
        if value is None or not _plausible(text[slice(*value)], separator, loose, own=rule != rules.KEY):
            return
        for part in names.secret_parts(name, text[slice(*value)]):
            found = _hit(text, value[0] + part[0], value[0] + part[1], rule)
            if loose or _worth(found.secret):
                yield found

    # -- URLs

    def _url(self, text: str, at: int, loose: bool) -> Iterator[Hit]:
        if not shapes.URL_SCHEME.search(text, max(0, at - 31), at):
            return
        nested = at < self._url_end  # its query is part of a value already; userinfo it may still have
        rest = shapes.URL_REST.match(text, at + 3, at + _NESTED_URL if nested else len(text))
        if rest is None:
            return
        self._url_end = max(self._url_end, rest.end())
        start, end = rest.start(), rest.end()
        while end > start and text[end - 1] in ".,;:!)]}*":
            end -= 1
        slash = min(found if (found := text.find(char, start, end)) >= 0 else end for char in "/?#")
        userinfo = text.rfind("@", start, slash)
        if userinfo >= 0:
            colon = text.find(":", start, userinfo)
            parts = [(start, userinfo)] if colon < 0 else [(start, colon), (colon + 1, userinfo)]
            yield from (
                _hit(text, a, b, rules.URL) for a, b in parts if _worth(text[a:b]) and text[a:b] != "git"
            )
        if nested:
            return
        query, fragment = text.find("?", start, end), text.find("#", start, end)
        if query >= 0:
            yield from self._parameters(text, query + 1, end)
        elif fragment >= 0:
            yield from self._parameters(text, fragment + 1, end, secret_only=True)

    def _parameters(self, text: str, start: int, end: int, *, secret_only: bool = False) -> Iterator[Hit]:
        for match in shapes.QUERY_VALUE.finditer(text, start, end):
            name, value = match.groups()
            if not _worth(value) or names.cursor_name(name) or (secret_only and not names.secret_name(name)):
                continue
            yield _hit(text, match.start(2), match.end(2), rules.URL)

    # -- credentials

    def _scheme(self, text: str, at: int, loose: bool) -> Iterator[Hit]:
        match = shapes.SCHEME_VALUE.match(text, at)
        if match is None or (text[at - 1 : at].isalnum() and not loose):
            return
        value = match[2].rstrip(".-")
        if match[1].lower() == "basic":
            meant = (base64_text(value) or "") if len(value) % 4 != 1 else ""
            if ":" not in meant:
                return
        elif not any(map(str.isdigit, value)) and len(value) < 20:
            return
        yield _hit(text, match.start(2), match.start(2) + len(value), rules.SCHEME)

    def _pem(self, text: str, at: int, loose: bool) -> Iterator[Hit]:
        begin = shapes.PEM_BEGIN.match(text, at)
        if begin is None:
            return
        following = text.find("-----BEGIN", begin.end())
        limit = len(text) if following < 0 else following
        end = shapes.PEM_END.search(text, begin.end(), limit)
        body = shapes.PEM_BODY.match(text, begin.end(), limit)
        stop = end.end() if end else body.end() if body else begin.end()
        if shapes.PEM_FEWEST.search(text, begin.end(), stop):
            yield _hit(text, at, stop, rules.PEM)

    # -- people

    def _home_path(self, text: str, at: int, loose: bool) -> Iterator[Hit]:
        if loose and text[at] in "uU":
            if text[at + 5 : at + 6] in ("\\", "/"):
                yield _hit(text, at, at + 5, rules.PATH)
            return
        found = shapes.UNIX_HOME.search(text, max(0, at - 7), at + 80) if text[at] == "/" else None
        if text[at] in "uU":
            found = shapes.WINDOWS_HOME.search(text, max(0, at - 4), at + 120)
            found = found or shapes.UNIX_HOME.search(text, max(0, at - 8), at + 80)
        if found is not None and (name := found[1].rstrip(".")) and name.lower() not in shapes.NOBODY:
            yield _hit(text, found.start(1), found.start(1) + len(name), rules.PATH)

    def _user_name(self, text: str, at: int, loose: bool) -> Iterator[Hit]:
        end = at + len(self._user)
        before, after = text[at - 1 : at], text[end : end + 1]
        if (
            text[at:end] == self._user
            and before
            and before in "/\\"
            and not (after.isalnum() or after in ("_", "-"))
        ):
            yield _hit(text, at, end, rules.PATH)

    def _own_home(self, text: str, at: int, loose: bool) -> Iterator[Hit]:
        end = at + len(self._home)
        after = text[end : end + 1]
        if text[at:end] == self._home and not (after.isalnum() or after in ("_", "-")):
            yield _hit(text, end - len(self._home.rpartition("/")[2]), end, rules.PATH)

    def _email(self, text: str, at: int, loose: bool) -> Iterator[Hit]:
        for match in shapes.EMAIL_SHAPE.finditer(text, max(0, at - 65), at + 120):
            if match.start() < at < match.end():
                yield _hit(text, *match.span(), rules.EMAIL)


def _hit(text: str, start: int, end: int, rule: str) -> Hit:
    return Hit(start, end, rule, text[start:end])


def _outside_markers(hits: list[Hit], text: str) -> list[Hit]:
    """The hits without what an earlier redaction left there."""
    for marker in names.MARKER.finditer(text):
        kept: list[Hit] = []
        for hit in hits:
            if hit.inner or hit.end <= marker.start() or hit.start >= marker.end():
                kept.append(hit)
                continue
            rests = ((hit.start, marker.start()), (marker.end(), hit.end))
            kept += [
                _hit(text, a, b, hit.rule) for a, b in rests if a < b and any(map(str.isalnum, text[a:b]))
            ]
        hits = kept
    return hits


def _worth(value: str) -> bool:
    """Not empty, a placeholder or already a marker."""
    return bool(value) and shapes.PLACEHOLDER.fullmatch(value) is None


def _name_around(text: str, at: int) -> tuple[int, int]:
    before = _NAME.match(text[max(0, at - 60) : at][::-1])
    after = _NAME.match(text, at)
    return at - (before.end() if before else 0), after.end() if after else at


def _value_span(text: str, separator: re.Match[str], name: str) -> tuple[int, int] | None:
    """Where the value after `name:` or `name=` stands, without its quotes."""
    start, quote = separator.end(), separator[4]
    if not quote:
        match = _unquoted(name.lower()).match(text, start)
        return match.span() if match else None
    end = text.find(quote, start)
    while len(quote) == 1 and end > 0 and text[end - 1] == "\\":
        end = text.find(quote, end + 1)
    if end < 0:
        match = shapes.LINE_VALUE.match(text, start)
        return match.span() if match else None
    return start, end


def _unquoted(name: str) -> re.Pattern[str]:
    if name.endswith("cookie"):
        return shapes.COOKIES
    return shapes.AUTHORIZATION if name.endswith("authorization") else shapes.UNQUOTED


def _plausible(value: str, separator: re.Match[str], loose: bool, *, own: bool) -> bool:
    """Whether the value of a named place in prose or code is a secret, and no remark about one."""
    quoted = bool(separator[4])
    if loose and separator[1]:
        return value != "" and (quoted or value[0] not in "{[")
    if own:
        return _worth(value)
    if shapes.PLACEHOLDER.fullmatch(value) or len(value) < (3 if quoted else 4):
        return False
    tight = not separator[2] and not separator[3] and "=" in separator[0]
    if quoted or separator[1] or tight:
        return " " not in value or quoted or tight
    return len(value) >= 6 and shapes.ODD_CHAR.search(value) is not None
