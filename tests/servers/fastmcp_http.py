"""mcp-server-time over HTTP, by FastMCP's own server: an implementation we did not write. Prints its address first."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

from fastmcp.server import create_proxy

listening = socket.create_server(("127.0.0.1", 0))
print(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", flush=True)
command = str(Path(sys.executable).with_name("mcp-server-time"))
server = create_proxy({"mcpServers": {"time": {"command": command}}})
server.run(transport="http", path="/mcp", sockets=[listening], show_banner=False, log_level="error")
