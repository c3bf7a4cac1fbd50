"""`mcp-loupe trace import`: a file into the console's list, whether a console is running or not. Main thread."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from inspector.cli.terminal import print_document, printable, say, warn


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--data-dir", type=click.Path(path_type=Path), help="Where Loupe keeps its files.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def import_file(file: Path, data_dir: Path | None, as_json: bool) -> None:
    """Put a trace into the console's list, where it opens like a live recording."""
    from inspector.console.opening import open_file
    from inspector.settings.paths import Paths
    from inspector.trace.store import Store

    paths = Paths.locate(data_dir).ensure()
    session = open_file(paths.database, file, file.name, "", Teller() if sys.stderr.isatty() else None)
    with Store(paths.database) as store:
        opened = store.opened(session)[0]
        one = next(each for each in store.sessions() if each.id == session)
    verdict = opened.verdict or {}
    oddities = sorted({*verdict["oddities"], *verdict["odd_events"]})
    if as_json:
        print_document(
            {
                "schema": "mcp-loupe/trace-import/1", "recording": session, "file": str(file), "events": one.events,
                "errors": one.errors, "bytes": one.bytes, "incomplete": verdict["incomplete"],
                "problem": verdict["problem"], "oddities": oddities,
            }
        )  # fmt: skip
        return
    say(f"Recording {session}: {one.events:,} events, {one.errors:,} errors, out of {printable(file.name)}")
    say(f"It is in the list of the Traces screen; in the timeline: /timeline?session={session}")
    if verdict["incomplete"]:
        warn("Incomplete: the file has no last line, the recording broke off.")
    if verdict["problem"]:
        warn(printable(verdict["problem"]))
    if oddities:
        warn(f"It holds {', '.join(oddities)}.")


class Teller:
    """Says now and then how far the reading is, on one line of a terminal."""

    def __init__(self) -> None:
        self._next = time.monotonic() + 1.0

    def __call__(self, done: object) -> None:
        from inspector.trace.importing import Progress

        assert isinstance(done, Progress)
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + 0.2
            part = done.read_bytes / max(done.file_bytes, 1)
            click.echo(
                f"\r{part:4.0%}  {done.events:,} events ", err=True, nl=done.read_bytes == done.file_bytes
            )
