"""Pure facts of MCP: no I/O, no SDK, any thread."""
