"""`mcp-loupe trace stand-in`: serves a recorded trace as an MCP server."""

from __future__ import annotations

from pathlib import Path

import click

from inspector.cli.terminal import printable, warn


@click.command("stand-in")
@click.argument("file", metavar="FILE|session:N")
@click.option(
    "--http", "port", type=int, metavar="PORT", help="Serve streamable HTTP on 127.0.0.1; 0: any free port."
)
@click.option(
    "--ignore", multiple=True, metavar="PATH",
    help="A part of the request that need not match, such as /params/arguments/now.",
)  # fmt: skip
@click.option("--timing", is_flag=True, help="Answer as slowly as the recorded server did.")
@click.option("--connection", type=int, metavar="N", help="Which connection of the trace to play.")
@click.option("--data-dir", type=click.Path(path_type=Path), help="Where Loupe keeps its files.")
def stand_in(
    file: str,
    port: int | None,
    ignore: tuple[str, ...],
    timing: bool,
    connection: int | None,
    data_dir: Path | None,
) -> int:
    """Serve a recorded trace as an MCP server, on stdio or HTTP."""
    from inspector.replay.compare import PLAYED, Ignore
    from inspector.replay.sessions import recording_named
    from inspector.replay.stand_in import StandIn
    from inspector.replay.stand_in_http import serve_http
    from inspector.replay.stand_in_stdio import serve_stdio

    recording = recording_named(file, data_dir)
    for problem in (recording.problem, "The trace is incomplete." if recording.incomplete else None):
        if problem is not None:
            warn(f"{file}: {printable(problem)}")
    playing = StandIn(recording, ignore=Ignore.of((*PLAYED, *ignore)), c=connection)
    if port is None:
        return serve_stdio(playing, timing=timing)
    return serve_http(playing, port, timing=timing)
