"""Redacts trace events: what a `TraceFileWriter` asks for, and `trace redact`. One thread at a time.

It remembers, for one file: the number of each secret, what each rule did, PEM blocks that go on over lines,
and the lists a `catalog` event will speak of.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from typing import Any, Final

from inspector.trace.file import RAWS
from inspector.trace.redact import names, rules, shapes
from inspector.trace.redact.hits import Hit, replaced, settled
from inspector.trace.redact.listings import Digests, Listings
from inspector.trace.redact.rules import Rules
from inspector.trace.redact.searcher import Searcher, number_again
from inspector.trace.redact.tokens import pointer

_OURS: Final = frozenset(
    (
        "t", "seq", "c", "at", "dt", "dir", "kind", "cause", "eol", "enc", "bytes", "pair", "ms", "http", "phase", "red",
        "cut", "full_bytes", "sha256", "order_sha256", "what", "transport", "era", "protocol_version", "origin", "class",
        "verdict",
    )
)  # fmt: skip
"""Fields whose values are ours, never a server's or a person's."""

_NUMBERS: Final = (int, float)
_SKIPPED_MOST: Final = 1000
_CLEAN_MOST: Final = 4096
_CLEAN_LENGTH: Final = 80
_LEARNS: Final = frozenset((rules.HEADER, rules.KEY, rules.SCHEME, rules.KNOWN))


class Redactor:
    """Hides what `these` rules find; implements `inspector.trace.file.Redaction`.

    digests: (list, raws of its pages) -> (sha256, order_sha256), for `catalog` events whose list was touched;
    without it they lose theirs. optional: also count what the optional rules would hide, in `reported`.
    before: the header's `redaction` of a file that was redacted already, first: the number its markers go on from.
    on_hit: told (rule, seq, path) of each place.
    """

    def __init__(
        self,
        these: Rules,
        *,
        digests: Digests | None = None,
        optional: bool = False,
        before: dict[str, Any] | None = None,
        first: int = 1,
        on_hit: Callable[[str, int, str], None] | None = None,
    ) -> None:
        self.rules = these
        self._before = before
        self._first = first
        self._on_hit = on_hit
        self._searcher = Searcher(these, optional=optional, skipped=self._skip)
        self._optional = optional
        self._numbers: dict[str, int] = {}
        self._counts: dict[str, int] = {}
        self._skipped: list[dict[str, Any]] = []
        self._seen_skips: set[tuple[int, str]] = set()
        self._clean: set[str] = set()
        self._open_pem: set[tuple[int, str]] = set()
        self._listings = Listings(digests)
        self._seq, self._path, self._red = 0, "", list[list[str]]()

    # -- the protocol of a writer

    def header(self) -> dict[str, Any]:
        """The header's `redaction`; rules of an earlier redaction stay, as its markers do."""
        header = self.rules.header()
        if self._before:
            earlier = [rule for rule in self._before.get("rules") or [] if rule not in header["rules"]]
            header["rules"] = earlier + header["rules"]
        return header

    def apply(self, fields: dict[str, Any]) -> dict[str, Any]:
        """The event's fields with every secret replaced and `red` saying where; the same object when there is none."""
        self._seq, self._red = fields.get("seq", 0), []
        changed: dict[str, Any] = {}
        t = fields.get("t", "")
        raw_name = RAWS.get(t, "data")
        if fields.get("cut"):
            self._skip("cut: JSON in it was searched as text")
        for name, value in fields.items():
            if name in _OURS or value is None or isinstance(value, _NUMBERS):
                continue
            self._path = "/" + name
            if name == raw_name and isinstance(value, str):
                new: Any = self._raw(t, fields, value)
            else:
                new = self._value(value, [name])
            if new is not value:
                changed[name] = new
        touched = fields | changed if changed else fields
        digests = self._listings.watch(touched, bool(self._red))
        if digests is not None:
            touched = {name: value for name, value in touched.items() if name not in digests or digests[name]}
            touched |= {name: value for name, value in digests.items() if value}
            if not all(digests.values()):
                self._path = ""
                self._skip("the list's checksums were left out: they were of what is redacted")
        if self._red:
            touched = touched | {"red": [*(fields.get("red") or []), *self._red]}
        return touched

    def counts(self) -> dict[str, int]:
        """Replaced places by rule."""
        return dict(sorted(self._counts.items()))

    def skipped(self) -> list[Any]:
        """Places that could not be searched as they should: {seq, path, why}; at most a thousand."""
        return list(self._skipped)

    @property
    def learned(self) -> tuple[tuple[str, str], ...]:
        """(secret, rule) of what one rule found and is hidden wherever it comes again. Never to be shown."""
        return tuple(self._searcher.finder.known.learned.items())

    def learn(self, learned: Iterable[tuple[str, str]]) -> None:
        """Hide these from the first event on: a second pass knows what the first one learned."""
        for secret, rule in learned:
            self._searcher.finder.learn(secret, rule)

    def know(self, values: Iterable[str]) -> None:
        """Hide these too from now on, as values that were passed to a server."""
        finder = self._searcher.finder
        if self.rules.applies(rules.KNOWN) and finder.again(finder.known.know(values)):
            self._clean.clear()

    # -- values

    def text(self, text: str) -> str:
        """A text of its own (a title, a note) with its secrets replaced."""
        self._red = []
        return self._text(text)

    def _raw(self, t: str, fields: dict[str, Any], value: str) -> str:
        steps = None if t == "rpc" else [self._path[1:]]
        if fields.get("enc") == "base64":
            try:
                content = base64.b64decode(value, validate=True).decode("latin-1")
            except ValueError:
                return self._text(value, steps or ["raw"])
            new = self._text(content, steps or ["raw"])
            return value if new == content else base64.b64encode(new.encode("latin-1")).decode("ascii")
        if t in ("stderr", "noise") and (block := self._pem_line(fields, t, value)) is not None:
            return block
        return self._text(value, steps, in_rpc=t == "rpc")

    def _pem_line(self, fields: dict[str, Any], t: str, line: str) -> str | None:
        """The line redacted whole when it belongs to a PEM block that an earlier line began; else None."""
        if not self.rules.applies(rules.PEM):
            return None
        place = (fields.get("c", 0), t)
        end = shapes.PEM_END.search(line)
        begins = [match.end() for match in shapes.PEM_BEGIN.finditer(line)] if "-----BEGIN" in line else []
        was_open = place in self._open_pem
        if begins and not shapes.PEM_END.search(line, begins[-1]):
            self._open_pem.add(place)
        elif end or not shapes.PEM_LINE.fullmatch(line):
            self._open_pem.discard(place)
        if not was_open or begins or end or not line.strip() or place not in self._open_pem:
            return None
        hit = Hit(0, len(line), rules.PEM, line)
        self._note(hit, self._path)
        return self._marker(hit)

    def _value(self, value: Any, steps: list[str], name: str = "") -> Any:
        """A field's value, whatever it is; the same object when nothing in it is secret."""
        if isinstance(value, str):
            if len(value) <= _CLEAN_LENGTH and value in self._clean:
                return value
            return self._named(value, steps, name)
        if isinstance(value, list):
            if steps[-1] == "headers":
                return self._pairs(value, steps)
            return self._list(value, steps)
        if isinstance(value, dict):
            inner = {key: self._value(one, [*steps, key], key) for key, one in value.items()}
            inner = {self._text(key, [*steps, key]): one for key, one in inner.items()}
            same = all(a is b for a, b in zip(inner.values(), value.values(), strict=False)) and list(
                inner
            ) == list(value)
            return value if same else inner
        return value

    def _named(self, value: str, steps: list[str], name: str) -> str:
        if name and names.cursor_name(name):
            return self._cut_out(value, settled(self._searcher.finder.known.find(value, False), value), steps)
        rule = self._searcher.finder.key_rule(name) if name else None
        if rule is None:
            return self._text(value, steps)
        return self._cut_out(
            value, [Hit(a, b, rule, value[a:b]) for a, b in names.secret_parts(name, value)], steps
        )

    def _list(self, value: list[Any], steps: list[str]) -> list[Any]:
        found, flag = [], ""
        for n, one in enumerate(value):
            found.append(self._value(one, [*steps, str(n)], flag))
            flag = one if isinstance(one, str) and one.startswith("-") and "=" not in one else ""
        return value if all(a is b for a, b in zip(found, value, strict=True)) else found

    def _pairs(self, pairs: list[Any], steps: list[str]) -> list[Any]:
        found = []
        for n, pair in enumerate(pairs):
            if (
                isinstance(pair, list | tuple)
                and len(pair) == 2
                and all(isinstance(one, str) for one in pair)
            ):
                where = [*steps, str(n), "1"]
                value = self._header(pair[0], pair[1], where)
                found.append(pair if value is pair[1] else [pair[0], value])
            else:
                found.append(self._value(pair, [*steps, str(n)]))
        return pairs if all(a is b for a, b in zip(found, pairs, strict=True)) else found

    def _header(self, name: str, value: str, steps: list[str]) -> str:
        rule = self._searcher.finder.header_rule(name)
        if rule is None:
            return value if value in self._clean else self._text(value, steps)
        return self._cut_out(
            value, [Hit(a, b, rule, value[a:b]) for a, b in names.secret_parts(name, value)], steps
        )

    def _text(self, text: str, steps: list[str] | None = None, *, in_rpc: bool = False) -> str:
        paths: list[tuple[list[str], Hit]] = []
        hits = self._searcher.search(
            text, (lambda where, hit: paths.append((where, hit))) if in_rpc else None
        )
        if not hits:
            if len(text) <= _CLEAN_LENGTH and len(self._clean) < _CLEAN_MOST:
                self._clean.add(text)
            return text
        if len(paths) == len(hits):
            for where, hit in paths:
                self._note(hit, pointer([self._quiet(step) for step in where]))
            return self._without(text, [hit for hit in hits if self._is_applied(hit)])
        return self._cut_out(text, hits, steps or [self._path[1:]])

    def _cut_out(self, text: str, hits: list[Hit], steps: list[str]) -> str:
        for hit in hits:
            self._note(hit, pointer([self._quiet(step) for step in steps]))
        return self._without(text, [hit for hit in hits if self._is_applied(hit)])

    def _quiet(self, step: str) -> str:
        """A step of a path without secrets: keys may hold them too."""
        if len(step) < 8 or step in self._clean:
            return step
        return replaced(step, self._searcher.search(step), self._marker)

    # -- replacing

    def _without(self, text: str, hits: list[Hit]) -> str:
        return replaced(text, hits, self._marker) if hits else text

    def _is_applied(self, hit: Hit) -> bool:
        """Not merely reported. A base64 text with both is replaced as far as the applied go."""
        return not self._optional or any(self._applied_rule(leaf.rule) for leaf in hit.leaves())

    def _applied_rule(self, rule: str) -> bool:
        return rule not in rules.WHAT or self.rules.applies(rule)

    def _marker(self, hit: Hit) -> str:
        if self._optional and not self._applied_rule(hit.rule):
            return hit.secret
        n = self._numbers.setdefault(hit.secret, len(self._numbers) + self._first)
        return number_again(hit.secret, n) if hit.number else f"[redacted:{hit.rule}:{n}]"

    def _note(self, hit: Hit, path: str) -> None:
        for leaf in hit.leaves():
            if self._on_hit is not None:
                self._on_hit(leaf.rule, self._seq, path)
            if not self._applied_rule(leaf.rule):
                continue
            self._counts[leaf.rule] = self._counts.get(leaf.rule, 0) + 1
            if [path, leaf.rule] not in self._red:
                self._red.append([path, leaf.rule])
            if leaf.rule in _LEARNS and self._searcher.finder.learn(leaf.secret, leaf.rule):
                self._clean.clear()

    def _skip(self, why: str) -> None:
        if len(self._skipped) < _SKIPPED_MOST and (self._seq, why) not in self._seen_skips:
            self._seen_skips.add((self._seq, why))
            self._skipped.append({"seq": self._seq, "path": self._path, "why": why})
