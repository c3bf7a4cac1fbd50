"""A FastMCP 4 server on stdio whose 26 tools come in three pages of at most ten."""

from __future__ import annotations

from fastmcp import FastMCP
from fastmcp.tools import Tool


def read_record(key: str) -> str:
    """Read one record of the paged test catalog."""
    return f"record {key}"


server = FastMCP(
    "paged",
    version="1",
    list_page_size=10,
    tools=[Tool.from_function(read_record, name=f"read_{letter}") for letter in "abcdefghijklmnopqrstuvwxyz"],
)

if __name__ == "__main__":
    server.run(show_banner=False, log_level="ERROR")
