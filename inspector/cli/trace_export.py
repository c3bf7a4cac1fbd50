"""`mcp-loupe trace har|otlp|html`: a trace in the formats other programs read, without its secrets."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from inspector.errors import FileError, UsageError

if TYPE_CHECKING:
    from inspector.trace.exporting import Source

F = TypeVar("F", bound=Callable[..., Any])


def export_options(command: F) -> F:
    """What every export takes: the trace, where to, and what to hide."""
    for option in reversed(
        [
            click.argument("file", type=click.Path(path_type=Path)),
            click.option(
                "-o", "out", type=click.Path(path_type=Path), metavar="OUT", help="The new file (stdout)."
            ),
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
    """Write the requests of a trace as OpenTelemetry spans (OTLP JSON)."""
    from inspector import __version__
    from inspector.trace.otlp import otlp as make

    write(make(source(file, **options), version=__version__, contents=contents), out)


@click.command("html")
@click.option(
    "--events", "most", type=click.IntRange(1), default=None, metavar="N", help="Show the first N (10,000)."
)
@export_options
def html(file: Path, out: Path | None, most: int | None, **options: Any) -> None:
    """Write a trace as one read-only HTML file that opens from disk."""
    from inspector import __version__
    from inspector.trace.html import EVENTS_MOST
    from inspector.trace.html import html as make

    write(make(source(file, **options), version=__version__, most=most or EVENTS_MOST), out)


def source(file: Path, no_redact: bool, **own: Any) -> Source:
    """The trace as an export reads it. Raises FileError, and UsageError for a rule that cannot be."""
    from inspector.console.redacting import redactor_for
    from inspector.trace.exporting import of_file
    from inspector.trace.redact import Redactor, Rules

    if no_redact and any(own.values()):
        raise UsageError("--no-redact leaves nothing to hide", "Leave it out, or leave the other rules out")
    rules = None if no_redact else Rules.default(**own)

    def make(*, before: dict[str, Any] | None, first: int) -> Redactor:
        return redactor_for(rules=rules, before=before, first=first)

    return of_file(file, None if rules is None else make)


def write(content: Iterator[bytes], out: Path | None) -> None:
    """To a file, all of it or nothing; or to stdout. Raises FileError."""
    if out is None:
        for piece in content:
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
        return
    beside = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            for piece in content:
                file.write(piece)
        beside.replace(out)
    except OSError as problem:
        raise FileError(
            f"{out} cannot be written: {problem.strerror or problem}.",
            "Check the folder and its permissions.",
        ) from None
    finally:
        beside.unlink(missing_ok=True)
