"""What the address of a Replay page says, and the links that keep it. Pure, any thread."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import urlencode

from inspector.errors import UsageError
from inspector.replay.compare import COMPARED, Ignore
from inspector.web.query import number

ERAS: Final = ("handshake", "modern")
MOST_PICKS: Final = 1_000
LONGEST: Final = 4_000
"""Characters of the ignored paths in an address."""
Pairs = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Rules:
    """What does not count when answers are compared: one JSON pointer a line, and whether ids and times count.

    problem: why the lines as written cannot be used; the defaults hold then.
    """

    lines: tuple[str, ...] = COMPARED
    volatile: bool = True
    problem: str = ""

    @classmethod
    def read(cls, args: Any) -> Rules:
        """`ignore` (lines; absent: the defaults) and `count` (1: ids and times count)."""
        said = args.get("ignore")
        text = "\n".join(COMPARED) if said is None else said[:LONGEST]
        found = cls(
            tuple(line for line in map(str.strip, text.splitlines()) if line), args.get("count") != "1"
        )
        try:
            found.ignore()
        except UsageError as problem:
            return replace(found, problem=f"{problem.message}. {problem.remedy}.")
        return found

    def ignore(self) -> Ignore:
        """Raises UsageError for a line that is no pointer."""
        return Ignore.of(COMPARED if self.problem else self.lines, volatile=self.volatile)

    def pairs(self) -> Pairs:
        found = [] if self.lines == COMPARED else [("ignore", "\n".join(self.lines))]
        return found if self.volatile else [*found, ("count", "1")]

    @property
    def key(self) -> str:
        return repr((self.ignore().pointers, self.volatile))


@dataclass(frozen=True, slots=True)
class Query:
    """The Replay screen: which recording, which of its requests, where to.

    picks: seqs that are ticked. edits: (seq, id of the edited params). after: the list begins behind this seq.
    to: key of a server; era: "" as it is connected. e: the request that is open beside the list.
    """

    session: int
    c: int | None = None
    method: str = ""
    errors: bool = False
    q: str = ""
    after: int = 0
    picks: tuple[int, ...] = ()
    edits: tuple[tuple[int, str], ...] = ()
    to: str = ""
    era: str = ""
    e: int | None = None
    rules: Rules = Rules()

    @classmethod
    def read(cls, args: Any, current: int) -> Query:
        """What cannot be meant counts as not said. args: a MultiDict. `was`: the recording a form was made for."""
        session = number(args, "session")
        session = current if session is None else session
        kept: dict[str, Any] = {}
        if number(args, "was") in (None, session):  # numbers of another recording mean nothing in this one
            kept = {"c": number(args, "c"), "after": number(args, "after") or 0, "e": number(args, "e")}
            kept |= {
                "picks": tuple(_seqs(args.getlist("pick"))),
                "edits": tuple(_edits(args.getlist("edit")).items()),
            }
        era = args.get("era", "")
        return cls(
            session, method=args.get("method", "").strip()[:200], errors=args.get("errors") == "1",
            q=args.get("q", "")[:200], to=args.get("to", ""), era=era if era in ERAS else "",
            rules=Rules.read(args), **kept,
        )  # fmt: skip

    def pairs(self, *without: str) -> Pairs:
        """The state as names and values, defaults left out, and without these names."""
        found: list[tuple[str, object]] = [
            ("session", self.session), ("c", self.c), ("method", self.method), ("errors", self.errors or ""),
            ("q", self.q), ("after", self.after or ""), ("pick", ",".join(map(str, self.picks))),
            ("edit", ",".join(f"{seq}.{id_}" for seq, id_ in self.edits)), ("to", self.to), ("era", self.era),
            ("e", self.e), *self.rules.pairs(),
        ]  # fmt: skip
        said = [(name, value) for name, value in found if value not in (None, "") and name not in without]
        return [(name, "1" if value is True else str(value)) for name, value in said]

    def href(self, **changes: Any) -> str:
        """The query string of this state with `changes`, from `?`."""
        return "?" + urlencode(replace(self, **changes).pairs(), safe=",", errors="backslashreplace")

    def edit(self, seq: int) -> str | None:
        """The id of the params edited for a request."""
        return dict(self.edits).get(seq)

    def with_edit(self, seq: int, id_: str | None) -> Query:
        edits = {known: each for known, each in self.edits if known != seq}
        return replace(self, edits=tuple((edits | ({seq: id_} if id_ else {})).items()))


def _seqs(texts: Iterable[str]) -> list[int]:
    found = dict.fromkeys(
        word for text in texts for word in text.split(",") if re.fullmatch(r"\d{1,18}", word)
    )
    return sorted({int(word) for word in found})[:MOST_PICKS]


def _edits(texts: Iterable[str]) -> dict[int, str]:
    words = (word for text in texts for word in text.split(","))
    found = (re.fullmatch(r"(\d{1,18})\.([0-9a-f]{12})", word) for word in words)
    return {int(match[1]): match[2] for match in found if match is not None}


@dataclass(frozen=True, slots=True)
class Asked:
    """Which pairs of a result are shown: verdict "" for all, q: words in method or name, at: the first row, e: the
    open pair by its index in all of them."""

    verdict: str = ""
    q: str = ""
    at: int = 0
    e: int | None = None
    rules: Rules = Rules()

    @classmethod
    def read(cls, args: Any) -> Asked:
        return cls(
            args.get("verdict", ""),
            args.get("q", "")[:200],
            number(args, "at") or 0,
            number(args, "e"),
            Rules.read(args),
        )

    def pairs(self, *without: str) -> Pairs:
        found: list[tuple[str, object]] = [
            ("verdict", self.verdict), ("q", self.q), ("at", self.at or ""), ("e", self.e), *self.rules.pairs(),
        ]  # fmt: skip
        return [
            (name, str(value)) for name, value in found if value not in (None, "") and name not in without
        ]
