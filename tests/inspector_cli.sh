#!/bin/sh
# Bring the official MCP Inspector's CLI and the Node 22 it needs from npm into .venvs/inspector-cli; print how to run it.
set -e
folder="$(cd "$(dirname "$0")/.." && pwd)/.venvs/inspector-cli"
cli="$folder/node_modules/.bin/mcp-inspector"
if [ ! -x "$cli" ]; then
    command -v npm >/dev/null || { echo "npm is not here; install it, or set MCP_INSPECTOR_CLI" >&2; exit 1; }
    mkdir -p "$folder" && cd "$folder"
    # npm runs a package's install script only when it is named here; node's one fetches the program itself.
    echo '{"private": true, "allowScripts": {"node": true}}' >package.json
    npm install --no-audit --no-fund --loglevel=error node@22 >&2
    # With the new Node first: npm would choose an old Inspector that fits an older one.
    PATH="$folder/node_modules/.bin:$PATH" npm install --no-audit --no-fund --loglevel=error @modelcontextprotocol/inspector@2 >&2
fi
echo "$folder/node_modules/.bin/node $cli"
