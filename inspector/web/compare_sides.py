"""Which catalogs can be compared, and which ones an address names. Request threads."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby, pairwise
from typing import Final

from inspector.catalog.snapshot import TOOLS
from inspector.console.catalogs import Catalog
from inspector.console.console import Console, Server
from inspector.console.recorded import HISTORY, read_back
from inspector.errors import FileError
from inspector.trace.store import Snapshot, Store
from inspector.web.compare_jobs import Comparisons, Uploaded
from inspector.web.compare_work import Given
from inspector.web.labels import labels
from inspector.web.render import delta, num

LETTERS: Final = "abcd"
OFFERED: Final = 12
"""Earlier lists of one server that are offered: the newest that differ from the one before."""
FILES_OFFERED: Final = 20
"""Servers out of opened files that are offered: those of the newest files."""
SUGGESTED: Final = 5
_RECORDED: Final = re.compile(r"(?s)(.+)@(\d{1,9})")
_FILE: Final = re.compile(r"file:([0-9a-f]{12})\.(\d{1,4})")


@dataclass(frozen=True, slots=True)
class Choice:
    """An entry of a side's menu. token: what the address calls it; group: its heading."""

    token: str
    label: str
    group: str


@dataclass(frozen=True, slots=True)
class Pick:
    """One side as the address names it. letter: a, b…; line: where it comes from, in words. problem: why it cannot
    be compared, or an empty string; stamp: the same for the same catalog; given: reads it for the worker."""

    letter: str
    token: str
    label: str
    line: str = ""
    problem: str = ""
    stamp: str = ""
    key: str = ""
    given: Callable[[], Given] | None = field(default=None, repr=False)


def moment(at_us: int) -> str:
    return datetime.fromtimestamp(at_us // 1_000_000).strftime("%Y-%m-%d %H:%M:%S")


def count(tools: int) -> str:
    return f"{num(tools)} tool{'' if tools == 1 else 's'}"


def line(*words: str | None) -> str:
    return " · ".join([word for word in words if word])


class Sides:
    """The catalogs there are, as one request sees them."""

    def __init__(self, console: Console, store: Store, comparisons: Comparisons) -> None:
        self._console = console
        self._store = store
        self._files = comparisons.files()
        known = console.servers()
        called = labels(known)
        self.servers = {
            each.key: replace(each, spec=replace(each.spec, name=called[each.key])) for each in known
        }
        for server in console.recorded_servers(FILES_OFFERED):
            named = replace(server.spec, name=f"{server.spec.name} in {server.spec.source}")
            self.servers[server.key] = replace(server, spec=named)
        self._kept = {key: store.snapshots(key, TOOLS, HISTORY) for key in self.servers}

    # --- what there is

    def choices(self, picks: Sequence[Pick]) -> list[Choice]:
        """Everything to choose from; what the address names is among it, however old it is."""
        found = []
        for key, server in self.servers.items():
            found += self._of_server(key, server)
        for file in self._files:
            found += [
                Choice(f"file:{file.id}.{at}", f"{part.label}, {count(part.tools)}", "Files of this run")
                for at, part in enumerate(file.parts)
            ]
        offered = {each.token for each in found}
        named = [Choice(pick.token, pick.label, "Named in the address") for pick in picks if pick.token]
        return found + [each for each in named if each.token not in offered]

    def _of_server(self, key: str, server: Server) -> list[Choice]:
        now = self._current(key)
        if now is None:
            return []
        tools = len(now.measured.measures) if isinstance(now, Catalog) else now.totals["count"]
        name = server.spec.name
        found = [Choice(key, f"{name}: newest list, {count(tools)}", name)]
        return found + [
            Choice(f"{key}@{row.id}", f"{name} {moment(row.at_us)}, {count(row.totals['count'])}", name)
            for row in self.distinct(key)[:OFFERED]
        ]

    def distinct(self, key: str) -> list[Snapshot]:
        """The recorded lists of a server, newest first; of equal ones in a row the newest."""
        runs = groupby(
            self._kept[key], key=lambda row: (row.sha256, row.order_sha256, row.totals["wire_bytes"])
        )
        return [next(rows) for _, rows in runs]

    def _current(self, key: str) -> Catalog | Snapshot | None:
        """What the server listed in this run, else what is recorded of it."""
        if (
            self.servers[key].tools is not None
            and (found := self._console.catalogs.known(key, TOOLS)) is not None
        ):
            return found
        return next(iter(self._kept[key]), None)

    def suggestions(self) -> list[tuple[str, str, str]]:
        """(sentence, a, b) of pairs worth a look: what changed over time, and servers beside each other."""
        found = []
        for key, server in self.servers.items():
            rows = self.distinct(key)
            if len(rows) > 1:
                before, after = rows[1], rows[0]
                more = after.totals["count"] - before.totals["count"]
                tools = "tool" if abs(more) == 1 else "tools"
                what = f"{delta(more)} {tools}" if more else "same number of tools"
                sentence = (
                    f"{server.spec.name}: the list of {moment(before.at_us)} against the newest, {what}"
                )
                found.append((sentence, f"{key}@{before.id}", key))
        listed = [key for key in self.servers if self._current(key) is not None]
        for one, other in pairwise(listed):
            names = [self.servers[key].spec.name for key in (one, other)]
            found.append((f"{names[0]} against {names[1]}", one, other))
        return found[:SUGGESTED]

    # --- what the address names

    def pick(self, letter: str, token: str) -> Pick:
        """One side; with a `problem` when there is no such catalog."""
        if token in self.servers:
            return self._pick_current(letter, token)
        if (match := _FILE.fullmatch(token)) is not None:
            return self._pick_file(letter, token, match[1], int(match[2]))
        if (match := _RECORDED.fullmatch(token)) is not None and match[1] in self.servers:
            return self._pick_recorded(letter, token, match[1], int(match[2]))
        return Pick(letter, token, token, problem="There is no such server or list any more.")

    def _pick_current(self, letter: str, key: str) -> Pick:
        name, found = self.servers[key].spec.name, self._current(key)
        if found is None:
            return Pick(letter, key, name, problem=f"{name} has not listed its tools yet.", key=key)
        if isinstance(found, Snapshot):
            return self._recorded(letter, key, key, found, name)
        snapshot, measured = found.snapshot, found.measured
        notes = (found.problem,) if found.problem else ()
        facts = (
            name,
            found.live,
            measured.sha256,
            measured.order_sha256,
            measured.wire_bytes,
            measured.pages,
        )
        stamp = repr((facts, snapshot.instructions, snapshot.server_info, snapshot.declared, notes))
        said = line(
            count(len(measured.measures)), snapshot.era, snapshot.transport,
            ("listed " if found.live else "recorded ") + moment(found.listed_at_us),
        )  # fmt: skip
        return Pick(
            letter, key, name, said, stamp=stamp, key=key,
            given=lambda: Given(name, snapshot, recorded=not found.live, notes=notes),
        )  # fmt: skip

    def _pick_recorded(self, letter: str, token: str, key: str, number: int) -> Pick:
        row = next((row for row in self._kept[key] if row.id == number), None) or self._store.snapshot(number)
        name = self.servers[key].spec.name
        if row is None or (row.server_key, row.what) != (key, TOOLS):
            return Pick(
                letter, token, name, problem=f"No list number {number} of {name} is recorded.", key=key
            )
        return self._recorded(letter, token, key, row, f"{name} {moment(row.at_us)}")

    def _recorded(self, letter: str, token: str, key: str, row: Snapshot, label: str) -> Pick:
        def given() -> Given:
            snapshot = read_back(self._store, row)
            if snapshot is None:
                raise FileError(f"The pages of {label} are not recorded any more.", "Choose another list.")
            return Given(label, snapshot, recorded=True)

        when = f"recorded {moment(row.at_us)}" if token == key else "recorded"  # else the label says when
        said = line(count(row.totals["count"]), row.era, f"{when}, session {row.session}")
        return Pick(letter, token, label, said, stamp=f"{label} {row.id}", key=key, given=given)

    def _pick_file(self, letter: str, token: str, id: str, at: int) -> Pick:
        file: Uploaded | None = next((each for each in self._files if each.id == id), None)
        if file is None or at >= len(file.parts):
            return Pick(
                letter,
                token,
                "a file",
                problem="That file is no longer here: files are kept for one run. Add it again.",
            )
        part = file.parts[at]
        kind = {"lines": "list lines", "lock": "lock file", "trace": "trace file"}[part.source]
        return Pick(
            letter, token, part.label, line(kind, count(part.tools), part.era), stamp=f"{token} {part.label}",
            given=lambda: Given(part.label, content=file.content, part=at),
        )  # fmt: skip
