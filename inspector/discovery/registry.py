"""The host's cache of everything listed, as a value with pure transitions. Any thread; read snapshots in the worker.

Not the model's context and not the provider's prompt cache (docs/lab.md, "Three caches"). Freshness goes by
`protocol.freshness`; the clock is simulated and only moves when told to.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from inspector.catalog import jsontext
from inspector.catalog.measure import measure_item
from inspector.catalog.snapshot import Snapshot
from inspector.discovery.access import EVERYONE, Access
from inspector.protocol import freshness
from inspector.protocol.eras import HANDSHAKE, MODERN, Era

SEPARATOR: Final = "__"
Why = Literal["unknown", "ambiguous", "stale", "unavailable"]


RAW_CHARS: Final = 120
"""Characters of a tool that cannot be used, where that is told."""


@dataclass(frozen=True, slots=True, eq=False)
class Tool:
    """One listed tool. public: `server__tool`; name: the server's own; text: the compact definition under the
    public name; page: which page of its list it came on."""

    public: str
    server: str
    name: str
    text: str = field(repr=False)
    value: Mapping[str, Any] = field(repr=False)
    page: int = 0

    @property
    def description(self) -> str:
        found = self.value.get("description")
        return found if isinstance(found, str) else ""


@dataclass(frozen=True, slots=True, eq=False)
class Server:
    """One server's list. kept_for: the authorization context it was listed under. pages: hints and receipt of each.
    wire_bytes: of the list's pages as received, or of the page made up for a lock (measured False). problems:
    what could not be used, a sentence each."""

    key: str
    label: str
    description: str
    instructions: str | None
    tools: tuple[Tool, ...] = field(repr=False)
    pages: tuple[freshness.Entry, ...]
    wire_bytes: int
    kept_for: str = ""
    measured: bool = True
    connected: bool = True
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a tool is not to be called: a sentence the model could act on, which names nothing it may not see."""

    why: Why
    sentence: str


@dataclass(frozen=True, slots=True, eq=False)
class Registry:
    """All servers at one simulated moment (microseconds since the epoch). revoked: public names taken back."""

    servers: tuple[Server, ...]
    now_us: int = 0
    revoked: frozenset[str] = frozenset()
    _known: Mapping[str, tuple[Tool, ...]] = field(default_factory=dict, repr=False)
    _owner: Mapping[str, Server] = field(default_factory=dict, repr=False)
    _visible: dict[Access, tuple[Tool, ...]] = field(default_factory=dict, init=False, repr=False)

    @property
    def collisions(self) -> dict[str, list[str]]:
        """Public names that more than one tool ends up with, and whose they are; none of them can be called."""
        return {
            public: [f"{tool.name} of {tool.server}" for tool in tools]
            for public, tools in self._known.items()
            if len(tools) > 1
        }

    def server(self, key: str) -> Server | None:
        return self._owner.get(key)

    def knows(self, public: str) -> bool:
        """Whether any server lists it, fresh or not."""
        return public in self._known

    def usable(self, server: Server, page: int) -> bool:
        """Whether a page of the list may still be used now: fresh, or just received, or of the handshake era,
        whose lists live until a list_changed (rows 4, 6 and 8 of the decision table)."""
        entry = server.pages[page]
        ended = entry.stale_since_us is not None and entry.stale_since_us <= self.now_us
        if ended:
            return False
        if entry.hints.row in (8, 15) and entry.hints.ttl_ms == 0:
            return True
        return freshness.state(entry, self.now_us) == "fresh" or self.now_us <= entry.received_at_us

    def state(self, tool: Tool) -> tuple[Literal["fresh", "stale", "unavailable"], str]:
        """A listed tool's standing and why, whoever asks."""
        server = self._owner[tool.server]
        if tool.public in self.revoked:
            return "unavailable", "it was revoked"
        if not server.connected:
            return "unavailable", f"its server {server.label} is not connected"
        if not self.usable(server, tool.page):
            return "stale", f"the list of {server.label} is out of date and has not been fetched again"
        return "fresh", server.pages[tool.page].hints.why

    def visible(self, access: Access = EVERYONE) -> tuple[Tool, ...]:
        """What may be searched, shown and stubbed: permitted, of this context, unambiguous and fresh."""
        if access not in self._visible:
            self._visible[access] = self._visible_to(access)
        return self._visible[access]

    def _visible_to(self, access: Access) -> tuple[Tool, ...]:
        usable = {
            (server.key, page)
            for server in self.servers
            if server.connected and self._shared(server, access)
            for page in range(len(server.pages))
            if self.usable(server, page)
        }
        return tuple(
            [
                tools[0]
                for public, tools in self._known.items()
                if len(tools) == 1
                and (tools[0].server, tools[0].page) in usable
                and public not in self.revoked
                and access.permits(public)
            ]
        )

    def reachable(self, access: Access = EVERYONE) -> tuple[Server, ...]:
        """The connected servers this context has anything from, in order."""
        seen = {tool.server for tool in self.visible(access)}
        return tuple([server for server in self.servers if server.key in seen])

    def instructions(self, server: Server, access: Access = EVERYONE) -> str:
        """The server's instructions, withheld when they name a tool this context may not see."""
        return self._allowed_words(server, server.instructions or "", access)

    def description(self, server: Server, access: Access = EVERYONE) -> str:
        """What a registry of servers says of it: its own words, else the names of the tools this context sees."""
        own = self._allowed_words(server, server.description, access)
        if own:
            return own
        names = [tool.name for tool in self.visible(access) if tool.server == server.key]
        return f"{len(names)} tools: {', '.join(names[:8])}{'…' if len(names) > 8 else ''}"

    def _allowed_words(self, server: Server, text: str, access: Access) -> str:
        hidden = [tool.name for tool in server.tools if not access.permits(tool.public)]
        return "" if any(name in text for name in hidden) else text

    def resolve(self, name: str, access: Access = EVERYONE) -> Tool | Refusal:
        """The one tool of exactly that public name, or why not. A forbidden tool and one that never was get the
        same answer, and names suggested are only such as the context may see."""
        tools = [tool for tool in self._known.get(name, ()) if self._may_see(tool, access)]
        if not tools:
            near = difflib.get_close_matches(name, [tool.public for tool in self.visible(access)], n=3)
            hint = f" Did you mean {' or '.join(near)}?" if near else " Search for it first."
            return Refusal("unknown", f"There is no tool named {name!r}.{hint}")
        if len(tools) > 1:
            return Refusal("ambiguous", f"{name!r} names {len(tools)} tools; none of them can be called.")
        state, why = self.state(tools[0])
        if state != "fresh":
            return Refusal(state, f"{state}: {name} cannot be called now: {why}.")
        return tools[0]

    def _may_see(self, tool: Tool, access: Access) -> bool:
        return access.permits(tool.public) and self._shared(self._owner[tool.server], access)

    def _shared(self, server: Server, access: Access) -> bool:
        """Whether a list kept for one context may serve another: the pages' common scope decides."""
        if server.kept_for == access.name:
            return True
        hints = [page.hints for page in server.pages]
        scope = freshness.list_scope(hints).what
        verdicts = [
            freshness.may_serve(replace(each, scope=scope), server.kept_for, access.name) for each in hints
        ]
        return bool(verdicts) and all(each.what == "hit" for each in verdicts)

    # --- transitions

    def advanced(self, us: int) -> Registry:
        """The clock moved on."""
        return replace(self, now_us=self.now_us + us)

    def list_changed(self, key: str) -> Registry:
        """A `notifications/tools/list_changed` arrived: every page of that server's list is stale, whatever its TTL."""
        server = self._owner[key]
        pages = tuple([replace(page, stale_since_us=self.now_us) for page in server.pages])
        return self.with_server(replace(server, pages=pages))

    def page_expired(self, key: str, page: int) -> Registry:
        """One page ran out; the others stay (row 21)."""
        server = self._owner[key]
        pages = list(server.pages)
        pages[page] = replace(pages[page], stale_since_us=self.now_us)
        return self.with_server(replace(server, pages=tuple(pages)))

    def revoke(self, *publics: str) -> Registry:
        return replace(self, revoked=self.revoked | set(publics))

    def disconnected(self, key: str) -> Registry:
        """The server is gone: its entries stay, stale, and nothing of it can be called."""
        stale = self.list_changed(key)
        return stale.with_server(replace(stale._owner[key], connected=False))

    def reconnected(self, key: str) -> Registry:
        """The server is back, and its list was just fetched again."""
        server = self._owner[key]
        pages = [replace(page, received_at_us=self.now_us, stale_since_us=None) for page in server.pages]
        return self.with_server(replace(server, connected=True, pages=tuple(pages)))

    def with_server(self, server: Server) -> Registry:
        """Add a server, or put its new list in the place of the old one."""
        if server.key in self._owner:
            servers = tuple([server if each.key == server.key else each for each in self.servers])
        else:
            servers = (*self.servers, server)
        return registry_of(servers, self.now_us, self.revoked)


def registry_of(
    servers: Iterable[Server], now_us: int | None = None, revoked: frozenset[str] = frozenset()
) -> Registry:
    """All servers as one registry. now_us: the latest receipt, when not given."""
    servers = tuple(servers)
    known: dict[str, tuple[Tool, ...]] = {}
    for server in servers:
        for tool in server.tools:
            known[tool.public] = (*known.get(tool.public, ()), tool)
    if now_us is None:
        now_us = max([page.received_at_us for each in servers for page in each.pages], default=0)
    return Registry(servers, now_us, revoked, known, {server.key: server for server in servers})


def read_server(
    snapshot: Snapshot,
    label: str,
    *,
    taken: Sequence[str] = (),
    kept_for: str = "",
    measured: bool = True,
    received_at_us: int | None = None,
) -> Server:
    """A listed catalog as the registry keeps it. taken: keys other servers have; broken tools are left out and told."""
    listing, key = snapshot.listing(), _key(label, taken)
    tools: dict[str, Tool] = {}
    problems = [page.fault for page in listing.pages if page.fault]
    for number, item in enumerate(listing.items, 1):
        if item.broken or item.name is None:
            which = f"tool {number} of {len(listing.items)}"
            problems.append(f"{which} cannot be used: {item.broken}: {_beginning(item.raw)}")
        elif item.name in tools:
            problems.append(f"{item.name} is listed twice; the first is kept")
        else:
            public = f"{key}{SEPARATOR}{item.name}"
            text = _renamed(measure_item(item).text, item.name, public)
            tools[item.name] = Tool(public, key, item.name, text, item.value, item.page)
    pages = tuple(
        [
            freshness.Entry(_hints(page.raw, snapshot.era), received_at_us or page.received_at_us)
            for page in snapshot.pages
        ]
    )
    return Server(
        key, label, _description(snapshot), snapshot.instructions, tuple(tools.values()),
        pages, sum([len(page.raw) for page in snapshot.pages]), kept_for, measured, problems=tuple(problems),
    )  # fmt: skip


def _beginning(raw: str) -> str:
    return raw if len(raw) <= RAW_CHARS else f"{raw[:RAW_CHARS]}…"


def _key(label: str, taken: Sequence[str]) -> str:
    """A short name for public names: letters, digits and dashes, different from those taken."""
    stem = re.sub(r"(\.(jsonl|json|lock|gz|mcptrace|legacy|modern))+$", "", label)
    base = re.sub(r"_{2,}", "_", re.sub(r"[^A-Za-z0-9_-]+", "_", stem)).strip("_") or "server"
    key, number = base, 2
    while key in taken:
        key, number = f"{base}_{number}", number + 1
    return key


def _renamed(text: str, name: str, public: str) -> str:
    """The compact definition `text` with its name replaced; everything else byte for byte."""
    start = f'{{"name":{jsontext.compact_value(name)}'
    if text.startswith(start):
        return f'{{"name":{jsontext.compact_value(public)}{text[len(start) :]}'
    members = [
        f"{jsontext.compact_value(key)}:{jsontext.compact_value(public) if key == 'name' else value}"
        for key, value in jsontext.members_of(text)
    ]
    return "{" + ",".join(members) + "}"


def _description(snapshot: Snapshot) -> str:
    """What the server says of itself, its first line; empty when it says nothing."""
    info = snapshot.server_info or {}
    for said in (info.get("description"), snapshot.instructions):
        if isinstance(said, str) and said.strip():
            return said.strip().split("\n")[0][:200]
    return ""


def _hints(raw: bytes, era: str | None) -> freshness.Hints:
    """A page's cache hints. A page from a file without its handshake is modern when it has a resultType."""
    try:
        answer = jsontext.loads(raw)
    except (ValueError, RecursionError):
        answer = None
    result = answer.get("result") if isinstance(answer, dict) else None
    modern = era == MODERN or (era is None and isinstance(result, dict) and "resultType" in result)
    known: Era = MODERN if modern else HANDSHAKE
    return freshness.assess(result, method="tools/list", era=known)
