"""`mcp-loupe demo chaos`: a server of faults chosen by option or by tool name; runs on the main thread."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from inspector.demo import (
    chaos_frames,
    chaos_http_faults,
    chaos_process,
    chaos_results,
    chaos_sse,
    chaos_start,
)
from inspector.demo.chaos_faults import CALL, HANDSHAKE, LIST, START, VERBS, Fault
from inspector.demo.chaos_http import serve_http
from inspector.demo.chaos_server import ChaosServer
from inspector.demo.chaos_stdio import serve_stdio

GROUPS: Final = (
    ("Start, handshake and lists", chaos_start),
    ("JSON-RPC envelope and timing", chaos_frames),
    ("Results", chaos_results),
    ("Pipes and processes", chaos_process),
    ("HTTP", chaos_http_faults),
    ("Event streams", chaos_sse),
)
KEYS: Final = (START, *HANDSHAKE, LIST, CALL, "notifications/initialized", *VERBS)
INTRO: Final = """# The chaos server

`mcp-loupe demo chaos` is an MCP server written without an SDK, whose faults you choose. It speaks both eras, on
stdio and with `--http PORT` on streamable HTTP, and is healthy but for what you ask of it.

- A fault of kind *call* is a tool: call it and it happens. Its argument is the tool's.
- Any fault can be chosen with `--fault NAME[=ARGUMENT]`. It then takes the place of what its column *strikes* says; a
  *call* fault takes the place of `tools/list`. `@METHOD` moves it: `--fault html_500@initialize`,
  `--fault long_line=1048576@tools/call`.
- `echo` is the one tool that works.

The last column names the field reports a fault reproduces; `SDK n` are traps of the MCP client library.
This page is made from the code by `mcp-loupe demo chaos --markdown`.
"""


def registry() -> Mapping[str, Fault]:
    """All faults by name, in the order of the documentation."""
    return MappingProxyType({each.name: each for _, module in GROUPS for each in _faults_of(module)})


def _faults_of(module: Any) -> list[Fault]:
    return [each for each in vars(module).values() if isinstance(each, Fault)]


def read_choice(text: str, transport: str) -> dict[str, tuple[Fault, Any]]:
    """`NAME[=ARG][@METHOD]` as fault and argument by method; ValueError says what is wrong."""
    before, at, key = text.rpartition("@")
    if not at or key not in KEYS:
        before, key = text, ""
    name, given, arg = before.partition("=")
    chosen = registry().get(name)
    if chosen is None:
        raise ValueError(f"there is no fault {name!r}; --list shows them all")
    if not chosen.at(transport):
        raise ValueError(f"{name} exists only on {chosen.where}")
    if given and chosen.takes is None:
        raise ValueError(f"{name} takes no argument")
    value = chosen.takes.read(arg if given else None) if chosen.takes else None
    keys = (key,) if key else (LIST,) if chosen.is_tool else chosen.on
    return dict.fromkeys(keys, (chosen, value))


def as_text() -> str:
    """The table of `--list`."""
    lines = [f"{each.name:26}{each.where:7}{_strikes(each):12}{each.does}" for each in registry().values()]
    return "\n".join((f"{'FAULT':26}{'WHERE':7}{'STRIKES':12}WHAT IT DOES", *lines, ""))


def as_markdown() -> str:
    """`docs/chaos.md`."""
    parts = [INTRO.rstrip()]
    for title, module in GROUPS:
        parts.append(
            f"\n## {title}\n\n| fault | where | strikes | argument | what it does | what Loupe shows | reports |"
        )
        parts.append("|---|---|---|---|---|---|---|")
        parts.extend(_row(each) for each in _faults_of(module))
    return "\n".join(parts) + "\n"


def _row(each: Fault) -> str:
    argument = f"`{each.takes.name}` = {each.takes.default!r}" if each.takes else ""
    cells = (
        f"`{each.name}`",
        each.where,
        _strikes(each),
        argument,
        each.does,
        each.shows,
        ", ".join(each.rows),
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _strikes(each: Fault) -> str:
    if each.is_tool:
        return "call"
    return "handshake" if each.on == HANDSHAKE else ", ".join(each.on)


def main(argv: Sequence[str] | None = None) -> int:
    """Parse, serve, and give the exit code; argparse itself exits with 2 on a wrong command line."""
    parser = argparse.ArgumentParser(
        "mcp-loupe demo chaos", description="An MCP server whose faults you choose."
    )
    parser.add_argument("--list", action="store_true", help="print all faults and leave")
    parser.add_argument("--markdown", action="store_true", help="print docs/chaos.md and leave")
    parser.add_argument("--http", type=int, metavar="PORT", help="serve HTTP on 127.0.0.1 (0: any free port)")
    parser.add_argument("--fault", action="append", default=[], metavar="NAME[=ARG][@METHOD]")
    options = parser.parse_args(argv)
    if options.list or options.markdown:
        sys.stdout.write(as_text() if options.list else as_markdown())
        return 0
    transport = "stdio" if options.http is None else "http"
    chosen: dict[str, tuple[Fault, Any]] = {}
    for text in options.fault:
        try:
            chosen.update(read_choice(text, transport))
        except ValueError as problem:
            parser.error(f"--fault {text}: {problem}")
    faults = {name: each for name, each in registry().items() if each.at(transport)}
    server = ChaosServer(transport, faults, chosen)
    return serve_stdio(server) if options.http is None else serve_http(server, options.http)


if __name__ == "__main__":
    raise SystemExit(main())
