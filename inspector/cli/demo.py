"""`mcp-loupe demo`: runs a server we ship, on stdio or HTTP."""

from __future__ import annotations

import click


@click.command("demo", context_settings={"ignore_unknown_options": True, "help_option_names": []})
@click.argument(
    "words",
    nargs=-1,
    type=click.UNPROCESSED,
    metavar="flat|progressive|chaos|cache-hints|logs|tracker [OPTION]…",
)
def demo(words: tuple[str, ...]) -> int:
    """Run a demo MCP server: flat, progressive, cache-hints, logs, tracker or chaos."""
    from inspector.demo.__main__ import main

    return main(words)
