"""`mcp-loupe tap`: sits between any client and a server and records, changing no byte."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from inspector.cli.options import TargetCommand
from inspector.cli.terminal import print_document, printable
from inspector.errors import FileError, LoupeError, UsageError
from inspector.settings.files import append_private
from inspector.settings.paths import Paths
from inspector.settings.spec import ServerSpec

if TYPE_CHECKING:
    from inspector.console.tap_live import LiveTap
    from inspector.trace.file import TraceFileWriter
    from inspector.wire.events import Event, Journal
    from inspector.wire.tap_record import TapRecord

SWITCH_S = 0.0001
"""Passing bytes on must not wait for a thread that writes the trace (Python's own default is ten times as long)."""


@click.command("tap", cls=TargetCommand)
@click.option("--url", help="Tap this HTTP server instead of a command.")
@click.option(
    "--listen", "port", type=int, metavar="PORT", help="With --url: where clients connect, on 127.0.0.1."
)
@click.option(
    "--record", type=click.Path(path_type=Path), help="The trace file (a new one in the data folder)."
)
@click.option("--log", "log", type=click.Path(path_type=Path), help="Where the tap's own failures go.")
@click.option("--no-redact", is_flag=True, help="Record secrets as they are.")
@click.option("--no-live", is_flag=True, help="Tell nothing to a console that runs on this data folder.")
@click.option("--quiet", is_flag=True, help="Say nothing on stderr; it is the server's alone.")
@click.option("--data-dir", type=click.Path(path_type=Path), help="Where Loupe keeps its files.")
def tap(
    url: str | None,
    port: int | None,
    record: Path | None,
    log: Path | None,
    no_redact: bool,
    no_live: bool,
    quiet: bool,
    data_dir: Path | None,
) -> int:
    """Sit between a client and a server and record. Give --url and --listen, or -- CMD ARG…"""
    argv = click.get_current_context().meta.get("argv")
    _check_usage(argv, url, port)
    sys.setswitchinterval(SWITCH_S)
    name = Path(argv[0]).name if argv else "http"
    paths = Paths.locate(data_dir)
    base = paths.data / "taps" / f"{name}-{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}"
    own = Log(log or (record.with_name(f"{record.name}.log") if record else base.with_suffix(".log")))
    path = record or base.with_name(f"{base.name}.mcptrace.jsonl")

    def say(text: str) -> None:
        if not quiet:
            with suppress(OSError):
                os.write(2, f"mcp-loupe tap: {printable(text)}\n".encode())

    how = Recording(path, own, say, redact=not no_redact, live=None if no_live else paths)
    if argv:
        return _tap_command(argv, how)
    assert url is not None and port is not None
    return _tap_url(url, port, how)


@dataclass(frozen=True, slots=True)
class Recording:
    """Where a tap records to. say: speaks on stderr. live: where a console is looked for, None for nowhere."""

    path: Path
    log: Log
    say: Callable[[str], None]
    redact: bool
    live: Paths | None


def _check_usage(argv: tuple[str, ...] | None, url: str | None, port: int | None) -> None:
    if (argv is None) == (url is None) or argv == ():
        raise UsageError(
            "Give either a command or a URL to tap", "Write tap -- CMD ARG…, or tap --url URL --listen PORT"
        )
    if (url is None) != (port is None):
        raise UsageError(
            "--url and --listen belong together", "Write tap --url URL --listen PORT (0: any free one)"
        )


def _tap_command(argv: tuple[str, ...], how: Recording) -> int:
    from inspector.settings.commands import command_name
    from inspector.wire.tap import StdioTap, leave_as

    spec = ServerSpec(command_name(argv), argv=argv, cwd=os.getcwd())
    with recording(spec, how) as record:
        try:
            code = StdioTap(argv, record).run()
        except LoupeError as problem:
            how.log(problem.message)
            raise
    return leave_as(code)


def _tap_url(url: str, port: int, how: Recording) -> int:
    from inspector.settings.commands import url_spec
    from inspector.wire.tap_http import HttpTap

    spec = url_spec(url, "command line")
    with recording(spec, how) as record:
        try:
            return HttpTap(url, port, record).run(ready=lambda local: _announce(local, how.say))
        except LoupeError as problem:
            how.log(problem.message)
            raise


def _announce(local: str, say: Callable[[str], None]) -> None:
    print_document({"url": local, "pid": os.getpid()})
    say(f"clients connect to {local}; the Host header is rewritten to the server's, nothing else is changed")


class Log:
    """The tap's own log: made when there is something to say, one line each."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.said = False

    def __call__(self, text: str) -> None:
        self.said = True
        line = f"{datetime.now(UTC).isoformat(timespec='milliseconds')} {text}\n"
        with suppress(OSError):  # there is nowhere left to say it, and the traffic must not know
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with os.fdopen(
                append_private(self.path), "a", encoding="utf-8", errors="backslashreplace"
            ) as file:
                file.write(line)


@contextmanager
def recording(spec: ServerSpec, how: Recording) -> Iterator[TapRecord]:
    """What the tap records into; a file that cannot be written is told in the log and stops nothing."""
    from inspector.wire.events import Journal
    from inspector.wire.tap_record import TapRecord

    journal = Journal()
    facts = {"label": spec.name, "transport": spec.transport, "target": spec.public()}
    writer = _writer(how.path, journal, spec, how.log, redact=how.redact)
    how.say(f"recording to {how.path}" if writer else f"not recording: see {how.log.path}")
    live = _live(journal, spec, how)
    record = TapRecord(journal, facts, how.log)
    try:
        yield record
    finally:
        record.flush()
        if live is not None:
            live.close()
        if writer is not None:
            try:
                writer.close()
            except FileError as problem:
                how.log(f"{problem.message} {writer.dropped} events are not in it.")


def _live(journal: Journal, spec: ServerSpec, how: Recording) -> LiveTap | None:
    """Tells a running console too. What the server was given is hidden before it goes there, whatever the file holds:
    the console keeps what it is told for later runs, which could not know those values."""
    if how.live is None:
        return None
    from inspector.console.redacting import given_to
    from inspector.console.tap_live import LiveTap

    # Numbers of its own: markers of two taps, or of an export, must not seem to be one secret.
    hiding = given_to(_given(spec), first=os.getpid() * 100)
    live = LiveTap(how.live, spec.name, hiding, how.log)
    journal.attach(live.sink)
    return live


def _writer(
    path: Path, journal: Journal, spec: ServerSpec, log: Log, *, redact: bool
) -> TraceFileWriter | None:
    from inspector import __version__
    from inspector.console.redacting import redactor_for
    from inspector.trace.file import TraceFileWriter

    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        hiding = redactor_for(_given(spec)) if redact else None
        writer = TraceFileWriter(path, journal, title=spec.name, redaction=hiding, tool_version=__version__)
    except (FileError, OSError) as problem:
        log(f"Nothing is recorded: {problem.message if isinstance(problem, FileError) else problem}")
        return None
    journal.attach(_watching(writer, log))
    return writer


def _watching(writer: TraceFileWriter, log: Log) -> Callable[[Event], None]:
    """Tells a failed write when it happens, not when the client ends the tap in a month."""
    told = False

    def watch(_event: Event) -> None:
        nonlocal told
        if writer.failed is not None and not told:
            told = True
            log(f"{writer.failed} Nothing more is recorded; the traffic flows on.")

    return watch


def _given(spec: ServerSpec) -> ServerSpec:
    """The spec with what of our environment, all of which the server gets, is secret by its name."""
    from inspector.trace.redact.names import secret_name

    return replace(spec, env={name: value for name, value in os.environ.items() if secret_name(name)})
