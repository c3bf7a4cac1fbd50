"""`python -m inspector.demo NAME [--http PORT]`: runs a shipped MCP server; the process's main thread."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from inspector.errors import LoupeError, UsageError

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

NAMES = ("flat", "progressive", "cache-hints", "logs", "tracker")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the server that is named; returns the exit code. Arguments as on the command line."""
    args = list(sys.argv[1:] if argv is None else argv)
    try:
        if args[:1] == ["chaos"]:
            from inspector.demo import chaos  # breaks the protocol on purpose: no SDK, and options of its own

            return chaos.main(args[1:])
        return _run(_parser().parse_args(args))
    except LoupeError as error:
        sys.stderr.write(f"{error.message} {error.remedy}\n")
        return error.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mcp-loupe demo", description="Run a shipped MCP server (stdio).")
    parser.add_argument("name", choices=NAMES, help="or chaos, see chaos --help")
    parser.add_argument(
        "--http",
        type=int,
        metavar="PORT",
        help="serve on 127.0.0.1 instead: this server at / and each at its name, /flat and so on; "
        "0 takes a free port",
    )
    hints = parser.add_argument_group("cache-hints")
    hints.add_argument(
        "--ttl",
        action="append",
        default=[],
        metavar="METHOD=VALUE[,VALUE…]",
        help="ttlMs of a method's results, sent as it stands: JSON, or a bare word as a string, or `absent`; "
        "several values are for page 1, 2, … and the last for all further ones",
    )
    hints.add_argument(
        "--scope",
        action="append",
        default=[],
        metavar="METHOD=VALUE[,VALUE…]",
        help="cacheScope likewise",
    )
    hints.add_argument("--page-size", type=int, metavar="N", help="entries on a page of every list")
    return parser


def _run(args: argparse.Namespace) -> int:
    gc.set_threshold(50_000, *gc.get_threshold()[1:])  # the SDK makes its models at import, and no garbage
    from inspector.demo import serving

    chosen = args.name
    if args.http is None:
        if chosen != "cache-hints" and (args.ttl or args.scope or args.page_size is not None):
            raise UsageError(f"{chosen} takes no cache hints.", "Run cache-hints with these options.")
        return serving.run_stdio(_build(chosen, args))
    servers = {f"/{name}": _build(name, args) for name in NAMES}
    return serving.run_http({"/": servers[f"/{chosen}"], **servers}, args.http)


def _build(name: str, args: argparse.Namespace) -> Server[Any]:
    from inspector.demo import cache_hints, classic, flat, hints, progressive

    if name == "flat":
        return flat.build()
    if name == "progressive":
        return progressive.build()
    if name in ("logs", "tracker"):
        return classic.build(name)
    if args.page_size is not None and args.page_size < 1:
        raise UsageError(f"A page cannot hold {args.page_size} entries.", "Give --page-size 1 or more.")
    return cache_hints.build(hints.parse_hints(args.ttl, args.scope), args.page_size)


if __name__ == "__main__":
    sys.exit(main())
