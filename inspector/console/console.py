"""The console: every room opened in order, closed in reverse. Its methods are called from Flask and CLI threads."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from anyio.from_thread import start_blocking_portal

from inspector import __version__
from inspector.console.asking import Asking
from inspector.console.calls import Call, Calls
from inspector.console.catalogs import Catalog, Catalogs
from inspector.console.checking import Checker
from inspector.console.counting import Counting
from inspector.console.documents import Documents
from inspector.console.exports import Exports
from inspector.console.hosting import Hosting
from inspector.console.rawframes import RawFrames
from inspector.console.recorded import recorded_server, recorded_servers
from inspector.console.recordings import Recordings
from inspector.console.redacting import passed_to, to_remember
from inspector.console.signing import SignIns
from inspector.console.skills import Skills
from inspector.console.streaming import Otlp, exporter
from inspector.console.subscriptions import Subscriptions
from inspector.console.tapped import Taps
from inspector.console.tidy import Tidy
from inspector.console.worker import Worker
from inspector.errors import ConnectionLost, LoupeError, StorageError, UsageError
from inspector.replay.check import Tool
from inspector.settings.answers import Answers
from inspector.settings.frames import SavedFrames
from inspector.settings.paths import Paths
from inspector.settings.rules_off import RulesOff
from inspector.settings.scripts import ScriptList
from inspector.settings.servers import ServerList
from inspector.settings.spec import ServerSpec
from inspector.settings.tokens import TokenStore
from inspector.settings.variables import require_resolved
from inspector.trace.otlp_live import Exporter
from inspector.trace.recorder import Recorder
from inspector.trace.store import Store
from inspector.wire.children import Children, Swept
from inspector.wire.connection import CONNECTED, CONNECTING, Connection
from inspector.wire.events import Journal
from inspector.wire.extras import Extras
from inspector.wire.listing import offers

if TYPE_CHECKING:
    from inspector.console.replays import Replays
    from inspector.console.scripts import Scripts

BACKLOG_BYTES = 64 * 1024 * 1024
"""Recorder backlog at which the readers pause, so that a flood fills the pipe and not our memory."""

FLUSH_S = 10.0

NEVER, RECORDED = "never", "recorded"


@dataclass(frozen=True, slots=True)
class Server:
    """One configured server as it stands. state: never, connecting, connected, failed, lost or closed.

    Or one that is only in an opened file (`session`: the one it became); then the state is recorded, nothing can be
    asked of it, and the spec says what was recorded of it, never what could be started.
    """

    key: str
    spec: ServerSpec
    connection: Connection | None
    tools: int | None
    session: int | None = None

    @property
    def state(self) -> str:
        if self.session is not None:
            return RECORDED
        return self.connection.state if self.connection is not None else NEVER

    @property
    def error(self) -> LoupeError | None:
        return self.connection.error if self.connection is not None else None


class Console:
    """Use as a context manager. `sessions` of recordings outlive it; connections and their processes do not."""

    def __init__(self, paths: Paths, *, title: str = "", otlp: Otlp | None = None) -> None:
        self.paths = paths.ensure()
        self.title = title
        self._otlp = otlp
        self.streaming: Exporter | None = None
        """Where what is recorded is streamed to, when that was asked for."""
        self._connections: dict[str, Connection] = {}
        self._extras: dict[str, Extras] = {}
        self._opening: dict[str, threading.Lock] = {}
        self._passed: set[str] = set()
        self._lock = threading.Lock()
        self._scripts: Scripts | None = None
        self._replays: Replays | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Console:
        with ExitStack() as stack:
            stack.callback(Tidy().close)
            self.journal = Journal()
            self.recorder = Recorder(
                self.paths.database, self.journal, title=self.title, tool_version=__version__
            )
            stack.callback(self.recorder.close)
            self.journal.pressure = lambda: self.recorder.backlog_bytes > BACKLOG_BYTES
            self.taps = Taps(self.journal)
            if self._otlp is not None:
                self.streaming = exporter(self._otlp, self.journal, self.secrets)
                stack.callback(self.streaming.close)
            self.portal = stack.enter_context(start_blocking_portal(name="mcp-loop"))
            self.children = Children(self.paths.children)
            self.swept: list[Swept] = self.children.sweep()
            self.worker = Worker(self.portal)
            stack.callback(self.worker.close)
            self.servers_file = ServerList(self.paths.servers)
            self.tokens = TokenStore(self.paths.tokens)
            self.sign_ins = SignIns()
            self.counting = Counting()
            self.rules_off = RulesOff(self.paths.config / "findings.json")
            self.hosting = Hosting(self.journal.now_us)
            self.catalogs = Catalogs(self.worker, self.recorder, self.store, self.hosting)
            checks = Worker(self.portal)
            stack.callback(checks.close)
            self.checker = Checker(checks)
            self.asking = Asking(self.portal, Answers(self.paths.config / "answers.json"))
            self._open_recordings(stack)
            self.subscriptions = Subscriptions()
            self.documents = Documents()
            self.skills = Skills()
            self.raw_frames = RawFrames(self._scratch)
            stack.callback(self.raw_frames.close)
            self.saved_frames = SavedFrames(self.paths.config / "frames.json")
            self.calls = Calls(self.checker, self.asking)
            self.saved_scripts = ScriptList(self.paths.config / "scripts.json")
            stack.callback(self.close_all)
            stack.callback(self._close_late)
            self._stack = stack.pop_all()
        return self

    def _open_recordings(self, stack: ExitStack) -> None:
        readers, exporters = Worker(self.portal), Worker(self.portal)
        self.recordings = Recordings(self.paths, self.recorder, readers, self.store)
        self.recordings.forget = self.catalogs.forget
        self.exports = Exports(self.paths.database, self.paths.data / "exports", exporters, self._last_seq)
        for close in (self.recordings.stop, readers.close, self.exports.close, exporters.close):
            stack.callback(close)
        self.recordings.start()

    # Rooms that many a console never enters are imported, with what they are made of, when somebody does.

    @property
    def scripts(self) -> Scripts:
        from inspector.console.scripts import Scripts

        with self._lock:
            if self._scripts is None:
                self._scripts = Scripts(self.catalogs, self.connection, self.worker)
            return self._scripts

    @property
    def replays(self) -> Replays:
        from inspector.console.replays import Replays

        def committed() -> None:
            self.recorder.flush(FLUSH_S)

        with self._lock:
            if self._replays is None:
                self._replays = Replays(self.opened, self.tools, self.store, self.recorder.session, committed)
            return self._replays

    def _close_late(self) -> None:
        for room in (self._scripts, self._replays):
            if room is not None:
                room.close()

    def _last_seq(self, session: int) -> int:
        with self.store() as store:
            return store.last_seq(session)

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    # --- servers

    def servers(self) -> list[Server]:
        """All configured servers, in the order they were added."""
        return [self._server(key, spec) for key, spec in self.servers_file.all().items()]

    def server(self, key: str) -> Server:
        """One server; UsageError when there is none of that key."""
        return self._server(key, self.servers_file.get(key))

    def shown(self, key: str) -> Server:
        """The same, or a server out of an opened file: for screens that only read."""
        if not key.startswith("~"):
            return self.server(key)
        with self.store() as store:
            found = recorded_server(store, key)
        if found is None:
            raise UsageError(
                "That recording is not here any more.", "Open its file again on the Traces screen."
            )
        return Server(key, *found)

    def recorded_servers(self, most: int) -> list[Server]:
        """The servers out of the newest opened files."""
        with self.store() as store:
            return [Server(key, *found) for key, found in recorded_servers(store, most)]

    def _server(self, key: str, spec: ServerSpec) -> Server:
        with self._lock:
            connection = self._connections.get(key)
        return Server(key, spec, connection, self.catalogs.count(key))

    def remove(self, key: str) -> ServerSpec:
        """Disconnect and forget the definition; what was recorded stays. Returns the spec, for undo."""
        self.disconnect(key)
        self.catalogs.forget(key)
        self.hosting.cache.forget(key)
        with self._lock:
            self._connections.pop(key, None)
        return self.servers_file.remove(key)

    # --- connections

    def connect(self, key: str) -> Connection:
        """Open a clean connection (ending an old one), then list its tools. Raises why it did not work."""
        with self._lock:
            opening = self._opening.setdefault(key, threading.Lock())
        with opening:
            self.disconnect(key)
            spec = self.servers_file.get(key)
            require_resolved(spec)
            self._give(spec)
            connection = Connection(
                spec, self.journal, self.portal, self.children, server_key=key, tokens=self.tokens
            )
            connection.extras = self.extras(key)
            connection.on_notification = partial(self._notified, key, connection)
            connection.on_change = lambda: self._changed(connection)
            connection.on_question = partial(self.asking.ask, key, connection.c)
            self.hosting.watch(connection, key)
            with self._lock:
                self._connections[key] = connection
            connection.open()
        if offers(connection, "tools"):
            self._list_at_start(connection, key)
        return connection

    def _list_at_start(self, connection: Connection, key: str) -> None:
        """A list that fails does not undo the connection: the failure is in the timeline and on the catalog."""
        try:
            self.catalogs.refresh(connection, key, "tools", cause="housekeeping")
        except LoupeError as problem:
            connection.link.anomaly("list-failed", problem.message, origin="console", remedy=problem.remedy)

    def disconnect(self, key: str) -> None:
        """End the connection, if one is open, and wait until its process is gone."""
        with self._lock:
            connection = self._connections.get(key)
        if connection is not None:
            connection.close()

    def connection(self, key: str) -> Connection:
        """The open connection of a server; raises ConnectionLost with the reason when there is none."""
        server = self.server(key)
        if server.connection is None or server.state != CONNECTED:
            why = server.error.message if server.error else f"{server.spec.name} is not connected"
            raise ConnectionLost(why, "Connect it on the Servers screen")
        return server.connection

    @contextmanager
    def opened(self, key: str, era: str = "") -> Iterator[Connection]:
        """The open connection of a server; with another era, one beside it for as long as it is used."""
        connection = self.connection(key)
        if not era or (connection.peer is not None and connection.peer.era == era):
            yield connection
            return
        # Of the spec that runs, not of the file: what was not shown must not start.
        spec = replace(connection.spec, era=era)
        own = Connection(spec, self.journal, self.portal, self.children, server_key=key)
        try:
            own.open()
            yield own
        finally:
            own.close()

    def close_all(self) -> None:
        """End every connection, at the same time, each within its own bound."""
        with self._lock:
            live = [one for one in self._connections.values() if one.state in (CONNECTED, CONNECTING)]
        threads = [threading.Thread(target=connection.close, name="close") for connection in live]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _changed(self, connection: Connection) -> None:
        if connection.state not in (CONNECTING, CONNECTED):
            self.asking.dropped(connection.c)
            self.subscriptions.dropped(connection.c)

    def _give(self, spec: ServerSpec) -> None:
        """What a server is about to get is hidden in exports of this recording, whatever becomes of its definition."""
        self._passed.update(passed_to([spec], self.tokens))
        try:
            self.recordings.given.remember(self.recorder.session, to_remember(spec))
        except StorageError as problem:
            logging.getLogger(__name__).warning("%s %s", problem.message, problem.remedy)

    def _scratch(self, spec: ServerSpec) -> Connection:
        self._give(spec)
        return Connection(spec, self.journal, self.portal, self.children)

    def extras(self, key: str) -> Extras:
        """What is added to each request to this server; kept from one connection to the next."""
        return self._extras.setdefault(key, Extras())

    def _notified(self, key: str, connection: Connection, method: str, params: Mapping[str, Any]) -> None:
        """On the loop, for each notification: what concerns nobody must cost nothing."""
        self.subscriptions.notified(connection.c, method, params)
        self.catalogs.changed(key, method, self.journal.now_us())
        self.hosting.notified(connection.link, key, method, params)

    # --- catalogs and calls

    def refresh(self, key: str, what: str, *, through: bool = False) -> Catalog:
        """List again: over the wire, or through the host cache, which sends only what it has not fresh."""
        return self.catalogs.refresh(self.connection(key), key, what, through=through)

    def call(self, key: str, tool: str, arguments: str, *, runs: int = 1) -> Call:
        """Start a call; its definition, when listed, gives headers and output schema."""
        connection = self.connection(key)
        return self.calls.start(
            connection, key, tool, arguments, definition=self.definition(key, tool), runs=runs
        )

    def definition(self, key: str, tool: str, what: str = "tools") -> Mapping[str, Any] | None:
        """The item as last listed, parsed; None when it was not listed or is no object."""
        catalog = self.catalogs.known(key, what)
        return None if catalog is None else catalog.definition(tool)

    def secrets(self, session: int | None = None) -> Iterator[str]:
        """Values that servers were given by us and that no export may hold; a tap hides its own before we see them.

        session: also what they were given in that recording, though their definitions were changed since.
        """
        yield from passed_to(self.servers_file.all().values(), self.tokens)
        yield from self._passed | self.tokens.dropped
        if session is not None:
            yield from self.recordings.given.of(session)

    def tools(self, key: str) -> Tool | None:
        """How to find a tool of a server by name; None when its tools were not listed."""
        catalog = self.catalogs.known(key, "tools")
        return None if catalog is None else catalog.definition

    def store(self) -> Store:
        """A reader for the calling thread; close it when done."""
        return Store(self.paths.database)
