"""MCP servers that ship with Loupe, runnable alone."""
