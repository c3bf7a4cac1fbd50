"""What each server listed last, with its bytes now and its tokens soon. Any thread.

Refreshing walks the pages on the loop, keeps the raw answers, and measures: bytes at once (in the worker when
the payload is large), tokens, renderings and findings always in the worker: the vocabulary costs 45 MB and 0.4 s.
"""

from __future__ import annotations

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from inspector.catalog import jsontext
from inspector.catalog.findings.rule import Finding
from inspector.catalog.report import MeasuredListing, count_listing, measure_listing
from inspector.catalog.snapshot import Snapshot
from inspector.console.hosting import Hosting, PageLook, looks_of, walk_through
from inspector.console.listed import assess_page, find_all, page_facts, snapshot_of, totals_of, with_tokens
from inspector.console.recorded import HISTORY, read_back
from inspector.console.worker import CAREFUL_BYTES, Worker
from inspector.errors import StorageError
from inspector.protocol import freshness, steps
from inspector.protocol.freshness import Hints
from inspector.trace.recorder import Recorder
from inspector.trace.store import Snapshot as Kept
from inspector.trace.store import Store
from inspector.wire.connection import Connection
from inspector.wire.dispatcher import Reply
from inspector.wire.listing import METHODS, Walk, walk

T = TypeVar("T")

MEASURE_S: Final = 120.0
OPENED: Final = 8
"""Recorded catalogs that stay in memory after somebody looked at them."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """The listing before, of this run or an earlier one. at_us: when it came; tokens: as in `Catalog`."""

    measured: MeasuredListing
    tokens: Future[MeasuredListing] = field(repr=False)
    at_us: int

    @property
    def best(self) -> MeasuredListing:
        return _result(self.tokens) or self.measured


@dataclass(slots=True)
class Catalog:
    """One list of one server as it stood after a walk.

    measured: bytes and parts; `tokens` yields the same with tokens once the worker is done, `findings` what every
    rule sees (see `found`). problem: why the walk stopped early. changed_at_us: when a list_changed arrived since.
    looks: what the host cache said of each page. live: False when read back from a recording; past: opened as it
    was then, by its snapshot_id. order_before: `order_sha256` of the listing before. c: the connection it came over.
    """

    server_key: str
    snapshot: Snapshot
    measured: MeasuredListing
    tokens: Future[MeasuredListing] = field(repr=False)
    findings: Future[list[Finding]] = field(repr=False)
    hints: list[Hints] = field(default_factory=list)
    problem: str = ""
    ms: float = 0.0
    changed_at_us: int | None = None
    live: bool = True
    past: bool = False
    previous: Earlier | None = field(default=None, repr=False)
    order_before: str | None = None
    snapshot_id: int | None = None
    c: int | None = None
    looks: tuple[PageLook, ...] = ()
    _named: dict[str, int] = field(default_factory=dict, repr=False)

    @property
    def best(self) -> MeasuredListing:
        """With tokens when they are counted, else without."""
        return _result(self.tokens) or self.measured

    @property
    def found(self) -> list[Finding] | None:
        """What the rules see; None while they run, and when the worker died over them (`findings.done()`)."""
        return _result(self.findings)

    @property
    def listed_at_us(self) -> int:
        return self.snapshot.pages[-1].received_at_us

    def definition(self, name: str) -> Mapping[str, Any] | None:
        """The first item of that name, parsed; None when there is none. The names are indexed once."""
        if not self._named:
            for index, each in reversed(list(enumerate(self.measured.measures))):
                if each.name is not None:
                    self._named[each.name] = index
        position = self._named.get(name)
        try:
            found = None if position is None else jsontext.loads(self.measured.definition_text(position))
        except RecursionError:  # nested too deeply to read, which the catalog says of it
            return None
        return found if isinstance(found, dict) else None


@dataclass(slots=True)
class Underway:
    """A listing that is not there yet. pages, bytes: what came over the wire so far; began_us: since the epoch."""

    began_us: int
    pages: int = 0
    bytes: int = 0


class Catalogs:
    """The catalogs of one console, by server and list. store: opens a reader for the calling thread."""

    def __init__(
        self, worker: Worker, recorder: Recorder, store: Callable[[], Store], hosting: Hosting
    ) -> None:
        self._worker = worker
        self._hosting = hosting
        self._changed: dict[tuple[str, str], int] = {}
        self._underway: dict[tuple[str, str], Underway] = {}
        self._recorder = recorder
        self._store = store
        self._known: dict[tuple[str, str], Catalog] = {}
        self._opened: OrderedDict[int, Catalog] = OrderedDict()
        self._lock = threading.Lock()

    def known(self, server_key: str, what: str) -> Catalog | None:
        """The last catalog, from memory or from an earlier recording; None when it was never listed."""
        with self._lock:
            found = self._known.get((server_key, what))
        if found is not None:
            return found
        with self._store() as store:
            catalog = self._recorded(store, store.snapshots(server_key, what, 2))
        if catalog is None:
            return None
        with self._lock:
            return self._known.setdefault((server_key, what), catalog)

    def opened(self, server_key: str, what: str, snapshot_id: int) -> Catalog | None:
        """A recorded listing as it was then; None when this server has none of that id, or its pages are gone."""
        with self._lock:
            found = self._opened.pop(snapshot_id, None)
        if found is None:
            with self._store() as store:
                rows = store.snapshots(server_key, what, HISTORY)
                at = next((n for n, row in enumerate(rows) if row.id == snapshot_id), len(rows))
                found = self._recorded(store, rows[at : at + 2])
        if found is None or (found.server_key, found.snapshot.what) != (server_key, what):
            return None
        found.past = True
        with self._lock:
            self._opened[snapshot_id] = found
            while len(self._opened) > OPENED:
                self._opened.popitem(last=False)
        return found

    def count(self, server_key: str, what: str = "tools") -> int | None:
        """How many items the last walk of this process found, for the rail."""
        with self._lock:
            found = self._known.get((server_key, what))
        return None if found is None else len(found.measured.measures)

    def refresh(
        self,
        connection: Connection,
        server_key: str,
        what: str,
        *,
        cause: str = "user",
        through: bool = False,
    ) -> Catalog:
        """List over the wire, measure, keep and record. Raises what the first page raised.

        through: ask the host cache first, as a host does; what it has fresh is not asked for again.
        """
        underway, place = Underway(self._hosting.clock()), (server_key, what)
        with self._lock:
            self._underway[place] = underway
        try:
            return self._refresh(connection, server_key, what, cause, through, underway)
        finally:
            with self._lock:
                if self._underway.get(place) is underway:
                    del self._underway[place]

    def _refresh(
        self,
        connection: Connection,
        server_key: str,
        what: str,
        cause: str,
        through: bool,
        underway: Underway,
    ) -> Catalog:
        began = time.perf_counter()
        asker = self._hosting.through(connection, server_key, cause) if through else None
        if asker is None:
            found = _walk(connection, what, cause, underway)
        else:
            found = connection.run(walk_through, asker, what, timeout=MEASURE_S)
        ms = (time.perf_counter() - began) * 1000
        looks = tuple(asker.pages) if asker is not None else looks_of(self._hosting, found)
        snapshot = snapshot_of(connection, found)
        with self._lock:
            before = self._known.get((server_key, what))
        if before is not None and before.live and before.snapshot.pages == snapshot.pages:
            before.looks, before.ms = looks, ms  # every page was served: the same listing, bytes and all
            return before
        measured = self._weigh(snapshot)
        catalog = self._catalog(server_key, snapshot, measured, _same_asked(before, connection, measured))
        catalog.problem, catalog.ms, catalog.c, catalog.looks = found.problem, ms, connection.c, looks
        catalog.hints = [
            assess_page({"result": page.reply.result}, what, snapshot.era) for page in found.pages
        ]
        self._look_back(catalog, before)
        asked_at_us = min(page.reply.received_at_us - round(page.reply.ms * 1000) for page in found.pages)
        with self._lock:
            # A list_changed that came while the pages did: they may be older than the change (row 30).
            if self._changed.get((server_key, what), 0) >= asked_at_us:
                catalog.changed_at_us = self._changed[server_key, what]
            self._known[server_key, what] = catalog
        catalog.snapshot_id = self._record(connection, server_key, catalog)
        self._keep_tokens(catalog)
        return catalog

    def underway(self, server_key: str, what: str) -> Underway | None:
        """How far a listing has come, until it is weighed; None while none is going on."""
        with self._lock:
            return self._underway.get((server_key, what))

    def changed(self, server_key: str, method: str, at_us: int) -> list[str]:
        """A notification arrived: mark the lists it makes stale; returns which."""
        if not freshness.tells_of_change(method):
            return []
        stale = [
            what for what, name in METHODS.items() if freshness.invalidates(method, {}, name).what == "stale"
        ]
        with self._lock:
            for what in stale:
                self._changed[server_key, what] = at_us
                if (found := self._known.get((server_key, what))) is not None:
                    found.changed_at_us = at_us
        return stale

    def forget(self, server_key: str) -> None:
        with self._lock:
            for key in [key for key in self._known if key[0] == server_key]:
                del self._known[key]
            for id_ in [id_ for id_, each in self._opened.items() if each.server_key == server_key]:
                del self._opened[id_]  # its recording may be gone, and then nobody is to see it

    def _weigh(self, snapshot: Snapshot) -> MeasuredListing:
        """Bytes and parts, now."""
        raws = snapshot.raws
        if sum(map(len, raws)) <= CAREFUL_BYTES:
            return measure_listing(snapshot.what, raws, tokens=False, rendered=False)
        future = self._worker.submit(measure_listing, snapshot.what, raws, tokens=False, rendered=False)
        return future.result(MEASURE_S)

    def _catalog(
        self, server_key: str, snapshot: Snapshot, measured: MeasuredListing, before: Snapshot | None = None
    ) -> Catalog:
        """With tokens and findings on their way. before: the same list, asked for shortly before."""
        tokens = self._count(snapshot, measured)
        return Catalog(
            server_key, snapshot, measured, tokens, self._worker.submit(find_all, snapshot, before)
        )

    def _count(self, snapshot: Snapshot, measured: MeasuredListing) -> Future[MeasuredListing]:
        return with_tokens(measured, self._worker.submit(count_listing, snapshot.what, snapshot.raws))

    def _recorded(self, store: Store, rows: Sequence[Kept]) -> Catalog | None:
        """The first of `rows`, newest first, as a catalog; None when there is none or its pages are gone."""
        snapshot = read_back(store, rows[0]) if rows else None
        if snapshot is None:
            return None
        kept, what = rows[0], snapshot.what
        catalog = self._catalog(kept.server_key, snapshot, self._weigh(snapshot))
        catalog.live, catalog.snapshot_id = False, kept.id
        catalog.problem = str(kept.totals.get("problem", ""))
        catalog.hints = [
            assess_page(steps.classify(page.raw).value, what, snapshot.era) for page in snapshot.pages
        ]
        if len(rows) > 1:
            catalog.order_before = rows[1].order_sha256
            catalog.previous = self._earlier(store, rows[1], catalog)
        if "tokens" not in kept.totals:
            self._keep_tokens(catalog)
        return catalog

    def _look_back(self, catalog: Catalog, before: Catalog | None) -> None:
        """Hold a listing that has just come against the one before it: of this run, else of an earlier one."""
        if before is not None:
            catalog.order_before = before.measured.order_sha256
            catalog.previous = Earlier(before.measured, before.tokens, before.listed_at_us)
            return
        with self._store() as store:
            kept = store.latest_snapshot(catalog.server_key, catalog.snapshot.what)
            if kept is not None:
                catalog.order_before = kept.order_sha256
                catalog.previous = self._earlier(store, kept, catalog)

    def _earlier(self, store: Store, kept: Kept, catalog: Catalog) -> Earlier | None:
        """A recorded listing to hold `catalog` against; read and weighed only when it is another one."""
        measured = catalog.measured
        if (kept.sha256, kept.order_sha256) == (measured.sha256, measured.order_sha256):
            return Earlier(measured, catalog.tokens, kept.at_us)
        snapshot = read_back(store, kept)
        if snapshot is None:
            return None
        weighed = self._weigh(snapshot)
        return Earlier(weighed, self._count(snapshot, weighed), kept.at_us)

    def _keep_tokens(self, catalog: Catalog) -> None:
        """Add the tokens to the recorded totals once they are counted, for the history."""

        def write(snapshot_id: int, measured: MeasuredListing) -> None:
            said = {"problem": catalog.problem} if catalog.problem and not catalog.live else {}
            columns = {"totals": json.dumps(totals_of(measured) | said)}
            with suppress(StorageError):  # a recording that has ended keeps what it has
                self._recorder.write(lambda db: db.table("snapshot").update(snapshot_id, columns), MEASURE_S)

        def counted(done: Future[MeasuredListing]) -> None:
            measured = _result(done)
            if measured is not None:
                # This is the loop's thread, which must not wait for the writer.
                threading.Thread(
                    target=write, args=(snapshot_id, measured), name="totals", daemon=True
                ).start()

        snapshot_id = catalog.snapshot_id
        if snapshot_id is not None:
            catalog.tokens.add_done_callback(counted)

    def _record(self, connection: Connection, server_key: str, catalog: Catalog) -> int | None:
        """Keep the snapshot in the database and announce it as a `catalog` event."""
        snapshot, measured = catalog.snapshot, catalog.measured
        pages = [page_facts(page, read) for page, read in zip(snapshot.pages, measured.pages, strict=True)]
        seq = connection.link.emit(
            "catalog", what=snapshot.what, pages=pages, count=len(measured.measures),
            sha256=measured.sha256, order_sha256=measured.order_sha256,
        )  # fmt: skip
        if self._recorder.health().state != "recording":
            return None
        return self._recorder.save_snapshot(
            seq=seq, server_key=server_key, what=snapshot.what, at_us=snapshot.pages[-1].received_at_us,
            era=snapshot.era, declared=connection.client.capabilities, pages=pages, totals=totals_of(measured),
            sha256=measured.sha256, order_sha256=measured.order_sha256,
        )  # fmt: skip


def _walk(connection: Connection, what: str, cause: str, underway: Underway) -> Walk:
    """Over the wire, so that others may see how far it has come."""

    async def ask(method: str, params: Mapping[str, Any]) -> Reply:
        reply = await connection.request(method, params, cause=cause)
        underway.pages += 1
        underway.bytes += len(reply.raw)
        return reply

    return connection.run(walk, connection, what, cause, ask, timeout=MEASURE_S)


def _same_asked(before: Catalog | None, connection: Connection, measured: MeasuredListing) -> Snapshot | None:
    """The listing before, when this one, with nothing announced in between, differs in names or order."""
    if before is None or before.c != connection.c or before.changed_at_us is not None:
        return None
    return before.snapshot if before.measured.order_sha256 != measured.order_sha256 else None


def _result(future: Future[T]) -> T | None:
    """What a future holds; None while it runs, and when it failed or was cancelled."""
    done = future.done() and not future.cancelled() and future.exception() is None
    return future.result() if done else None
