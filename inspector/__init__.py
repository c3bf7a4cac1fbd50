"""Loupe: a browser-based inspector and flight recorder for MCP servers."""

__version__ = "0.1.0"
