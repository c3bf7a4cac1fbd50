"""`mcp-loupe trace export|har|otlp|html`: a trace, or a recording, in formats others read, without its secrets."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from inspector.cli.output import cannot_write, write_file
from inspector.errors import UsageError

if TYPE_CHECKING:
    from inspector.trace.exporting import Source
    from inspector.trace.redact import Rules

F = TypeVar("F", bound=Callable[..., Any])
SUFFIXES: Final = {
    "gz": ".gz", "html": ".html", "har": ".har", "otlp": ".otlp.json", "trace": ".jsonl",
}  # fmt: skip
KINDS: Final = ("trace", "gz", "html", "har", "otlp")


def redaction_options(command: F) -> F:
    """What to hide."""
    for option in reversed(
        [
            click.option("--no-redact", is_flag=True, help="Leave secrets as they are."),
            click.option(
                "--key", "keys", multiple=True, metavar="NAME", help="Hide the values of this key too."
            ),
            click.option("--pattern", "patterns", multiple=True, metavar="REGEX", help="Hide what matches."),
            click.option("--text", "texts", multiple=True, metavar="TEXT", help="Hide this text."),
            click.option(
                "--rule", "on", multiple=True, metavar="KIND", help="Apply an optional rule: email, entropy."
            ),
            click.option("--without", "off", multiple=True, metavar="KIND", help="Leave a rule out."),
        ]
    ):
        command = option(command)
    return command


def export_options(command: F) -> F:
    """What each format takes: the trace, where to, and what to hide."""
    out = click.option(
        "-o", "out", type=click.Path(path_type=Path), metavar="OUT", help="The new file (stdout)."
    )
    return click.argument("file", type=click.Path(path_type=Path))(out(redaction_options(command)))


@click.command("har")
@export_options
def har(file: Path, out: Path | None, **options: Any) -> None:
    """Write the HTTP connections of a trace as HAR 1.2."""
    from inspector import __version__
    from inspector.trace.har import har as make

    write(make(source(file, **options), version=__version__), out)


@click.command("otlp")
@click.option("--contents", is_flag=True, help="With arguments and results of tool calls.")
@export_options
def otlp(file: Path, out: Path | None, contents: bool, **options: Any) -> None:
    """Write a trace as OpenTelemetry spans and log records (OTLP JSON)."""
    from inspector import __version__
    from inspector.trace.otlp import otlp as make

    write(make(source(file, **options), version=__version__, contents=contents), out)


@click.command("html")
@click.option(
    "--events", "most", type=click.IntRange(1), default=None, metavar="N", help="Show the first N (5,000)."
)
@export_options
def html(file: Path, out: Path | None, most: int | None, **options: Any) -> None:
    """Write a trace as one read-only HTML file that opens from disk."""
    from inspector import __version__
    from inspector.trace.html import EVENTS_MOST
    from inspector.trace.html import html as make

    write(make(source(file, **options), version=__version__, most=most or EVENTS_MOST), out)


def rules_of(known: Iterable[str], no_redact: bool, **own: Any) -> Rules | None:
    """What is hidden, None for nothing. Raises UsageError for a rule that cannot be."""
    from inspector.trace.redact import Rules

    if no_redact and any(own.values()):
        raise UsageError("--no-redact leaves nothing to hide", "Leave it out, or leave the other rules out")
    return None if no_redact else Rules.default(known, **own)


def source(file: Path, **options: Any) -> Source:
    """The trace as an export reads it. Raises FileError, and UsageError as `rules_of`."""
    from inspector.console.redacting import redactor_for
    from inspector.trace.exporting import of_file
    from inspector.trace.redact import Redactor

    rules = rules_of((), **options)

    def make(*, before: dict[str, Any] | None, first: int) -> Redactor:
        return redactor_for(rules=rules, before=before, first=first)

    return of_file(file, None if rules is None else make)


def write(content: Iterator[bytes], out: Path | None) -> None:
    """To a file of the owner's, all of it or nothing; or to stdout. Raises FileError."""
    if out is None:
        for piece in content:
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
        return
    write_file(out, content, 0o600)


@click.command("export")
@click.argument("recording", metavar="RECORDING|FILE")
@click.option("-o", "out", type=click.Path(path_type=Path), metavar="OUT", help="The new file (stdout).")
@click.option("--format", "kind", type=click.Choice(KINDS), help="By the name of OUT when it is left out.")
@click.option("--data-dir", type=click.Path(path_type=Path), help="Where Loupe keeps its files.")
@redaction_options
def export(recording: str, out: Path | None, kind: str | None, data_dir: Path | None, **options: Any) -> None:
    """Write a recording of the console's (its number), or a file, as a trace or in another format."""
    kind = kind or next(
        (kind for kind, suffix in SUFFIXES.items() if out and out.name.endswith(suffix)), "trace"
    )
    try:
        with tempfile.TemporaryDirectory(dir=out.parent if out else None, prefix=".loupe-") as folder:
            made = Path(folder, f"export{SUFFIXES[kind]}")
            if recording.isdecimal() and not Path(recording).exists():
                _of_recording(int(recording), made, kind, data_dir, **options)
            else:
                _of_file(Path(recording), made, kind, **options)
            if out is not None:
                made.replace(out)
            else:
                with made.open("rb") as file:
                    shutil.copyfileobj(file, sys.stdout.buffer)
    except BrokenPipeError:  # whoever reads stdout has seen enough
        raise
    except OSError as problem:
        raise cannot_write(out or tempfile.gettempdir(), problem) from None


def _of_recording(number: int, made: Path, kind: str, data_dir: Path | None, **options: Any) -> None:
    """From the database, by the very work of the Traces screen; it knows what was passed to the servers."""
    from inspector.console.exporting import Work, searched, written
    from inspector.console.redacting import passed_to
    from inspector.settings.given import Given
    from inspector.settings.paths import Paths
    from inspector.settings.servers import ServerList
    from inspector.settings.tokens import TokenStore
    from inspector.trace.session_file import Range

    paths = Paths.locate(data_dir)
    servers = ServerList(paths.servers).all().values() if paths.servers.exists() else ()
    known = [*passed_to(servers, TokenStore(paths.tokens)), *Given(paths.data / "given").of(number)]
    rules = rules_of(known, **options)
    work = Work(number, Range(), rules, made.with_name("told"))
    if rules is not None:
        work = replace(work, learned=searched(paths.database, work).learned)
    written(paths.database, work, kind, made)


def _of_file(file: Path, made: Path, kind: str, **options: Any) -> None:
    from inspector import __version__
    from inspector.console.exporting import format_of
    from inspector.trace.rewriting import rewrite

    found, pieces = source(file, **options), format_of(kind).pieces
    if pieces is not None:
        write(pieces(found, version=__version__), made)
    else:
        rewrite(file, made, found.redactor())
